import { v } from "convex/values";
import { internal } from "../../_generated/api";
import type { Id, Doc } from "../../_generated/dataModel";
import { internalMutation, type ActionCtx } from "../../_generated/server";
import { cron } from "../../lib/cronRuns";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { rowsDue } from "../../lib/rows";
import { NEVER } from "../../lib/time";
import { UPSTREAM } from "../../providers/chain";
import { saysAgain, standing, type Standing } from "../../providers/chainTransactions";
import { asAddress } from "../addresses";
import { hashesOf, correct, byId, moveOn, take, vStep } from "./model";
import { endingOf } from "./receipt";
import { mendGap, replaceIfStuck, withdrawRefused } from "./replacement";
import { handOut } from "./signing";
import {
  isOpen,
  LOOK_BACK_MS,
  nextCheck,
  nonceAfter,
  REPLACED_AFTER_MS,
  REPLACED_ANSWERS,
  NOT_SENT,
} from "./states";
import { vTraded, vTransaction } from "./tables";

/**
 * What has become of signed transactions: the chain is asked, and answers that may come from a node that is behind are
 * believed once they stay the same.
 */

const ofTransaction = { transactionId: v.id("transactions") };

const TAKEN = "Another transaction took this one's place";

export const check = providerAction({
  args: ofTransaction,
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    await follow(ctx, transactionId, { mends: true });
    return null;
  },
});

/**
 * Asks the chain what became of a signed transaction. One that is neither mined nor pending is handed out again: the
 * same bytes, unless the chain cannot take those any more. What has ended is looked at as well: the chain may have
 * decided anew.
 * @param mends Whether what holds it up is mended too: a gap before it, or fees that have outgrown it.
 * @throws AppError `upstream`
 */
export async function follow(
  ctx: ActionCtx,
  transactionId: Id<"transactions">,
  { mends }: { mends: boolean },
): Promise<void> {
  const row = await ctx.runQuery(internal.wallets.transactions.orders.view, { transactionId });
  const { nonce } = row;
  if (nonce === undefined || row.state === "prepared") return;
  const ask = () => standing(asAddress(row.address), nonce, hashesOf(row));
  const now = await ask();
  if (now.kind !== "replaced" && row.replacedSince !== undefined) {
    await ctx.runMutation(internal.wallets.transactions.outcome.trust, { transactionId });
  }
  if (now.kind === "replaced") {
    if (row.state === "failed") return;
    await refuseAbsurd(ctx, row, now.mined);
    if (!(await isReplaced(ctx, row, ask))) return;
    const failed = { to: "failed", error: TAKEN, errorCode: "upstream" } as const;
    if (isOpen(row.state)) {
      await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, ...failed });
    } else await ctx.runMutation(internal.wallets.transactions.outcome.amend, { transactionId, ...failed });
    return;
  }
  if (isOpen(row.state)) await followOpen(ctx, row, now, mends);
  else await followEnded(ctx, row, now);
}

/** @throws AppError `upstream` when the chain counts transactions that the account cannot have made: it shows nothing. */
async function refuseAbsurd(
  ctx: ActionCtx,
  { walletId, address, request }: Doc<"transactions">,
  mined: number,
): Promise<void> {
  const { next, isNew } = await ctx.runQuery(internal.wallets.transactions.nonces.next, { walletId });
  if (nonceAfter(mined, next) !== null) return;
  // Where an earlier answer was the wrong one, a payment is signed again: that pays nothing twice.
  if (isNew && request.kind === "settlement" && (await saysAgain(asAddress(address), mined))) return;
  throw new AppError("upstream", `${UPSTREAM} reports transactions that this account has not made`);
}

async function isReplaced(
  ctx: ActionCtx,
  { _id, state }: Doc<"transactions">,
  ask: () => Promise<Standing>,
): Promise<boolean> {
  const transactionId = _id;
  const believed = await ctx.runMutation(internal.wallets.transactions.outcome.suspectReplaced, {
    transactionId,
  });
  if (believed && (await ask()).kind === "replaced") return true;
  if (!isOpen(state))
    await ctx.runMutation(internal.wallets.transactions.outcome.lookAgain, { transactionId });
  return false;
}

type Found = Exclude<Standing, { kind: "replaced" }>;

async function followOpen(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  now: Found,
  mends: boolean,
): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, ...ending });
    return;
  }
  if (now.kind === "pending") {
    await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, to: "broadcast" });
  }
  // What waits behind a missing nonce is never mined, however often it is handed out.
  const waits = row.nonce !== undefined && now.mined < row.nonce;
  if (mends && waits && (await mend(ctx, row, now.mined))) return;
  if (mends && (await replaceIfStuck(ctx, row, now.mined))) return;
  if (now.kind !== "missing") return;
  const said = await handOut(ctx, row);
  if (mends && said === "refused") await withdrawRefused(ctx, row, now.mined);
}

async function followEnded(ctx: ActionCtx, row: Doc<"transactions">, now: Found): Promise<void> {
  const transactionId = row._id;
  if (now.kind === "mined") {
    const ending = await endingOf(row, now);
    if (ending.to !== row.state) {
      await ctx.runMutation(internal.wallets.transactions.outcome.amend, { transactionId, ...ending });
    }
    return;
  }
  await mend(ctx, row, now.mined);
  await ctx.runMutation(internal.wallets.transactions.outcome.lookAgain, { transactionId });
}

/** @returns Whether the account's payments under way were dropped, to be signed again. */
async function mend(
  ctx: ActionCtx,
  { walletId, address }: Doc<"transactions">,
  mined: number,
): Promise<boolean> {
  return (await mendGap(ctx, { walletId, address: asAddress(address), mined })).isReset;
}

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
  handler: async (ctx, { transactionId, ...step }) => {
    const row = await byId(ctx, transactionId);
    if (!(await correct(ctx, row, step))) return null;
    log.warn("wallets.end corrected", { transactionId, kind: row.request.kind, to: step.to });
    const nextCheckAt = Date.now() + LOOK_BACK_MS[0];
    await ctx.db.patch("transactions", transactionId, { checks: 0, nextCheckAt });
    return null;
  },
});

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
export const followUpDue = cron("settle open transactions", async (ctx) => {
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
    await ctx.scheduler.runAfter(0, internal.wallets.transactions.outcome.check, { transactionId });
  }
});
