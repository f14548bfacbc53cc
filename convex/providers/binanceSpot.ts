import * as z from "zod";
import { lazy } from "../lib/once";
import { SOURCE_NAMES } from "../lib/publicSources";
import { unusableFailure } from "./call";
import {
  CANDLE_MS,
  decimalText,
  isCandle,
  partsOf,
  priceText,
  type Book,
  type Candle,
  type CandleRange,
  type DayStats,
} from "./exchangeShapes";
import { askPublic, type Turns } from "./publicData";

/**
 * Binance's spot market against USDT, at its address for public data alone. Documents: github.com/binance/
 * binance-spot-api-docs, `faqs/market_data_only.md`, `rest-api.md`, `errors.md`: errors are `{ code, msg }`, an unknown
 * symbol is 400 with code -1121.
 */

const MAX_CANDLES = 1_000;
const INTERVALS = { minute: "1m", hour: "1h" } as const;
/** Costs a weight of 250 and reaches far enough for the large markets. */
const BOOK_LEVELS = 5_000;

const refusal = z.object({ code: z.literal(-1121) });
const isAbsence = (status: number, body: unknown): boolean =>
  status === 400 && refusal.safeParse(body).success;

export function pairOf(symbol: string): string {
  return `symbol=${encodeURIComponent(symbol)}USDT`;
}

const candlesShape = lazy(() =>
  z.array(
    z.tuple([z.int().positive(), priceText, priceText, priceText, priceText, decimalText]).rest(z.unknown()),
  ),
);

/** Closed candles of a range, oldest first. @throws AppError `not_found`, `upstream` */
export async function askCandles(
  turns: Turns,
  symbol: string,
  range: CandleRange,
  timeoutMs: number,
): Promise<Candle[]> {
  const candles: Candle[] = [];
  for (const { first, last } of partsOf(range, MAX_CANDLES, Date.now())) {
    const query = `${pairOf(symbol)}&interval=${INTERVALS[range.interval]}&startTime=${first}&endTime=${last}&limit=${MAX_CANDLES}`;
    const path = `/api/v3/klines?${query}`;
    const rows = await askPublic(turns, "binance", { path, shape: candlesShape(), isAbsence }, timeoutMs);
    for (const [openedAt, open, high, low, close, volume] of rows) {
      candles.push({ openedAt, open, high, low, close, volume });
    }
  }
  if (!candles.every((candle) => isCandle(candle) && candle.openedAt % CANDLE_MS[range.interval] === 0)) {
    throw unusableFailure(SOURCE_NAMES.binance);
  }
  return candles;
}

const dayShape = lazy(() =>
  z.object({
    symbol: z.string(),
    openPrice: priceText,
    highPrice: priceText,
    lowPrice: priceText,
    lastPrice: priceText,
    volume: decimalText,
    closeTime: z.int().positive(),
  }),
);

/** @throws AppError `not_found`, `upstream` */
export async function askDay(turns: Turns, symbol: string, timeoutMs: number): Promise<DayStats> {
  const path = `/api/v3/ticker/24hr?${pairOf(symbol)}`;
  const told = await askPublic(turns, "binance", { path, shape: dayShape(), isAbsence }, timeoutMs);
  if (told.symbol !== `${symbol}USDT`) throw unusableFailure(SOURCE_NAMES.binance);
  return {
    open: told.openPrice,
    high: told.highPrice,
    low: told.lowPrice,
    last: told.lastPrice,
    volume: told.volume,
    observedAt: told.closeTime,
  };
}

const bookShape = lazy(() => {
  const level = z.tuple([priceText, decimalText]).transform(([price, size]) => ({ price, size }));
  return z.object({ lastUpdateId: z.number(), bids: z.array(level), asks: z.array(level) });
});

/** The book as far as one request reaches. @throws AppError `not_found`, `upstream` */
export async function askBook(turns: Turns, symbol: string, timeoutMs: number): Promise<Book> {
  const path = `/api/v3/depth?${pairOf(symbol)}&limit=${BOOK_LEVELS}`;
  const { bids, asks } = await askPublic(
    turns,
    "binance",
    { path, shape: bookShape(), isAbsence },
    timeoutMs,
  );
  return { bids, asks, observedAt: Date.now() };
}
