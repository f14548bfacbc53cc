import { pick } from "convex-helpers";
import { COIN_NAMES, MAJORS } from "../../lib/money/tokens";
import { listedCoins, searchedCoins, type ListedCoin } from "./lists";
import type { Fact } from "../../evidence/tables";
import { iso } from "../../lib/time";
import type { Quoted, Ticker } from "../../providers/data/tickers";
import type { AskedMarketFigures } from "../prompts";
import type { AskedFigures, TokenFigures } from "../shapes";
import type { MarketFigures, MarketSource } from "../tables";

/** A model cannot know the market: figures of a source replace the model's, and the rest is marked as the model's. Pure. */

/** A model's price that differs by more than this share is reported to the operator. */
const TOLERANCE = 0.02;
/** Larger differences are reported as this one: a hundred times the source's price. */
const MAX_AGREEMENT_BPS = 1_000_000;
const TOP = 20;
const TRENDING = 10;

const KEYS = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" } as const;
type Known = keyof typeof KEYS;

/** One source's live quotes. */
export type QuoteSource = {
  name: "chainlink" | Ticker;
  quotes: { symbol: Quoted; usd: number; change24h: number | null; observedAt: number }[];
};

/** The sources' figures: live quotes of a few coins, most trusted first, and lists of many. */
export type Observed = { quoted: readonly QuoteSource[]; facts: readonly Fact[] };

type Reference = {
  usd: number;
  change24h: number | null;
  /** The source of the price, and when it saw it (epoch ms). */
  source: QuoteSource["name"];
  observedAt: number;
};

/** The figures of each coin from the most trusted source that knows it, by symbol. `change24h`: from the first that has one. */
export function references({ quoted, facts }: Observed): Map<string, Reference> {
  const known = new Map<string, Reference>();
  const add = (symbol: string, reference: Reference) => {
    const earlier = known.get(symbol);
    if (earlier === undefined) known.set(symbol, reference);
    else earlier.change24h ??= reference.change24h;
  };
  for (const { name: source, quotes } of quoted) {
    for (const { symbol, usd, change24h, observedAt } of quotes) {
      add(symbol, { usd, change24h, source, observedAt });
    }
  }
  for (const { symbol, price: usd, change24h, observedAt } of listedCoins(facts)) {
    add(symbol, { usd, change24h, source: "coingecko", observedAt });
  }
  return known;
}

/**
 * The coin that a question names, among those that a source knows: the first if it names several, by symbol or by name;
 * `null` if it names none.
 */
export function coinAsked(question: string, observed: Observed): string | null {
  const symbols = [...references(observed).keys()];
  const bare = bareSymbol(question);
  if (bare !== null && symbols.includes(bare)) return bare;
  const listed = listedCoins(observed.facts).map(({ symbol, name }) => ({ symbol, name }));
  const majors = MAJORS.flatMap((symbol) => COIN_NAMES[symbol].map((name) => ({ symbol, name })));
  const places = [
    ...symbols.map((symbol) => ({ symbol, at: placeOf(question, symbol) })),
    ...MAJORS.map((symbol) => ({ symbol, at: placeOf(question.toUpperCase(), symbol) })),
    ...[...majors, ...listed]
      .filter(({ name }) => name.length > 3)
      .map(({ symbol, name }) => ({ symbol, at: placeOf(question.toUpperCase(), name.toUpperCase()) })),
  ].flatMap(({ symbol, at }) => (at === null || !symbols.includes(symbol) ? [] : [{ symbol, ...at }]));
  // "Bitcoin Cash" is not Bitcoin.
  return places.sort((a, b) => a.start - b.start || b.end - a.end)[0]?.symbol ?? null;
}

/** The symbol that a question consists of: `$pepe`, `BTC/USDT`, `eth?`. */
export function bareSymbol(question: string): string | null {
  const [, symbol] =
    /^\s*\$?([\p{L}\p{N}.-]{1,20}?)(?:[/-](?:USDT?|USDC|EUR))?[\s?!.]*$/iu.exec(question) ?? [];
  return symbol?.toUpperCase() ?? null;
}

function placeOf(text: string, name: string): { start: number; end: number } | null {
  const isWord = (at: number) => /[\p{L}\p{N}]/u.test(text.charAt(at));
  for (let start = text.indexOf(name); start !== -1; start = text.indexOf(name, start + 1)) {
    const end = start + name.length;
    if (!isWord(start - 1) && !isWord(end)) return { start, end };
  }
  return null;
}

/** The sources' figures of a coin, in the form that a model is asked for; `null` if too many are missing. */
export function figuresFrom(symbol: string, observed: Observed): AskedFigures | null {
  const reference = references(observed).get(symbol);
  const listed = listedCoins(observed.facts).find((coin) => coin.symbol === symbol);
  if (reference === undefined || reference.change24h === null) return null;
  const { usd: price, change24h } = reference;
  const { name, marketCap, volume24h } = listed ?? { name: symbol, marketCap: null, volume24h: null };
  return { symbol, name, price, change24h, marketCap, volume24h };
}

/**
 * What is wrong with one token's figures according to the sources, in words for the model; `null` if nothing is, or if
 * no source knows the token.
 */
export function tokenProblem(token: AskedFigures, observed: Observed): string | null {
  const reference = references(observed).get(token.symbol);
  if (reference === undefined || distance(token.price, reference.usd) <= TOLERANCE) return null;
  return `the price of ${token.symbol} is ${reference.usd} USD (${reference.source}), not ${token.price}, in the figures and in the answer`;
}

/** One token's figures with those of the sources, and when its price was seen; `null` if no source knows it. */
export function groundToken(
  token: AskedFigures,
  observed: Observed,
): { token: TokenFigures; observedAt: number | null } {
  const reference = references(observed).get(token.symbol);
  const listed = listedCoins(observed.facts).find(({ symbol }) => symbol === token.symbol);
  const sized =
    listed === undefined
      ? { ...token, sizeSource: "model" as const }
      : {
          ...{ ...token, ...pick(listed, ["name", "marketCap", "volume24h"]) },
          sizeSource: "coingecko" as const,
        };
  if (reference === undefined) return { token: { ...sized, source: "model" }, observedAt: null };
  const { usd: price, change24h, source, observedAt } = reference;
  return {
    token: { ...sized, price, change24h: change24h ?? token.change24h, source },
    observedAt,
  };
}

/**
 * The figures with every row replaced that a source covers. With a list of the market, its 20 largest and its most
 * searched coins are used; otherwise the model's rows stay, with the prices that sources know.
 * @returns The figures to use, how far the model was from each source, and how many of its prices were more than 2 %
 * off.
 */
export function ground(
  figures: AskedMarketFigures,
  observed: Observed,
): { figures: MarketFigures; sources: MarketSource[]; replaced: number } {
  const known = references(observed);
  const listed = listedCoins(observed.facts);
  const key = (symbol: Known) => {
    const { usd, usd_24h_change } = figures.keyPrices[KEYS[symbol]];
    const reference = known.get(symbol);
    return reference === undefined
      ? { usd, usd_24h_change, source: "model" as const }
      : {
          usd: reference.usd,
          usd_24h_change: reference.change24h ?? usd_24h_change,
          source: reference.source,
        };
  };
  const grounded: MarketFigures = {
    keyPrices: { bitcoin: key("BTC"), ethereum: key("ETH"), solana: key("SOL") },
    trending: groundTrending(figures.trending, observed.facts, known),
    top20: groundTop(figures.top20, listed, known),
    ...(figures.focus === undefined
      ? {}
      : { focus: figures.focus === null ? null : groundToken(figures.focus, observed).token }),
  };
  const prices = everyPrice(figures);
  const replaced = prices.filter(({ symbol, price }) => {
    const reference = known.get(symbol);
    return reference !== undefined && distance(price, reference.usd) > TOLERANCE;
  }).length;
  const quoted = withList(observed.quoted, listed);
  return { figures: grounded, sources: quoted.map((source) => agreement(prices, source)), replaced };
}

/**
 * The market from the sources alone, for when no model answers; `null` if they do not cover all of it.
 * @param focus Token symbol, or "" for the whole market.
 */
export function sourcesAlone(
  observed: Observed,
  focus: string,
): { figures: MarketFigures; sources: MarketSource[] } | null {
  const known = references(observed);
  const key = (symbol: Known) => {
    const { usd, change24h = null } = known.get(symbol) ?? {};
    return usd === undefined || change24h === null ? null : { usd, usd_24h_change: change24h };
  };
  const [bitcoin, ethereum, solana] = [key("BTC"), key("ETH"), key("SOL")];
  if (bitcoin === null || ethereum === null || solana === null) return null;
  const isListed = listedCoins(observed.facts).some(({ symbol }) => symbol === focus);
  const own = {
    keyPrices: { bitcoin, ethereum, solana },
    ...{ trending: [], top20: [] },
    ...(focus === "" ? {} : { focus: isListed ? figuresFrom(focus, observed) : null }),
  };
  const { figures, sources } = ground(own, observed);
  if (figures.trending.length === 0 || figures.top20.length < TOP) return null;
  return { figures, sources: sources.map((one) => ({ ...one, agreementBps: null })) };
}

function groundTrending(
  rows: AskedMarketFigures["trending"],
  facts: readonly Fact[],
  known: ReadonlyMap<string, Reference>,
): MarketFigures["trending"] {
  const searched = searchedCoins(facts).slice(0, TRENDING);
  if (searched.length === 0) return rows.map((row) => ({ ...row, source: "model" }));
  return searched.flatMap(({ symbol, name, place: rank, change24h: change }) => {
    const change24h = change ?? known.get(symbol)?.change24h ?? null;
    return change24h === null ? [] : [{ symbol, name, rank, change24h, source: "coingecko" as const }];
  });
}

function groundTop(
  rows: AskedMarketFigures["top20"],
  listed: readonly ListedCoin[],
  known: ReadonlyMap<string, Reference>,
): MarketFigures["top20"] {
  const largest = listed.slice(0, TOP).flatMap(({ symbol, name, rank, marketCap }) => {
    const reference = known.get(symbol);
    const change24h = reference?.change24h ?? null;
    if (reference === undefined || change24h === null) return [];
    const { usd: price, source } = reference;
    return [{ rank, name, symbol, price, change24h, marketCap, source, sizeSource: "coingecko" as const }];
  });
  if (largest.length === TOP) return largest;
  return rows.map((row) => {
    const reference = known.get(row.symbol);
    if (reference === undefined) return { ...row, source: "model", sizeSource: "model" };
    const { usd: price, change24h, source } = reference;
    return { ...row, price, change24h: change24h ?? row.change24h, source, sizeSource: "model" };
  });
}

/** The list counts as a source like the others, unless CoinGecko is among them already. */
function withList(quoted: readonly QuoteSource[], listed: readonly ListedCoin[]): QuoteSource[] {
  if (quoted.some(({ name }) => name === "coingecko")) return [...quoted];
  const quotes = (["BTC", "ETH", "SOL"] as const).flatMap((symbol) => {
    const coin = listed.find((one) => one.symbol === symbol);
    if (coin === undefined) return [];
    return [{ symbol, usd: coin.price, change24h: coin.change24h, observedAt: coin.observedAt }];
  });
  return quotes.length === 0 ? [...quoted] : [...quoted, { name: "coingecko", quotes }];
}

type Price = { symbol: string; price: number };

/** The largest difference between the model's own prices and one source's. */
function agreement(prices: readonly Price[], { name, quotes }: QuoteSource): MarketSource {
  const distances = quotes.flatMap(({ symbol, usd }) =>
    prices.filter((one) => one.symbol === symbol).map(({ price }) => distance(price, usd)),
  );
  return {
    name,
    asOf: iso(Math.min(...quotes.map(({ observedAt }) => observedAt))),
    agreementBps: Math.min(Math.round(Math.max(...distances) * 10_000), MAX_AGREEMENT_BPS),
  };
}

/** Every price of a coin in the figures. */
function everyPrice({ keyPrices, top20, focus }: AskedMarketFigures): Price[] {
  return [
    ...(["BTC", "ETH", "SOL"] as const).map((symbol) => ({ symbol, price: keyPrices[KEYS[symbol]].usd })),
    ...top20,
    ...(focus ? [focus] : []),
  ];
}

function distance(price: number, reference: number): number {
  return Math.abs(price - reference) / reference;
}
