import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../../_generated/server";
import { defineMutation } from "../../platform/changes";
import { AppError, vErrorCode, type ErrorCode } from "../../lib/errors";
import { log } from "../../lib/log";
import { defined } from "../../lib/objects";
import { NOBODY, queryByBoth, queryDue } from "../../platform/records";
import { MINUTE, NEVER, SECOND } from "../../lib/time";
import {
  requireWallet,
  NO_ACCOUNT,
  NOT_SENT,
  PREPARED_FOR_MS,
  findSigningRefusal,
  findWalletByAddress,
  requireLive,
  findBlockingOrder,
  MOST_SIGNED_SERVICE,
  REVERTED,
  listSignedOrders,
} from "../model";
import { vOrderRow, vSwapTerms, vSignedTry, type SignedTry } from "../tables";
import {
  buildFailure,
  finalizeOrder,
  requireOrder,
  isEnded,
  LOOK_BACK_MS,
  type Order,
  type Outcome,
} from "./model";
import { expire, getStateAt } from "./questions";

/**
 * Every step of an order from the signature to its end (`states.md`), for actions, and the cron. Each function is one
 * deciding transaction; a late or repeated step changes nothing.
 */

const WITHDRAWN = "The transaction could no longer be mined and was withdrawn: only a network fee was spent";
const USED = "Another transaction of this wallet has used this one's nonce: order it again";
const APPROVAL_REFUSED = "The token refused the approval that the swap needs: nothing was swapped";
const NOT_SWAPPED = "The swap could not be signed in time: nothing was swapped";

/** Age from which a nonce conflict counts: a lagging node may not have the receipt yet. */
const USED_AFTER_MS = MINUTE;

const vOrderId = { orderId: v.id("orders") };

/** An order's state at `now`, as its waiting callers see it. */
export const getOrder = internalQuery({
  args: { ...vOrderId, now: v.number() },
  returns: vOrderRow,
  handler: async (ctx, { orderId, now }) => getStateAt(ctx, await requireOrder(ctx, orderId), now),
});

const vSigningTurn = v.object({
  row: vOrderRow,
  /** A signed order of the same wallet, which has to end first. */
  blocker: v.union(vOrderRow, v.null()),
  /** The account's next nonce and that of its oldest signed order, as assigned by this service. */
  next: v.number(),
  oldest: v.number(),
  /** Whether the account has never signed here: a service account may have signed elsewhere. */
  isNew: v.boolean(),
  /** Whether it may be signed, and replaced. */
  isAllowed: v.boolean(),
});
export type SigningTurn = Infer<typeof vSigningTurn>;

/** The signing turn of an order: its blocker, its nonces and its permission. */
export const getSigningTurn = internalQuery({
  args: { ...vOrderId, now: v.number() },
  returns: vSigningTurn,
  handler: async (ctx, { orderId, now }) => {
    const row = await requireOrder(ctx, orderId);
    const { nextNonce } = await requireWallet(ctx, row.walletId);
    const next = nextNonce ?? 0;
    const [first] = await listSignedOrders(ctx, row.walletId, 1);
    return {
      row,
      blocker: await findBlockingOrder(ctx, row),
      next,
      oldest: first?.nonce ?? next,
      isNew: nextNonce === undefined,
      isAllowed: (await findSigningRefusal(ctx, row, now)) === null,
    };
  },
});

/** An account's signed bytes from a nonce on, the mined ones first at each nonce: for sending again after a reorg. */
export const listBytesFrom = internalQuery({
  args: { walletId: v.string(), nonce: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { walletId, nonce }) => {
    const rows = await ctx.db
      .query("orders")
      .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).gte("nonce", nonce))
      .take(50);
    const mined = new Set(rows.flatMap(({ txHash, approvalTxHash }) => [txHash, approvalTxHash]));
    const rank = ({ hash, at }: SignedTry) => (mined.has(hash) ? Infinity : at);
    return rows
      .flatMap(({ tries }) => tries.filter((one) => one.nonce >= nonce))
      .sort((a, b) => a.nonce - b.nonce || (rank(a) < rank(b) ? 1 : -1))
      .map(({ raw }) => raw);
  },
});

/**
 * Stores signed bytes before they leave the service. The first bytes of a transaction take the next nonce, replacements
 * keep it.
 * @param args.before The hash of the newest bytes when a replacement was signed.
 * @returns `false` if the order has ended, it is another order's turn, or newer bytes are stored: these are void.
 * @throws AppError as `findSigningRefusal`, unless the bytes move nothing.
 */
export const storeSigned = internalMutation({
  args: {
    ...vOrderId,
    signed: vSignedTry.pick("nonce", "kind", "raw", "hash"),
    fee: v.string(),
    terms: v.optional(vSwapTerms),
    before: v.optional(v.string()),
  },
  returns: v.boolean(),
  handler: async (ctx, { orderId, signed, fee, terms, before }) => {
    const row = await requireOrder(ctx, orderId);
    requireLive(row);
    const isFirst = before === undefined;
    const isCurrent = isFirst
      ? row.state === "prepared"
      : row.state === "signed" && row.txHash === before && row.nonce === signed.nonce;
    if (!isCurrent) return false;
    const refusal = signed.kind === "empty" ? null : await findSigningRefusal(ctx, row, Date.now());
    if (refusal !== null) throw refusal;
    if (isFirst) {
      if ((await findBlockingOrder(ctx, row)) !== null) return false;
      const { _id, nextNonce = 0 } = await requireWallet(ctx, row.walletId);
      if (signed.nonce < nextNonce) return false;
      await ctx.db.patch("wallets", _id, { nextNonce: signed.nonce + 1 });
    }
    const at = Date.now();
    const spent = BigInt(row.feeCounted) + (BigInt(fee) * BigInt(row.etherPrice)) / 10n ** 18n;
    await ctx.db.patch("orders", row._id, {
      state: "signed",
      nonce: signed.nonce,
      tries: [...row.tries, { ...signed, at }],
      txHash: signed.hash,
      feeCounted: spent.toString(),
      ...(terms === undefined ? {} : { terms }),
      nextCheckAt: at + 20 * SECOND,
    });
    return true;
  },
});

const vOrderStep = v.union(
  /** The chain has mined one of its transactions. */
  v.object({
    kind: v.literal("mined"),
    hash: v.string(),
    succeeded: v.boolean(),
    bought: v.optional(v.string()),
    /** As in `vSignedTry`. */
    block: v.number(),
    paid: v.optional(v.string()),
  }),
  /**
   * A nonce conflict: the account's transaction count, some blocks back, is past the order's nonce without one of its
   * transactions; or, for long, too low for its nonce to be the next one.
   */
  v.object({ kind: v.literal("astray"), mined: v.number() }),
  /** The conflict is gone: its nonce is free. */
  v.object({ kind: v.literal("free") }),
  /** Nothing of it was signed, and nothing will be. */
  v.object({ kind: v.literal("dropped"), error: v.optional(v.string()), errorCode: v.optional(vErrorCode) }),
);
export type OrderStep = Infer<typeof vOrderStep>;

/** Moves an order to its next state. @returns The order afterwards. */
export const advanceOrder = internalMutation({
  args: { ...vOrderId, step: vOrderStep },
  returns: vOrderRow,
  handler: async (ctx, { orderId, step }) => {
    const row = await requireOrder(ctx, orderId);
    if (step.kind === "mined") await storeMined(ctx, row, step);
    else if (step.kind === "astray") await handleNonceConflict(ctx, row, step.mined);
    else if (step.kind === "dropped") await dropOrder(ctx, row, step);
    else if (row.nonceConflictSince !== undefined)
      await ctx.db.patch("orders", orderId, { nonceConflictSince: undefined });
    return requireOrder(ctx, orderId);
  },
});

/** Ends an unsigned order; its idempotency key is free again. */
async function dropOrder(
  ctx: MutationCtx,
  row: Order,
  because: { error?: string | undefined; errorCode?: ErrorCode | undefined } = {},
): Promise<void> {
  if (row.state !== "prepared") return;
  const { approvalTxHash, tries } = row;
  const { error = approvalTxHash === undefined ? NOT_SENT : NOT_SWAPPED, errorCode = "upstream" } = because;
  const spent = `. Its approval ${approvalTxHash} is mined: the fee of that is all that was spent`;
  const outcome = {
    state: "failed" as const,
    error: error + (approvalTxHash === undefined ? "" : spent),
    errorCode,
  };
  // An order that was never signed counts against no cap, nor against the ceiling of orders.
  const uncounted = tries.length === 0 ? { countedAt: undefined } : {};
  await finalizeOrder(ctx, row, outcome, { idempotencyKey: undefined, nextCheckAt: NEVER, ...uncounted });
}

/** Stores that the chain has mined one of an order's transactions. */
async function storeMined(
  ctx: MutationCtx,
  row: Order,
  { hash, succeeded, bought, block, paid }: Omit<Extract<OrderStep, { kind: "mined" }>, "kind">,
): Promise<void> {
  const kind = row.tries.find((one) => one.hash === hash)?.kind;
  if (kind === undefined || row.state === "asked" || row.state === "prepared") return;
  const now = Date.now();
  const isApproval = kind === "approve";
  const tries = row.tries.map((one) => (one.hash === hash ? { ...one, block, ...defined({ paid }) } : one));
  const mined = { tries, nonceConflictSince: undefined };
  const hashFields = isApproval
    ? { ...mined, approvalTxHash: hash, txHash: undefined }
    : { ...mined, txHash: hash };
  const outcome = toOutcome(row, kind, succeeded, bought);
  if (isEnded(row)) {
    if (isApproval || (row.state === outcome.state && row.txHash === hash))
      return ctx.db.patch("orders", row._id, { tries, nextCheckAt: NEVER });
    log.warn("wallets.end corrected", { orderId: row._id, to: outcome.state });
  } else if (isApproval && succeeded)
    return ctx.db.patch("orders", row._id, {
      ...hashFields,
      state: "prepared",
      nextCheckAt: now + PREPARED_FOR_MS,
    });
  await finalizeOrder(ctx, row, outcome, { ...hashFields, nextCheckAt: now + LOOK_BACK_MS });
}

/** The outcome of an order by its mined transaction. */
function toOutcome(
  { _id, terms }: Order,
  kind: SignedTry["kind"],
  succeeded: boolean,
  bought: string | undefined,
): Outcome {
  if (!succeeded) return buildFailure(kind === "approve" ? APPROVAL_REFUSED : REVERTED);
  if (kind === "empty") return buildFailure(WITHDRAWN);
  if (bought === undefined || BigInt(bought) >= BigInt(terms?.minBuyAmount ?? 0))
    return { state: "confirmed", bought };
  // 0x's contract reverts rather than pay less: the contract is not the one its registry names, or the node lies.
  log.error("wallets.swap fell short", { orderId: _id });
  const error = `The swap was mined and has bought ${bought} rather than at least ${terms?.minBuyAmount}: the service has been alerted`;
  return { state: "confirmed", bought, error };
}

/**
 * Two reads, a minute apart, show a transaction count that contradicts a signed order. If the count is past its nonce,
 * the order has failed. A service account that counted from a node's false answer counts anew, as if it had never signed:
 * all its signed orders end. Their work is safe to repeat.
 */
async function handleNonceConflict(ctx: MutationCtx, row: Order, mined: number): Promise<void> {
  const { _id, walletId, address, nonce = 0, nonceConflictSince } = row;
  if (isEnded(row)) return ctx.db.patch("orders", _id, { nextCheckAt: NEVER });
  if (row.state !== "signed") return;
  const wallet = await requireWallet(ctx, walletId);
  const isUsed = mined > nonce && mined <= (wallet.nextNonce ?? 0);
  if (!isUsed && !(await hasMiscounted(ctx, row, mined))) return;
  const now = Date.now();
  if (nonceConflictSince === undefined)
    return ctx.db.patch("orders", _id, { nonceConflictSince: now, nextCheckAt: now + USED_AFTER_MS });
  if (now - nonceConflictSince < USED_AFTER_MS) return;
  if (isUsed) return finalizeOrder(ctx, row, buildFailure(USED), { nextCheckAt: now + LOOK_BACK_MS });
  log.error("wallets.nonces apart", { address, mined, nonce });
  await ctx.db.patch("wallets", wallet._id, { nextNonce: undefined });
  for (const one of await listSignedOrders(ctx, walletId, MOST_SIGNED_SERVICE))
    await finalizeOrder(ctx, one, buildFailure(USED), { nextCheckAt: NEVER });
}

/** Whether a service account, with an order above the chain's count or none on the chain, has counted from a false one. */
async function hasMiscounted(ctx: MutationCtx, row: Order, mined: number): Promise<boolean> {
  const { walletId, userId, nonce = 0 } = row;
  const rows = ctx.db.query("orders");
  // Below its nonce, one of its own may be due.
  const own =
    mined < nonce
      ? queryByBoth(rows, "walletId", walletId, "nonce", mined)
      : queryByBoth(rows, "walletId", walletId, "state", "confirmed");
  return userId === NOBODY && (await own.first()) === null;
}

/** Processes due orders: polls signed ones, ends unanswered and unsigned ones. */
export const takeUpDue = defineMutation({}, async (ctx) => {
  const now = Date.now();
  const due = await queryDue(ctx.db.query("orders"), "nextCheckAt", now).take(50);
  for (const row of due) {
    if (row.state === "prepared") await dropOrder(ctx, row);
    else if (row.state === "asked") await expire(ctx, row, now);
    else {
      const age = now - (row.tries.at(-1)?.at ?? now);
      const pause = Math.min(Math.max(20 * SECOND, age), 5 * MINUTE);
      await ctx.db.patch("orders", row._id, { nextCheckAt: now + pause });
      await ctx.scheduler.runAfter(0, internal.wallets.actions.checkSigned, { orderId: row._id });
    }
  }
});

/**
 * Accepts the chain's count of an account's transactions, confirmed by two reads: for an operator who has restored a
 * backup. The stored nonce is never lowered.
 */
export const acceptCount = internalMutation({
  args: { address: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { address, mined }) => {
    const wallet = await findWalletByAddress(ctx, address);
    if (wallet === null) throw new AppError("invalid_request", NO_ACCOUNT);
    const { _id, walletId, nextNonce = 0 } = wallet;
    if (mined <= nextNonce) return nextNonce;
    await ctx.db.patch("wallets", _id, { nextNonce: mined });
    log.warn("wallets.count accepted", { walletId, mined, known: nextNonce });
    return mined;
  },
});
