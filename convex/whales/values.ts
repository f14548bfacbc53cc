import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import type { FeedName } from "../market/feeds";
import { readFeeds } from "../market/live";
import { COINS, type CoinSymbol } from "./coins";

/** Values of coins, by the price feeds on Base. */

export type Price = { usd: number; source: string; observedAt: number };
export type Prices = ReadonlyMap<FeedName, Price>;

const FEEDS = [...new Set(Object.values(COINS).map(({ feed }) => feed))];

/** The feeds' live prices, in one call. @throws AppError `upstream` if the chain cannot be reached */
export async function feedPrices(): Promise<Prices> {
  const quotes = await readFeeds(FEEDS, deadlines.price);
  return new Map(
    FEEDS.flatMap((name) => {
      const quote = quotes[name];
      return quote === undefined
        ? []
        : [[name, { usd: quote.usd, source: "chainlink", observedAt: quote.observedAt }]];
    }),
  );
}

/** @throws AppError `upstream` if its feed has no live price: what cannot be valued now is valued later. */
export function priceIn(prices: Prices, coin: CoinSymbol): Price {
  const { feed } = COINS[coin];
  const price = prices.get(feed);
  if (price === undefined) throw new AppError("upstream", `The price feed for ${feed} gives no live price`);
  return price;
}
