import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorMessage } from "../lib/errors";
import { formatUnits } from "../lib/money/amounts";
import { COIN_IDS, type Major } from "../lib/money/coins";
import { deadlines } from "../platform/outside/deadlines";
import { readRounds } from "../providers/chain/accounts";
import { askTrade } from "../providers/data/coinbase";
import { askCoins } from "../providers/data/coingecko";
import { FEED_DECIMALS, listFeedAddresses, getFeedPrice, isSequencerUp, type FeedName } from "./feeds";
import { PRICE_SOURCES, type Price, type PricedToken, type PriceSource } from "./tables";

/** Live prices: from the chain's price feeds, else from Coinbase, else from CoinGecko. Never from a language model. */

/** `observedAt` is the source's own time, in epoch ms. */
export type PriceQuote = { usd: number; observedAt: number };
type MajorQuote = PriceQuote & { symbol: Major };

/**
 * The live prices of some feeds, in one call.
 * @throws AppError `upstream` if the chain cannot be reached, or its sequencer is not up.
 */
export async function readFeeds<Feed extends FeedName>(
  feeds: readonly Feed[],
  timeoutMs: number,
): Promise<Partial<Record<Feed, PriceQuote>>> {
  const [sequencer, ...rounds] = await readRounds(listFeedAddresses(feeds), timeoutMs);
  const now = Date.now();
  if (!isSequencerUp(sequencer ?? null, now)) {
    throw new AppError("upstream", "The price feeds cannot be used while the chain's sequencer is down");
  }
  const quotes: Partial<Record<Feed, PriceQuote>> = {};
  for (const [index, feed] of feeds.entries()) {
    const round = rounds[index] ?? null;
    const price = getFeedPrice(feed, round, now);
    if (round === null || price === null) continue;
    const usd = Number(formatUnits(price, FEED_DECIMALS));
    quotes[feed] = { usd, observedAt: Number(round.updatedAt) * 1_000 };
  }
  return quotes;
}

type AskQuotes = (symbols: readonly Major[], timeoutMs: number) => Promise<MajorQuote[]>;

/**
 * The request to each source for some coins; coins that it does not know are missing from its answer. It throws `upstream`
 * if it has not a single price.
 */
export const ASK_SOURCE: Readonly<Record<PriceSource, AskQuotes>> = {
  chainlink: async (symbols, timeoutMs) => {
    const quotes = await readFeeds(["BTC", "ETH"], timeoutMs);
    const found = Object.entries(quotes).flatMap(([name, quote]) =>
      symbols.filter((symbol) => symbol === name).map((symbol) => ({ symbol, ...quote })),
    );
    if (found.length === 0) throw new AppError("upstream", "The price feeds are stale");
    return found;
  },
  coinbase: async (symbols, timeoutMs) => {
    const requests = symbols.map(async (symbol) => ({
      symbol,
      ...(await askTrade(null, symbol, timeoutMs)),
    }));
    const results = await Promise.allSettled(requests);
    const found = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const failed = results.find((one) => one.status === "rejected");
    if (found.length === 0 && failed !== undefined) throw failed.reason;
    return found;
  },
  coingecko: async (symbols, timeoutMs) => {
    const ids = symbols.map((symbol) => COIN_IDS[symbol]);
    const coins = await askCoins(null, timeoutMs, ids);
    return coins.flatMap(({ id, price: usd, observedAt }) =>
      symbols.filter((symbol) => COIN_IDS[symbol] === id).map((symbol) => ({ symbol, usd, observedAt })),
    );
  },
};

export type FoundPrice<Coin extends Major = PricedToken> = Omit<Price, "token" | "takenAt"> & { token: Coin };

/**
 * The price of each coin from the first source that knows it.
 * @param since Epoch ms: older observations do not count.
 * @returns The prices, and for each source why some are missing.
 */
export async function findPrices<Coin extends Major>(
  coins: readonly Coin[],
  since = 0,
): Promise<{ found: FoundPrice<Coin>[]; failures: string[] }> {
  const found: FoundPrice<Coin>[] = [];
  const failures: string[] = [];
  let missing = [...coins];
  for (const source of PRICE_SOURCES) {
    if (missing.length === 0) break;
    try {
      const quotes = await ASK_SOURCE[source](missing, deadlines.price);
      const live = missing.flatMap((token) =>
        quotes
          .filter(({ symbol, observedAt }) => symbol === token && observedAt >= since)
          .map(({ usd: priceUsd, observedAt }) => ({ token, source, priceUsd, observedAt })),
      );
      found.push(...live);
      missing = missing.filter((token) => !live.some((one) => one.token === token));
      if (missing.length > 0) failures.push(`${source} has no price of ${missing.join(", ")}`);
    } catch (error) {
      failures.push(getErrorMessage(error));
    }
  }
  return { found, failures };
}

/**
 * The live price of a token in USD: the newest sample if it is at most 60 s old, otherwise from the first source that
 * answers, which is stored. Takes at most 9 s, even if every source hangs. For actions.
 * @param since Epoch ms: earlier observations do not count. A feed is rarely recent enough to enter a trade (a quiet
 * feed is written every 20 minutes), so the exchange decides then.
 * @throws AppError `upstream` naming what failed if none of them answers.
 */
export async function getLivePrice(ctx: ActionCtx, token: PricedToken, since = 0): Promise<Price> {
  const young: Price | null = await ctx.runQuery(internal.market.samples.getYoungSample, {
    token,
    now: Date.now(),
  });
  if (young !== null && young.observedAt >= since) return young;
  const { found, failures } = await findPrices([token], since);
  const [best] = found;
  if (best === undefined) {
    throw new AppError("upstream", `No source has a live price of ${token}: ${failures.join("; ")}`);
  }
  const kept: Price = await ctx.runMutation(internal.market.samples.storeSample, best);
  // A sample recent enough for other uses may have prevented the storage of this one.
  return kept.observedAt >= since ? kept : { ...best, takenAt: Date.now() };
}
