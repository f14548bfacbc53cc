import { v } from "convex/values";
import { internalMutation } from "../_generated/server";
import { log } from "../lib/log";
import { LOOK_BACK_MS, nextCheck, REPLACED_AFTER_MS, REPLACED_ANSWERS } from "./machine";
import { correct } from "./moving";
import { byId } from "./rows";
import { vTraded } from "./tables";

/** Answers of the chain's that may come from a node that is behind: believed once they stay the same. */

const ofTransaction = { transactionId: v.id("transactions") };

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
export const trust = internalMutation({
  args: ofTransaction,
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const none = { replacedSince: undefined, replacedAnswers: undefined };
    await ctx.db.patch("transactions", transactionId, none);
    return null;
  },
});

/** The block that decided a transaction's end may be gone: looks again soon, and goes on until it is decided anew. */
export const lookAgain = internalMutation({
  args: ofTransaction,
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    await ctx.db.patch("transactions", transactionId, { checks: 0, nextCheckAt: nextCheck(Date.now(), 0) });
    return null;
  },
});

/** A later receipt says otherwise than was believed. */
export const amend = internalMutation({
  args: {
    ...ofTransaction,
    to: v.union(v.literal("confirmed"), v.literal("failed")),
    error: v.optional(v.string()),
    errorCode: v.optional(v.literal("upstream")),
    minedAs: v.optional(v.string()),
    traded: v.optional(vTraded),
  },
  returns: v.null(),
  handler: async (ctx, { transactionId, traded, ...step }) => {
    const row = await byId(ctx, transactionId);
    if (!(await correct(ctx, row, step))) return null;
    log.warn("wallets.end corrected", { transactionId, kind: row.request.kind, to: step.to });
    const nextCheckAt = Date.now() + LOOK_BACK_MS[0];
    await ctx.db.patch("transactions", transactionId, { traded, checks: 0, nextCheckAt });
    return null;
  },
});
