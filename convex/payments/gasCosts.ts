import { microUsdOf } from "../lib/money";
import { readRounds } from "../providers/chain";
import type { Preparation } from "../providers/chainPreparation";
import { FEED_DECIMALS, FEEDS, livePrice, SEQUENCER_FEED, sequencerIsUp } from "../prices/feeds";
import { deadlines } from "../lib/deadlines";
import { PRICE } from "./terms";

/** What carrying a payment out costs, against what it brings. For actions. */

/** The network may take so much of a payment, in percent. */
const SHARE_PERCENT = 75n;
/** Without a live price of ether: so much, in wei. */
const UNPRICED_COST = 5n * 10n ** 14n;

/**
 * Whether what the network asks for now leaves enough of a payment.
 * @throws AppError `upstream` when the chain cannot be asked.
 */
export async function isWorthwhile({ gas, market, l1Fee }: Preparation): Promise<boolean> {
  if (gas.kind === "reverts") return false;
  const cost = gas.gas * (market.baseFee + market.tip) + l1Fee;
  const [status, round] = await readRounds([SEQUENCER_FEED, FEEDS.ETH.address], deadlines.price);
  const now = Date.now();
  const price = sequencerIsUp(status ?? null, now) ? livePrice("ETH", round ?? null, now) : null;
  if (price === null) return cost <= UNPRICED_COST;
  return microUsdOf(cost, 18, price, FEED_DECIMALS) * 100n <= PRICE * SHARE_PERCENT;
}
