/**
 * Stand-ins for the public sources of data, for local use: one address serves the paths of all, about the simulated
 * market. Each refuses in its own words, including requests beyond its limit.
 */

import { coinbaseExchange } from "./coinbase";
import { json, type Call } from "../http";
import { feed } from "./news";
import { coingecko, hyperliquid, type Context } from "./publicSources";

type Source = {
  /** Its paths at the shared address. */
  paths: RegExp;
  method?: "GET" | "POST";
  /** How many requests, or how much weight, it allows an address within so many ms. */
  allowed: { count: number; within: number };
  /** The weight of a request; 1 if all weigh the same. */
  weight?: number;
  answer: (context: Context, call: Call) => Response;
  /** An error in its own words, in JSON or a page. */
  error: (status: number, reason: string) => unknown;
};

const SOURCES = {
  coinbase: {
    paths: /^\/products\//,
    allowed: { count: 15, within: 1_000 },
    answer: coinbaseExchange,
    error: (status, reason) => ({ message: status === 429 ? "Public rate limit exceeded" : reason }),
  },
  coingecko: {
    paths: /^\/api\/v3\/(?:coins\/markets|search\/trending)$/,
    allowed: { count: 10, within: 60_000 },
    answer: coingecko,
    error: (status, reason) => ({ status: { error_code: status, error_message: reason } }),
  },
  hyperliquid: {
    paths: /^\/info$/,
    method: "POST",
    allowed: { count: 1_200, within: 60_000 },
    weight: 20,
    answer: hyperliquid,
    error: (_status, reason) => ({ message: reason }),
  },
  coindesk: site(/^\/arc\/outboundfeeds\/rss\/$/),
  cointelegraph: site(/^\/rss$/),
  decrypt: site(/^\/feed$/),
} satisfies Record<string, Source>;

/** A site with a feed; it refuses frequent requests with a page. */
function site(paths: RegExp): Source {
  return {
    paths,
    allowed: { count: 30, within: 60_000 },
    answer: feed,
    error: (status, reason) => `<html><head><title>${status} ${reason}</title></head></html>`,
  };
}

export type EvidenceSource = keyof typeof SOURCES;
export const EVIDENCE_SOURCES: readonly EvidenceSource[] = Object.keys(SOURCES).filter(isEvidenceSource);

export function isEvidenceSource(name: string): name is EvidenceSource {
  return Object.hasOwn(SOURCES, name);
}

/** The source of a path; `undefined` if there is none. */
export function evidenceSourceOf(path: string): EvidenceSource | undefined {
  return EVIDENCE_SOURCES.find((source) => SOURCES[source].paths.test(path));
}

/** @returns Each source's stand-in. */
export function createEvidence(context: Context) {
  const asked = new Map<EvidenceSource, { at: number; weight: number }[]>();
  const isTooOften = (source: EvidenceSource): boolean => {
    const { allowed, weight = 1 }: Source = SOURCES[source];
    const now = context.now();
    const recent = (asked.get(source) ?? []).filter(({ at }) => at > now - allowed.within);
    recent.push({ at: now, weight });
    asked.set(source, recent);
    return recent.reduce((sum, one) => sum + one.weight, 0) > allowed.count;
  };
  return (source: EvidenceSource) => {
    const { method = "GET", answer, error }: Source = SOURCES[source];
    const refuse = (status: number, reason: string) => {
      const body = error(status, reason);
      return typeof body === "string" ? new Response(body, { status }) : json(body, status);
    };
    const handle = (call: Call): Response => {
      if (call.method !== method) return refuse(405, "Method Not Allowed");
      if (isTooOften(source)) return refuse(429, "Too Many Requests");
      return answer(context, call);
    };
    return { handle, error };
  };
}
