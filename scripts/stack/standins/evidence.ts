/**
 * Stand-ins for the public sources of data, for local use: one address serves the paths of all, about the simulated
 * market. Each refuses in its own words, also who asks more often than it allows.
 */

import { binanceSpot, coinbaseExchange } from "./exchanges";
import { json, type Call } from "./http";
import { coingecko, defillama, gdelt, hyperliquid, type Context } from "./publicSources";

export const EVIDENCE_SOURCES = [
  "coinbase",
  "binance",
  "coingecko",
  "hyperliquid",
  "defillama",
  "gdelt",
] as const;
export type EvidenceSource = (typeof EVIDENCE_SOURCES)[number];

const PATHS: Record<EvidenceSource, RegExp> = {
  coinbase: /^\/products\//,
  binance: /^\/api\/v3\/(?:klines|depth|ticker\/24hr)$/,
  coingecko: /^\/api\/v3\/(?:coins\/markets|search\/trending)$/,
  hyperliquid: /^\/info$/,
  defillama: /^\/stablecoincharts\//,
  gdelt: /^\/api\/v2\/doc\/doc$/,
};

/** How many requests (or how much weight) a source allows an address within how many ms. */
const ALLOWED: Record<EvidenceSource, { count: number; within: number }> = {
  coinbase: { count: 15, within: 1_000 },
  binance: { count: 6_000, within: 60_000 },
  coingecko: { count: 10, within: 60_000 },
  hyperliquid: { count: 1_200, within: 60_000 },
  defillama: { count: 300, within: 60_000 },
  gdelt: { count: 1, within: 5_000 },
};

export type Evidence = { handle(source: EvidenceSource, call: Call): Response };

/** Whose path it is; `undefined` for nobody's. */
export function evidenceSourceOf(path: string): EvidenceSource | undefined {
  return EVIDENCE_SOURCES.find((source) => PATHS[source].test(path));
}

export function createEvidence(context: Context): Evidence {
  const asked = new Map<EvidenceSource, { at: number; weight: number }[]>();
  const isTooOften = (source: EvidenceSource, call: Call): boolean => {
    const { count, within } = ALLOWED[source];
    const now = context.now();
    const recent = (asked.get(source) ?? []).filter(({ at }) => at > now - within);
    recent.push({ at: now, weight: weightOf(source, call) });
    asked.set(source, recent);
    return recent.reduce((sum, { weight }) => sum + weight, 0) > count;
  };
  const answers: Record<EvidenceSource, (context: Context, call: Call) => Response> = {
    coinbase: coinbaseExchange,
    binance: binanceSpot,
    coingecko,
    hyperliquid,
    defillama,
    gdelt,
  };
  return {
    handle: (source, call) => {
      const method = source === "hyperliquid" ? "POST" : "GET";
      if (call.method !== method) return refusalOf(source, 405, "Method Not Allowed");
      if (isTooOften(source, call)) return refusalOf(source, 429, "Too Many Requests");
      return answers[source](context, call);
    },
  };
}

function weightOf(source: EvidenceSource, { path, query }: Call): number {
  if (source === "hyperliquid") return 20;
  if (source !== "binance") return 1;
  if (!path.endsWith("depth")) return 2;
  const limit = Number(query.get("limit") ?? "100");
  if (limit <= 100) return 5;
  if (limit <= 500) return 25;
  return limit <= 1_000 ? 50 : 250;
}

function refusalOf(source: EvidenceSource, status: number, reason: string): Response {
  const body = evidenceError(source, status, reason);
  return typeof body === "string" ? new Response(body, { status }) : json(body, status);
}

/** An error as the source words it; two of them answer in prose. */
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
    case "coingecko":
      return { status: { error_code: status, error_message: reason } };
    case "hyperliquid":
    case "defillama":
      return { message: reason };
    case "gdelt":
      return status === 429 ? "Please limit requests to one every 5 seconds.\n" : reason;
  }
}
