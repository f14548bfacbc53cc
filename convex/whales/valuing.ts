import { deadlines } from "../lib/deadlines";
import { AppError } from "../lib/errors";
import { formatUnits } from "../lib/money";
import {
  FEED_DECIMALS,
  FEEDS,
  livePrice,
  SEQUENCER_FEED,
  sequencerIsUp,
  type FeedName,
} from "../prices/feeds";
import { readRounds } from "../providers/chain";
import { COINS, type CoinSymbol } from "./coins";

/** What coins are worth, by the price feeds on Base. */

export type Price = { usd: number; source: string; observedAt: number };
export type Prices = Readonly<Record<FeedName, Price>>;

const NAMES = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/**
 * The feeds' live prices, in one call.
 * @throws AppError `upstream` when the chain cannot be asked or one of the feeds tells no live price: what cannot be
 * valued now is valued later.
 */
export async function feedPrices(): Promise<Prices> {
  const [sequencer, ...rounds] = await readRounds(
    [SEQUENCER_FEED, ...NAMES.map((name) => FEEDS[name].address)],
    deadlines.price,
  );
  const now = Date.now();
  if (!sequencerIsUp(sequencer ?? null, now)) {
    throw new AppError("upstream", "The price feeds do not count: the chain's sequencer is not up");
  }
  const priceOf = (name: FeedName): Price => {
    const round = rounds[NAMES.indexOf(name)] ?? null;
    const price = livePrice(name, round, now);
    if (round === null || price === null) {
      throw new AppError("upstream", `The price feed for ${name} tells no live price`);
    }
    const usd = Number(formatUnits(price, FEED_DECIMALS));
    return { usd, source: "chainlink", observedAt: Number(round.updatedAt) * 1_000 };
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
