import { getSiteUrl } from "../../lib/env";
import { getPath, respond, type Answering } from "../../platform/http/router";
import { sha256Hex } from "../../lib/crypto";
import { AppError } from "../../lib/errors";
import { ICON } from "../assets";
import { PROXY_PATH } from "../../lib/version";

/**
 * The answers of the reference. Its texts are generated at build time, since making them evaluates every endpoint; a request
 * only fills in the deployment's own address.
 */

/** Placeholder of that address in the texts. */
export const ADDRESS = "https://deployment.invalid";

const CACHED = { "Cache-Control": "public, max-age=60", Vary: "Accept-Encoding" };
const MEDIA = {
  document: "application/json",
  page: "text/html",
  llms: "text/plain",
  proxy: "text/javascript",
} as const;

type Which = keyof typeof MEDIA;

/** The reference's entries of the router. */
export const texts: Readonly<Record<Which | "subject" | "robots" | "icon", Answering>> = {
  document: { methods: ["GET"], path: "/openapi.json", handle: createHandler("document") },
  page: { methods: ["GET"], path: "/docs", handle: createHandler("page") },
  subject: { methods: ["GET"], path: "/docs/{subject}", handle: createHandler("page") },
  llms: { methods: ["GET"], path: "/llms.txt", handle: createHandler("llms") },
  proxy: { methods: ["GET"], path: PROXY_PATH, handle: createHandler("proxy") },
  robots: {
    methods: ["GET"],
    path: "/robots.txt",
    handle: createConstantHandler("text/plain", buildRobots),
  },
  icon: {
    methods: ["GET"],
    path: "/favicon.ico",
    handle: createConstantHandler("image/svg+xml", () =>
      decodeURIComponent(ICON.slice(ICON.indexOf(",") + 1)),
    ),
  },
};

function createHandler(which: Which): Answering["handle"] {
  return async (_ctx, request, requestId) => {
    const { TAG, TEXTS, PAGE_HEADERS } = await import("./bytes");
    const name = which === "page" ? getPath(request) : which;
    const held = TEXTS[name];
    if (held === undefined)
      throw new AppError(
        "not_found",
        "This deployment was built without this text: run npm run build and deploy again",
      );
    const address = getSiteUrl();
    const headers = { ...CACHED, ETag: `W/"${TAG}-${sha256Hex(address + name).slice(0, 8)}"` };
    const more = which === "page" ? PAGE_HEADERS : {};
    const respondWith = (status: number, body: Parameters<typeof respond>[2], packing = {}) =>
      respond(status, MEDIA[which], body, requestId, { ...more, ...headers, ...packing });
    if (hasValue(request, "if-none-match", headers.ETag)) return respondWith(304, null);
    const packed = joinPieces(held, JSON.stringify(address).slice(1, -1));
    if (hasValue(request, "accept-encoding", "gzip"))
      return respondWith(200, packed, { "Content-Encoding": "gzip" });
    const { gunzipSync } = await import("./gunzip");
    return respondWith(200, new TextDecoder().decode(gunzipSync(packed)));
  };
}

function createConstantHandler(
  media: Parameters<typeof respond>[1],
  write: () => string,
): Answering["handle"] {
  return (_ctx, _request, requestId) =>
    Promise.resolve(respond(200, media, write(), requestId, { "Cache-Control": "public, max-age=86400" }));
}

/**
 * The rules for crawlers: pages, references and answers from a cache are open; endpoints that take a `userId` or cost money
 * are closed. The longest matching rule counts, then the first.
 */
function buildRobots(): string {
  const open = ["market", "prices", "signals/", "whale-alerts", "research/report"];
  const closed = ["/mcp/", "/agent/", "/alerts", "/webhooks", "/user/", "/messenger/"];
  const rules = [...open.map((path) => `Allow: /mcp/${path}`), ...closed.map((path) => `Disallow: ${path}`)];
  return ["User-agent: *", ...rules, "Allow: /", `Sitemap: ${getSiteUrl()}/sitemap.xml`, ""].join("\n");
}

/** Whether a header's list contains a value, and does not exclude it. */
function hasValue(request: Request, header: string, value: string): boolean {
  const list = (request.headers.get(header) ?? "").split(",").map((one) => one.trim());
  const isGood = (one: string) => one.startsWith(`${value};`) && !/;\s*q=0(?:\.0*)?$/.test(one);
  return list.some((one) => one === "*" || one === value || isGood(one));
}

/*
 * Gzip of a text from pieces that were compressed at build time, with another text between them: a request compresses
 * nothing. A piece is a run of deflate blocks that ends at a whole byte (RFC 1951), so pieces can be joined; the checksum of
 * the whole (RFC 1952) is computed from theirs.
 */

/** `bytes`: its blocks, in base64; `length` and `crc` are those of its text in UTF-8. */
export type Piece = { bytes: string; length: number; crc: number };

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});
const updateCrc = (crc: number, byte = 0) => (TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);

const HEADER = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/** An empty block with the mark of the last. */
const LAST = [1, 0, 0, 0xff, 0xff];

/** @param between A short text, which is stored uncompressed. */
function joinPieces(pieces: readonly Piece[], between: string): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(between);
  const size = [text.length & 0xff, text.length >> 8];
  const stored = Uint8Array.of(0, ...size, ...size.map((byte) => byte ^ 0xff), ...text);
  const crcOfText = ~text.reduce(updateCrc, -1) >>> 0;
  const parts: Uint8Array[] = [Uint8Array.from(HEADER)];
  let [crc, length] = [0, 0];
  const add = (part: Uint8Array, one: { length: number; crc: number }) => {
    parts.push(part);
    for (let i = 0; i < one.length; i++) crc = updateCrc(crc);
    crc ^= one.crc;
    length += one.length;
  };
  for (const [i, piece] of pieces.entries()) {
    if (i > 0) add(stored, { length: text.length, crc: crcOfText });
    add(
      Uint8Array.from(atob(piece.bytes), (char) => char.charCodeAt(0)),
      piece,
    );
  }
  const end = [crc, length].flatMap((word) => [0, 8, 16, 24].map((shift) => (word >>> shift) & 0xff));
  parts.push(Uint8Array.of(...LAST, ...end));
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((at, part) => (whole.set(part, at), at + part.length), 0);
  return whole;
}
