import * as z from "zod";
import type { Doc } from "../_generated/dataModel";
import { iso } from "../lib/time";
import type { AskedMarket } from "./model";
import type { MarketFigures, MarketSource, RowSource } from "./tables";

/**
 * A market snapshot as `GET /mcp/market` answers it. It is checked and written once, when it is stored: a cached read hands
 * its text on, and who needs its figures reads them back.
 */

const change = z.number().describe("Change over 24 hours, in percent");

export const rowSource = z.enum(["chainlink", "coinbase", "binance", "coingecko", "model"]);
const source = rowSource.describe(
  "Who gives price and change: a price feed, an exchange, CoinGecko (coingecko.com), or the model alone",
);
const sizeSource = rowSource.describe("Who gives capitalisation and volume");

const keyPrice = z.object({ usd: z.number().describe("Price in USD"), usd_24h_change: change, source });

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

/** The answer of `GET /mcp/market`. */
export const marketSnapshot = z.object({
  fetchedAt: z.iso.datetime().describe("When these figures were fetched"),
  keyPrices: z.object({ bitcoin: keyPrice, ethereum: keyPrice, solana: keyPrice }),
  trending: z.array(
    z.object({ name: z.string(), symbol: z.string(), rank: z.int(), change24h: change, source }),
  ),
  top20: z.array(
    z.object({
      rank: z.int().describe("By market cap"),
      name: z.string(),
      symbol: z.string(),
      price: z.number().describe("USD"),
      change24h: change,
      marketCap: z.number().describe("USD"),
      source,
      sizeSource,
    }),
  ),
  focus: tokenFigures
    .nullable()
    .optional()
    .describe("Figures of the token asked for; null when the gateway knows none. Left out without `token`."),
  sources: z
    .array(
      z.object({
        name: z.string(),
        asOf: z.iso.datetime(),
        agreementBps: z
          .number()
          .int()
          .nonnegative()
          .describe(
            "The largest distance of the model's own price from this source's, over the coins it knows; at most 1000000.",
          ),
      }),
    )
    .describe("The live price sources that the figures were held against; empty when none was within reach."),
});

/** A row with who tells it; rows from before sources were told are the model's word. */
export function shown<Row extends { source?: RowSource; sizeSource?: RowSource }>(row: Row) {
  return { ...row, source: row.source ?? "model", sizeSource: row.sizeSource ?? "model" };
}

function shownFigures({ keyPrices, trending, top20, focus }: MarketFigures) {
  const priced = <Row extends { source?: RowSource }>(row: Row) => ({
    ...row,
    source: row.source ?? "model",
  });
  const { bitcoin, ethereum, solana } = keyPrices;
  return {
    keyPrices: { bitcoin: priced(bitcoin), ethereum: priced(ethereum), solana: priced(solana) },
    trending: trending.map(priced),
    top20: top20.map(shown),
    ...(focus === undefined ? {} : { focus: focus === null ? null : shown(focus) }),
  };
}

/** The answer's text, in JSON. @param fetchedAt Epoch ms. */
export function written(
  fetchedAt: number,
  { figures, sources }: Pick<AskedMarket, "figures" | "sources">,
): string {
  return JSON.stringify(
    marketSnapshot.parse({ fetchedAt: iso(fetchedAt), ...shownFigures(figures), sources }),
  );
}

export type Snapshot = { fetchedAt: number; figures: MarketFigures; sources: MarketSource[] };

/** What a row holds; `null` for a row from before answers were stored as text, which the next refresh replaces. */
export function readBack({ fetchedAt, body }: Doc<"marketSnapshots">): Snapshot | null {
  if (body === undefined) return null;
  const { keyPrices, trending, top20, focus, sources } = marketSnapshot.parse(JSON.parse(body));
  const figures = { keyPrices, trending, top20, ...(focus === undefined ? {} : { focus }) };
  return { fetchedAt, figures, sources };
}
