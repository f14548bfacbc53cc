import type { MutationCtx } from "../_generated/server";
import { deduct, depositor, standingOf } from "../credits/model";
import { creditsFor } from "../credits/rates";
import { PRICE } from "./terms";
import type { Strength } from "./paidTables";
import { depositKey, reportKey, type Transfer } from "./transfers";

/**
 * Buys a report with a transfer that was credited as a deposit before: its price goes back from the credits, in the
 * transaction that claims it.
 * @returns `false` when the credits are another user's (unless the payer has signed), or are spent.
 */
export async function payFromCredits(
  ctx: MutationCtx,
  transfer: Pick<Transfer, "txHash" | "position">,
  userId: string | undefined,
  strength: Strength,
): Promise<boolean> {
  const deposit = await ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", transfer.txHash).eq("position", transfer.position))
    .unique();
  if (deposit?.state !== "credited") return false;
  // The ledger says whose it was, also of a deposit whose row has been made anonymous.
  const owner = await depositor(ctx, depositKey(deposit, deposit.creditings));
  if (owner === null || (strength < 2 && owner !== userId)) return false;
  // A signed payment is known before it is mined: the deposit left the report's price out from the start.
  if (deposit.lessReport === true) return true;
  const amount = creditsFor(PRICE);
  const { balance } = await standingOf(ctx, owner);
  if (amount > 0 && balance < amount) return false;
  if (amount > 0) {
    await deduct(ctx, { userId: owner, amount, key: reportKey(transfer), source: "report" });
  }
  return true;
}
