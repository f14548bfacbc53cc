import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery } from "../../_generated/server";
import { rowsByBoth } from "../../lib/records/rows";
import { AppError } from "../../lib/errors";
import { approvingLink, approvalFromNote } from "../../messenger/model";
import { APPROVED, OWNER, permitNow, verdictNow } from "../../users/access";
import { walletOf } from "../model";
import { isLimited } from "../limits/policies";
import { vSource, vWalletKind } from "../tables";
import { byId, deedOf, openedWith, openTransaction, takeTerm } from "./model";
import { nextInTerm, vNext } from "./progress/queue";
import { vRequest, vTransaction } from "./tables";

/** Callers' orders: opens them and looks them up. */

/**
 * `openTransaction` as a function, for actions. The caller drives the wallet itself if nobody does: if callers waited
 * for scheduled drivers, they could take all places for actions and leave the drivers none.
 * @returns `term`: the caller's own, with its first piece of work (`settle` takes it); `null` if another driver is
 * working.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`users/access`), besides
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
    /** The caller's network address. */
    address: v.union(v.string(), v.null()),
    keyHash: v.optional(v.string()),
  },
  returns: v.object({
    transactionId: v.id("transactions"),
    term: v.union(v.object({ driver: v.number(), first: vNext }), v.null()),
  }),
  handler: async (ctx, { valueMicroUsd, keyHash, ...order }) => {
    // Other sources have proved in their own way whose order it is, and send no token.
    const { userId, request, source } = order;
    const permit =
      source === "web" ? await permitNow(ctx, userId, deedOf(request), Date.now(), keyHash) : OWNER;
    const value = valueMicroUsd === undefined ? null : BigInt(valueMicroUsd);
    let driver: number | null = null;
    const transactionId = await openTransaction(ctx, { ...order, permit, value }, async (_, wallet, now) => {
      driver = await takeTerm(ctx, wallet, now);
    });
    if (driver === null) return { transactionId, term: null };
    const first = await nextInTerm(ctx, { walletId: order.walletId, driver, own: transactionId });
    return { transactionId, term: { driver, first } };
  },
});

/** A transaction as its caller and the follow-up see it. */
export const view = internalQuery({
  args: { transactionId: v.id("transactions") },
  returns: vTransaction,
  handler: (ctx, { transactionId }) => byId(ctx, transactionId),
});

/** A user's transaction by its hash, or `null`. */
export const byHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vTransaction, v.null()),
  handler: (ctx, { userId, txHash }) =>
    rowsByBoth(ctx.db.query("transactions"), "userId", userId, "txHash", txHash).first(),
});

const vOrderingWallet = v.object({
  walletId: v.string(),
  address: v.string(),
  /** Whether the idempotency key was used before: then nothing new is moved. */
  isRepeat: v.boolean(),
  /** Whether a limit needs the order's value. */
  isLimited: v.boolean(),
  isAsked: v.boolean(),
  /** Whether the owner can be asked about what their rules refuse to this caller: beyond their cap, or to a new recipient. */
  isAskedBeyond: v.boolean(),
});
/** The wallet that would pay for an order, and what its owner has to be asked. */
export type OrderingWallet = Infer<typeof vOrderingWallet>;

/**
 * The wallet of an order, for callers who may move it, or, for a rehearsal, see it; `null` if there is none.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`users/access`).
 */
export const wallet = internalQuery({
  args: {
    userId: v.string(),
    kind: vWalletKind,
    idempotencyKey: v.optional(v.string()),
    isRehearsal: v.boolean(),
    request: vRequest,
    /** The caller's network address. */
    caller: v.union(v.string(), v.null()),
    keyHash: v.optional(v.string()),
    now: v.number(),
  },
  returns: v.union(vOrderingWallet, v.null()),
  handler: async (ctx, { userId, kind, idempotencyKey, isRehearsal, request, caller, keyHash, now }) => {
    const verdict = await verdictNow(ctx, userId, isRehearsal ? "holdings" : deedOf(request), now, keyHash);
    // An id without an owner has nobody to ask.
    const isOwned = verdict.kind !== "allowed" || verdict.by !== "unclaimed";
    const hasChat = isOwned && (await approvingLink(ctx, userId, now)) !== null;
    const isAsked = verdict.kind === "asks" && hasChat;
    const isAskedBeyond = verdict.kind === "allowed" && hasChat;
    if (verdict.kind !== "allowed" && !isAsked) {
      const later = verdict.kind === "asks" ? await approvalFromNote(ctx, userId) : "";
      throw new AppError(verdict.code, verdict.message + later);
    }
    const permit = verdict.kind === "allowed" ? verdict : APPROVED;
    const row = await walletOf(ctx, userId, kind);
    if (row === null) return null;
    const isRepeat = (await openedWith(ctx, userId, idempotencyKey)) !== null;
    return {
      walletId: row.walletId,
      address: row.address,
      isRepeat,
      isLimited: await isLimited(ctx, { userId, permit, address: caller, request }, now),
      isAsked,
      isAskedBeyond,
    };
  },
});
