import { v, type Infer } from "convex/values";
import { namesIn } from "./records/records";
import { numberIn } from "./text/locales";

/** Facts: what the service has observed, each with subject, kind, value, source and time; and how they are worded. */

/** What a fact may be measured in. */
const UNITS = ["USD", "percent", "bps", "coins", "gwei", "count", "ratio", "text"] as const;
export type Unit = (typeof UNITS)[number];

/**
 * The wording of each kind: its full name; its unit (± if its sign is a direction and shown, the time over which it is
 * measured, a number in its name); its name in a citation, if the prose does not say it; and its family, within which
 * figures can be subtracted.
 */
export const KINDS = {
  name: "name | text | name | words",
  rank: "rank by market capitalisation | count | rank | rank",
  price: "price | USD | now | price",
  change24h: "price change over 24 hours | percent ± 24h | 24 h | change",
  marketCap: "market capitalisation | USD | market cap | cap",
  volume24h: "volume traded in 24 hours | USD 24h | 24-h volume | volume",
  majorsRising:
    "majors (BTC, ETH, SOL) that rose over 24 hours, of 3 | count 24h of3 | of 3 up, 24 h | majors",
  moverPlace:
    "place by gain among the 50 largest coins over 24 hours | count 24h of50 | by 24-h gain | mover",
  trendingPlace: "place among the most searched coins | count | most searched | search",
  trendingChange: "price change over 24 hours, of a most searched coin | percent ± 24h | 24 h | change",
  lastTrade: "last trade | USD | last trade | price",
  dayChange: "change of the last trade over 24 hours | percent ± 24h | 24 h | change",
  dayHigh: "24-hour high | USD 24h | 24-h high | price",
  dayLow: "24-hour low | USD 24h | 24-h low | price",
  toDayHigh: "price against the 24-hour high | percent ± | against the 24-h high | gap",
  toDayLow: "price against the 24-hour low | percent ± | against the 24-h low | gap",
  dayVolume: "coins traded in 24 hours | coins 24h | 24-h volume | coins",
  bidDepth: "buy orders within 1 % of the price | USD near1 | bids within 1% | book",
  askDepth: "sell orders within 1 % of the price | USD near1 | asks within 1% | book",
  bidShare:
    "share of buy orders in all orders within 1 % of the price | percent near1 | bids of the book | lean",
  spread: "spread between best bid and ask | bps | spread | spread",
  high48h: "48-hour high | USD 48h | 48-h high | price",
  low48h: "48-hour low | USD 48h | 48-h low | price",
  funding: "perpetual funding rate per hour | percent ± 1h | funding per hour | funding",
  fundingYear:
    "perpetual funding, a year at this pace | percent ± | funding, a year at this pace | yearly funding",
  openInterest: "open interest in perpetuals | USD | open interest | interest",
  ethBtc: "price in BTC | ratio | in BTC | ratio",
  blockTransactions: "transactions in the latest block | count | latest block | transactions",
  baseFee: "base fee of the latest block | gwei | base fee | fee",
  usdcSupply: "USDC on Base | USD | USDC on Base | supply",
  moved: "worth of a movement | USD | moved | flow",
  buzz: "buzz, of 10 | count of10 | buzz, of 10 | buzz",
  headline: "headline | text | headline | words",
  wins: "signals won | count | won | record",
  losses: "signals lost | count | lost | record",
  expired: "signals expired | count | expired | record",
  pending: "signals pending | count | pending | record",
  trades: "trades with a result | count | trades | record",
  result: "result before costs | percent ± | result before costs | result",
  resultAfterCosts: "result after costs | percent ± | result after costs | result",
  entry: "entry of the signal | USD | entry | price",
  target: "first target of the signal | USD | first target | price",
  farTarget: "second target of the signal | USD | second target | price",
  stop: "stop of the signal | USD | stop | price",
  confidence: "confidence of the model | percent | confidence | confidence",
} as const;

export function unitOf(kind: keyof typeof KINDS): Unit {
  const [, measured = ""] = KINDS[kind].split(" | ");
  return UNITS.find((unit) => measured.split(" ")[0] === unit) ?? "text";
}

/** The kind of a fact. */
const vKind = v.union(...namesIn(KINDS).map((kind) => v.literal(kind)));
export type Kind = Infer<typeof vKind>;

/** Something that the service observed: source, subject, value and time. */
export const vFact = v.object({
  /** A symbol, or what else it is about: `market`, `Base`, `news`. */
  subject: v.string(),
  kind: vKind,
  value: v.union(v.number(), v.string()),
  unit: v.union(...UNITS.map((unit) => v.literal(unit))),
  /** Epoch ms: when the source saw it, or, if it does not say so, when it was asked. */
  observedAt: v.number(),
  /** The source's name for readers. */
  source: v.string(),
  /** A public address of the same data. */
  url: v.string(),
  /** The source's own name of the coin, where it has one: several coins may share a ticker. */
  id: v.optional(v.string()),
});
export type Fact = Infer<typeof vFact>;

export type Wording = {
  /** In full, as in `BTC price change over 24 hours`. */
  label: string;
  unit: Unit;
  tag: string;
  family: string;
  /** Over how many hours it is measured; `null` for a value at a moment. */
  hours: number | null;
  isSigned: boolean;
  /** A number in its own label, as prose repeats it: "of the 50 largest", "within 1 %". */
  aside: { value: number; unit: "none" | "percent" } | null;
};

const WORDINGS = new Map<Kind, Wording>(namesIn(KINDS).map((kind) => [kind, wordingIn(kind)]));

function wordingIn(kind: Kind): Wording {
  const [label = "", measured = "", tag = "", family = ""] = KINDS[kind].split(" | ");
  const [, hours] = / (\d+)h/.exec(measured) ?? [];
  const [, sort, number] = / (of|near)(\d+)/.exec(measured) ?? [];
  return {
    ...{ label, tag, family, isSigned: measured.includes("±") },
    unit: unitOf(kind),
    hours: hours === undefined ? null : Number(hours),
    aside: number === undefined ? null : { value: Number(number), unit: sort === "of" ? "none" : "percent" },
  };
}

/** How a kind stands in prose. */
export function wordingOf(kind: Kind): Wording {
  return WORDINGS.get(kind) ?? wordingIn(kind);
}

/** A source's figures, kind by kind, as facts; `null` for what it does not say. */
export function factsOf(
  by: Pick<Fact, "subject" | "observedAt" | "source" | "url" | "id">,
  values: Partial<Record<Kind, Fact["value"] | null>>,
): Fact[] {
  return namesIn(values).flatMap((kind) => {
    const value = values[kind] ?? null;
    return value === null ? [] : [{ ...by, kind, value, unit: unitOf(kind) }];
  });
}

/** A fact in words: `BTC price: 97,250.50 USD`. */
export function sayingOf(fact: Pick<Fact, "subject" | "kind" | "value" | "unit">): string {
  const { subject, kind, value, unit } = fact;
  const amount = typeof value === "string" ? `“${value}”` : amountOf(value, unit);
  const whose = subject === "market" ? "Market" : subject;
  return `${whose} ${wordingOf(kind).label}: ${amount}`;
}

/** The significant digits of a small number, and what follows it. */
const SAID: Partial<Record<Unit, readonly [digits: number, behind: string]>> = {
  ...{ USD: [6, " USD"], percent: [4, " %"], bps: [3, " bps"], gwei: [4, " gwei"] },
};

/** A number with its unit, with as many decimals as matter: two from 100 up, with thousands separators. */
export function amountOf(value: number, unit: Fact["unit"]): string {
  const [digits, behind] = SAID[unit] ?? [6, ""];
  const size = Math.abs(value);
  const places = size >= 1_000_000 || (size >= 100 && Number.isInteger(value)) ? 0 : 2;
  const rounding =
    size < 100
      ? { maximumSignificantDigits: digits }
      : { minimumFractionDigits: places, maximumFractionDigits: places };
  return (unit === "percent" && value > 0 ? "+" : "") + numberIn("en", value, rounding) + behind;
}
