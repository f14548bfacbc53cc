import type { Doc } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { creditDeposit, isWritten, reverseDeposit } from "../credits/model";
import { creditsFor } from "../credits/rates";
import { log } from "../lib/log";
import { userIdByAddress } from "../wallets/owners";
import { claimByKey } from "./claimRows";
import { NEVER, nextMatch } from "./depositPhases";
import { PRICE } from "./terms";
import { depositKey, releaseDeposit, reportKey, spendTransfer, spentTransfer } from "./transfers";

/** What a confirmed transfer brings, and to whom. Each function is one step of its caller's transaction. */

/** More transfers than a transaction can hold. */
const ALL_TRANSFERS = 2_000;

/** So many deposits of one address are credited at a time. */
export const CREDIT_BATCH = 50;

/** All deposits of a transaction, in the order of its log. */
export async function depositsOf(ctx: QueryCtx, txHash: string): Promise<Doc<"deposits">[]> {
  return ctx.db
    .query("deposits")
    .withIndex("by_transfer", (q) => q.eq("txHash", txHash))
    .take(ALL_TRANSFERS);
}

/**
 * Credits a confirmed deposit to whom its sending address belongs; keeps it as unmatched when that is nobody, and
 * ignores it when a report has used it up or it is worth less than a credit.
 */
export async function settleDeposit(ctx: MutationCtx, row: Doc<"deposits">): Promise<void> {
  if (creditsFor(BigInt(row.amount)) === 0) return ignore(ctx, row, "it is worth less than one credit");
  const userId = await userIdByAddress(ctx, row.from);
  if (userId !== null) return credit(ctx, row, userId);
  const now = Date.now();
  await ctx.db.patch("deposits", row._id, { state: "unmatched", nextMatchAt: nextMatch(now, row.seenAt) });
}

/**
 * Credits what came from an address before anybody was known by it.
 * @param address In any case.
 * @returns How many deposits were taken up; `CREDIT_BATCH` when there may be more.
 */
export async function creditUnmatched(ctx: MutationCtx, address: string, userId: string): Promise<number> {
  const rows = await ctx.db
    .query("deposits")
    .withIndex("by_from_and_state", (q) => q.eq("from", address.toLowerCase()).eq("state", "unmatched"))
    .take(CREDIT_BATCH);
  for (const row of rows) await credit(ctx, row, userId);
  return rows.length;
}

/** Takes a deposit back that the chain has dropped, with the credits it brought. */
export async function revertDeposit(ctx: MutationCtx, row: Doc<"deposits">): Promise<void> {
  if (row.state === "credited") {
    await reverseDeposit(ctx, { key: depositKey(row, row.creditings) });
    await releaseDeposit(ctx, row);
    log.warn("deposits.reversed", { depositId: row._id });
  }
  await ctx.db.patch("deposits", row._id, { state: "reversed", reason: undefined, nextMatchAt: NEVER });
}

async function credit(ctx: MutationCtx, row: Doc<"deposits">, userId: string): Promise<void> {
  const lessReport = await owesReport(ctx, row);
  const amount = BigInt(row.amount) - (lessReport ? PRICE : 0n);
  const credits = amount > 0n ? creditsFor(amount) : 0;
  if (credits === 0) {
    return ignore(ctx, row, amount > 0n ? "it is worth less than one credit" : "it was spent on a report");
  }
  const creditings = row.creditings + 1;
  const key = depositKey(row, creditings);
  await spendTransfer(ctx, row, { depositKey: key });
  await creditDeposit(ctx, { userId, amount: credits, key, source: "usdc" });
  const state = "credited" as const;
  await ctx.db.patch("deposits", row._id, {
    state,
    userId,
    credits,
    lessReport,
    creditings,
    nextMatchAt: NEVER,
  });
}

async function ignore(ctx: MutationCtx, row: Doc<"deposits">, reason: string): Promise<void> {
  await ctx.db.patch("deposits", row._id, { state: "ignored", reason, nextMatchAt: NEVER });
}

/**
 * Whether a report still takes its price out of a transfer: one that was paid out of the credits, before the chain
 * dropped the transfer and mined it again, does not. A signed payment is known by its nonce from before it is handed to
 * the chain, so that this holds also when its transfer is seen here first.
 */
async function owesReport(ctx: QueryCtx, row: Doc<"deposits">): Promise<boolean> {
  if (await isWritten(ctx, reportKey(row))) return false;
  if ((await spentTransfer(ctx, row))?.claimKey !== undefined) return true;
  if (row.authorization === undefined) return false;
  const claim = await claimByKey(ctx, `auth:${row.from}:${row.authorization}`);
  return claim !== null && claim.state !== "refused";
}
