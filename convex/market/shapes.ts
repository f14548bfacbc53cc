import * as z from "zod";

/** The market as callers see it and as it is stored. */

const change = z.number().describe("Change over 24 hours, in percent");

export const rowSource = z.enum(["chainlink", "coinbase", "binance", "coingecko", "model"]);
const source = rowSource.describe(
  "Who gives price and change: a price feed, an exchange, CoinGecko (coingecko.com), or the model alone",
);
const sizeSource = rowSource.describe("Who gives capitalisation and volume");

const keyPrice = z.object({ usd: z.number().describe("Price in USD"), usd_24h_change: change, source });

/** One of the most searched; rank 1 is first. */
export const coin = z.object({
  name: z.string(),
  symbol: z.string(),
  rank: z.int(),
  change24h: change,
  source,
});

export const tokenFigures = z.object({
  symbol: z.string(),
  name: z.string(),
  price: z.number().describe("USD"),
  change24h: change,
  marketCap: z.number().nullable().describe("USD"),
  volume24h: z.number().nullable().describe("USD traded in 24 hours"),
  source,
  sizeSource,
});

export type TokenFigures = z.output<typeof tokenFigures>;

/** A source of prices that the figures were held against. */
export const marketSource = z.object({
  name: z.string(),
  asOf: z.iso.datetime(),
  agreementBps: z
    .number()
    .int()
    .nonnegative()
    .nullable()
    .describe(
      "The largest distance of the model's own price from this source's, over the coins it knows; at most 1000000. null where no model was asked.",
    ),
});

export const marketFigures = z.object({
  keyPrices: z.object({ bitcoin: keyPrice, ethereum: keyPrice, solana: keyPrice }),
  trending: z.array(coin),
  top20: z.array(
    z.object({
      rank: z.int().describe("By market cap"),
      ...tokenFigures.omit({ volume24h: true }).shape,
      marketCap: z.number().describe("USD"),
    }),
  ),
  focus: tokenFigures
    .nullable()
    .optional()
    .describe("Figures of the token asked for; null when the gateway knows none. Left out without `token`."),
});

/** The answer of `GET /mcp/market`. */
export const marketSnapshot = z.object({
  fetchedAt: z.iso.datetime().describe("When these figures were fetched"),
  ...marketFigures.shape,
  sources: z
    .array(marketSource)
    .describe("The live price sources that the figures were held against; empty when none was within reach."),
});
