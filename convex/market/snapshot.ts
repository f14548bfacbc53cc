import { getOneFrom } from "convex-helpers/server/relationships";
import { parse } from "convex-helpers/validators";
import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import type { Fact } from "../lib/facts";
import { MAJORS, COIN_NAMES, type Major } from "../lib/money/tokens";
import { SOURCE_NAMES } from "../lib/publicSources";
import { iso } from "../lib/time";
import { bareName, listedCoins, searchedCoins, type ListedCoin } from "./facts";
import type { MarketFigures, MarketSource, RowSource, TokenFigures } from "./tables";
import { vMarketSnapshot } from "./validators";

/**
 * The market as a view of facts. What no source knows is filled from the gateway's list, row by row, and marked as the
 * model's; a row of the list is a source's coin only if it has its ticker and its name.
 */

const TOP = 20;
const TRENDING = 10;
const KEYS = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" } as const satisfies Record<Major, string>;

type Unsourced<Row> = Omit<Row, "source" | "sizeSource">;
/** The figures that the gateway was asked for. */
export type GatewayList = {
  keyPrices: Record<(typeof KEYS)[Major], { usd: number; usd_24h_change: number }>;
  trending: Unsourced<MarketFigures["trending"][number]>[];
  top20: Unsourced<MarketFigures["top20"][number]>[];
};

/** A coin by the most trusted source that knows it. */
export type Known = {
  symbol: string;
  name: string;
  usd: number;
  change24h: number | null;
  source: Exclude<RowSource, "model">;
  /** Epoch ms: when the source saw the price. */
  observedAt: number;
  listed: ListedCoin | null;
};

const SOURCES = ["chainlink", "coinbase", "coingecko"] as const;
const majorName = (symbol: Major): string => COIN_NAMES[symbol][0];

/** Every coin that a source knows, by symbol; the price from the most trusted source. */
export function knownCoins(facts: readonly Fact[]): Map<string, Known> {
  const known = new Map<string, Known>();
  for (const listed of listedCoins(facts)) {
    const { symbol, name, price: usd, change24h, observedAt } = listed;
    known.set(symbol, { symbol, name, usd, change24h, source: "coingecko", observedAt, listed });
  }
  for (const symbol of MAJORS) {
    const quote = SOURCES.flatMap((source) => quoteBy(facts, symbol, source) ?? [])[0];
    const earlier = known.get(symbol);
    if (quote === undefined) continue;
    const { name = majorName(symbol), listed = null } = earlier ?? {};
    known.set(symbol, { symbol, name, listed, change24h: earlier?.change24h ?? null, ...quote });
  }
  // What an exchange alone trades has its last trade of the day.
  for (const { subject: symbol, value: usd, observedAt } of facts.filter(
    ({ kind }) => kind === "lastTrade",
  )) {
    if (known.has(symbol) || typeof usd !== "number") continue;
    const change = facts.find(({ subject, kind }) => subject === symbol && kind === "dayChange")?.value;
    const change24h = typeof change === "number" ? change : null;
    known.set(symbol, { symbol, name: symbol, usd, change24h, source: "coinbase", observedAt, listed: null });
  }
  return known;
}

function quoteBy(facts: readonly Fact[], symbol: string, source: Known["source"]) {
  const fact = facts.find(
    (one) => one.subject === symbol && one.kind === "price" && one.source === SOURCE_NAMES[source],
  );
  return typeof fact?.value === "number" ? { usd: fact.value, observedAt: fact.observedAt, source } : null;
}

/** The market; `null` if neither the sources nor the list have all of it. */
export function marketView(facts: readonly Fact[], list: GatewayList | null): MarketFigures | null {
  const known = knownCoins(facts);
  const keyPrice = (symbol: Major): MarketFigures["keyPrices"]["bitcoin"] | null => {
    const coin = known.get(symbol);
    const asked = list?.keyPrices[KEYS[symbol]];
    const change = coin?.change24h ?? asked?.usd_24h_change;
    if (coin !== undefined && change !== undefined)
      return { usd: coin.usd, usd_24h_change: change, source: coin.source };
    return asked === undefined ? null : { ...asked, source: "model" };
  };
  const [bitcoin, ethereum, solana] = [keyPrice("BTC"), keyPrice("ETH"), keyPrice("SOL")];
  const [trending, top20] = [trendingOf(facts, known, list), topOf(known, list)];
  if (bitcoin === null || ethereum === null || solana === null) return null;
  if (trending.length === 0 || top20.length < TOP) return null;
  return { keyPrices: { bitcoin, ethereum, solana }, trending, top20 };
}

function trendingOf(facts: readonly Fact[], known: ReadonlyMap<string, Known>, list: GatewayList | null) {
  const searched = searchedCoins(facts).flatMap(({ symbol, name, change24h }) => {
    return change24h === null ? [] : [{ symbol, name, change24h, source: "coingecko" as const }];
  });
  const asked = (list?.trending ?? []).map(({ symbol, name, change24h }) => {
    const coin = sameCoin(known, { symbol, name });
    return coin === null || coin.change24h === null
      ? { symbol, name, change24h, source: "model" as const }
      : { symbol, name: coin.name, change24h: coin.change24h, source: coin.source };
  });
  const rows = searched.length > 0 ? searched : asked;
  return rows.slice(0, TRENDING).map((row, index) => ({ ...row, rank: index + 1 }));
}

function topOf(known: ReadonlyMap<string, Known>, list: GatewayList | null): MarketFigures["top20"] {
  const listed = [...known.values()]
    .flatMap((coin) => (coin.listed === null ? [] : [{ ...coin, listed: coin.listed }]))
    .sort((a, b) => a.listed.rank - b.listed.rank)
    .flatMap(({ symbol, name, usd: price, change24h, source, listed: { marketCap } }) => {
      if (change24h === null) return [];
      return [{ name, symbol, price, change24h, marketCap, source, sizeSource: "coingecko" as const }];
    })
    .slice(0, TOP)
    .map((row, index) => ({ ...row, rank: index + 1 }));
  if (listed.length === TOP || list === null) return listed;
  return list.top20.map((row) => {
    const coin = sameCoin(known, row);
    if (coin === null) return { ...row, source: "model", sizeSource: "model" };
    const { usd: price, change24h, source } = coin;
    return { ...row, price, change24h: change24h ?? row.change24h, source, sizeSource: "model" };
  });
}

/** A source's coin under a model's ticker and name; `null` if another coin has that ticker. */
export function sameCoin(
  known: ReadonlyMap<string, Known>,
  { symbol, name }: { symbol: string; name: string },
): Known | null {
  const coin = known.get(symbol);
  const names = coin === undefined ? [] : [coin.name, coin.symbol];
  return coin !== undefined && names.some((one) => bareName(one) === bareName(name)) ? coin : null;
}

/** A token's figures by the sources, else by the gateway's list; `null` if neither has its price and change. */
export function focusView(
  symbol: string,
  facts: readonly Fact[],
  list: GatewayList | null,
): TokenFigures | null {
  const coin = knownCoins(facts).get(symbol);
  if (coin !== undefined) return figuresOf(coin);
  const row = list?.top20.find((one) => one.symbol === symbol);
  if (row === undefined) return null;
  const { name, price, change24h, marketCap } = row;
  return { symbol, name, price, change24h, marketCap, volume24h: null, source: "model", sizeSource: "model" };
}

/** The figures of a coin that a source knows; `null` without a change. */
export function figuresOf({ symbol, name, usd, change24h, source, listed }: Known): TokenFigures | null {
  if (change24h === null) return null;
  const { marketCap = null, volume24h = null } = listed ?? {};
  const sizeSource = listed === null ? source : "coingecko";
  return { symbol, name, price: usd, change24h, marketCap, volume24h, source, sizeSource };
}

/** The sources of live prices, each with the time of its oldest. */
export function sourcesOf(facts: readonly Fact[]): MarketSource[] {
  return SOURCES.flatMap((source) => {
    const quotes = MAJORS.flatMap((symbol) => quoteBy(facts, symbol, source) ?? []);
    const asOf = Math.min(...quotes.map(({ observedAt }) => observedAt));
    return quotes.length === 0 ? [] : [{ name: source, asOf: iso(asOf) }];
  });
}

export type Snapshot = { fetchedAt: number; figures: MarketFigures; sources: MarketSource[] };

/** The answer's text, in JSON. */
export function written({ fetchedAt, figures, sources }: Snapshot): string {
  return JSON.stringify(parse(vMarketSnapshot, { fetchedAt: iso(fetchedAt), ...figures, sources }));
}

export function readBack({ fetchedAt, body }: Pick<Doc<"marketSnapshots">, "fetchedAt" | "body">): Snapshot {
  const { keyPrices, trending, top20, sources } = parse(vMarketSnapshot, JSON.parse(body));
  return { fetchedAt, figures: { keyPrices, trending, top20 }, sources };
}

/** The stored snapshot, however old. */
export async function latestRow(ctx: QueryCtx): Promise<Doc<"marketSnapshots"> | null> {
  return ctx.db.query("marketSnapshots").first();
}

/** The stored answer to a question. */
export const answerRow = (ctx: QueryCtx, questionHash: string) =>
  getOneFrom(ctx.db, "tokenAnswers", "by_questionHash", questionHash);

/** A snapshot in a few lines, for a prompt. Figures of a model alone are called so. */
export function describeMarket({ fetchedAt, figures }: Pick<Snapshot, "fetchedAt" | "figures">): string {
  const { trending, top20 } = figures;
  const change = (coin: { change24h: number; source: RowSource }) =>
    `(${signed(coin.change24h)} %, ${coin.source})`;
  return [
    `As of ${iso(fetchedAt)}, each with its source: ${describeKeyPrices(figures)}`,
    `Trending: ${trending.map((coin) => `${coin.symbol} ${change(coin)}`).join(", ")}`,
    `Largest: ${top20.map((coin) => `${coin.symbol} $${coin.price} ${change(coin)}`).join(", ")}`,
  ].join("\n");
}

export function describeKeyPrices({ keyPrices }: MarketFigures): string {
  const price = (name: string, row: MarketFigures["keyPrices"]["bitcoin"]) =>
    `${name} $${row.usd} (${signed(row.usd_24h_change)} %, ${row.source})`;
  const { bitcoin, ethereum, solana } = keyPrices;
  return [price("Bitcoin", bitcoin), price("Ethereum", ethereum), price("Solana", solana)].join(", ");
}

/** A percentage with its sign: `+1.5`, `-0.2`, `0`. */
export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value}`;
}
