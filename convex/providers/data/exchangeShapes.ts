import * as z from "zod";
import { HOUR, MINUTE } from "../../lib/time";

/** Market data of the exchanges in one common form. Prices in USD; Binance's are in USDT. Pure. */

export type Candle = {
  /** Epoch ms. */
  openedAt: number;
  open: number;
  high: number;
  low: number;
  close: number;
  /** In coins. */
  volume: number;
};

export const CANDLE_MS = { minute: MINUTE, hour: HOUR } as const;

/** Candles that open in [from, to), epoch ms. */
export type CandleRange = { interval: keyof typeof CANDLE_MS; from: number; to: number };

export type DayStats = {
  /** A day ago. */
  open: number;
  high: number;
  low: number;
  last: number;
  /** In coins. */
  volume: number;
  /** Epoch ms. */
  observedAt: number;
};

/** Price and size (in coins) of each level, best first. */
export type Book = { bids: Level[]; asks: Level[]; observedAt: number };
type Level = { price: number; size: number };
type Rows = readonly (readonly [price: number, size: number, ...unknown[]])[];

/** The book of both sides' rows. */
export function bookOf({ bids, asks }: { bids: Rows; asks: Rows }, observedAt: number): Book {
  const levels = (rows: Rows) => rows.map(([price, size]) => ({ price, size }));
  return { bids: levels(bids), asks: levels(asks), observedAt };
}

/** How one exchange is asked, and how it answers: everything that differs between them. */
export type Venue = {
  source: "coinbase" | "binance";
  /** Whether an answer says that it does not list the coin. */
  isAbsence: (status: number, body: unknown) => boolean;
  candles: {
    /** The most in one answer. */
    most: number;
    page: Page;
    path: (symbol: string, interval: CandleRange["interval"], part: Part) => string;
    shape: (interval: CandleRange["interval"]) => z.ZodType<Candle[]>;
  };
  day: { page: Page; shape: (symbol: string) => z.ZodType<DayStats> };
  /** `depth`: the suffix of the page's address for the book. */
  book: { page: Page; depth: string; shape: () => z.ZodType<Book> };
};
/** The public address of the same figures. */
type Page = (symbol: string) => string;

/** A decimal as the exchanges write it in JSON text. */
export const decimalText = z
  .string()
  .regex(/^\d{1,18}(?:\.\d{1,18})?$/)
  .transform(Number);
export const priceText = decimalText.pipe(z.number().positive());

/** Several requests cover a range that is too long for one; this is their limit. */
const MAX_REQUESTS = 5;

/** Opening times of the first and the last candle, epoch ms. */
type Part = { first: number; last: number };

/**
 * The parts of a range of at most `size` candles each, oldest first, opening times aligned. Candles that have not
 * closed at `now` are left out.
 */
export function partsOf({ interval, from, to }: CandleRange, size: number, now: number): Part[] {
  const step = CANDLE_MS[interval];
  const parts: Part[] = [];
  const end = Math.min(to, Math.floor(now / step) * step);
  for (
    let first = Math.ceil(from / step) * step;
    first < end && parts.length < MAX_REQUESTS;
    first += size * step
  ) {
    const last = Math.min(first + (size - 1) * step, Math.ceil(end / step) * step - step);
    parts.push({ first, last });
  }
  return parts;
}

/** Whether a candle's prices fit together. */
export function isCandle({ open, high, low, close }: Candle): boolean {
  return low > 0 && low <= Math.min(open, close) && high >= Math.max(open, close);
}

/**
 * The size of the orders within a share of the middle price, in USD on each side; `null` if the book does not reach so
 * far, or a side has no orders. The spread is in basis points.
 */
export function depthWithin(
  { bids, asks }: Book,
  share: number,
): { bidDepth: number; askDepth: number; spread: number } | null {
  const [bestBid, bestAsk] = [bids[0], asks[0]];
  const [lastBid, lastAsk] = [bids.at(-1), asks.at(-1)];
  if (bestBid === undefined || bestAsk === undefined || lastBid === undefined || lastAsk === undefined)
    return null;
  const middle = (bestBid.price + bestAsk.price) / 2;
  const [low, high] = [middle * (1 - share), middle * (1 + share)];
  if (lastBid.price > low || lastAsk.price < high) return null;
  const worth = (levels: Level[]) => levels.reduce((sum, { price, size }) => sum + price * size, 0);
  return {
    bidDepth: worth(bids.filter(({ price }) => price >= low)),
    askDepth: worth(asks.filter(({ price }) => price <= high)),
    spread: ((bestAsk.price - bestBid.price) / middle) * 10_000,
  };
}
