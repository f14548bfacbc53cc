import * as z from "zod";
import { lazy } from "../../lib/once";
import { iso, SECOND } from "../../lib/time";
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
 * Coinbase Exchange, public market data against USD. Documents: docs.cdp.coinbase.com, exchange/reference:
 * `exchangerestapi_getproductcandles`, `…getproductstats`, `…getproductbook`; errors are `{ message }`, an unknown
 * product is 404. Candles may be missing if nothing was traded, and are "not to be polled frequently".
 */

const pathOf = (symbol: string) => `/products/${encodeURIComponent(symbol)}-USD`;

const candlesShape = lazy(() => {
  const figure = z.number();
  const row = z.tuple([z.int().positive(), figure, figure, figure, figure, figure]).rest(z.unknown());
  return rowsOf(
    row
      .transform(([time, low, high, open, close, volume]): Candle => {
        return { openedAt: time * SECOND, open, high, low, close, volume };
      })
      .refine(isCandle),
  );
});

const dayShape = lazy(() =>
  z
    .object({ open: priceText, high: priceText, low: priceText, last: priceText, volume: decimalText })
    .transform((stats) => ({ ...stats, observedAt: Date.now() })),
);

const bookShape = lazy(() => {
  const level = z.tuple([priceText, decimalText, z.number()]);
  return z
    .object({ bids: rowsOf(level), asks: rowsOf(level), time: z.iso.datetime({ offset: true }) })
    .transform((levels) => bookOf(levels, Date.parse(levels.time)));
});

export const coinbase: Venue = {
  source: "coinbase",
  isAbsence: (status) => status === 404,
  candles: {
    most: 300,
    page: (symbol) => `${pathOf(symbol)}/candles`,
    path: (symbol, interval, { first, last }) =>
      `${pathOf(symbol)}/candles?granularity=${CANDLE_MS[interval] / SECOND}&start=${iso(first)}&end=${iso(last)}`,
    shape: candlesShape,
  },
  day: { page: (symbol) => `${pathOf(symbol)}/stats`, shape: dayShape },
  book: { page: (symbol) => `${pathOf(symbol)}/book?level=2`, depth: "", shape: bookShape },
};
