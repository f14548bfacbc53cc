import * as z from "zod";
import { AppError } from "../../lib/errors";
import { once } from "../../lib/objects";
import { SOURCE_ADDRESSES, SOURCE_NAMES } from "../../figures/publicSources";
import { toIso, SECOND } from "../../lib/time";
import { rowsShape } from "../call";
import { askPublic, decimal as signed, isLive, type RateLimitTurns } from "./publicData";

/**
 * Coinbase Exchange, public market data against USD. Documents: docs.cdp.coinbase.com, exchange/reference:
 * `exchangerestapi_getproductticker`, `…candles`, `…stats`, `…book`; errors are `{ message }`, an unknown product is
 * 404. Candles may be missing if nothing was traded.
 */

/** Prices in USD, volume in coins, `openedAt` in epoch ms. */
export type Candle = {
  openedAt: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
};

/** Candles of a minute or an hour (`step`, in ms) that open in [from, to), epoch ms. */
type CandleRange = { step: number; from: number; to: number };

/** The most candles in one answer, and the most answers for a range. */
const PAGE = 300;
const MAX_PAGES = 5;
/** The least turnover of a day, in USD: below it the last trade is no price. */
const LEAST_TRADED = 1_000;

const decimal = signed.pipe(z.number().nonnegative());
const price = signed.pipe(z.number().positive());
const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

type Page = "ticker" | "stats" | "candles" | "book?level=2";
const buildPath = (symbol: string, page: Page) => `/products/${encodeURIComponent(symbol)}-USD/${page}`;

/** The public address of the same figures, wherever the request was really sent. */
export const getCoinbasePage = (symbol: string, page: Page): string =>
  SOURCE_ADDRESSES.coinbase + buildPath(symbol, page);

const ask = <Shape extends z.ZodType>(turns: RateLimitTurns, path: string, shape: Shape, timeoutMs: number) =>
  askPublic(turns, "coinbase", { path, shape, absence: 404 }, timeoutMs);

const tickerShape = once(() => z.object({ price, time }));

/** The last trade; `observedAt` in epoch ms. @throws AppError `not_found`; `upstream`, also when it is old */
export async function askTrade(turns: RateLimitTurns, symbol: string, timeoutMs: number) {
  const trade = await ask(turns, buildPath(symbol, "ticker"), tickerShape(), timeoutMs);
  if (!isLive(trade.time)) throw haltedMarketError(symbol, "upstream");
  return { usd: trade.price, observedAt: trade.time };
}

const dayShape = once(() =>
  z.object({ open: decimal, high: decimal, low: decimal, last: decimal, volume: decimal }),
);

/**
 * The last day: `open` is a day ago, `volume` in coins.
 * @throws AppError `not_found` if the coin is not listed, or is not traded; `upstream`
 */
export async function askDay(turns: RateLimitTurns, symbol: string, timeoutMs: number) {
  const day = await ask(turns, buildPath(symbol, "stats"), dayShape(), timeoutMs);
  const isTraded = Math.min(day.open, day.low, day.high) > 0 && day.volume * day.last >= LEAST_TRADED;
  if (!isTraded) throw haltedMarketError(symbol, "not_found");
  return day;
}

const haltedMarketError = (symbol: string, code: "not_found" | "upstream") =>
  new AppError(code, `${SOURCE_NAMES.coinbase}'s market of ${symbol} has almost no trades`);

const bookShape = once(() => {
  const level = z.tuple([price, decimal]).rest(z.unknown());
  return z.object({ bids: rowsShape(level), asks: rowsShape(level), time });
});

/**
 * USD of the orders within a share of the middle price, as far as one answer reaches, and the spread in basis points.
 * @throws AppError `not_found`; `upstream`, also when the book does not reach so far
 */
export async function askDepth(turns: RateLimitTurns, symbol: string, share: number, timeoutMs: number) {
  const { bids, asks, ...book } = await ask(turns, buildPath(symbol, "book?level=2"), bookShape(), timeoutMs);
  const [bestBid = 0, lastBid = Infinity] = [bids[0]?.[0], bids.at(-1)?.[0]];
  const [bestAsk = 0, lastAsk = 0] = [asks[0]?.[0], asks.at(-1)?.[0]];
  const middle = (bestBid + bestAsk) / 2;
  const [low, high] = [middle * (1 - share), middle * (1 + share)];
  if (lastBid > low || lastAsk < high || !isLive(book.time)) {
    const reach = `does not reach ${share * 100} % from the price`;
    throw new AppError("upstream", `${SOURCE_NAMES.coinbase}'s order book ${reach}`);
  }
  const worth = (levels: typeof bids) => levels.reduce((sum, [at, size]) => sum + at * size, 0);
  return {
    bidDepth: worth(bids.filter(([at]) => at >= low)),
    askDepth: worth(asks.filter(([at]) => at <= high)),
    spread: ((bestAsk - bestBid) / middle) * 10_000,
    observedAt: book.time,
  };
}

const candlesShape = once(() => {
  const figure = z.number();
  const row = z.tuple([z.int().positive(), figure, figure, figure, figure, figure]).rest(z.unknown());
  return rowsShape(
    row
      .transform(([at, low, high, open, close, volume]): Candle => {
        return { openedAt: at * SECOND, open, high, low, close, volume };
      })
      .refine(
        ({ open, high, low, close }) =>
          low > 0 && low <= Math.min(open, close) && high >= Math.max(open, close),
      ),
  );
});

/** Closed candles of a range, oldest first. @param timeoutMs For each answer. @throws AppError `not_found`, `upstream` */
export async function askCandles(
  turns: RateLimitTurns,
  symbol: string,
  { step, from, to }: CandleRange,
  timeoutMs: number,
): Promise<Candle[]> {
  const end = Math.min(to, Math.floor(Date.now() / step) * step);
  const found: Candle[] = [];
  let first = Math.ceil(from / step) * step;
  for (let page = 0; first < end && page < MAX_PAGES; page++) {
    const last = Math.min(first + (PAGE - 1) * step, Math.ceil(end / step) * step - step);
    const range = `granularity=${step / SECOND}&start=${toIso(first)}&end=${toIso(last)}`;
    const path = `${buildPath(symbol, "candles")}?${range}`;
    const candles = await ask(turns, path, candlesShape(), timeoutMs);
    // Some may be from before the start.
    const [earliest, latest] = [first, last];
    found.push(...candles.filter(({ openedAt }) => openedAt >= earliest && openedAt <= latest));
    first = last + step;
  }
  return found.sort((a, b) => a.openedAt - b.openedAt);
}
