import * as z from "zod";
import { once } from "../../lib/objects";
import { COIN_IDS, isMajor } from "../../lib/money/coins";
import { rowsShape } from "../call";
import { askPublic, isLive, type RateLimitTurns } from "./publicData";

/**
 * CoinGecko's API: the largest coins and the most searched ones. Documents: docs.coingecko.com,
 * reference/coins-markets, reference/trending-search and reference/authentication. Its terms
 * (coingecko.com/en/api_terms) require naming it as the source, with a link: every fact carries the coin's page.
 */

/** How many of the largest coins are requested: some rows are stale, nameless, or share the ticker of a larger coin. */
const ASKED = 100;

const id = z.string().min(1).max(100);
const symbol = z
  .string()
  .min(1)
  .max(40)
  .transform((text) => text.toUpperCase());

/** The page of a coin. */
export const getCoinPage = (coin: string): string =>
  `https://www.coingecko.com/en/coins/${encodeURIComponent(coin)}`;

/** Whether a coin may use this ticker: a major's is the major's alone. */
const isItself = (coin: { id: string; symbol: string }): boolean =>
  !isMajor(coin.symbol) || COIN_IDS[coin.symbol] === coin.id;

/** Market sizes in whole dollars. */
const roundUsd = (usd: number): number => (usd < 1 ? usd : Math.round(usd));

/** USD, percent over 24 hours (`null` if there is no price of a day ago), and epoch ms; the first rank is the largest. */
const rowShape = once(() =>
  z
    .object({
      id,
      symbol,
      name: z.string().min(1).max(100),
      current_price: z.number().positive(),
      market_cap: z.number().positive(),
      market_cap_rank: z.int().positive(),
      total_volume: z.number().positive(),
      price_change_percentage_24h: z.number().nullish(),
      last_updated: z.iso.datetime({ offset: true }),
    })
    .transform((data) => ({
      id: data.id,
      symbol: data.symbol,
      name: data.name,
      rank: data.market_cap_rank,
      price: data.current_price,
      change24h: data.price_change_percentage_24h ?? null,
      marketCap: roundUsd(data.market_cap),
      volume24h: roundUsd(data.total_volume),
      observedAt: Date.parse(data.last_updated),
    }))
    .refine((coin) => isLive(coin.observedAt) && isItself(coin)),
);

// Rows without recent trades are dropped; they do not count as malformed.
const coinsShape = once(() =>
  rowsShape(z.record(z.string(), z.unknown()))
    .transform((rows) => rows.flatMap((row) => rowShape().safeParse(row).data ?? []))
    .refine((coins) => coins.length > 0),
);

/**
 * The largest coins by market capitalisation, largest first, one per symbol; with `ids`, these coins.
 * @throws AppError `upstream`
 */
export async function askCoins(turns: RateLimitTurns, timeoutMs: number, ids?: readonly string[]) {
  const which = ids === undefined ? "" : `&ids=${ids.join(",")}`;
  const path = `/api/v3/coins/markets?vs_currency=usd&order=market_cap_desc&per_page=${ASKED}&page=1${which}`;
  const coins = await askPublic(turns, "coingecko", { path, shape: coinsShape() }, timeoutMs);
  return coins
    .sort((a, b) => a.rank - b.rank)
    .filter((coin, index, all) => all.findIndex((one) => one.symbol === coin.symbol) === index);
}

const trendingShape = once(() => {
  const change = z.object({ price_change_percentage_24h: z.object({ usd: z.number().nullish() }).nullish() });
  const row = z.object({
    item: z.object({ id, symbol, name: z.string().min(1).max(100), data: change.nullish() }),
  });
  // The place counts malformed rows too.
  const coins = z.array(z.unknown()).transform((rows) =>
    rows.flatMap((one, index) => {
      const coin = row.safeParse(one).data?.item;
      if (coin === undefined) return [];
      const change24h = coin.data?.price_change_percentage_24h?.usd ?? null;
      return [{ id: coin.id, symbol: coin.symbol, name: coin.name, place: index + 1, change24h }];
    }),
  );
  return z.object({ coins });
});

/** The coins most searched for on CoinGecko in the last hours, place 1 the most searched. @throws AppError `upstream` */
export async function askTrending(turns: RateLimitTurns, timeoutMs: number) {
  const request = { path: "/api/v3/search/trending", shape: trendingShape() };
  return (await askPublic(turns, "coingecko", request, timeoutMs)).coins.filter(isItself);
}
