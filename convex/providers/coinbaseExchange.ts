import * as z from "zod";
import { lazy } from "../lib/once";
import { SOURCE_NAMES } from "../lib/publicSources";
import { iso, SECOND } from "../lib/time";
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
 * Coinbase Exchange, public market data against USD. Documents: docs.cdp.coinbase.com, exchange/reference:
 * `exchangerestapi_getproductcandles`, `…getproductstats`, `…getproductbook`; errors are `{ message }`, an unknown product
 * is 404. Candles may be missing where nothing was traded, and are "not to be polled frequently".
 */

const MAX_CANDLES = 300;

export function productPath(symbol: string): string {
  return `/products/${encodeURIComponent(symbol)}-USD`;
}

const isAbsence = (status: number): boolean => status === 404;

const candlesShape = lazy(() =>
  z.array(
    z
      .tuple([z.int().positive(), z.number(), z.number(), z.number(), z.number(), z.number()])
      .rest(z.unknown()),
  ),
);

/** Closed candles of a range, oldest first. @throws AppError `not_found`, `upstream` */
export async function askCandles(
  turns: Turns,
  symbol: string,
  range: CandleRange,
  timeoutMs: number,
): Promise<Candle[]> {
  const step = CANDLE_MS[range.interval];
  const candles: Candle[] = [];
  for (const { first, last } of partsOf(range, MAX_CANDLES, Date.now())) {
    const query = `granularity=${step / SECOND}&start=${iso(first)}&end=${iso(last)}`;
    const path = `${productPath(symbol)}/candles?${query}`;
    const rows = await askPublic(turns, "coinbase", { path, shape: candlesShape(), isAbsence }, timeoutMs);
    const told = rows.map(([time, low, high, open, close, volume]): Candle => {
      return { openedAt: time * SECOND, open, high, low, close, volume };
    });
    // Some may be from before the start.
    candles.push(...told.filter(({ openedAt }) => openedAt >= first && openedAt <= last));
  }
  if (!candles.every(isCandle)) throw unusableFailure(SOURCE_NAMES.coinbase);
  return candles.sort((a, b) => a.openedAt - b.openedAt);
}

const dayShape = lazy(() =>
  z.object({ open: priceText, high: priceText, low: priceText, last: priceText, volume: decimalText }),
);

/** @throws AppError `not_found`, `upstream` */
export async function askDay(turns: Turns, symbol: string, timeoutMs: number): Promise<DayStats> {
  const path = `${productPath(symbol)}/stats`;
  const stats = await askPublic(turns, "coinbase", { path, shape: dayShape(), isAbsence }, timeoutMs);
  return { ...stats, observedAt: Date.now() };
}

const bookShape = lazy(() => {
  const level = z.tuple([priceText, decimalText, z.number()]).transform(([price, size]) => ({ price, size }));
  return z.object({ bids: z.array(level), asks: z.array(level), time: z.iso.datetime({ offset: true }) });
});

/** The whole book, orders of one price together. @throws AppError `not_found`, `upstream` */
export async function askBook(turns: Turns, symbol: string, timeoutMs: number): Promise<Book> {
  const path = `${productPath(symbol)}/book?level=2`;
  const { bids, asks, time } = await askPublic(
    turns,
    "coinbase",
    { path, shape: bookShape(), isAbsence },
    timeoutMs,
  );
  return { bids, asks, observedAt: Date.parse(time) };
}
