/**
 * Part of the stand-ins for local use: CoinGecko's and Hyperliquid's data of the simulated market, each in its own
 * form.
 */

import { json, type Call } from "../http";
import { parseJson } from "../../json";
import type { Coin, Market } from "./market";
import { smoothNoise, unit } from "../random";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type Context = { seed: string; now: () => number; market: Market };

/** CoinGecko's own name of a coin. */
const idOf = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

/** Coins that only track others, as its list mixes them with the rest: symbol, name, whose price, share of its value. */
const CLAIMS = [
  ["STETH", "Lido Staked Ether", "ETH", 0.07],
  ["WBTC", "Wrapped Bitcoin", "BTC", 0.006],
  ["WEETH", "Wrapped eETH", "ETH", 0.02],
  ["CBBTC", "Coinbase Wrapped BTC", "BTC", 0.003],
  ["USDE", "Ethena USDe", "USDT", 0.06],
] as const;
/** Small coins at the end of its list. */
const SMALL = [
  "JTO",
  "JUP",
  "LDO",
  "GRT",
  "SEI",
  "TIA",
  "STX",
  "IMX",
  "ENS",
  "CRV",
  "PENDLE",
  "MORPHO",
  "ZRO",
  "EIGEN",
];

function listOf(market: Market, at: number): Coin[] {
  const claims = CLAIMS.map(([symbol, name, of, share]): Coin => {
    const coin = market.coin(of, at);
    return { ...coin, symbol, name, marketCap: coin.marketCap * share, volume24h: coin.volume24h * share };
  });
  const small = SMALL.map((symbol) => ({ ...market.coin(symbol, at), name: symbol }));
  return [...market.coins(at), ...claims, ...small].sort((a, b) => b.marketCap - a.marketCap);
}

const geckoError = (status: number, message: string): Response =>
  json({ status: { error_code: status, error_message: message } }, status);

/** As documented at docs.coingecko.com for `/coins/markets` and `/search/trending`. */
export function coingecko({ now, market }: Context, { path, query }: Call): Response {
  const at = now();
  if (path === "/api/v3/search/trending") {
    const coins = market.trending(at).map(({ name, symbol, change24h }, index) => ({
      item: {
        id: idOf(name),
        coin_id: index + 1,
        name,
        symbol,
        market_cap_rank: listOf(market, at).findIndex((coin) => coin.symbol === symbol) + 1,
        score: index,
        data: { price: market.coin(symbol, at).price, price_change_percentage_24h: { usd: change24h } },
      },
    }));
    return json({ coins, nfts: [], categories: [] });
  }
  if (query.get("vs_currency") === null) return geckoError(422, "Missing parameter vs_currency");
  if (query.get("vs_currency") !== "usd") return geckoError(422, "invalid vs_currency");
  const size = Number(query.get("per_page") ?? "100");
  const page = Number(query.get("page") ?? "1");
  if (!(size >= 1 && size <= 250)) return geckoError(422, "invalid per_page");
  // Its lists are as old as its cache.
  const updated = new Date(Math.floor(at / MINUTE) * MINUTE).toISOString();
  const ids = query.get("ids")?.split(",");
  const coins = listOf(market, at).map((coin, index) => ({ ...coin, rank: index + 1 }));
  const asked = ids === undefined ? coins : coins.filter(({ name }) => ids.includes(idOf(name)));
  const rows = asked.slice((page - 1) * size, page * size);
  return json(
    rows.map(({ name, symbol, price, marketCap, volume24h, change24h, rank }) => ({
      id: idOf(name),
      symbol: symbol.toLowerCase(),
      name,
      current_price: price,
      market_cap: marketCap,
      market_cap_rank: rank,
      total_volume: volume24h,
      price_change_percentage_24h: change24h,
      last_updated: updated,
    })),
  );
}

/** As documented in hyperliquid-docs for the info endpoint's `metaAndAssetCtxs`; unreadable requests get 422. */
export function hyperliquid({ seed, now, market }: Context, { body, headers }: Call): Response {
  const asked = parseJson(body);
  const type = typeof asked === "object" && asked !== null && "type" in asked ? asked.type : undefined;
  if (!(headers.get("Content-Type") ?? "").startsWith("application/json") || type !== "metaAndAssetCtxs") {
    return new Response("Failed to deserialize the JSON body into the target type", { status: 422 });
  }
  const at = now();
  const listed = market
    .coins(at)
    .filter(({ change24h, price }) => Math.abs(price - 1) > 0.02 || change24h > 1);
  return json([
    {
      universe: listed.map(({ symbol }) => ({
        name: symbol === "PEPE" || symbol === "SHIB" ? `k${symbol}` : symbol,
        szDecimals: 2,
        maxLeverage: 20,
      })),
      marginTables: [],
    },
    listed.map(({ symbol, price, volume24h, marketCap }) => ({
      funding: (0.0000125 + 0.00003 * smoothNoise(seed, symbol, "funding")(at / (7 * HOUR))).toFixed(10),
      openInterest: (
        (marketCap / price) *
        (0.01 + 0.01 * unit(seed, symbol, "interest")) *
        (1 + 0.1 * smoothNoise(seed, symbol, "open interest")(at / (5 * HOUR)))
      ).toFixed(4),
      prevDayPx: market.coin(symbol, at - DAY).price.toPrecision(6),
      dayNtlVlm: (volume24h / 20).toFixed(2),
      oraclePx: String(price),
      markPx: String(price),
    })),
  ]);
}
