import { iso } from "../lib/time";
import type { QuoteSource } from "../prices/tables";
import type { MarketFigures, MarketSource, TokenFigures } from "./tables";

/** A model cannot know live prices: what it says is held against the sources that do. Pure. */

/** A price further off than this share of the source's is replaced. */
const TOLERANCE = 0.02;
/** A price a hundred times the source's, or further off, is told as this far off. */
const MAX_AGREEMENT_BPS = 1_000_000;

const KEYS = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" } as const;

type Reference = {
  usd: number;
  change24h: number | null;
  /** Who tells the price, and when they saw it (epoch ms). */
  source: QuoteSource["name"];
  observedAt: number;
};

/** What the most trusted source that knows a coin says of it, by symbol. `change24h`: from the first that tells one. */
export function references(sources: readonly QuoteSource[]): Map<string, Reference> {
  const known = new Map<string, Reference>();
  for (const { name: source, quotes } of sources) {
    for (const { symbol, usd, change24h, observedAt } of quotes) {
      const earlier = known.get(symbol);
      if (earlier === undefined) known.set(symbol, { usd, change24h, source, observedAt });
      else earlier.change24h ??= change24h;
    }
  }
  return known;
}

/**
 * What is wrong with one token's figures by the sources, in words for the model; `null` when they are right, or no
 * source knows the token.
 */
export function tokenProblem(token: TokenFigures, sources: readonly QuoteSource[]): string | null {
  const reference = references(sources).get(token.symbol);
  if (reference === undefined || distance(token.price, reference.usd) <= TOLERANCE) return null;
  return `the price of ${token.symbol} is ${reference.usd} USD (${reference.source}), not ${token.price}, in the figures and in the answer`;
}

/** One token's figures with the sources' own price and change, and who told it; as they are where no source knows it. */
export function groundToken(
  token: TokenFigures,
  sources: readonly QuoteSource[],
): { token: TokenFigures; priced: { source: QuoteSource["name"]; observedAt: number } | null } {
  const reference = references(sources).get(token.symbol);
  if (reference === undefined) return { token, priced: null };
  const { usd: price, change24h, source, observedAt } = reference;
  return {
    token: { ...token, price, change24h: change24h ?? token.change24h },
    priced: { source, observedAt },
  };
}

/**
 * Holds figures against the sources: a price of a coin that a source knows, in `keyPrices`, `top20` or `focus`, that is
 * more than 2 % off the most trusted source's becomes that source's, with its 24-hour change where a source tells one.
 * @returns The figures to use, how far the model was from each source, and how many prices were replaced.
 */
export function ground(
  figures: MarketFigures,
  quoted: readonly QuoteSource[],
): { figures: MarketFigures; sources: MarketSource[]; replaced: number } {
  const known = references(quoted);
  let replaced = 0;
  const checked = (
    symbol: string,
    price: number,
    change24h: number,
  ): { price: number; change24h: number } => {
    const reference = known.get(symbol);
    if (reference === undefined || distance(price, reference.usd) <= TOLERANCE) return { price, change24h };
    replaced++;
    return { price: reference.usd, change24h: reference.change24h ?? change24h };
  };
  const key = (symbol: keyof typeof KEYS) => {
    const { usd, usd_24h_change } = figures.keyPrices[KEYS[symbol]];
    const { price, change24h } = checked(symbol, usd, usd_24h_change);
    return { usd: price, usd_24h_change: change24h };
  };
  const row = <Row extends { symbol: string; price: number; change24h: number }>(coin: Row): Row => ({
    ...coin,
    ...checked(coin.symbol, coin.price, coin.change24h),
  });
  const grounded: MarketFigures = {
    ...figures,
    keyPrices: { bitcoin: key("BTC"), ethereum: key("ETH"), solana: key("SOL") },
    top20: figures.top20.map(row),
    ...(figures.focus ? { focus: row(figures.focus) } : {}),
  };
  return { figures: grounded, sources: quoted.map((source) => agreement(figures, source)), replaced };
}

/** How far the model's own prices were from one source's, at the worst. */
function agreement(figures: MarketFigures, { name, quotes }: QuoteSource): MarketSource {
  const distances = quotes.flatMap(({ symbol, usd }) =>
    pricesOf(figures, symbol).map((price) => distance(price, usd)),
  );
  return {
    name,
    asOf: iso(Math.min(...quotes.map(({ observedAt }) => observedAt))),
    agreementBps: Math.min(Math.round(Math.max(...distances) * 10_000), MAX_AGREEMENT_BPS),
  };
}

/** Everywhere the figures tell a coin's price. */
function pricesOf(figures: MarketFigures, symbol: keyof typeof KEYS): number[] {
  const rows = [...figures.top20, ...(figures.focus ? [figures.focus] : [])];
  return [
    figures.keyPrices[KEYS[symbol]].usd,
    ...rows.filter((coin) => coin.symbol === symbol).map(({ price }) => price),
  ];
}

function distance(price: number, reference: number): number {
  return Math.abs(price - reference) / reference;
}
