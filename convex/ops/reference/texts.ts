import { siteUrl } from "../../lib/env";
import { respond, type Answering } from "../../lib/http/router";
import { sha256Hex } from "../../lib/security/crypto";
import type { OpenApi } from "./types";

/**
 * The reference as it goes out. The document was written with the code, since making it evaluates every endpoint: only a
 * deployment's own address is filled in.
 */

/** What stands for that address in the document. */
export const ADDRESS = "https://deployment.invalid";

const CACHED = { "Cache-Control": "public, max-age=60", Vary: "Accept-Encoding" };
const MEDIA = { document: "application/json", page: "text/html" } as const;

type Which = keyof typeof MEDIA;

/** The endpoints that answer it, as the router knows them. */
export const texts: Readonly<Record<Which, Answering>> = {
  document: { methods: ["GET"], path: "/openapi.json", handle: answering("document") },
  page: { methods: ["GET"], path: "/docs", handle: answering("page") },
};

function answering(which: Which): Answering["handle"] {
  return async (_ctx, request, requestId) => {
    const { TAG, DOCUMENT } = await import("./written");
    const address = siteUrl();
    const headers = { ...CACHED, ETag: `W/"${TAG}-${sha256Hex(address).slice(0, 8)}"` };
    const respondWith = (status: number, body: Parameters<typeof respond>[2], more: Record<string, string>) =>
      respond(status, MEDIA[which], body, requestId, { ...headers, ...more });
    if (names(request, "if-none-match", headers.ETag)) return respondWith(304, null, {});
    const { gunzipSync, gzipSync } = await import("fflate");
    const packed = Uint8Array.from(atob(DOCUMENT), (byte) => byte.charCodeAt(0));
    const written = new TextDecoder().decode(gunzipSync(packed));
    const document = written.replaceAll(ADDRESS, JSON.stringify(address).slice(1, -1));
    const { text, more } = which === "document" ? { text: document, more: {} } : await pageOf(document);
    if (!names(request, "accept-encoding", "gzip")) return respondWith(200, text, more);
    const bytes = new Uint8Array(gzipSync(new TextEncoder().encode(text), { mtime: 0 }));
    return respondWith(200, bytes, { ...more, "Content-Encoding": "gzip" });
  };
}

async function pageOf(document: string): Promise<{ text: string; more: Record<string, string> }> {
  const { page } = await import("./page");
  const written: unknown = JSON.parse(document);
  if (!isDocument(written)) throw new Error("The API document is written anew by `npm run codegen`");
  const { html, headers } = page(written);
  return { text: html, more: headers };
}

function isDocument(written: unknown): written is OpenApi {
  return typeof written === "object" && written !== null && "openapi" in written;
}

/** Whether a header's list names it, and does not rule it out. */
function names(request: Request, header: string, wanted: string): boolean {
  const list = (request.headers.get(header) ?? "").split(",").map((one) => one.trim());
  const isGood = (one: string) => one.startsWith(`${wanted};`) && !/;\s*q=0(?:\.0*)?$/.test(one);
  return list.some((one) => one === "*" || one === wanted || isGood(one));
}
