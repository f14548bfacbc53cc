import { v } from "convex/values";
import { internal } from "../../../_generated/api";
import { internalMutation } from "../../../_generated/server";
import { change } from "../../../lib/changes";
import { dueWork } from "../../../lib/cronRuns";
import { log } from "../../../lib/log";
import { rowsDue } from "../../../lib/records/rows";
import { NEVER } from "../../../lib/time";
import { byId } from "../model";
import { isOpen, LOOK_BACK_MS, nextCheck, NOT_SENT, REPLACED_AFTER_MS, REPLACED_ANSWERS } from "../states";
import { correct, moveOn, take, vStep } from "../steps";
import { vTraded, vTransaction } from "../tables";

/** Outcomes of signed transactions. Answers that may come from a lagging node are believed once they stay the same. */

export const ofTransaction = { transactionId: v.id("transactions") };

/**
 * Stores that another transaction seems to have taken this one's nonce.
 * @returns Whether this answer has lasted long enough to be believed.
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

/** The chain knows the transaction, or its nonce is free: it was not replaced. */
export const trust = change(ofTransaction, async (ctx, { transactionId }) => {
  const none = { replacedSince: undefined, replacedAnswers: undefined };
  await ctx.db.patch("transactions", transactionId, none);
});

/** The block that decided a transaction's end may be gone: checks soon and repeatedly until it is decided again. */
export const lookAgain = change(ofTransaction, async (ctx, { transactionId }) => {
  await ctx.db.patch("transactions", transactionId, { checks: 0, nextCheckAt: nextCheck(Date.now(), 0) });
});

/** A later receipt contradicts the earlier outcome. */
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

/** Moves a transaction on. @returns Its state afterwards; a late or repeated step changes nothing. */
export const advance = internalMutation({
  args: { ...ofTransaction, ...vStep },
  returns: vTransaction,
  handler: async (ctx, { transactionId, ...step }) => {
    await take(ctx, transactionId, step);
    return byId(ctx, transactionId);
  },
});

/** Starts the due follow-ups: a check of every due signed transaction, and the end of those that were never signed. */
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
