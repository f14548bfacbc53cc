import { HOUR, MINUTE } from "../../lib/time";
import type { Outcome } from "../../providers/chainReceipts";
import { worthOf } from "../chain/movements";
import { coinAt, isCoin } from "../coins";
import { priceIn, type Prices } from "../valuing";
import type { Checked } from "./checks";
import { WINDOW_HOURS } from "./prompts";

/** The agent is asked for so many hours, and may be late. */
const OLDEST_MS = (WINDOW_HOURS + 1) * HOUR;
/** The agent's time of a movement and its block's. */
const TIME_MS = HOUR;
/** Clocks may differ a little. */
const SKEW_MS = 5 * MINUTE;
/** Of the larger: prices move between the movement, the telling and the check. */
const AMOUNT = 0.1;
/** Whether an agent tells of a transaction what the chain says of it: transaction, age, token and amount have to agree. */
export function agrees(
  { token, amount, occurredAt, detectedAt }: Checked,
  outcome: Outcome,
  prices: Prices,
): boolean {
  const { time } = outcome.block;
  if (!outcome.succeeded || !isCoin(token)) return false;
  if (time < detectedAt - OLDEST_MS || time > detectedAt + SKEW_MS) return false;
  if (occurredAt !== undefined && Math.abs(time - occurredAt) > TIME_MS) return false;
  const moved =
    token === "ETH"
      ? [outcome.payment?.amount ?? 0n]
      : outcome.transfers.filter((one) => coinAt(one.token) === token).map((one) => one.amount);
  return moved.some((quantity) => {
    const worth = worthOf({ coin: token, amount: quantity }, priceIn(prices, token).usd);
    return Math.abs(worth - amount) <= AMOUNT * Math.max(worth, amount);
  });
}
