import { v } from "convex/values";
import { internal } from "../../../_generated/api";
import { internalMutation } from "../../../_generated/server";
import { change } from "../../../lib/changes";
import { dueWork } from "../../../lib/cronRuns";
import { log } from "../../../lib/log";
import { rowsDue } from "../../../lib/records/rows";
import { NEVER } from "../../../lib/time";
import { byId, correct, moveOn, take, vStep } from "../model";
import { isOpen, LOOK_BACK_MS, nextCheck, NOT_SENT, REPLACED_AFTER_MS, REPLACED_ANSWERS } from "../states";
import { vTraded, vTransaction } from "../tables";

/**
 * What has become of signed transactions: the chain is asked, and answers that may come from a node that lags are believed once they stay the same.
 */

export const ofTransaction = { transactionId: v.id("transactions") };

/**
 * Notes that the chain's answer looks as if another transaction had taken this one's nonce.
 * @returns Whether that has been the answer, and no other, for long enough to be believed.
 */
export const suspectReplaced = internalMutation({
  args: ofTransaction,
  returns: v.boolean(),
  handler: async (ctx, { transactionId }) => {
    const { replacedSince, replacedAnswers = 0 } = await byId(ctx, transactionId);
    const now = Date.now();
    const answers = replacedAnswers + 1;
    await ctx.db.patch("transactions", transactionId, {
      replacedSince: replacedSince ?? now,
      replacedAnswers: answers,
    });
    return (
      replacedSince !== undefined && now - replacedSince >= REPLACED_AFTER_MS && answers >= REPLACED_ANSWERS
    );
  },
});

/** The chain knows the transaction, or its nonce is free: whatever looked like a replacement was none. */
export const trust = change(ofTransaction, async (ctx, { transactionId }) => {
  const none = { replacedSince: undefined, replacedAnswers: undefined };
  await ctx.db.patch("transactions", transactionId, none);
});

/** The block that decided a transaction's end may be gone: looks again soon, and keeps looking until it is decided anew. */
export const lookAgain = change(ofTransaction, async (ctx, { transactionId }) => {
  await ctx.db.patch("transactions", transactionId, { checks: 0, nextCheckAt: nextCheck(Date.now(), 0) });
});

/** A later receipt says otherwise than was believed. */
export const amend = change(
  {
    ...ofTransaction,
    to: v.union(v.literal("confirmed"), v.literal("failed")),
    error: v.optional(v.string()),
    errorCode: v.optional(v.literal("upstream")),
    minedAs: v.optional(v.string()),
    traded: v.optional(vTraded),
  },
  async (ctx, { transactionId, ...step }) => {
    const row = await byId(ctx, transactionId);
    if (!(await correct(ctx, row, step))) return;
    log.warn("wallets.end corrected", { transactionId, kind: row.request.kind, to: step.to });
    const nextCheckAt = Date.now() + LOOK_BACK_MS[0];
    await ctx.db.patch("transactions", transactionId, { checks: 0, nextCheckAt });
  },
);

/** Moves a transaction on. @returns How it stands then: a word that comes too late, or twice, changes nothing. */
export const advance = internalMutation({
  args: { ...ofTransaction, ...vStep },
  returns: vTransaction,
  handler: async (ctx, { transactionId, ...step }) => {
    await take(ctx, transactionId, step);
    return byId(ctx, transactionId);
  },
});

/** Starts what the follow-up owes: a check of every signed transaction that is due, the end of what was never signed. */
export const followUpDue = dueWork(async (ctx) => {
  const now = Date.now();
  const due = await rowsDue(ctx.db.query("transactions"), "nextCheckAt", now).take(50);
  for (const row of due) {
    const { _id: transactionId, state, checks } = row;
    if (state === "prepared") {
      await moveOn(ctx, row, { to: "failed", error: NOT_SENT, errorCode: "upstream" });
      continue;
    }
    const lookedBackAt = checks === 0 ? now + LOOK_BACK_MS[1] : NEVER;
    const nextCheckAt = isOpen(state) ? nextCheck(now, checks) : lookedBackAt;
    await ctx.db.patch("transactions", transactionId, { checks: checks + 1, nextCheckAt });
    await ctx.scheduler.runAfter(0, internal.wallets.transactions.progress.followUp.check, { transactionId });
  }
});
