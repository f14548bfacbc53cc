import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { recordAudit } from "../lib/audit";
import { recordCronRun } from "../lib/cronRuns";
import type { ErrorCode } from "../lib/errors";
import { assertMayMoveNow } from "../users/access";
import { DRIVER_LEASE_MS, isOpen, mayFollow, NEVER, nextCheck, REPLACED_AFTER_MS } from "./machine";
import { openTransaction } from "./opening";
import { byId, byWalletId, oldest, openedWith, project, vView, vWork, type Work } from "./rows";
import {
  vRequest,
  vSource,
  vState,
  vSwapTerms,
  vTraded,
  type TransactionRequest,
  type TransactionState,
} from "./tables";
import { settleTrade, tradeOf } from "./trades";
import { release } from "./transferLimits";

/** The rows of the transaction machine (`machine.ts`): every transition is one mutation here. */

/** What the caller is told whose request never got as far as a signature. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved";

const vErrorCode = v.union(v.literal("invalid_request"), v.literal("upstream"), v.literal("internal"));

/**
 * `openTransaction` as a function, for actions.
 * @throws AppError `unauthorized` or `forbidden` when the userId is a signed-in user's and the caller is not, besides
 * what `openTransaction` throws.
 */
export const open = internalMutation({
  args: {
    userId: v.string(),
    walletId: v.string(),
    request: vRequest,
    source: vSource,
    idempotencyKey: v.optional(v.string()),
    /** Digits, micro-USD; absent when no price is known. */
    valueMicroUsd: v.optional(v.string()),
  },
  returns: v.id("transactions"),
  handler: async (ctx, { valueMicroUsd, ...order }) => {
    // Other sources have shown in their own way whose order it is, and carry no token.
    if (order.source === "web") await assertMayMoveNow(ctx, order.userId);
    return openTransaction(ctx, {
      ...order,
      value: valueMicroUsd === undefined ? null : BigInt(valueMicroUsd),
    });
  },
});

/** A transaction as its caller and the follow-up see it. */
export const view = internalQuery({
  args: { transactionId: v.id("transactions") },
  returns: vView,
  handler: async (ctx, { transactionId }) => project(await byId(ctx, transactionId)),
});

/** A user's transaction by its hash, or `null`. */
export const byHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vView, v.null()),
  handler: async (ctx, { userId, txHash }) => {
    const row = await ctx.db
      .query("transactions")
      .withIndex("by_userId_and_txHash", (q) => q.eq("userId", userId).eq("txHash", txHash))
      .first();
    return row === null ? null : project(row);
  },
});

/** The driver's next piece of work; without any the driver's term ends in the same transaction. */
export const nextWork = internalMutation({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.union(vWork, v.null()),
  handler: async (ctx, { walletId, driver }): Promise<Work | null> => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver !== driver) return null;
    // What is signed and not known to have arrived goes first, and nothing is signed behind it: the next nonce would
    // wait for one that may never come. With nothing behind it, it is the follow-up's, at the follow-up's pace.
    const waiting = await oldest(ctx, walletId, "prepared");
    const unsettled = waiting === null ? null : await oldest(ctx, walletId, "unknown");
    const row = (await oldest(ctx, walletId, "signed")) ?? unsettled ?? waiting;
    if (row === null) {
      await ctx.db.patch("wallets", wallet._id, { driverUntil: 0 });
      return null;
    }
    await ctx.db.patch("wallets", wallet._id, { driverUntil: Date.now() + DRIVER_LEASE_MS });
    return {
      transaction: project(row),
      userId: row.userId,
      source: (await tradeOf(ctx, row._id))?.source ?? null,
      nextNonce: wallet.nextNonce ?? null,
    };
  },
});

const vSigned = v.object({
  walletId: v.string(),
  driver: v.number(),
  nonce: v.number(),
  rawTransaction: v.string(),
  txHash: v.string(),
});

/**
 * Stores signed bytes and takes their nonce, in one transaction.
 * @returns `false` when the driver was replaced, the nonce is gone or the request was dropped: the bytes are void.
 */
export const storeSigned = internalMutation({
  args: { transactionId: v.id("transactions"), signed: vSigned, terms: v.optional(vSwapTerms) },
  returns: v.boolean(),
  handler: async (ctx, { transactionId, signed, terms }) => {
    const row = await byId(ctx, transactionId);
    if (row.state !== "prepared" || !(await takeNonce(ctx, signed))) return false;
    await ctx.db.patch("transactions", transactionId, {
      ...signedFields(signed),
      ...(terms === undefined ? {} : { terms }),
    });
    await auditSigning(ctx, row.userId, transactionId, row.request, signed.txHash);
    return true;
  },
});

/** The same for a swap's approval, whose row begins here. */
export const storeApproval = internalMutation({
  args: { parentId: v.id("transactions"), request: vRequest, signed: vSigned },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { parentId, request, signed }) => {
    const parent = await byId(ctx, parentId);
    if (parent.state !== "prepared" || !(await takeNonce(ctx, signed))) return null;
    const { walletId, userId, address } = parent;
    await ctx.db.patch("transactions", parentId, { approvalTxHash: signed.txHash });
    const transactionId = await ctx.db.insert("transactions", {
      walletId,
      userId,
      address,
      request,
      parentId,
      createdAt: Date.now(),
      checks: 0,
      ...signedFields(signed),
    });
    await auditSigning(ctx, userId, transactionId, request, signed.txHash);
    return transactionId;
  },
});

/**
 * Begins handing out signed bytes.
 * @returns Whether this is the first time: until then nobody outside can have them.
 */
export const beginHandOut = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.boolean(),
  handler: async (ctx, { transactionId }) => {
    const row = await byId(ctx, transactionId);
    if (row.handedOutAt !== undefined) return false;
    await ctx.db.patch("transactions", transactionId, { handedOutAt: Date.now() });
    return row.state === "signed";
  },
});

/**
 * Notes that the chain's answer looks as if another transaction had taken this one's nonce.
 * @returns Whether that has been the answer for long enough to be believed.
 */
export const suspectReplaced = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.boolean(),
  handler: async (ctx, { transactionId }) => {
    const { replacedSince } = await byId(ctx, transactionId);
    const now = Date.now();
    if (replacedSince !== undefined) return now - replacedSince >= REPLACED_AFTER_MS;
    await ctx.db.patch("transactions", transactionId, { replacedSince: now });
    return false;
  },
});

/** Whether a user's idempotency key was used before: then nothing new will be moved. */
export const isRepeat = internalQuery({
  args: { userId: v.string(), idempotencyKey: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { userId, idempotencyKey }) =>
    (await openedWith(ctx, userId, idempotencyKey)) !== null,
});

/** Notes that a swap's permit was signed; the simulation shows it to the chain's RPC before the swap itself is signed. */
export const notePermit = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const { userId, request } = await byId(ctx, transactionId);
    const detail = request.kind === "swap" ? `${request.amount} ${request.fromToken}` : request.kind;
    await recordAudit(ctx, { actor: userId, action: "permit signed", subject: transactionId, detail });
    return null;
  },
});

/** Moves a transaction on. A word that comes too late, or twice, changes nothing. */
export const advance = internalMutation({
  args: {
    transactionId: v.id("transactions"),
    to: vState,
    error: v.optional(v.string()),
    errorCode: v.optional(vErrorCode),
    /** Only out of this state: for dropping what was not signed. */
    onlyFrom: v.optional(vState),
    traded: v.optional(vTraded),
  },
  returns: v.null(),
  handler: async (ctx, { transactionId, to, error, errorCode, onlyFrom, traded }) => {
    const row = await byId(ctx, transactionId);
    if (onlyFrom !== undefined && row.state !== onlyFrom) return null;
    if (traded !== undefined && mayFollow(row.state, to)) {
      await ctx.db.patch("transactions", transactionId, { traded });
    }
    await moveOn(ctx, row, to, error, errorCode);
    return null;
  },
});

/** Starts what the follow-up owes: a check of every signed transaction that is due, the end of what was never signed. */
export const followUpDue = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "settle open transactions");
    const now = Date.now();
    const due = await ctx.db
      .query("transactions")
      .withIndex("by_nextCheckAt", (q) => q.lte("nextCheckAt", now))
      .take(50);
    for (const row of due) {
      if (isOpen(row.state)) {
        await ctx.db.patch("transactions", row._id, {
          checks: row.checks + 1,
          nextCheckAt: nextCheck(now, row.checks),
        });
        await ctx.scheduler.runAfter(0, internal.wallets.followUp.check, { transactionId: row._id });
      } else if (row.state === "prepared") {
        await moveOn(ctx, row, "failed", NOT_SENT, "upstream");
      }
    }
    return null;
  },
});

async function moveOn(
  ctx: MutationCtx,
  row: Doc<"transactions">,
  to: TransactionState,
  error: string | undefined,
  errorCode: ErrorCode | undefined,
): Promise<void> {
  if (!mayFollow(row.state, to)) return;
  if (to === row.state && error === row.error) return;
  const now = Date.now();
  const ended = to === "confirmed" || to === "failed";
  await ctx.db.patch("transactions", row._id, {
    state: to,
    ...(error === undefined ? {} : { error }),
    ...(errorCode === undefined ? {} : { errorCode }),
    nextCheckAt: ended ? NEVER : nextCheck(now, row.checks),
    ...(ended ? { endedAt: now } : {}),
  });
  if (to === "failed" && row.state === "signed") await giveBackNonce(ctx, row);
  if (to === "failed" && row.reserved !== undefined) await release(ctx, row.userId, row.reserved);
  if (ended) await settleTrade(ctx, row, to, error);
}

async function takeNonce(ctx: MutationCtx, signed: { walletId: string; driver: number; nonce: number }) {
  const wallet = await byWalletId(ctx, signed.walletId);
  if (wallet.driver !== signed.driver || signed.nonce < (wallet.nextNonce ?? 0)) return false;
  await ctx.db.patch("wallets", wallet._id, {
    nextNonce: signed.nonce + 1,
    driverUntil: Date.now() + DRIVER_LEASE_MS,
  });
  return true;
}

/** The chain refused the bytes outright: their nonce is free again, unless a later one was taken already. */
async function giveBackNonce(ctx: MutationCtx, row: Doc<"transactions">): Promise<void> {
  const wallet = await byWalletId(ctx, row.walletId);
  if (row.nonce === undefined || wallet.nextNonce !== row.nonce + 1) return;
  await ctx.db.patch("wallets", wallet._id, { nextNonce: row.nonce });
}

function signedFields({
  nonce,
  rawTransaction,
  txHash,
}: {
  nonce: number;
  rawTransaction: string;
  txHash: string;
}) {
  return { state: "signed" as const, nonce, rawTransaction, txHash, nextCheckAt: nextCheck(Date.now(), 0) };
}

async function auditSigning(
  ctx: MutationCtx,
  userId: string,
  transactionId: Id<"transactions">,
  request: TransactionRequest,
  txHash: string,
): Promise<void> {
  const event = { actor: userId, subject: transactionId, detail: `${request.kind} ${txHash}` };
  await recordAudit(ctx, { ...event, action: "transaction signed" });
}
