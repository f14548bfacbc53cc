import * as z from "zod";
import { listOwnHosts } from "../../lib/env";
import type { CitedSource } from "../../figures/facts";
import { toIso } from "../../lib/time";
import { MAX_USER_ID, NOT_SHARED, PRINTABLE, SHARED_ID } from "../records";
import { resolveSymbol } from "../../lib/money/coins";

/** Shapes that several endpoints use. Every string is trimmed; messages complete the sentence "<field> …". */

/** A string of at most `max` characters, counted as code points like JSON Schema's `maxLength`, including surrounding blanks. */
export function maxLengthString(max: number) {
  return z
    .string("must be a string")
    .refine(
      (value) => value.length <= max || Array.from(value).length <= max,
      `must be at most ${max} characters`,
    )
    .meta({ maxLength: max });
}

/** Trimmed text of 1 to `max` characters. */
export function requiredText(max: number) {
  return maxLengthString(max).trim().min(1, "is required");
}

/**
 * 1 to 128 printable characters: the caller's only credential, never logged. A replacement character is refused,
 * because two ids could become one.
 */
export const userId = requiredText(MAX_USER_ID)
  .regex(PRINTABLE, "must consist of printable characters")
  .refine((id) => id !== SHARED_ID, NOT_SHARED)
  .describe(
    "The caller's id and only credential, a bearer secret: choose a long random one and keep it; anyone who knows it can act for its owner.",
  );

/** A token's symbol or name, optional; an empty one counts as omitted. The sources decide which token a name means. */
export const optionalToken = optionalUnlessBlank(
  maxLengthString(60)
    .trim()
    .min(1, "must not be blank")
    .regex(/^[^\p{C}\uFFFD]+$/u, "must be a token's symbol or name, in printable characters")
    .overwrite(resolveSymbol),
).describe(
  "Token to focus on, by its symbol or its name: btc, $BTC, BTC/USDT and Bitcoin all mean BTC, Shiba Inu means SHIB; omit for the whole market.",
);

/** One of a few symbols, in any case. @param read Converts the sent text to its symbol. */
export function oneOfSymbols<const Symbols extends readonly [string, ...string[]]>(
  symbols: Symbols,
  problem: string,
  read = (written: string) => written.toUpperCase(),
) {
  return z
    .string("must be a string")
    .trim()
    .overwrite(read)
    .pipe(z.enum(symbols, problem))
    .meta({ enum: [...symbols] });
}

/** A messenger chat: a numeric id (negative for groups), as a string or number, with ":topic" for a topic in it; or "@channel". */
export const chatId = z
  .union(
    [
      z
        .string()
        .trim()
        // Only one spelling each: the messenger reads 05151 as 5151, and ids have 52 bits.
        .regex(
          /^(?:-?[1-9]\d{0,15}(?::[1-9]\d{0,9})?|@[A-Za-z0-9_]{4,64})$/,
          "must be a numeric chat id or @channel",
        ),
      z.int(),
    ],
    "must be a numeric chat id or @channel",
  )
  .transform(String)
  .describe("Messenger chat: its numeric id (negative for groups), or @channel.");

/** A host name of at least two labels, outside the names of local machines and networks, clusters, clouds and special use. */
const PUBLIC_NAME =
  /^(?!.*(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|mail|private|svc|arpa|alt|onion|test|example|invalid)$)(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]+$/;

/**
 * An https address with a public host name, for posts by the service. The name is not resolved, because Convex's
 * runtime cannot: requests to a private address fail at the platform's network and at TLS. IP addresses in any notation
 * are refused, and other ports, which would make the service a port scanner.
 */
export const publicAddress = requiredText(2_048)
  .pipe(
    z.url({
      protocol: /^https$/,
      hostname: PUBLIC_NAME,
      normalize: true,
      error:
        "must be an https address with a public name: to try a receiver on your machine, put a tunnel before it",
    }),
  )
  .transform((written) => new URL(written))
  .refine(({ port }) => port === "" || port === "8443", "must be on port 443 or 8443")
  .refine(
    ({ username, password, hash }) => username + password + hash === "",
    "must have no user name, no password and no part after #",
  )
  .refine(
    ({ host, hostname }) => !listOwnHosts().some((own) => own === host || own === hostname),
    "must not be this service's own address",
  )
  .transform(({ href }) => href);

/** Makes a field optional; `""`, `null` and the value of `alsoEmpty` count as omitted. */
export function optionalUnlessBlank<Shape extends z.ZodType>(shape: Shape, alsoEmpty?: string) {
  const isEmpty = (value: unknown) => value === "" || value === null || value === alsoEmpty;
  return z.preprocess((value) => (isEmpty(value) ? undefined : value), shape.optional());
}

/** An optional `userId`; the shared id that some clients send counts as omitted. */
export const optionalUserId = optionalUnlessBlank(userId, SHARED_ID);

const DIGITS = /^\s*[0-9]{1,16}(?:\.[0-9]{1,16})?\s*$/;

/** A number, fractions included, sent as a number or as text: a query has only text. */
export function numberInRange(min: number, max: number, shape: "number" | "int" = "number") {
  const problem = `must be a ${shape === "int" ? "whole " : ""}number from ${min} to ${max}`;
  return z.preprocess(
    (value) => (typeof value === "string" && DIGITS.test(value) ? Number(value) : value),
    (shape === "int" ? z.int(problem) : z.number(problem)).min(min, problem).max(max, problem),
  );
}

/** An optional whole number. @param otherwise The default. */
export function wholeNumberWithDefault(otherwise: number, min: number, max: number) {
  return optionalUnlessBlank(numberInRange(min, max, "int")).transform((given) => given ?? otherwise);
}

/** Accepts a field under several names; the first that is present is moved to the proper name. */
export function withAliases<Shape extends z.ZodType>(aliases: Record<string, string>, shape: Shape) {
  const rename = (value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const fields: Record<string, unknown> = { ...value };
    for (const [alias, name] of Object.entries(aliases)) {
      if (fields[name] === undefined && fields[alias] !== undefined) fields[name] = fields[alias];
      delete fields[alias];
    }
    return fields;
  };
  return z.preprocess(rename, shape).meta({ aliases });
}

/** The body's alternative to the Idempotency-Key header. */
export const idempotencyKey = optionalUnlessBlank(
  requiredText(200).regex(/^[^\uFFFD]+$/, "must consist of whole characters"),
).describe(
  "Repeating a call with the same key returns its first outcome. The Idempotency-Key header is the same; if both are sent, they must not differ.",
);

/** The source of a figure in a text, in the form of an answer. */
export const publicSource = z.object({
  id: z.number().describe("Its number in the texts' citations"),
  name: z.string().describe("The source; a language model is named as one, and is unverified"),
  url: z.string().nullable().describe("A public address of the same data"),
  observedAt: z.iso.datetime(),
  says: z.string(),
});

export function toPublicSources(sources: readonly CitedSource[]): z.output<typeof publicSource>[] {
  return sources.map((one) => ({ ...one, observedAt: toIso(one.observedAt) }));
}

/** Parts of several endpoints' documentation: values of examples, and request headers. */

export const EXAMPLE_USER = "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7";
export const EXAMPLE_ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const EXAMPLE_TX = "0x9b1c7f0de2a34586b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4";
export const EXAMPLE_TIME = "2026-01-05T09:30:00.000Z";

export const IDEMPOTENCY_KEY = {
  "Idempotency-Key":
    "1 to 200 characters of your own choice. Repeating a call with the same key returns its first outcome instead of doing it again; with another request it is 409.",
};

/** Header of the answer to a repeated request. */
export const REPLAYED = {
  "Idempotent-Replayed":
    "`true` if an earlier request with this idempotency key had this outcome, and this one has moved nothing.",
} as const;
