import { deadlines } from "../lib/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { formatUnits } from "../lib/money";
import { readRounds } from "../providers/chain";
import { askTicker, TICKERS, type Quotes, type Ticker } from "../providers/tickers";
import { FEED_DECIMALS, FEEDS, livePrice, SEQUENCER_FEED, sequencerIsUp } from "./feeds";
import type { PricedToken } from "./tables";

/** The sources of live prices, most trusted first. */

const FED = ["BTC", "ETH"] as const;

/**
 * What the chain's price feeds say, in one call: the prices that are live.
 * @throws AppError `upstream` when the chain cannot be asked, its sequencer is not up, or no feed is live.
 */
export async function askFeeds(timeoutMs: number): Promise<Quotes> {
  const [sequencer, ...rounds] = await readRounds(
    [SEQUENCER_FEED, ...FED.map((symbol) => FEEDS[symbol].address)],
    timeoutMs,
  );
  const now = Date.now();
  if (!sequencerIsUp(sequencer ?? null, now)) {
    throw new AppError("upstream", "The price feeds do not count: the chain's sequencer is not up");
  }
  const quotes: Quotes = {};
  for (const [index, symbol] of FED.entries()) {
    const round = rounds[index] ?? null;
    const price = livePrice(symbol, round, now);
    if (round === null || price === null) continue;
    quotes[symbol] = {
      usd: Number(formatUnits(price, FEED_DECIMALS)),
      change24h: null,
      observedAt: Number(round.updatedAt) * 1_000,
    };
  }
  if (Object.keys(quotes).length === 0) throw new AppError("upstream", "The price feeds are stale");
  return quotes;
}

export type Found = {
  token: PricedToken;
  source: "chainlink" | Ticker;
  priceUsd: number;
  observedAt: number;
};

/**
 * Prices from the first source that knows each: the feeds, then one ticker after the other for what is still missing.
 * @param observedSince Epoch ms: what a source saw before counts as not known.
 * @returns What was found, and why each source that was asked could not tell all.
 */
export async function findPrices(
  tokens: readonly PricedToken[],
  observedSince = 0,
): Promise<{ found: Found[]; failures: string[] }> {
  const found: Found[] = [];
  const failures: string[] = [];
  const missing = new Set(tokens);
  for (const source of ["chainlink", ...TICKERS] as const) {
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
      if (missing.size > 0) failures.push(`${source} does not tell ${[...missing].join(", ")}`);
    } catch (error) {
      failures.push(messageOf(error));
    }
  }
  return { found, failures };
}
