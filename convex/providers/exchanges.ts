import type { ActionCtx } from "../_generated/server";
import { AppError, failureOf } from "../lib/errors";
import * as binance from "./binanceSpot";
import * as coinbase from "./coinbaseExchange";
import type { Book, Candle, CandleRange, DayStats } from "./exchangeShapes";
import { citedUrl } from "./publicData";

/** Candles, day and book of a market: Coinbase Exchange first, Binance where it fails or does not list the coin. */

const EXCHANGES = { coinbase, binance } as const;
type Exchange = keyof typeof EXCHANGES;

export type Told<Value> = {
  source: Exchange;
  /** Where anybody can read the like. */
  url: string;
  value: Value;
};

/** @param timeoutMs For each request. @throws AppError `upstream` naming why neither could tell. */
export function askForCandles(
  ctx: ActionCtx,
  symbol: string,
  range: CandleRange,
  timeoutMs: number,
): Promise<Told<Candle[]>> {
  return firstOf("candles", symbol, (exchange) => exchange.askCandles(ctx, symbol, range, timeoutMs));
}

/** @throws AppError `upstream` */
export function askForDay(ctx: ActionCtx, symbol: string, timeoutMs: number): Promise<Told<DayStats>> {
  return firstOf("stats", symbol, (exchange) => exchange.askDay(ctx, symbol, timeoutMs));
}

/** @throws AppError `upstream` */
export function askForBook(ctx: ActionCtx, symbol: string, timeoutMs: number): Promise<Told<Book>> {
  return firstOf("book", symbol, (exchange) => exchange.askBook(ctx, symbol, timeoutMs));
}

const PATHS = {
  coinbase: {
    candles: (symbol: string) => `${coinbase.productPath(symbol)}/candles`,
    stats: (symbol: string) => `${coinbase.productPath(symbol)}/stats`,
    book: (symbol: string) => `${coinbase.productPath(symbol)}/book?level=2`,
  },
  binance: {
    candles: (symbol: string) => `/api/v3/klines?${binance.pairOf(symbol)}&interval=1h`,
    stats: (symbol: string) => `/api/v3/ticker/24hr?${binance.pairOf(symbol)}`,
    book: (symbol: string) => `/api/v3/depth?${binance.pairOf(symbol)}`,
  },
} as const;

async function firstOf<Value>(
  what: "candles" | "stats" | "book",
  symbol: string,
  ask: (exchange: (typeof EXCHANGES)[Exchange]) => Promise<Value>,
): Promise<Told<Value>> {
  const reasons: string[] = [];
  for (const source of ["coinbase", "binance"] as const) {
    try {
      const value = await ask(EXCHANGES[source]);
      return { source, url: citedUrl(source, PATHS[source][what](symbol)), value };
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      reasons.push(failure.message);
    }
  }
  throw new AppError("upstream", reasons.join("; "));
}
