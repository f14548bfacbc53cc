import * as z from "zod";
import { lazy } from "../../lib/once";
import { askPublic, type Turns } from "./publicData";
import { rowsOf } from "../call";

/**
 * CoinGecko's API: the largest coins and the most searched ones. Documents: docs.coingecko.com,
 * reference/coins-markets, reference/trending-search and reference/authentication. Its terms
 * (coingecko.com/en/api_terms) require naming it as the source, with a link: every fact carries the coin's page.
 */

/** More than reports mention: breadth needs fifty independent coins, and about every second of these tracks another. */
const LISTED = 100;

export type ListedCoin = {
  symbol: string;
  name: string;
  /** By market capitalisation; 1 is the largest. */
  rank: number;
  /** USD, as below. */
  price: number;
  /** Percent; `null` if there is no price of a day ago. */
  change24h: number | null;
  marketCap: number;
  volume24h: number;
  /** Epoch ms. */
  observedAt: number;
  url: string;
};

const symbol = z
  .string()
  .min(1)
  .max(40)
  .transform((text) => text.toUpperCase());
const pageOf = (id: string): string => `https://www.coingecko.com/en/coins/${encodeURIComponent(id)}`;

const rowsShape = lazy(() =>
  rowsOf(
    z
      .object({
        id: z.string(),
        symbol,
        name: z.string().min(1),
        current_price: z.number().positive(),
        market_cap: z.number().positive(),
        market_cap_rank: z.int().positive(),
        total_volume: z.number().nonnegative(),
        price_change_percentage_24h: z.number().nullish(),
        last_updated: z.iso.datetime({ offset: true }),
      })
      .transform((data): ListedCoin => {
        return {
          symbol: data.symbol,
          name: data.name,
          rank: data.market_cap_rank,
          price: data.current_price,
          change24h: data.price_change_percentage_24h ?? null,
          marketCap: data.market_cap,
          volume24h: data.total_volume,
          observedAt: Date.parse(data.last_updated),
          url: pageOf(data.id),
        };
      }),
  ).refine((coins) => coins.length > 0),
);

/** The largest coins by market capitalisation, largest first, one per symbol. @throws AppError `upstream` */
export async function askMarkets(turns: Turns, timeoutMs: number): Promise<ListedCoin[]> {
  const path = `/api/v3/coins/markets?vs_currency=usd&order=market_cap_desc&per_page=${LISTED}&page=1`;
  const coins = await askPublic(turns, "coingecko", { path, shape: rowsShape() }, timeoutMs);
  // Of two coins with one symbol, the larger counts.
  return coins
    .sort((a, b) => a.rank - b.rank)
    .filter((coin, index, all) => all.findIndex(({ symbol }) => symbol === coin.symbol) === index);
}

export type SearchedCoin = {
  symbol: string;
  name: string;
  /** 1 is the most searched. */
  place: number;
  /** Percent, against USD; `null` if missing. */
  change24h: number | null;
  url: string;
};

const trendingShape = lazy(() => {
  const item = z.object({
    id: z.string(),
    symbol,
    name: z.string().min(1),
    data: z
      .object({ price_change_percentage_24h: z.object({ usd: z.number().optional() }).nullish() })
      .nullish(),
  });
  // The place counts malformed rows too.
  const placed = z
    .array(z.unknown())
    .transform((rows): unknown[] => rows.map((row, index) => ({ row, place: index + 1 })));
  const coin = z
    .object({ row: z.object({ item }), place: z.number() })
    .transform(({ row: { item: entry }, place }): SearchedCoin => ({
      symbol: entry.symbol,
      name: entry.name,
      place,
      change24h: entry.data?.price_change_percentage_24h?.usd ?? null,
      url: pageOf(entry.id),
    }));
  return z.object({ coins: placed.pipe(rowsOf(coin)) });
});

/** The coins most searched for on CoinGecko in the last hours, most searched first. @throws AppError `upstream` */
export async function askTrending(turns: Turns, timeoutMs: number): Promise<SearchedCoin[]> {
  const request = { path: "/api/v3/search/trending", shape: trendingShape() };
  return (await askPublic(turns, "coingecko", request, timeoutMs)).coins;
}
