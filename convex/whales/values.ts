import { deadlines } from "../lib/outside/deadlines";
import { AppError } from "../lib/errors";
import type { FeedName } from "../prices/feeds";
import { readFeeds } from "../prices/sources";
import { COINS, type CoinSymbol } from "./coins";

/** Values of coins, by the price feeds on Base. */

export type Price = { usd: number; source: string; observedAt: number };
export type Prices = Readonly<Record<FeedName, Price>>;

const NAMES = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/**
 * The feeds' live prices, in one call.
 * @throws AppError `upstream` if the chain cannot be reached or one of the feeds has no live price: movements that
 * cannot be valued now are valued later.
 */
export async function feedPrices(): Promise<Prices> {
  const quotes = await readFeeds(NAMES, deadlines.price);
  const priceOf = (name: FeedName): Price => {
    const quote = quotes[name];
    if (quote === undefined) throw new AppError("upstream", `The price feed for ${name} gives no live price`);
    return { usd: quote.usd, source: "chainlink", observedAt: quote.observedAt };
  };
  return {
    ETH: priceOf("ETH"),
    BTC: priceOf("BTC"),
    USDC: priceOf("USDC"),
    USDT: priceOf("USDT"),
    DAI: priceOf("DAI"),
  };
}

export function priceIn(prices: Prices, coin: CoinSymbol): Price {
  return prices[COINS[coin].feed];
}
