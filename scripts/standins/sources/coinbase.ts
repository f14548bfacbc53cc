/** Part of the stand-ins for local use: Coinbase Exchange's data of the simulated market. */

import { COINS } from "./coins";
import { json, type Call } from "../http";
import type { Market } from "./market";
import { unit } from "../random";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 86_400_000;

/** It does not list every coin. */
const UNLISTED = new Set(["TRX", "XMR", "VIRTUAL", "DEGEN"]);

type Context = { now: () => number; market: Market };

function isListed(symbol: string): boolean {
  return COINS.some((coin) => coin.symbol === symbol) && !UNLISTED.has(symbol);
}

/** Samples per candle; the first is its open, the last its close. */
const LOOKS = 6;

/** A candle of the simulated market. Volumes are even over the day. */
function candleOf(market: Market, symbol: string, openedAt: number, step: number) {
  const prices = Array.from({ length: LOOKS + 1 }, (_, look) => {
    return market.price(symbol, openedAt + (step * look) / LOOKS);
  });
  const { volume24h, price } = market.coin(symbol, openedAt);
  return {
    open: prices[0] ?? price,
    high: Math.max(...prices),
    low: Math.min(...prices),
    close: prices.at(-1) ?? price,
    volume: ((volume24h / price) * step) / DAY,
  };
}

function dayOf(market: Market, symbol: string, at: number) {
  const hours = Array.from({ length: 25 }, (_, hour) => market.price(symbol, at - (DAY * hour) / 24));
  const { price, volume24h } = market.coin(symbol, at);
  return {
    open: hours.at(-1) ?? price,
    high: Math.max(...hours),
    low: Math.min(...hours),
    last: price,
    volume: volume24h / price,
  };
}

/** Price and size of the levels on both sides, best first, down to two percent from the middle. */
function bookOf(market: Market, symbol: string, at: number) {
  const { price, volume24h } = market.coin(symbol, at);
  const levels = 60;
  const side = (direction: 1 | -1) =>
    Array.from({ length: levels }, (_, index) => {
      const distance = 0.0001 + (0.02 * index) / (levels - 1);
      const share = 0.5 + unit("coinbase", symbol, Math.floor(at / MINUTE), direction, index);
      return { price: price * (1 + direction * distance), size: ((volume24h / price) * share) / 20_000 };
    });
  return { bids: side(-1), asks: side(1) };
}

const GRANULARITIES = [60, 300, 900, 3_600, 21_600, 86_400];
const COINBASE_CANDLES = 300;

const coinbaseError = (message: string, status: number): Response => json({ message }, status);

/** As documented at docs.cdp.coinbase.com for the exchange's `/products/{id}/ticker`, `/candles`, `/stats` and `/book`. */
export function coinbaseExchange({ now, market }: Context, { path, query, headers }: Call): Response {
  if (!headers.has("User-Agent")) return coinbaseError("User-Agent header is required.", 400);
  const [, symbol = "", what = ""] =
    /^\/products\/([A-Z0-9.$%-]+)-USD\/(ticker|candles|stats|book)$/.exec(path) ?? [];
  if (!isListed(symbol)) return coinbaseError("NotFound", 404);
  const at = Math.floor(now());
  if (what === "ticker") {
    const { price, volume24h } = market.coin(symbol, at);
    const trade = { ask: String(price), bid: String(price), price: String(price), size: "0.01" };
    return json({
      ...trade,
      volume: (volume24h / price).toFixed(8),
      trade_id: at,
      time: new Date(at).toISOString(),
    });
  }
  if (what === "stats") {
    const { open, high, low, last, volume } = dayOf(market, symbol, at);
    const day = { open, high, low, last, volume, volume_30day: volume * 30 };
    return json(Object.fromEntries(Object.entries(day).map(([name, value]) => [name, value.toFixed(8)])));
  }
  if (what === "book") {
    if (query.get("level") !== "2") return coinbaseError("Invalid level", 400);
    const { bids, asks } = bookOf(market, symbol, at);
    const levels = (side: typeof bids) =>
      side.map(({ price, size }) => [price.toFixed(8), size.toFixed(8), 3]);
    const time = new Date(at).toISOString();
    return json({
      bids: levels(bids),
      asks: levels(asks),
      sequence: at,
      auction_mode: false,
      auction: null,
      time,
    });
  }
  const granularity = Number(query.get("granularity") ?? "60");
  if (!GRANULARITIES.includes(granularity)) return coinbaseError("Unsupported granularity", 400);
  const step = granularity * SECOND;
  const [start, end] = [query.get("start"), query.get("end")].map((text) => Date.parse(text ?? ""));
  const isRange = start !== undefined && end !== undefined && !Number.isNaN(start) && !Number.isNaN(end);
  const last = Math.floor((isRange ? Math.min(end, at) : at) / step) * step;
  const first = isRange ? Math.floor(start / step) * step : last - (COINBASE_CANDLES - 1) * step;
  if (isRange && (end - start) / step > COINBASE_CANDLES) {
    const message = `granularity too small for the requested time range. Count of aggregations requested exceeds ${COINBASE_CANDLES}`;
    return coinbaseError(message, 400);
  }
  const rows: number[][] = [];
  // Newest first, and one from before the start, which the documents allow.
  for (let openedAt = last; openedAt >= first - step && rows.length < COINBASE_CANDLES; openedAt -= step) {
    const { open, high, low, close, volume } = candleOf(market, symbol, openedAt, step);
    rows.push([openedAt / SECOND, low, high, open, close, volume]);
  }
  return json(rows);
}
