import { namesIn } from "../lib/records";
import { groupedDigits, withoutTrailing } from "../lib/text";
import type { Unit } from "./numbers";
import type { Fact, Kind } from "./tables";

/** How facts are worded: for the writer of a report, for its checker and for its readers alike. Pure. */

/** What a fact may be measured in. */
export const UNITS = {
  USD: "usd",
  percent: "percent",
  bps: "bps",
  coins: "coins",
  gwei: "gwei",
  count: null,
  text: null,
} as const satisfies Record<string, Unit | null>;

/** How each kind is called, and in what it is measured. */
export const KINDS = {
  name: { label: "name", unit: "text" },
  rank: { label: "rank by market capitalisation", unit: "count" },
  price: { label: "price", unit: "USD" },
  change24h: { label: "price change over 24 hours", unit: "percent" },
  marketCap: { label: "market capitalisation", unit: "USD" },
  volume24h: { label: "volume traded in 24 hours", unit: "USD" },
  rising: { label: "coins that rose over 24 hours, of the 50 largest", unit: "count" },
  trendingPlace: { label: "place among the most searched coins", unit: "count" },
  trendingChange: { label: "price change over 24 hours, of a most searched coin", unit: "percent" },
  lastTrade: { label: "last trade", unit: "USD" },
  dayChange: { label: "change of the last trade over 24 hours", unit: "percent" },
  dayHigh: { label: "24-hour high", unit: "USD" },
  dayLow: { label: "24-hour low", unit: "USD" },
  dayVolume: { label: "coins traded in 24 hours", unit: "coins" },
  bidDepth: { label: "buy orders within 1 % of the price", unit: "USD" },
  askDepth: { label: "sell orders within 1 % of the price", unit: "USD" },
  spread: { label: "spread between best bid and ask", unit: "bps" },
  high48h: { label: "48-hour high", unit: "USD" },
  low48h: { label: "48-hour low", unit: "USD" },
  funding: { label: "perpetual funding rate per hour", unit: "percent" },
  openInterest: { label: "open interest in perpetuals", unit: "USD" },
  stablecoinSupply: { label: "supply of dollar stablecoins", unit: "USD" },
  stablecoinWeek: { label: "change of the supply of dollar stablecoins over 7 days", unit: "percent" },
  blockTransactions: { label: "transactions in the latest block", unit: "count" },
  baseFee: { label: "base fee of the latest block", unit: "gwei" },
  usdcSupply: { label: "USDC on Base", unit: "USD" },
  headline: { label: "headline", unit: "text" },
} as const satisfies Record<string, { label: string; unit: keyof typeof UNITS }>;

/** What each collector brings, as readers know it. */
export const COLLECTIONS = {
  markets: "the table of coins",
  trending: "the most searched coins",
  day: "last trades",
  book: "order book",
  candles: "hourly candles",
  perpetuals: "perpetual markets",
  stablecoins: "stablecoin supply",
  news: "news",
  base: "the state of Base",
} as const;

export function unitOf({ unit }: Pick<Fact, "unit">): Unit | null {
  return UNITS[unit];
}

/** What a source says at once, kind by kind, as facts; `null` is what it does not say. */
export function factsOf(
  by: Pick<Fact, "subject" | "observedAt" | "source" | "url">,
  told: Partial<Record<Kind, Fact["value"] | null>>,
): Fact[] {
  return namesIn(told).flatMap((kind) => {
    const value = told[kind] ?? null;
    return value === null ? [] : [{ ...by, kind, value, unit: KINDS[kind].unit }];
  });
}

/** A fact in words: `BTC price: 97,250.50 USD`. */
export function sayingOf({
  subject,
  kind,
  value,
  unit,
}: Pick<Fact, "subject" | "kind" | "value" | "unit">): string {
  const told = typeof value === "string" ? `“${value}”` : amountOf(value, unit);
  const whose = subject === "market" ? "Market" : subject;
  return `${whose} ${KINDS[kind].label}: ${told}`;
}

/** A number with its unit, in as many places as matter. */
export function amountOf(value: number, unit: Fact["unit"]): string {
  switch (unit) {
    case "USD":
      return `${decimal(value)} USD`;
    case "percent":
      return `${value > 0 ? "+" : ""}${decimal(value, 4)} %`;
    case "bps":
      return `${decimal(value, 3)} bps`;
    case "gwei":
      return `${decimal(value, 4)} gwei`;
    case "coins":
    case "count":
    case "text":
      return decimal(value);
  }
}

/** With thousands apart: two places from 100 up, six digits that count below. */
function decimal(value: number, significant = 6): string {
  const size = Math.abs(value);
  const rounded =
    size >= 1_000_000 ? value.toFixed(0) : size >= 100 ? value.toFixed(2) : plainly(value, significant);
  const [whole = "", part] = rounded.split(".");
  const sign = whole.startsWith("-") ? "-" : "";
  const grouped = sign + groupedDigits(whole.slice(sign.length));
  return part === undefined || /^0+$/.test(part) ? grouped : `${grouped}.${part}`;
}

function plainly(value: number, significant: number): string {
  if (value === 0) return "0";
  const places = Math.max(0, significant - 1 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(places, 18));
  return text.includes(".") ? withoutTrailing(withoutTrailing(text, "0"), ".") : text;
}
