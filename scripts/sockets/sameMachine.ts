import type { IncomingHttpHeaders } from "node:http";

/**
 * Ports of this machine answer whatever its browser sends, pages of strangers included. Who comes from such a page names it
 * in `Origin`, or, with a name of its own that leads here, in `Host`.
 */

const LOCAL = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Why a request is not from this machine's own pages and programs; `null` when it is. */
export function foreignness({ host, origin }: IncomingHttpHeaders): string | null {
  if (host !== undefined && !isLocal(`http://${host}`)) return "Host names another machine";
  if (origin !== undefined && !isLocal(origin)) return "Origin is a page from elsewhere";
  return null;
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && LOCAL.has(new URL(url).hostname);
}
