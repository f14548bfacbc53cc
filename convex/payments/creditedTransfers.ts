import type { MutationCtx } from "../_generated/server";
import { deduct, standingOf } from "../credits/model";
import { creditsFor } from "../credits/rates";
import { PRICE } from "./terms";
import type { Strength } from "./paidTables";
import { transferKey, type Transfer } from "./transfers";

/**
 * Buys a report with a transfer that was credited as a deposit before: its price goes back from the credits, in the
 * transaction that claims it.
 * @returns `false` when the credits are another user's (unless the payer has signed), or are spent.
 */
export async function payFromCredits(
  ctx: MutationCtx,
  transfer: Pick<Transfer, "txHash" | "logIndex">,
  userId: string | undefined,
  strength: Strength,
): Promise<boolean> {
  const deposit = await ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", transfer.txHash).eq("logIndex", transfer.logIndex))
    .unique();
  if (deposit?.state !== "credited" || deposit.userId === undefined) return false;
  if (strength < 2 && deposit.userId !== userId) return false;
  // A signed payment is known before it is mined: the deposit left the report's price out from the start.
  if ((deposit.credits ?? 0) < creditsFor(BigInt(deposit.amount))) return true;
  const amount = creditsFor(PRICE);
  const { balance } = await standingOf(ctx, deposit.userId);
  if (amount > 0 && balance < amount) return false;
  if (amount > 0)
    await deduct(ctx, { userId: deposit.userId, amount, key: `report:${transferKey(transfer)}` });
  return true;
}
