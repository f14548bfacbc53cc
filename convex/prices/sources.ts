import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import { readRounds } from "../providers/chain/accounts";
import {
  askTicker,
  TICKERS,
  type Quote,
  type Quoted,
  type Quotes,
  type Ticker,
} from "../providers/data/tickers";
import { FEED_DECIMALS, feedAddresses, livePrice, sequencerIsUp, type FeedName } from "./feeds";
import type { PricedToken } from "./tables";

/** The sources of live prices, most trusted first. */

/**
 * Live prices from the chain's price feeds, in one call.
 * @throws AppError `upstream` if the chain cannot be reached, its sequencer is not up, or no feed is live.
 */
export async function askFeeds(timeoutMs: number): Promise<Quotes> {
  const quotes = await readFeeds(["BTC", "ETH"], timeoutMs);
  if (Object.keys(quotes).length === 0) throw new AppError("upstream", "The price feeds are stale");
  return quotes;
}

/**
 * The live prices of some feeds, in one call.
 * @throws AppError `upstream` if the chain cannot be reached, or its sequencer is not up.
 */
export async function readFeeds<Feed extends FeedName>(
  feeds: readonly Feed[],
  timeoutMs: number,
): Promise<Partial<Record<Feed, Quote>>> {
  const [sequencer, ...rounds] = await readRounds(feedAddresses(feeds), timeoutMs);
  const now = Date.now();
  if (!sequencerIsUp(sequencer ?? null, now)) {
    throw new AppError("upstream", "The price feeds cannot be used: the chain's sequencer is not up");
  }
  const quotes: Partial<Record<Feed, Quote>> = {};
  for (const [index, feed] of feeds.entries()) {
    const round = rounds[index] ?? null;
    const price = livePrice(feed, round, now);
    if (round === null || price === null) continue;
    quotes[feed] = {
      usd: Number(formatUnits(price, FEED_DECIMALS)),
      change24h: null,
      observedAt: Number(round.updatedAt) * 1_000,
    };
  }
  return quotes;
}

export type Found<Coin extends Quoted = PricedToken> = {
  token: Coin;
  source: "chainlink" | Ticker;
  priceUsd: number;
  observedAt: number;
};

/**
 * Prices from the first source that knows each: the feeds, then one ticker after the other for the rest.
 * @param observedSince Epoch ms: older observations do not count.
 * @returns The prices, and why each source that was asked had not all of them.
 */
export async function findPrices<Coin extends Quoted>(
  coins: readonly Coin[],
  observedSince = 0,
  sources: readonly Found["source"][] = ["chainlink", ...TICKERS],
): Promise<{ found: Found<Coin>[]; failures: string[] }> {
  const found: Found<Coin>[] = [];
  const failures: string[] = [];
  const missing = new Set(coins);
  for (const source of sources) {
    if (missing.size === 0) break;
    try {
      const quotes =
        source === "chainlink"
          ? await askFeeds(deadlines.price)
          : await askTicker(source, [...missing], deadlines.price);
      for (const token of [...missing]) {
        const quote = quotes[token];
        if (quote === undefined || quote.observedAt < observedSince) continue;
        found.push({ token, source, priceUsd: quote.usd, observedAt: quote.observedAt });
        missing.delete(token);
      }
      if (missing.size > 0) failures.push(`${source} has no price of ${[...missing].join(", ")}`);
    } catch (error) {
      failures.push(messageOf(error));
    }
  }
  return { found, failures };
}
