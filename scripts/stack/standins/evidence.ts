/**
 * Stand-ins for the public sources of data, for local use: one address serves the paths of all, about the simulated
 * market. Each refuses in its own words, also who asks more often than it allows.
 */

import { binanceSpot, coinbaseExchange } from "./exchanges";
import { json, type Call } from "./http";
import type { Market } from "./market";

export const EVIDENCE_SOURCES = ["coinbase", "binance"] as const;
export type EvidenceSource = (typeof EVIDENCE_SOURCES)[number];

const PATHS: Record<EvidenceSource, RegExp> = {
  coinbase: /^\/products\//,
  binance: /^\/api\/v3\/(?:klines|depth|ticker\/24hr)$/,
};

/** How many requests (or how much weight) a source allows an address within how many ms. */
const ALLOWED: Record<EvidenceSource, { count: number; within: number }> = {
  coinbase: { count: 15, within: 1_000 },
  binance: { count: 6_000, within: 60_000 },
};

export type Evidence = { handle(source: EvidenceSource, call: Call): Response };

/** Whose path it is; `undefined` for nobody's. */
export function evidenceSourceOf(path: string): EvidenceSource | undefined {
  return EVIDENCE_SOURCES.find((source) => PATHS[source].test(path));
}

export function createEvidence(context: { now: () => number; market: Market }): Evidence {
  const asked = new Map<EvidenceSource, { at: number; weight: number }[]>();
  const isTooOften = (source: EvidenceSource, call: Call): boolean => {
    const { count, within } = ALLOWED[source];
    const now = context.now();
    const recent = (asked.get(source) ?? []).filter(({ at }) => at > now - within);
    recent.push({ at: now, weight: weightOf(source, call) });
    asked.set(source, recent);
    return recent.reduce((sum, { weight }) => sum + weight, 0) > count;
  };
  const answers = {
    coinbase: (call: Call) => coinbaseExchange(context, call),
    binance: (call: Call) => binanceSpot(context, call),
  };
  return {
    handle: (source, call) => {
      if (call.method !== "GET") return refusalOf(source, 405, "Method Not Allowed");
      if (isTooOften(source, call)) return refusalOf(source, 429, "Too Many Requests");
      return answers[source](call);
    },
  };
}

function weightOf(source: EvidenceSource, { path, query }: Call): number {
  if (source !== "binance") return 1;
  if (!path.endsWith("depth")) return 2;
  const limit = Number(query.get("limit") ?? "100");
  if (limit <= 100) return 5;
  if (limit <= 500) return 25;
  return limit <= 1_000 ? 50 : 250;
}

function refusalOf(source: EvidenceSource, status: number, reason: string): Response {
  return json(evidenceError(source, status, reason), status);
}

/** An error as the source words it. */
export function evidenceError(source: EvidenceSource, status: number, reason: string): unknown {
  switch (source) {
    case "coinbase":
      return { message: status === 429 ? "Public rate limit exceeded" : reason };
    case "binance":
      if (status !== 429) return { code: -1000, msg: reason };
      return {
        code: -1003,
        msg: "Too much request weight used; current limit is 6000 request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API.",
      };
  }
}
