/**
 * A stand-in for the public tickers, for local use: the three wire formats at one address, about the same simulated
 * market as the local chain's price feeds and the model's stand-in.
 */

import { TICKERS, type Ticker } from "../control";
import { json, type Call } from "../http";
import { binanceDay } from "./exchanges";
import type { Market } from "./market";

/** CoinGecko's ids of the coins. */
const IDS = new Map([
  ["bitcoin", "BTC"],
  ["ethereum", "ETH"],
  ["solana", "SOL"],
]);

const PATHS: Record<Ticker, RegExp> = {
  coinbase: /^\/v2\/prices\//,
  binance: /^\/api\/v3\/ticker\//,
  coingecko: /^\/api\/v3\/simple\//,
};

/** The ticker of a path; `undefined` if there is none. */
export function tickerOf(path: string): Ticker | undefined {
  return TICKERS.find((ticker) => PATHS[ticker].test(path));
}

export function createTickers({ now, market }: { now: () => number; market: Market }) {
  const spot = ({ path }: Call): Response => {
    const symbol = /^\/v2\/prices\/([A-Z]+)-USD\/spot$/.exec(path)?.[1];
    if (symbol === undefined || !traded(symbol)) return refuse("coinbase", 404, "Invalid base currency");
    return json({
      data: { amount: String(market.coin(symbol, now()).price), base: symbol, currency: "USD" },
    });
  };

  const day = ({ path, query }: Call): Response => {
    const pair = query.get("symbol") ?? "";
    const symbol = /^([A-Z]+)USDT$/.exec(pair)?.[1];
    if (symbol === undefined || !traded(symbol)) return refuse("binance", 400, "Invalid symbol.");
    // Accelerated clocks have fractions of a millisecond.
    const at = Math.floor(now());
    if (path === "/api/v3/ticker/price")
      return json({ symbol: pair, price: market.coin(symbol, at).price.toFixed(8) });
    if (path !== "/api/v3/ticker/24hr") return refuse("binance", 404, "Unknown path");
    return json(binanceDay(market, symbol, at));
  };

  const listed = ({ path, query }: Call): Response => {
    if (path !== "/api/v3/simple/price") return refuse("coingecko", 404, "Unknown path");
    if (query.get("vs_currencies") !== "usd")
      return refuse("coingecko", 422, "Missing parameter vs_currencies");
    const at = now();
    // An unknown coin is missing from the answer, which still has status 200.
    const coins = (query.get("ids") ?? "").split(",").flatMap((id) => {
      const symbol = IDS.get(id);
      if (symbol === undefined) return [];
      const { price, change24h } = market.coin(symbol, at);
      const change = query.get("include_24hr_change") === "true" ? { usd_24h_change: change24h } : {};
      const updated =
        query.get("include_last_updated_at") === "true" ? { last_updated_at: Math.floor(at / 1_000) } : {};
      return [[id, { usd: price, ...change, ...updated }] as const];
    });
    return json(Object.fromEntries(coins));
  };

  return {
    handle: (call: Call): Response => {
      const ticker = tickerOf(call.path);
      if (ticker === undefined) return json({ error: `No ticker has ${call.path}` }, 404);
      if (call.method !== "GET") return refuse(ticker, 405, "Use GET");
      return { coinbase: spot, binance: day, coingecko: listed }[ticker](call);
    },
  };
}

function traded(symbol: string): boolean {
  return [...IDS.values()].includes(symbol);
}

/** An error in the ticker's words. */
export function tickerError(ticker: Ticker, status: number, message: string): unknown {
  switch (ticker) {
    case "coinbase":
      return { errors: [{ id: status === 404 ? "not_found" : "error", message }] };
    case "binance":
      return { code: status === 429 ? -1003 : -1121, msg: message };
    case "coingecko":
      return { status: { error_code: status, error_message: message } };
  }
}

function refuse(ticker: Ticker, status: number, message: string): Response {
  return json(tickerError(ticker, status, message), status);
}
