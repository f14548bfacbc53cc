import type { ActionCtx } from "../../_generated/server";
import { AppError, failureOf } from "../../lib/errors";
import { binance } from "./binanceSpot";
import { coinbase } from "./coinbaseExchange";
import {
  partsOf,
  type Book,
  type Candle,
  type CandleRange,
  type DayStats,
  type Venue,
} from "./exchangeShapes";
import { askPublic, citedUrl, type Turns } from "./publicData";

/** Candles, day and book of a market, from one exchange or from the first that has them. */

/** In the order in which they are asked: Binance if Coinbase fails or does not list the coin. */
export const VENUES: readonly Venue[] = [coinbase, binance];

/** Closed candles of a range, oldest first. @throws AppError `not_found`, `upstream` */
export async function askCandles(
  { source, candles, isAbsence }: Venue,
  turns: Turns,
  symbol: string,
  range: CandleRange,
  timeoutMs: number,
): Promise<Candle[]> {
  const { interval } = range;
  const shape = candles.shape(interval);
  const found: Candle[] = [];
  for (const part of partsOf(range, candles.most, Date.now())) {
    const path = candles.path(symbol, interval, part);
    const answer = await askPublic(turns, source, { path, shape, isAbsence }, timeoutMs);
    // Some may be from before the start.
    found.push(...answer.filter(({ openedAt }) => openedAt >= part.first && openedAt <= part.last));
  }
  return found.sort((a, b) => a.openedAt - b.openedAt);
}

/** @throws AppError `not_found`, `upstream` */
export async function askDay(
  { source, day, isAbsence }: Venue,
  turns: Turns,
  symbol: string,
  timeoutMs: number,
): Promise<DayStats> {
  const request = { path: day.page(symbol), shape: day.shape(symbol), isAbsence };
  return askPublic(turns, source, request, timeoutMs);
}

export type FromVenue<Value> = {
  source: Venue["source"];
  /** The public address of the same figures. */
  url: string;
  value: Value;
};

/** @param timeoutMs For each request. @throws AppError `not_found`; `upstream` with the reasons of both. */
export function askForCandles(
  ctx: ActionCtx,
  symbol: string,
  range: CandleRange,
  timeoutMs: number,
): Promise<FromVenue<Candle[]>> {
  return firstOf("candles", symbol, (venue) => askCandles(venue, ctx, symbol, range, timeoutMs));
}

/** @throws AppError `not_found` if neither lists it, otherwise `upstream` */
export function askForDay(ctx: ActionCtx, symbol: string, timeoutMs: number): Promise<FromVenue<DayStats>> {
  return firstOf("day", symbol, (venue) => askDay(venue, ctx, symbol, timeoutMs));
}

/** The book as far as one request reaches. @throws AppError `not_found`, `upstream` */
export function askForBook(ctx: ActionCtx, symbol: string, timeoutMs: number): Promise<FromVenue<Book>> {
  return firstOf("book", symbol, ({ source, book, isAbsence }) => {
    const request = { path: book.page(symbol) + book.depth, shape: book.shape(), isAbsence };
    return askPublic(ctx, source, request, timeoutMs);
  });
}

async function firstOf<Value>(
  what: "candles" | "day" | "book",
  symbol: string,
  ask: (venue: Venue) => Promise<Value>,
): Promise<FromVenue<Value>> {
  const reasons: string[] = [];
  let listed = false;
  for (const venue of VENUES) {
    try {
      const value = await ask(venue);
      return { source: venue.source, url: citedUrl(venue.source, venue[what].page(symbol)), value };
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      reasons.push(failure.message);
      // An exchange that fails may list the coin.
      listed ||= failure.code !== "not_found";
    }
  }
  throw new AppError(listed ? "upstream" : "not_found", reasons.join("; "));
}
