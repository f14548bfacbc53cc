import * as z from "zod";
import { optional } from "../../lib/env";
import { isOff } from "../../lib/settings";
import { AppError } from "../../lib/errors";
import { lazy } from "../../lib/once";
import { SOURCE_NAMES } from "../../lib/publicSources";
import { MINUTE, SECOND } from "../../lib/time";
import { askProvider, bodyOf, unusableFailure } from "../call";
import { coingeckoAddress, coingeckoHeaders } from "./publicData";

/**
 * Public tickers: spot prices that need no key. Wire formats: docs.cdp.coinbase.com (coinbase-app/track-apis/prices),
 * github.com/binance/binance-spot-api-docs, docs.coingecko.com (simple/price).
 */

/** In the order in which they are asked. */
export const TICKERS = ["coinbase", "binance", "coingecko"] as const;
export type Ticker = (typeof TICKERS)[number];

export const QUOTED = ["BTC", "ETH", "SOL"] as const;
export type Quoted = (typeof QUOTED)[number];

export type Quote = {
  /** USD; Binance quotes in USDT. */
  usd: number;
  /** Percent over 24 hours; `null` if the ticker does not give it. */
  change24h: number | null;
  /** Epoch ms: the ticker's own time of the price, or, without one, the time of the request. */
  observedAt: number;
};

export type Quotes = Partial<Record<Quoted, Quote>>;

/** Their real addresses. TICKER_API_URL is one address that serves the paths of all three. */
const ADDRESSES: Record<Ticker, () => string> = {
  coinbase: () => "https://api.coinbase.com",
  binance: () => "https://data-api.binance.vision",
  coingecko: coingeckoAddress,
};

const COINGECKO_IDS: Record<Quoted, string> = { BTC: "bitcoin", ETH: "ethereum", SOL: "solana" };

/** An older price is not a live price. */
const STALE_MS = 10 * MINUTE;
/** Clocks may differ a little. */
const SKEW_MS = 60 * SECOND;

const price = z.number().positive();
const decimal = z.string().regex(/^-?\d{1,15}(?:\.\d{1,18})?$/);
const priceText = decimal.transform(Number).pipe(price);

/**
 * Asks one ticker for some prices; unknown and unusable ones are left out.
 * @throws AppError `upstream`, naming the ticker, if there is not one price.
 */
export async function askTicker(
  ticker: Ticker,
  symbols: readonly Quoted[],
  timeoutMs: number,
): Promise<Quotes> {
  switch (ticker) {
    case "coinbase":
      return each(symbols, (symbol) => askCoinbase(symbol, timeoutMs));
    case "binance":
      return each(symbols, (symbol) => askBinance(symbol, timeoutMs));
    case "coingecko":
      return askCoinGecko(symbols, timeoutMs);
  }
}

const spotShape = lazy(() =>
  z.object({
    data: z.object({ amount: priceText, base: z.string().optional(), currency: z.literal("USD") }),
  }),
);

async function askCoinbase(symbol: Quoted, timeoutMs: number): Promise<Quote> {
  const { data } = await read("coinbase", `/v2/prices/${symbol}-USD/spot`, spotShape(), timeoutMs);
  if (data.base !== undefined && data.base !== symbol) throw unusableFailure(SOURCE_NAMES.coinbase);
  return { usd: data.amount, change24h: null, observedAt: Date.now() };
}

const dayShape = lazy(() =>
  z.object({
    symbol: z.string(),
    lastPrice: priceText,
    priceChangePercent: decimal.transform(Number),
    closeTime: z.number().int().positive(),
  }),
);

async function askBinance(symbol: Quoted, timeoutMs: number): Promise<Quote> {
  const pair = `${symbol}USDT`;
  const answer = await read("binance", `/api/v3/ticker/24hr?symbol=${pair}`, dayShape(), timeoutMs);
  if (answer.symbol !== pair) throw unusableFailure(SOURCE_NAMES.binance);
  const quote = {
    usd: answer.lastPrice,
    change24h: answer.priceChangePercent,
    observedAt: answer.closeTime,
  };
  if (!isLive(quote)) throw staleFailure("binance");
  return quote;
}

const coinsShape = lazy(() => z.record(z.string(), z.unknown()));
const coinShape = lazy(() =>
  z.object({
    usd: price,
    usd_24h_change: z.number().nullish(),
    last_updated_at: z.number().int().positive(),
  }),
);

async function askCoinGecko(symbols: readonly Quoted[], timeoutMs: number): Promise<Quotes> {
  const ids = symbols.map((symbol) => COINGECKO_IDS[symbol]).join(",");
  const query = `ids=${ids}&vs_currencies=usd&include_24hr_change=true&include_last_updated_at=true`;
  const answer = await read("coingecko", `/api/v3/simple/price?${query}`, coinsShape(), timeoutMs);
  // Unknown coins may be missing, and one unusable coin says nothing about the others.
  return each(symbols, (symbol) => {
    const parsed = coinShape().safeParse(answer[COINGECKO_IDS[symbol]]);
    if (!parsed.success) return Promise.reject(unusableFailure(SOURCE_NAMES.coingecko));
    const { usd, usd_24h_change: change24h, last_updated_at: updatedAt } = parsed.data;
    const quote = { usd, change24h: change24h ?? null, observedAt: updatedAt * SECOND };
    return isLive(quote) ? Promise.resolve(quote) : Promise.reject(staleFailure("coingecko"));
  });
}

/** @throws The first failure when no symbol has a quote. */
async function each(symbols: readonly Quoted[], ask: (symbol: Quoted) => Promise<Quote>): Promise<Quotes> {
  const settled = await Promise.allSettled(symbols.map(ask));
  const quotes: Quotes = {};
  for (const [index, outcome] of settled.entries()) {
    const symbol = symbols[index];
    if (outcome.status === "fulfilled" && symbol !== undefined) quotes[symbol] = outcome.value;
  }
  const failed = settled.find((outcome) => outcome.status === "rejected");
  if (Object.keys(quotes).length === 0 && failed !== undefined) throw failed.reason;
  return quotes;
}

async function read<Shape extends z.ZodType>(
  ticker: Ticker,
  path: string,
  shape: Shape,
  timeoutMs: number,
): Promise<z.output<Shape>> {
  if (isOff(ticker)) throw new AppError("upstream", `${SOURCE_NAMES[ticker]} is left out (SOURCES_OFF)`);
  const base = optional("TICKER_API_URL") ?? ADDRESSES[ticker]();
  const headers = ticker === "coingecko" ? coingeckoHeaders() : {};
  const init = { headers: { Accept: "application/json", ...headers } };
  const result = await askProvider("tickers", base + path, init, timeoutMs);
  return bodyOf(SOURCE_NAMES[ticker], result, shape);
}

function isLive({ observedAt }: Quote): boolean {
  const age = Date.now() - observedAt;
  return age <= STALE_MS && age >= -SKEW_MS;
}

function staleFailure(ticker: Ticker): AppError {
  return new AppError("upstream", `${SOURCE_NAMES[ticker]} gives no live price: its last one is old`);
}
