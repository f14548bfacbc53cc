import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { isOn } from "../lib/env";
import { AppError } from "../lib/errors";
import { NOBODY } from "../lib/records/records";
import { FROZEN, PAUSED } from "../lib/security/refusals";
import { MINUTE } from "../lib/time";
import { rulesOf } from "../accounts/model";

/** Whether an order may still be signed: the one rule for opening a key and for storing bytes. */

/** An order that is not signed by then is dropped: its caller left long ago. */
export const PREPARED_FOR_MS = 2 * MINUTE;

/** The message to a caller whose order was never signed. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved";

/** The refusal of all sends and swaps; `null` unless the operator has paused them. */
export function pauseOf(): AppError | null {
  return isOn("TRADING_PAUSED") ? new AppError("paused", PAUSED) : null;
}

/**
 * Why nothing is signed for an order any more; `null` if it may be.
 * @param now Epoch ms.
 */
export async function refusalToSign(
  ctx: QueryCtx,
  row: Doc<"orders">,
  now: number,
): Promise<AppError | null> {
  if (row.userId === NOBODY) return null;
  const paused = pauseOf();
  if (paused !== null) return paused;
  const { version, isFrozen } = await rulesOf(ctx, row.userId, now);
  if (isFrozen) return new AppError("paused", `${FROZEN}: nothing was signed`);
  if (version !== row.rules)
    return new AppError("forbidden", "The owner's rules have changed since: nothing was signed");
  const isLate = row.state === "prepared" && row.preparedAt + PREPARED_FOR_MS <= now;
  return isLate ? new AppError("upstream", NOT_SENT) : null;
}
