import { groupedDigits, withoutTrailing } from "../lib/text";
import type { Unit } from "./numbers";
import type { Fact, Kind } from "./tables";

/** How facts are worded: for the writer of a report, for its checker and for its readers alike. Pure. */

const LABELS: Record<Kind, string> = {
  name: "name",
  rank: "rank by market capitalisation",
  price: "price",
  change24h: "price change over 24 hours",
  marketCap: "market capitalisation",
  volume24h: "volume traded in 24 hours",
  rising: "coins that rose over 24 hours, of the 50 largest",
  trendingPlace: "place among the most searched coins",
  trendingChange: "price change over 24 hours, of a most searched coin",
  lastTrade: "last trade",
  dayChange: "change of the last trade over 24 hours",
  dayHigh: "24-hour high",
  dayLow: "24-hour low",
  dayVolume: "coins traded in 24 hours",
  bidDepth: "buy orders within 1 % of the price",
  askDepth: "sell orders within 1 % of the price",
  spread: "spread between best bid and ask",
  high48h: "48-hour high",
  low48h: "48-hour low",
  funding: "perpetual funding rate per hour",
  openInterest: "open interest in perpetuals",
  stablecoinSupply: "supply of dollar stablecoins",
  stablecoinWeek: "change of the supply of dollar stablecoins over 7 days",
  blockTransactions: "transactions in the latest block",
  baseFee: "base fee of the latest block",
  usdcSupply: "USDC on Base",
  headline: "headline",
};

const UNITS: Record<Fact["unit"], Unit | null> = {
  USD: "usd",
  percent: "percent",
  bps: "bps",
  coins: "coins",
  gwei: "gwei",
  count: null,
  text: null,
};

export function unitOf({ unit }: Pick<Fact, "unit">): Unit | null {
  return UNITS[unit];
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
  return `${whose} ${LABELS[kind]}: ${told}`;
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
