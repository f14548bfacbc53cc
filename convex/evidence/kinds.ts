import { namesIn } from "../lib/records";
import { groupedDigits, withoutTrailing } from "../lib/text";
import type { Fact, Kind } from "./tables";

/** How facts are worded: for the writer of a text, for its figures and for its readers alike. Pure. */

/** What a fact may be measured in. */
export const UNITS = ["USD", "percent", "bps", "coins", "gwei", "count", "ratio", "text"] as const;
export type Unit = (typeof UNITS)[number];

/** What prose calls a topic, in the languages served. A word that is missing costs style: the tag is shown. */
const TOPICS: Readonly<Record<string, string>> = {
  price:
    "last trade|prices?|priced|trad(?:es?|ing)|spot|quoted|changes hands|costs?|Kurs|Preis|notiert|precio|cotiza|prix|cours|cote|preço|cotad[ao]|negociad[ao]|价格|报价|交易|価格|取引",
  move: "changed?|moved?|gains?|loss|lost|Veränderung|cambio|variation|variação|涨跌|騰落",
  high: "highs?|peak|Hoch|Höchststand|máximo|plus haut|máxima|最高|高点|高値",
  low: "lows?|trough|Tief|Tiefststand|mínimo|plus bas|mínima|最低|低点|安値",
  cap: "capitali[sz]ation|market[- ]cap|market value|Marktkapitalisierung|capitalización|capitalisation|capitalização|市值|時価総額",
  volume: "volumes?|turnover|turned over|Volumen|Umsatz|volumen|成交|出来高",
  bids: "bids?|buy orders|buyers|Kauforders|órdenes de compra|ordres d.achat|ordens de compra|买单|买盘|買い",
  asks: "asks?|sell orders|sellers|offers|Verkaufsorders|órdenes de venta|ordres de vente|ordens de venda|卖单|卖盘|売り",
  stable: "stable ?coins?|dollar tokens|稳定币|ステーブルコイン",
  funding: "funding|Finanzierungsrate|financiación|financement|financiamento|资金费率|資金調達",
  interest: "open interest|OI|interés abierto|intérêt ouvert|未平仓|建玉",
  coins: "coins|tokens|majors|Coins|monedas|criptomonedas|cryptos|moedas|币|銘柄",
  rank: "rank(?:s|ed|ing)?|largest|biggest",
  search: "search(?:es|ed)?",
  spread: "spreads?|écart|价差|スプレッド",
  usdc: "USDC",
  fee: "base fee",
  buzz: "buzz",
  wins: "won|wins?|winners?|gewonnen|ganad[ao]s|gagnés|ganhos",
  losses: "lost|loss(?:es)?|losers?|verloren|perdid[ao]s|perdus",
  expired: "expired?|verfallen|expirad[ao]s|expirés",
  pending: "pending|open|offen|abiert[ao]s|ouverts",
  trades: "trades?|operaciones|opérations",
  gross: "before costs|gross",
  net: "after costs|net",
  entry: "entry|entered|Einstieg|entrada|entrée",
  target: "targets?|tp1|Ziel|objetivo|objectif",
  farTarget: "tp2|second target",
  stop: "stops?|stop[- ]loss|sl",
  confidence: "confiden(?:ce|t)|Konfidenz",
};

/**
 * The table of wording. Each kind: how it is called in full; its unit (± where its sign is a direction and shown, the time
 * over which it is measured, a number that its name has); how a citation calls it where the prose does not; its family,
 * within which figures can be subtracted; and its topic.
 */
export const KINDS = {
  name: "name | text | name | words |",
  rank: "rank by market capitalisation | count | rank | rank | rank",
  price: "price | USD | price now | price | price",
  change24h: "price change over 24 hours | percent ± 24h | 24 h | change | move",
  marketCap: "market capitalisation | USD | market cap | cap | cap",
  volume24h: "volume traded in 24 hours | USD 24h | 24-h volume | volume | volume",
  rising:
    "coins that rose over 24 hours, of the 50 largest that are no stablecoin or wrapped coin | count 24h of50 | of 50 up, 24 h | rising | coins",
  risingShare:
    "share of the 50 largest coins that rose over 24 hours | percent 24h of50 | of 50 up, 24 h | share | coins",
  majorsRising:
    "majors (BTC, ETH, SOL) that rose over 24 hours, of 3 | count 24h of3 | of 3 up, 24 h | majors | coins",
  moverPlace:
    "place by gain among the 50 largest coins over 24 hours | count 24h of50 | by 24-h gain | mover |",
  trendingPlace: "place among the most searched coins | count | most searched | search | search",
  trendingChange:
    "price change over 24 hours, of a most searched coin | percent ± 24h | 24 h | change | move",
  lastTrade: "last trade | USD | last trade | price | price",
  dayChange: "change of the last trade over 24 hours | percent ± 24h | 24 h | change | move",
  dayHigh: "24-hour high | USD 24h | 24-h high | price | high",
  dayLow: "24-hour low | USD 24h | 24-h low | price | low",
  toDayHigh: "price against the 24-hour high | percent ± | against the 24-h high | gap |",
  toDayLow: "price against the 24-hour low | percent ± | against the 24-h low | gap |",
  dayVolume: "coins traded in 24 hours | coins 24h | 24-h volume | coins | volume",
  bidDepth: "buy orders within 1 % of the price | USD near1 | bids within 1% | book | bids",
  askDepth: "sell orders within 1 % of the price | USD near1 | asks within 1% | book | asks",
  bidShare:
    "share of buy orders in all orders within 1 % of the price | percent near1 | bids of the book | lean |",
  spread: "spread between best bid and ask | bps | spread | spread | spread",
  high48h: "48-hour high | USD 48h | 48-h high | price | high",
  low48h: "48-hour low | USD 48h | 48-h low | price | low",
  funding: "perpetual funding rate per hour | percent ± 1h | funding per hour | funding | funding",
  fundingYear:
    "perpetual funding, a year at this pace | percent ± | funding, a year at this pace | yearly funding |",
  openInterest: "open interest in perpetuals | USD | open interest | interest | interest",
  stablecoinSupply: "supply of dollar stablecoins | USD | stablecoin supply | supply | stable",
  stablecoinWeek:
    "change of the supply of dollar stablecoins over 7 days | percent ± 168h | stablecoins, 7 d | supply change | stable",
  stablecoinWeekUsd:
    "dollar stablecoins issued less redeemed over 7 days | USD ± 168h | stablecoins, 7 d | supply flow | stable",
  ethBtc: "price in BTC | ratio | in BTC | ratio |",
  blockTransactions: "transactions in the latest block | count | latest block | transactions |",
  baseFee: "base fee of the latest block | gwei | base fee | fee | fee",
  usdcSupply: "USDC on Base | USD | USDC on Base | supply | usdc",
  buzz: "buzz, of 10 | count of10 | buzz, of 10 | buzz | buzz",
  headline: "headline | text | headline | words |",
  wins: "signals won | count | won | record | wins",
  losses: "signals lost | count | lost | record | losses",
  expired: "signals expired | count | expired | record | expired",
  pending: "signals pending | count | pending | record | pending",
  trades: "trades with a result | count | trades | record | trades",
  result: "result before costs | percent ± | result before costs | result | gross",
  resultAfterCosts: "result after costs | percent ± | result after costs | result | net",
  entry: "entry of the signal | USD | entry | price | entry",
  target: "first target of the signal | USD | first target | price | target",
  farTarget: "second target of the signal | USD | second target | price | farTarget",
  stop: "stop of the signal | USD | stop | price | stop",
  confidence: "confidence of the model | percent | confidence | confidence | confidence",
} as const;

export type Wording = {
  /** In full, as in `BTC price change over 24 hours`. */
  label: string;
  unit: Unit;
  tag: string;
  family: string;
  words: string;
  /** Over how many hours it is measured; `null` for what is so at a moment. */
  hours: number | null;
  isSigned: boolean;
  /** A number that its own label has, as prose repeats it: "of the 50 largest", "within 1 %". */
  aside: { value: number; unit: "none" | "percent" } | null;
};

const WORDINGS = new Map<Kind, Wording>(namesIn(KINDS).map((kind) => [kind, wordingIn(KINDS[kind])]));

function wordingIn(row: string): Wording {
  const [label = "", measured = "", tag = "", family = "", topic = ""] = row
    .split("|")
    .map((cell) => cell.trim());
  const [, hours] = / (\d+)h/.exec(measured) ?? [];
  const [, sort, number] = / (of|near)(\d+)/.exec(measured) ?? [];
  return {
    ...{ label, tag, family, words: TOPICS[topic] ?? "", isSigned: measured.includes("±") },
    unit: UNITS.find((unit) => measured.split(" ")[0] === unit) ?? "text",
    hours: hours === undefined ? null : Number(hours),
    aside: number === undefined ? null : { value: Number(number), unit: sort === "of" ? "none" : "percent" },
  };
}

/** How a kind stands in prose. */
export function wordingOf(kind: Kind): Wording {
  return WORDINGS.get(kind) ?? wordingIn(KINDS[kind]);
}

/** The words of every topic. */
export const TOPIC_WORDS: readonly string[] = Object.values(TOPICS);

/** What each collector brings, as readers know it. */
export const COLLECTIONS = {
  markets: "the table of coins",
  trending: "the most searched coins",
  listing: "whether an exchange lists it",
  day: "last trades",
  book: "order book",
  candles: "hourly candles",
  perpetuals: "perpetual markets",
  stablecoins: "stablecoin supply",
  news: "news",
  base: "the state of Base",
} as const;

/** What a source says at once, kind by kind, as facts; `null` is what it does not say. */
export function factsOf(
  by: Pick<Fact, "subject" | "observedAt" | "source" | "url">,
  told: Partial<Record<Kind, Fact["value"] | null>>,
): Fact[] {
  return namesIn(told).flatMap((kind) => {
    const value = told[kind] ?? null;
    return value === null ? [] : [{ ...by, kind, value, unit: wordingOf(kind).unit }];
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
  return `${whose} ${wordingOf(kind).label}: ${told}`;
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
    case "ratio":
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
