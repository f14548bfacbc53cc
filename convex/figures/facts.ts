import { v, type Infer } from "convex/values";
import { listKeys } from "../lib/objects";
import { formatBigUsd, formatDollars, formatGrouped, formatPercent, formatSmall } from "../lib/text/numbers";

/** Facts: observations with subject, kind, value, source and time, and their wording. */

/** The unit of a fact. */
type Unit = "USD" | "percent" | "bps" | "coins" | "gwei" | "count" | "text";

type Measure = {
  /** In full, as in `BTC price change over 24 hours`. */
  label: string;
  unit: Unit;
  /** Whether its sign is a direction, and shown. */
  isSigned?: boolean;
  /** Kinds that are measured alike: their figures can be subtracted. By default each kind is one of its own. */
  alike?: "price" | "change" | "book" | "record";
};

/** The most frequent kinds first: validating a fact walks this list. */
export const KINDS = {
  name: { label: "name", unit: "text" },
  price: { label: "price", unit: "USD", alike: "price" },
  change24h: { label: "price change over 24 hours", unit: "percent", isSigned: true, alike: "change" },
  marketCap: { label: "market capitalisation", unit: "USD" },
  volume24h: { label: "volume traded in 24 hours", unit: "USD" },
  rank: { label: "rank by market capitalisation", unit: "count" },
  funding: { label: "perpetual funding rate per hour", unit: "percent", isSigned: true },
  openInterest: { label: "open interest in perpetuals", unit: "USD" },
  trendingPlace: { label: "place among the most searched coins", unit: "count" },
  trendingChange: {
    label: "price change over 24 hours, of a most searched coin",
    unit: "percent",
    isSigned: true,
    alike: "change",
  },
  lastTrade: { label: "last trade", unit: "USD", alike: "price" },
  dayChange: {
    label: "change of the last trade over 24 hours",
    unit: "percent",
    isSigned: true,
    alike: "change",
  },
  dayHigh: { label: "24-hour high", unit: "USD", alike: "price" },
  dayLow: { label: "24-hour low", unit: "USD", alike: "price" },
  dayVolume: { label: "coins traded in 24 hours", unit: "coins" },
  bidDepth: { label: "buy orders within 1 % of the price", unit: "USD", alike: "book" },
  askDepth: { label: "sell orders within 1 % of the price", unit: "USD", alike: "book" },
  spread: { label: "spread between best bid and ask", unit: "bps" },
  high48h: { label: "48-hour high", unit: "USD", alike: "price" },
  low48h: { label: "48-hour low", unit: "USD", alike: "price" },
  blockTransactions: { label: "transactions in the latest block", unit: "count" },
  baseFee: { label: "base fee of the latest block", unit: "gwei" },
  usdcSupply: { label: "USDC on Base", unit: "USD" },
  moved: { label: "worth of a movement", unit: "USD" },
  sinceStart: { label: "price since the shift began", unit: "percent", isSigned: true },
  startPrice: { label: "price when the shift began", unit: "USD", alike: "price" },
  buzz: { label: "buzz", unit: "count" },
  statement: { label: "statement", unit: "text" },
  headline: { label: "headline", unit: "text" },
  wins: { label: "signals won", unit: "count", alike: "record" },
  losses: { label: "signals lost", unit: "count", alike: "record" },
  expired: { label: "signals expired", unit: "count", alike: "record" },
  pending: { label: "signals pending", unit: "count", alike: "record" },
  trades: { label: "trades with a result", unit: "count", alike: "record" },
  result: { label: "result before costs", unit: "percent", isSigned: true },
  resultAfterCosts: { label: "result after costs", unit: "percent", isSigned: true },
  entry: { label: "entry of the signal", unit: "USD", alike: "price" },
  target: { label: "first target of the signal", unit: "USD", alike: "price" },
  farTarget: { label: "second target of the signal", unit: "USD", alike: "price" },
  stop: { label: "stop of the signal", unit: "USD", alike: "price" },
  confidence: { label: "confidence of the model", unit: "percent" },
} as const satisfies Readonly<Record<string, Measure>>;

export type FactKind = keyof typeof KINDS;

export const getMeasure = (kind: FactKind): Measure => KINDS[kind];

export const getUnit = (kind: FactKind): Unit => KINDS[kind].unit;

/** Something that the service observed: source, subject, value and time. */
export const vFact = v.object({
  /** A symbol, or what else it is about: `market`, `Base`, `news`. */
  subject: v.string(),
  kind: v.union(...listKeys(KINDS).map((kind) => v.literal(kind))),
  value: v.union(v.number(), v.string()),
  /** Epoch ms: the source's own time, or, if it has none, the time of the request. */
  observedAt: v.number(),
  /** The source's name for readers. */
  source: v.string(),
  /** A public address of the same data. */
  url: v.string(),
  /** The source's own name of the coin, where it has one: several coins may share a ticker. */
  id: v.optional(v.string()),
});
export type Fact = Infer<typeof vFact>;

/** A fact with its number and its statement for writers and readers: `BTC price: $97,250.50`. */
export const vSource = v.object({ id: v.number(), says: v.string(), fact: vFact });
export type Source = Infer<typeof vSource>;

/** A fact for readers: its number in the text's citations, and its origin. */
export const vCitedSource = v.object({
  id: v.number(),
  name: v.string(),
  /** `null` without a public page. */
  url: v.union(v.string(), v.null()),
  observedAt: v.number(),
  says: v.string(),
});
export type CitedSource = Infer<typeof vCitedSource>;

/** A source's figures as facts, kind by kind; `null` for a figure that the source does not have. */
export function buildFacts(
  by: Pick<Fact, "subject" | "observedAt" | "source" | "url" | "id">,
  values: Partial<Record<FactKind, Fact["value"] | null>>,
): Fact[] {
  return listKeys(values).flatMap((kind) => {
    const value = values[kind] ?? null;
    return value === null ? [] : [{ ...by, kind, value }];
  });
}

/** A fact in words: `BTC price: $97,250.50`. */
export function formatFact({ subject, kind, value }: Fact): string {
  const amount = typeof value === "string" ? `“${value}”` : formatAmount({ subject, kind, value });
  return `${subject === "market" ? "Market" : subject} ${KINDS[kind].label}: ${amount}`;
}

/** A figure in the one style: `$97,250.50`, `$2.10T`, `+1.42 %`, `8 of 10`. */
export function formatAmount({
  subject,
  kind,
  value,
}: Pick<Fact, "subject" | "kind"> & { value: number }): string {
  const unit = getUnit(kind);
  const size = Math.abs(value);
  const minus = value < 0 ? "−" : "";
  if (unit === "percent") {
    const plus = getMeasure(kind).isSigned === true && size > 0 ? "+" : "";
    return (minus === "" ? plus : minus) + formatSize(size);
  }
  if (unit === "USD") return minus + (size >= 1e6 ? formatBigUsd(size) : formatDollars(size));
  if (kind === "buzz") return `${formatNumeral(size)} of 10`;
  const unitWord = unit === "bps" || unit === "gwei" ? unit : unit === "coins" ? subject : "";
  return `${minus}${formatNumeral(size)}${unitWord === "" ? "" : `\u00A0${unitWord}`}`;
}

/** Two decimals, and more only where these would be nothing. */
export const formatSize = (size: number): string =>
  size === 0 || size >= 0.1 ? formatPercent(size, 2) : formatPercent(Number(size.toPrecision(3)));

export function formatNumeral(size: number): string {
  if (size < 1) return size === 0 ? "0" : formatSmall(size, 3);
  return formatGrouped(size, size >= 100 ? 0 : 2).replace(/\.00$/, "");
}
