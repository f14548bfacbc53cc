import { listKeys } from "../lib/objects";
import { MINUTE, SECOND } from "../lib/time";

/** The public sources of data: limits, addresses and names. None needs a key; CoinGecko accepts one. */

/**
 * The request rate for each source, all callers together: lower than the source allows one address, which a deployment may
 * share with others. For a source that allows several requests a second, `maxReserved` more may wait, a second at most.
 * Allowed: Coinbase 10 a second (docs.cdp.coinbase.com/exchange/rest-api/rate-limits), CoinGecko 5 to 15 a minute without a
 * key (support.coingecko.com), Hyperliquid a weight of 1,200 a minute at 20 a request; the feeds state none.
 */
export const SOURCE_LIMITS = {
  coinbase: { kind: "token bucket", rate: 4, period: SECOND, capacity: 8, maxReserved: 4 },
  coingecko: { kind: "token bucket", rate: 5, period: MINUTE, capacity: 4, maxReserved: 0 },
  hyperliquid: { kind: "token bucket", rate: 10, period: MINUTE, capacity: 4, maxReserved: 0 },
  coindesk: { kind: "token bucket", rate: 6, period: MINUTE, capacity: 3, maxReserved: 0 },
  cointelegraph: { kind: "token bucket", rate: 6, period: MINUTE, capacity: 3, maxReserved: 0 },
  decrypt: { kind: "token bucket", rate: 6, period: MINUTE, capacity: 3, maxReserved: 0 },
} as const;

export type PublicSource = keyof typeof SOURCE_LIMITS;

/** The sources that publish headlines as a feed. */
export const NEWS_FEEDS = ["coindesk", "cointelegraph", "decrypt"] as const;
export type Feed = (typeof NEWS_FEEDS)[number];

/** Their real addresses. EVIDENCE_API_URL is one address that serves the paths of all. */
export const SOURCE_ADDRESSES: Record<PublicSource, string> = {
  coinbase: "https://api.exchange.coinbase.com",
  coingecko: "https://api.coingecko.com",
  hyperliquid: "https://api.hyperliquid.xyz",
  coindesk: "https://www.coindesk.com",
  cointelegraph: "https://cointelegraph.com",
  decrypt: "https://decrypt.co",
};

/** Their names for readers, and those of the other two sources of figures: the feeds on Base and the model. */
export const SOURCE_NAMES: Record<PublicSource | "chainlink" | "model", string> = {
  coinbase: "Coinbase",
  coingecko: "CoinGecko",
  hyperliquid: "Hyperliquid",
  coindesk: "CoinDesk",
  cointelegraph: "Cointelegraph",
  decrypt: "Decrypt",
  chainlink: "Chainlink",
  model: "a language model",
};

/** A source's name for readers, by its name in rows and answers. */
export function getSourceName(source: string): string {
  const names: Readonly<Record<string, string>> = SOURCE_NAMES;
  return names[source] ?? source;
}

/** `Chainlink and Coinbase`. */
export function joinSourceNames(points: readonly { source: string }[]): string {
  const names = [...new Set(points.map(({ source }) => getSourceName(source)))];
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

export const PUBLIC_SOURCES = listKeys(SOURCE_LIMITS);
