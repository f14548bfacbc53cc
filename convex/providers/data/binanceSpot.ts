import * as z from "zod";
import { lazy } from "../../lib/once";
import { rowsOf } from "../call";
import {
  bookOf,
  CANDLE_MS,
  decimalText,
  isCandle,
  priceText,
  type Candle,
  type Venue,
} from "./exchangeShapes";

/**
 * Binance's spot market against USDT, at its address for public data. Documents: github.com/binance/
 * binance-spot-api-docs, `faqs/market_data_only.md`, `rest-api.md`, `errors.md`: errors are `{ code, msg }`, an unknown
 * symbol is 400 with code -1121.
 */

const MAX_CANDLES = 1_000;
const INTERVALS = { minute: "1m", hour: "1h" } as const;
/** Costs a weight of 250 and reaches far enough for the large markets. */
const BOOK_LEVELS = 5_000;

const refusal = z.object({ code: z.literal(-1121) });

const pairOf = (symbol: string) => `symbol=${encodeURIComponent(symbol)}USDT`;

const bookShape = lazy(() => {
  const level = z.tuple([priceText, decimalText]);
  const answer = z.object({ lastUpdateId: z.number(), bids: rowsOf(level), asks: rowsOf(level) });
  return answer.transform((levels) => bookOf(levels, Date.now()));
});

export const binance: Venue = {
  source: "binance",
  isAbsence: (status, body) => status === 400 && refusal.safeParse(body).success,
  candles: {
    most: MAX_CANDLES,
    page: (symbol) => `/api/v3/klines?${pairOf(symbol)}&interval=1h`,
    path: (symbol, interval, { first, last }) =>
      `/api/v3/klines?${pairOf(symbol)}&interval=${INTERVALS[interval]}&startTime=${first}&endTime=${last}&limit=${MAX_CANDLES}`,
    shape: (interval) => {
      const openedAt = z.int().positive().multipleOf(CANDLE_MS[interval]);
      const row = z
        .tuple([openedAt, priceText, priceText, priceText, priceText, decimalText])
        .rest(z.unknown());
      return rowsOf(
        row
          .transform(([openedAt, open, high, low, close, volume]): Candle => {
            return { openedAt, open, high, low, close, volume };
          })
          .refine(isCandle),
      );
    },
  },
  day: {
    page: (symbol) => `/api/v3/ticker/24hr?${pairOf(symbol)}`,
    shape: (symbol) =>
      z
        .object({
          symbol: z.literal(`${symbol}USDT`),
          openPrice: priceText,
          highPrice: priceText,
          lowPrice: priceText,
          lastPrice: priceText,
          volume: decimalText,
          closeTime: z.int().positive(),
        })
        .transform(
          ({ openPrice: open, highPrice: high, lowPrice: low, lastPrice: last, volume, closeTime }) => {
            return { open, high, low, last, volume, observedAt: closeTime };
          },
        ),
  },
  book: {
    page: (symbol) => `/api/v3/depth?${pairOf(symbol)}`,
    depth: `&limit=${BOOK_LEVELS}`,
    shape: bookShape,
  },
};
