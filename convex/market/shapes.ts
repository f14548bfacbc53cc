import * as z from "zod";
import { rank, symbol, shortText, positiveUsd, usdOrNull } from "../figures/answers";
import { ROW_SOURCES } from "./tables";

/** The market's figures, row by row: the rows requested from a model, and the public rows with their sources. */

const change24h = z.number().describe("percent change over 24 hours, 1.5 is 1.5 %");
const price = positiveUsd.describe("USD");
const name = shortText(80);
const coinNamed = { name, symbol, rank: rank.describe("1 is first"), change24h };

/** The rows requested from a model. */
export const askedRows = {
  keyPrice: z.object({ usd: price, usd_24h_change: change24h }),
  /** One of the most searched coins. */
  coin: z.object(coinNamed),
  /** One of the largest coins. */
  top: z.object({ ...coinNamed, price, marketCap: price }),
  token: z.object({
    symbol: symbol.describe("such as SOL"),
    name,
    price,
    change24h,
    marketCap: usdOrNull.describe("USD; null when unknown"),
    volume24h: usdOrNull.describe("USD over 24 hours; null when unknown"),
  }),
};

/** The market as the gateway knows it. */
export const gatewayList = z.object({
  keyPrices: z.object({
    bitcoin: askedRows.keyPrice,
    ethereum: askedRows.keyPrice,
    solana: askedRows.keyPrice,
  }),
  trending: z
    .array(askedRows.coin)
    .min(1)
    .overwrite((coins) => sortByRank(coins).slice(0, 10))
    .describe("the ten most searched coins, most searched first"),
  top20: z
    .array(askedRows.top)
    .min(20)
    .overwrite((coins) => sortByRank(coins).slice(0, 20))
    .describe("the 20 largest coins by market capitalisation, largest first"),
});
export type GatewayList = z.output<typeof gatewayList>;

function sortByRank<Item extends { rank: number }>(items: Item[]): Item[] {
  return items.toSorted((a, b) => a.rank - b.rank);
}

/** A token's figures from the model. */
export type AskedFigures = z.output<typeof askedRows.token>;

const rowSource = z.enum(ROW_SOURCES);
const source = rowSource.describe(
  "The source of price and change: a price feed, an exchange, CoinGecko (coingecko.com), or only the model",
);
const sizeSource = rowSource.describe("The source of capitalisation and volume");

const keyPrice = askedRows.keyPrice.extend({ source });
const tokenFigures = askedRows.token.extend({ source, sizeSource });
export type TokenFigures = z.output<typeof tokenFigures>;

const marketFigures = z.object({
  keyPrices: z.object({ bitcoin: keyPrice, ethereum: keyPrice, solana: keyPrice }),
  trending: z.array(askedRows.coin.extend({ source })).describe("The most searched"),
  top20: z.array(askedRows.top.extend({ source, sizeSource })).describe("By market capitalisation"),
});
export type MarketFigures = z.output<typeof marketFigures>;

/** The answer of `GET /mcp/market`. */
export const marketSnapshot = z.object({
  fetchedAt: z.iso.datetime().describe("When these figures were fetched"),
  ...marketFigures.shape,
  sources: z
    .array(z.object({ name: z.string(), asOf: z.iso.datetime() }))
    .describe("The live price sources; empty if none could be reached."),
});
export type MarketSnapshot = z.output<typeof marketSnapshot>;

/** The answer of `/mcp/token` without its question; cached as it is sent. */
export const tokenAnswer = z.object({
  token: tokenFigures.nullable().describe("null when the question names no known token"),
  answer: z.string(),
  model: z.string().describe("The model that answered; none when no model was asked"),
  priceSource: rowSource
    .nullable()
    .describe("The source of the price; `model` if no live source knows the token, null without a token"),
  fetchedAt: z.iso
    .datetime()
    .describe("When the source saw the price; for the model's price, when it answered"),
});
export type TokenAnswer = z.output<typeof tokenAnswer>;
