import { getSiteUrl } from "../../lib/env";
import { getPath, respond, type Answering } from "../../platform/http/router";
import { sha256Hex } from "../../lib/crypto";
import { AppError } from "../../lib/errors";
import { ICON } from "../html";
import { PROXY_PATH } from "../../lib/version";
import { joinPieces } from "./splices";

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
    const { gunzipSync } = await import("fflate");
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
