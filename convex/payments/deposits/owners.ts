import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { rowsDue } from "../../lib/records/rows";
import { userIdByAddress } from "../../wallets/model";
import { CREDIT_BATCH, creditUnmatched, settleDeposit } from "./model";

/** Finds the users of unmatched deposits. */

/** Looks for the users of unmatched deposits. */
export const matchDue = dueWork(async (ctx) => {
  const due = await rowsDue(ctx.db.query("deposits"), "nextMatchAt", Date.now()).take(CREDIT_BATCH);
  for (const row of due) await settleDeposit(ctx, row);
  if (due.length === CREDIT_BATCH) {
    await ctx.scheduler.runAfter(0, internal.payments.deposits.owners.matchDue, {});
  }
});

/** Credits deposits from before an address was linked. Scheduled when an address is linked. */
export const creditAddress = change({ address: v.string() }, async (ctx, { address }) => {
  const userId = await userIdByAddress(ctx, address);
  if (userId === null) return;
  if ((await creditUnmatched(ctx, address, userId)) === CREDIT_BATCH) {
    await ctx.scheduler.runAfter(0, internal.payments.deposits.owners.creditAddress, { address });
  }
});
