import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from "node:crypto";
import * as z from "zod";
import type { Streams } from "./streams";

/**
 * The backend's operations, in Node: the calls of Convex's runtime to its Rust, as far as this service uses them.
 * Values from a context are parsed, because another shape is a mistake of the runtime's caller.
 */

type Operation = (...given: unknown[]) => unknown;

const text = z.string();
const bytes = z
  .custom<Uint8Array>((value) => ArrayBuffer.isView(value))
  .transform((value) => Uint8Array.from(value));
/** Cryptography takes bytes or their buffer, of another context. */
const raw = z.custom<Uint8Array>().transform((value) => Buffer.from(value));
const pairs = z.array(z.tuple([text, text]));
const frames = z.array(
  z.looseObject({ functionName: text.nullish(), fileName: text.nullish(), lineNumber: z.number().nullish() }),
);
const decoding = z.object({ bytes, encoding: text, fatal: z.boolean(), ignoreBOM: z.boolean() });
const handle = z.object({ index: z.int() });
const cbc = z.object({ name: z.literal("AES-CBC"), iv: raw });

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

export function createOperations(
  streams: Streams,
  write: (level: string, line: string) => void,
): Readonly<Record<string, Operation>> {
  const keys: Buffer[] = [];
  const decoders: TextDecoder[] = [];
  const getKey = (given: unknown) => keys[handle.parse(given).index] ?? randomBytes(0);
  return {
    "console/message": (level, words) => write(text.parse(level), z.array(text).parse(words).join(" ")),
    "error/stack": (given) => `Error\n${frames.parse(given).map(formatFrame).join("\n")}\n`,
    random: () => Math.random(),
    now: () => Date.now(),
    performance_now: () => performance.now(),
    performance_time_origin: () => performance.timeOrigin,
    "environmentVariables/get": (name) => process.env[text.parse(name)] ?? null,
    "url/getUrlInfo": (url, base) => {
      const found = URL.parse(text.parse(url), text.nullish().parse(base) ?? undefined);
      if (found === null) throw new TypeError(`Invalid URL: '${text.parse(url)}'`);
      return toUrlInfo(found);
    },
    "url/updateUrlInfo": (href, change) => {
      const url = new URL(text.parse(href));
      for (const [name, value] of Object.entries(z.record(text, z.unknown()).parse(change)))
        if (name === "searchParams") url.search = new URLSearchParams(pairs.parse(value)).toString();
        else Reflect.set(url, name, value ?? "");
      return toUrlInfo(url);
    },
    "url/getUrlSearchParamPairs": (query) => [...new URLSearchParams(text.parse(query))],
    "url/stringifyUrlSearchParams": (given) => new URLSearchParams(pairs.parse(given)).toString(),
    "headers/normalizeName": (name) => (TOKEN.test(text.parse(name)) ? text.parse(name).toLowerCase() : null),
    "stream/create": streams.create,
    "stream/extend": (id, part, done) =>
      streams.extend(text.parse(id), bytes.nullish().parse(part) ?? null, done === true),
    "textEncoder/encode": (words) => toBytes(Buffer.from(text.parse(words).toWellFormed(), "utf8")),
    "textEncoder/normalizeLabel": (label) =>
      answerOrError(() => ({ label: new TextDecoder(text.parse(label)).encoding })),
    "textEncoder/decodeSingle": (given) => {
      const { bytes: encoded, encoding, ...options } = decoding.parse(given);
      return answerOrError(() => ({ text: new TextDecoder(encoding, options).decode(encoded) }));
    },
    "textEncoder/newDecoder": (encoding, fatal, ignoreBOM) => {
      const options = { fatal: fatal === true, ignoreBOM: ignoreBOM === true };
      return { index: decoders.push(new TextDecoder(text.parse(encoding), options)) - 1 };
    },
    "textEncoder/decode": (part, decoder, stream) => {
      const { index } = handle.parse(decoder);
      return answerOrError(() => ({
        text: decoders[index]?.decode(bytes.parse(part), { stream: stream === true }),
      }));
    },
    atob: (encoded) => answerOrError(() => ({ decoded: atob(text.parse(encoded)) })),
    btoa: (decoded) => answerOrError(() => ({ encoded: btoa(text.parse(decoded)) })),
    structuredClone: (value) => structuredClone(value),
    "crypto/randomUUID": () => randomUUID(),
    "crypto/getRandomValues": (length) => toBytes(randomBytes(z.int().parse(length))),
    "crypto/subtle/importKey": (format, data) => {
      z.literal("raw").parse(format);
      return { index: keys.push(raw.parse(data)) - 1 };
    },
    "crypto/subtle/encrypt": (algorithm, key, data) => {
      const cipher = createCipheriv("aes-256-cbc", getKey(key), cbc.parse(algorithm).iv);
      return toBytes(Buffer.concat([cipher.update(raw.parse(data)), cipher.final()])).buffer;
    },
    "crypto/subtle/decrypt": (algorithm, key, data) => {
      const cipher = createDecipheriv("aes-256-cbc", getKey(key), cbc.parse(algorithm).iv);
      return toBytes(Buffer.concat([cipher.update(raw.parse(data)), cipher.final()])).buffer;
    },
  };
}

const toBytes = (buffer: Buffer) => new Uint8Array(buffer);

function formatFrame({ functionName, fileName, lineNumber }: z.infer<typeof frames>[number]): string {
  return `    at ${functionName ?? "<anonymous>"} (${fileName ?? ""}:${lineNumber ?? 0})`;
}

/** The result of work, or its error as an answer. */
function answerOrError(work: () => object): object {
  try {
    return work();
  } catch (error) {
    return { error: String(error) };
  }
}

function toUrlInfo(url: URL): object {
  const { protocol, hash, search, host, hostname, href, pathname, port, username, password } = url;
  const bare = { scheme: protocol.slice(0, -1), hash: hash.slice(1), search: search.slice(1) };
  return { ...bare, host, hostname, href, pathname, port, username, password };
}
