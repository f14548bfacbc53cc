import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { recordAudit } from "../lib/audit";
import { recordCronRun } from "../lib/cronRuns";
import { providerAction } from "../lib/providerCalls";
import { NEVER } from "../lib/time";
import { readMined } from "../providers/chainTransactions";
import { assertMayMoveNow } from "../users/access";
import { asAddress } from "./addresses";
import { DRIVER_LEASE_MS, isHandedOut, isOpen, LOOK_BACK_MS, nextCheck } from "./machine";
import { moveOn } from "./moving";
import { auditSigning, signedFields, takeNonce, vSigned } from "./nonces";
import { openTransaction, startDriver, takeTerm } from "./opening";
import { mendGap } from "./replacing";
import { byId, byWalletId, oldest, openedWith, project, vView, vWork, type Work } from "./rows";
import { vRequest, vSource, vState, vSwapTerms, vTraded } from "./tables";
import { tradeOf } from "./trades";

/** The rows of the transaction machine (`machine.ts`): every transition is one mutation here. */

/** What the caller is told whose request never got as far as a signature. */
export const NOT_SENT = "The transaction could not be sent in time: nothing was moved";

const vErrorCode = v.union(v.literal("invalid_request"), v.literal("upstream"), v.literal("internal"));

/**
 * `openTransaction` as a function, for actions. The caller drives the wallet itself where nobody does: were it to wait for
 * a scheduled driver, as many callers as the platform runs actions would leave that driver no place.
 * @returns `driver`: the caller's term (`waiting.settle` takes it); `null` where another driver is at work.
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
  returns: v.object({ transactionId: v.id("transactions"), driver: v.union(v.number(), v.null()) }),
  handler: async (ctx, { valueMicroUsd, ...order }) => {
    // Other sources have shown in their own way whose order it is, and carry no token.
    if (order.source === "web") await assertMayMoveNow(ctx, order.userId);
    const value = valueMicroUsd === undefined ? null : BigInt(valueMicroUsd);
    let driver: number | null = null;
    const transactionId = await openTransaction(ctx, { ...order, value }, async (_, wallet, now) => {
      driver = await takeTerm(ctx, wallet, now);
    });
    return { transactionId, driver };
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

/**
 * The driver's next piece of work; without any the driver's term ends in the same transaction. A caller who drives does so
 * for what they ordered (`own`): what is left behind that goes to a driver of its own.
 */
export const nextWork = internalMutation({
  args: { walletId: v.string(), driver: v.number(), own: v.optional(v.id("transactions")) },
  returns: v.union(vWork, v.null()),
  handler: async (ctx, { walletId, driver, own }): Promise<Work | null> => {
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
    if (own !== undefined && isHandedOut((await byId(ctx, own)).state)) {
      await ctx.scheduler.runAfter(0, internal.wallets.driver.drive, { walletId, driver });
      return null;
    }
    return {
      transaction: project(row),
      userId: row.userId,
      source: (await tradeOf(ctx, row._id))?.source ?? null,
      nextNonce: wallet.nextNonce ?? null,
    };
  },
});

/** Ends the term of a caller who is answered before their work is done; another driver goes on with it. */
export const endTerm = internalMutation({
  args: { walletId: v.string(), driver: v.number() },
  returns: v.null(),
  handler: async (ctx, { walletId, driver }) => {
    const wallet = await byWalletId(ctx, walletId);
    if (wallet.driver === driver) await startDriver(ctx, { ...wallet, driverUntil: 0 }, Date.now());
    return null;
  },
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
    await auditSigning(ctx, {
      actor: row.userId,
      transactionId,
      request: row.request,
      txHash: signed.txHash,
    });
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
    await auditSigning(ctx, { actor: userId, transactionId, request, txHash: signed.txHash });
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
    minedAs: v.optional(v.string()),
    traded: v.optional(vTraded),
  },
  returns: v.null(),
  handler: async (ctx, { transactionId, onlyFrom, traded, ...step }) => {
    const row = await byId(ctx, transactionId);
    if (onlyFrom !== undefined && row.state !== onlyFrom) return null;
    const moved = await moveOn(ctx, row, step);
    if (moved && traded !== undefined) await ctx.db.patch("transactions", transactionId, { traded });
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
        await moveOn(ctx, row, { to: "failed", error: NOT_SENT, errorCode: "upstream" });
      } else {
        const again = row.checks === 0;
        const nextCheckAt = again ? now + LOOK_BACK_MS[1] : NEVER;
        await ctx.db.patch("transactions", row._id, { checks: row.checks + 1, nextCheckAt });
        await ctx.scheduler.runAfter(0, internal.wallets.followUp.check, { transactionId: row._id });
      }
    }
    return null;
  },
});

/**
 * For an operator: `npx convex run wallets/transactions:repair '{"address":"0x…"}'`, a wallet's address or the payment
 * relayer's. Takes the chain's word for how far the account's nonces are, hands out again what the chain is missing, fills
 * nonces that nobody holds, and sets the account's work going. Moves nothing that was not ordered; safe to repeat.
 * @throws AppError `invalid_request` when no account has this address; `upstream`
 */
export const repair = providerAction({
  args: { address: v.string() },
  returns: v.object({
    /** The chain's and this service's next nonce. */
    mined: v.number(),
    nextNonce: v.number(),
    handedOut: v.number(),
    filled: v.number(),
  }),
  handler: async (ctx, { address: given }) => {
    const wallet = await ctx.runQuery(internal.wallets.wallets.byAddress, { address: given });
    const { walletId } = wallet;
    const address = asAddress(wallet.address);
    const mined = await readMined(address);
    const nextNonce: number = await ctx.runMutation(internal.wallets.nonces.accept, { walletId, mined });
    const mended = await mendGap(ctx, { walletId, address, mined });
    await ctx.runMutation(internal.wallets.transactions.resume, { walletId });
    return { mined, nextNonce, ...mended };
  },
});

/** Sees that somebody works through a wallet's queue. */
export const resume = internalMutation({
  args: { walletId: v.string() },
  returns: v.null(),
  handler: async (ctx, { walletId }) => {
    await startDriver(ctx, await byWalletId(ctx, walletId), Date.now());
    return null;
  },
});
