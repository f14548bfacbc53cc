import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { dueWork } from "../../lib/cronRuns";
import { AppError, failureOf, STATUS, vErrorCode } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { usdValue } from "../../lib/money/amounts";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { NOBODY } from "../../lib/records/records";
import { rowsByBoth, rowsDue } from "../../lib/records/rows";
import { FROZEN } from "../../lib/security/refusals";
import { MINUTE, SECOND } from "../../lib/time";
import { approvalFromNote, approvingLink } from "../../messenger/model";
import { permitNow, verdictNow, type Allowed, type Verdict } from "../../accounts/access";
import { rulesOf } from "../../accounts/model";
import { byWalletId, walletById, walletOf } from "../model";
import { NOT_SENT, pauseOf, refusalToSign } from "../rules";
import {
  vFound,
  vOrderRow,
  vRequest,
  vSwapTerms,
  vTraded,
  vTry,
  vWalletKind,
  type By,
  type UserRequest,
} from "../tables";
import { STANDINGS } from "./cards";
import { isUsers, limitsOf, refusalOf, sumOf, type Ordering } from "./limits";
import {
  blockerOf,
  byId,
  callersKey,
  drop as dropOrder,
  endApart,
  earlierOf,
  isEnded,
  mined as noteMined,
  NOT_SWAPPED,
  openOrder,
  signedOf,
  storeTry,
  usedOtherwise,
  type NewOrder,
  type Order,
} from "./model";
import { askInChat, end, openLike, standingOf } from "./questions";

/** Orders, for actions: opening, asking, every step towards the receipt, and the cron. */

const vOrderId = { orderId: v.id("orders") };

/** Prices as an action has read them: of the amount, absent without a live price, and of one ether. Digits, micro-USD. */
const vPrices = { value: v.optional(v.string()), etherPrice: v.string() };

const vOrdering = {
  userId: v.string(),
  walletId: v.string(),
  request: vRequest,
  idempotencyKey: v.optional(v.string()),
  /** The caller's network address, and the hash of their key. */
  address: v.union(v.string(), v.null()),
  keyHash: v.optional(v.string()),
};

/** The kind of act, for the check of who may order it. */
function deedOf({ kind }: UserRequest): "send" | "swap" {
  return kind;
}

function usersOwn(request: Infer<typeof vRequest>): UserRequest {
  if (isUsers(request)) return request;
  throw new AppError("internal", "Nobody orders this");
}

/** Whose word a caller's is. */
function orderedBy({ by, key }: Allowed): Pick<Ordering, "by" | "key"> {
  const whose: By = by === "unclaimed" ? "free" : by;
  return { by: whose, key };
}

/** Of a caller whose order its owner has to approve: their own word opens nothing. */
function askedBy(verdict: Verdict): Pick<Ordering, "by" | "key"> {
  return verdict.kind === "allowed" ? orderedBy(verdict) : { by: "id" };
}

/**
 * Opens an order of an HTTP caller.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it, besides what `openOrder` throws.
 */
export const open = internalMutation({
  args: { ...vOrdering, ...vPrices },
  returns: v.id("orders"),
  handler: async (ctx, { keyHash, value, etherPrice, ...order }) => {
    const request = usersOwn(order.request);
    const permit = await permitNow(ctx, order.userId, deedOf(request), Date.now(), keyHash);
    return openOrder(ctx, {
      ...order,
      ...orderedBy(permit),
      request,
      source: "web",
      value: value === undefined ? null : BigInt(value),
      etherPrice: BigInt(etherPrice),
    });
  },
});

const vAsked = v.object({
  approvalId: v.id("orders"),
  status: literals(...STANDINGS),
  /** By which a repeat finds its outcome. */
  idempotencyKey: v.string(),
  /** Epoch ms. */
  expiresAt: v.number(),
  kind: literals("send", "swap"),
  order: vOrderRow,
});
export type Asked = Infer<typeof vAsked>;

async function shown(ctx: QueryCtx, row: Order, now: number): Promise<Asked> {
  return {
    approvalId: row._id,
    status: await standingOf(ctx, row, now),
    idempotencyKey: callersKey(row),
    expiresAt: row.question?.expiresAt ?? row.createdAt,
    kind: row.request.kind === "swap" ? "swap" : "send",
    order: row,
  };
}

/**
 * An earlier question with the same key or, without a key, an open one with the same terms; `null` for a new one.
 * @throws AppError `conflict` if the key was used for something else.
 */
export const askedBefore = internalQuery({
  args: { ...vOrdering, now: v.number() },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { now, keyHash, ...asked }) => {
    const request = usersOwn(asked.request);
    const verdict = await verdictNow(ctx, asked.userId, deedOf(request), now, keyHash);
    const like = { ...asked, ...askedBy(verdict), request };
    const row =
      asked.idempotencyKey === undefined ? await openLike(ctx, like, now) : await earlierOf(ctx, like);
    return row === null ? null : shown(ctx, row, now);
  },
});

/**
 * Asks the owner, in the transaction that decides whether to ask.
 * @throws AppError `forbidden` if nobody can be asked, `paused`, `rate_limited`, and the refusals of the limits.
 */
export const ask = internalMutation({
  args: {
    ...vOrdering,
    ...vPrices,
    found: vFound,
    minBuyAmount: v.optional(v.string()),
    mostFee: v.optional(v.string()),
  },
  returns: vAsked,
  handler: async (ctx, { keyHash, found, value, etherPrice, ...asked }) => {
    const now = Date.now();
    const request = usersOwn(asked.request);
    const { userId } = asked;
    const verdict = await verdictNow(ctx, userId, deedOf(request), now, keyHash);
    const key = asked.idempotencyKey ?? `approval_${crypto.randomUUID()}`;
    const order: NewOrder = {
      ...asked,
      ...askedBy(verdict),
      request,
      idempotencyKey: key,
      source: "web",
      value: value === undefined ? null : BigInt(value),
      etherPrice: BigInt(etherPrice),
    };
    const before =
      asked.idempotencyKey === undefined ? await openLike(ctx, order, now) : await earlierOf(ctx, order);
    if (before !== null) return shown(ctx, before, now);
    const account = await approvingLink(ctx, userId, now);
    if (account === null || verdict.kind === "refused") throw await nobodyToAsk(ctx, userId, verdict, now);
    const row = await askInChat(ctx, { ...order, account, found, asker: askerIn(verdict) });
    return shown(ctx, row, now);
  },
});

async function nobodyToAsk(ctx: QueryCtx, userId: string, verdict: Verdict, now: number): Promise<AppError> {
  const later = await approvalFromNote(ctx, userId, now);
  if (verdict.kind !== "allowed") return new AppError(verdict.code, verdict.message + later);
  const words = "This order needs its owner's approval, and no messenger account is linked to ask them";
  return new AppError("forbidden", words + later);
}

/** Who asks, for the card: whoever shows a key or the owner's token is no stranger. */
function askerIn(verdict: Verdict): string {
  if (verdict.kind !== "allowed" || verdict.by === "id") return "Somebody who knows your account id";
  return verdict.key === undefined ? "Somebody with your login" : `Your key ${verdict.key.name}`;
}

/** The state of a question to an owner; `null` for an id that is not this user's. */
export const question = internalQuery({
  args: { userId: v.string(), approvalId: v.string(), now: v.number() },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { userId, approvalId, now }) => {
    const id = ctx.db.normalizeId("orders", approvalId);
    const row = id === null ? null : await ctx.db.get("orders", id);
    if (row?.userId !== userId || row.question === undefined) return null;
    return shown(ctx, row, now);
  },
});

/** An order as its caller and the cron see it. */
export const view = internalQuery({
  args: vOrderId,
  returns: vOrderRow,
  handler: (ctx, { orderId }) => byId(ctx, orderId),
});

/** A user's order by any hash that was told for it; `null` if there is none. */
export const byHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vOrderRow, v.null()),
  handler: async (ctx, { userId, txHash }) => {
    const rows = () => ctx.db.query("orders");
    return (
      (await rowsByBoth(rows(), "userId", userId, "txHash", txHash).first()) ??
      (await rowsByBoth(rows(), "userId", userId, "firstHash", txHash).first()) ??
      (await rowsByBoth(rows(), "userId", userId, "approvalTxHash", txHash).first())
    );
  },
});

const vPaying = v.object({
  walletId: v.string(),
  address: v.string(),
  /** Whether the idempotency key was used before: then nothing new is moved. */
  isRepeat: v.boolean(),
  isAsked: v.boolean(),
  /** Whether the owner can be asked about what their rules refuse to this caller. */
  isAskedBeyond: v.boolean(),
});
export type Paying = Infer<typeof vPaying>;

/**
 * The wallet that would pay for an order, for callers who may move it, or, for a rehearsal, see it; `null` if there is none.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`users/access`).
 */
export const paying = internalQuery({
  args: {
    userId: v.string(),
    kind: vWalletKind,
    idempotencyKey: v.optional(v.string()),
    isRehearsal: v.boolean(),
    request: vRequest,
    keyHash: v.optional(v.string()),
    now: v.number(),
  },
  returns: v.union(vPaying, v.null()),
  handler: async (ctx, { userId, kind, idempotencyKey, isRehearsal, request: asked, keyHash, now }) => {
    const request = usersOwn(asked);
    const verdict = await verdictNow(ctx, userId, isRehearsal ? "holdings" : deedOf(request), now, keyHash);
    // An id without an owner has nobody to ask.
    const isOwned = verdict.kind !== "allowed" || verdict.by !== "unclaimed";
    const hasChat = isOwned && (await approvingLink(ctx, userId, now)) !== null;
    const isAsked = verdict.kind === "asks" && hasChat;
    if (verdict.kind !== "allowed" && !isAsked) {
      const later = verdict.kind === "asks" ? await approvalFromNote(ctx, userId, now) : "";
      throw new AppError(verdict.code, verdict.message + later);
    }
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet === null) return null;
    const { walletId, address } = wallet;
    const like = { userId, walletId, request, idempotencyKey, ...askedBy(verdict) };
    const isRepeat = !isRehearsal && (await earlierOf(ctx, like)) !== null;
    return { walletId, address, isRepeat, isAsked, isAskedBeyond: verdict.kind === "allowed" && hasChat };
  },
});

/** `code` is `null` for orders that only wait. */
const vRefusal = v.object({
  status: v.number(),
  code: v.union(vErrorCode, v.null()),
  error: v.string(),
});
const vForecast = v.object({
  refusal: v.union(vRefusal, v.null()),
  /** USD; `leftUsd` before the order. */
  limits: v.array(v.object({ about: v.string(), mostUsd: v.number(), leftUsd: v.number() })),
});
export type Refusal = Infer<typeof vRefusal>;
export type Forecast = Infer<typeof vForecast>;

const WAITS = { status: 202, code: null, error: "Waiting for your approval in the chat that is linked" };

/**
 * Only reads: why an order would be refused before the chain is asked, and its limits.
 * @throws AppError `unauthorized` or `forbidden` for a token that is invalid or another user's.
 */
export const forecast = internalQuery({
  args: {
    userId: v.string(),
    request: vRequest,
    address: v.union(v.string(), v.null()),
    keyHash: v.optional(v.string()),
    value: v.optional(v.string()),
    /** Whether it is put to its owner: then the limits of a tap apply. */
    asked: v.optional(literals("tap", "chat")),
    now: v.number(),
  },
  returns: vForecast,
  handler: async (ctx, { userId, request: given, address, keyHash, value, asked, now }) => {
    const request = usersOwn(given);
    const verdict = await verdictNow(ctx, userId, deedOf(request), now, keyHash);
    const isAsked =
      asked !== undefined || (verdict.kind === "asks" && (await approvingLink(ctx, userId, now)) !== null);
    const word =
      verdict.kind === "allowed" && asked === undefined ? orderedBy(verdict) : { by: asked ?? "tap" };
    const ordering = { userId, request, address, ...word };
    const limits = await limitsOf(ctx, ordering, now);
    const { isFrozen } = await rulesOf(ctx, userId, now);
    const failure =
      failureOf(isFrozen ? new AppError("paused", FROZEN) : pauseOf()) ??
      (verdict.kind === "allowed" || isAsked ? null : verdict) ??
      failureOf(await refusalOf(ctx, ordering, limits, value === undefined ? null : BigInt(value), now));
    return {
      refusal:
        failure !== null
          ? { status: STATUS[failure.code], code: failure.code, error: failure.message }
          : isAsked
            ? WAITS
            : null,
      limits: limits.map(({ about, most, counted }) => {
        const left = most - sumOf(counted);
        return {
          about: `transfers in 24 hours${about}`,
          mostUsd: usdValue(most),
          leftUsd: usdValue(left > 0n ? left : 0n),
        };
      }),
    };
  },
});

const vTurn = v.object({
  row: vOrderRow,
  /** A signed order of the same wallet, which has to end first. */
  blocker: v.union(vOrderRow, v.null()),
  /** The account's next nonce, and that of its oldest signed order, as far as this service has given them out. */
  next: v.number(),
  oldest: v.number(),
  /** Whether none of its transactions was ever mined here: a service account may have signed elsewhere. */
  isNew: v.boolean(),
});
export type Turn = Infer<typeof vTurn>;

/** An order whose turn it may be to be signed. */
export const turn = internalQuery({
  args: vOrderId,
  returns: vTurn,
  handler: async (ctx, { orderId }) => {
    const row = await byId(ctx, orderId);
    const { walletId, userId } = row;
    const wallet = await walletById(ctx, walletId);
    const next = wallet?.nextNonce ?? 0;
    const [first] = await signedOf(ctx, walletId, 1);
    const done = rowsByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "confirmed");
    return {
      row,
      blocker: await blockerOf(ctx, walletId, userId),
      next,
      oldest: first?.nonce ?? next,
      isNew: userId === NOBODY && (await done.first()) === null,
    };
  },
});

/** Bytes of an account from a nonce on, the mined ones first of each nonce: what a dropped block has lost is sent again. */
export const bytesFrom = internalQuery({
  args: { walletId: v.string(), nonce: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { walletId, nonce }) => {
    const rows = await ctx.db
      .query("orders")
      .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).gte("nonce", nonce))
      .take(50);
    const tries = rows.flatMap((row) =>
      row.tries.map((one) => ({
        ...one,
        isMined: isEnded(row) && (one.hash === row.txHash || one.hash === row.approvalTxHash),
      })),
    );
    return tries
      .filter((one) => one.nonce >= nonce)
      .sort((a, b) => a.nonce - b.nonce || Number(b.isMined) - Number(a.isMined) || b.at - a.at)
      .map(({ raw }) => raw);
  },
});

const vSigned = vTry.omit("at");

/**
 * Stores signed bytes and takes their nonce, before anybody outside has them.
 * @returns `false` if the order has ended or it is another's turn: the bytes are void.
 * @throws AppError as `refusalToSign`.
 */
export const storeSigned = internalMutation({
  args: { ...vOrderId, signed: vSigned, fee: v.string(), terms: v.optional(vSwapTerms) },
  returns: v.boolean(),
  handler: async (ctx, { orderId, signed, fee, terms }) => {
    const row = await byId(ctx, orderId);
    if (row.state !== "prepared") return false;
    const refusal = await refusalToSign(ctx, row, Date.now());
    if (refusal !== null) throw refusal;
    const wallet = await byWalletId(ctx, row.walletId);
    if (signed.nonce < (wallet.nextNonce ?? 0)) return false;
    if ((await blockerOf(ctx, row.walletId, row.userId)) !== null) return false;
    await ctx.db.patch("wallets", wallet._id, { nextNonce: signed.nonce + 1 });
    await storeTry(ctx, row, signed, { fee: BigInt(fee), terms });
    return true;
  },
});

/**
 * Stores further bytes at an order's nonce: the same call with higher fees, or an empty transaction.
 * @param args.before The hash of the newest bytes when these were signed.
 * @returns `false` if the order has ended, or has other bytes by now: these are void.
 */
export const storeFurther = internalMutation({
  args: { ...vOrderId, before: v.string(), signed: vSigned, fee: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { orderId, before, signed, fee }) => {
    const row = await byId(ctx, orderId);
    if (row.state !== "signed" || row.txHash !== before || row.nonce !== signed.nonce) return false;
    const refusal = signed.kind === "empty" ? null : await refusalToSign(ctx, row, Date.now());
    if (refusal !== null) throw refusal;
    await storeTry(ctx, row, signed, { fee: BigInt(fee) });
    return true;
  },
});

/** Why an order may not be signed again; `null` if it may. */
export const maySignAgain = internalQuery({
  args: { ...vOrderId, now: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { orderId, now }) =>
    (await refusalToSign(ctx, await byId(ctx, orderId), now)) === null,
});

const vStep = v.union(
  /** The chain has mined one of its transactions. */
  v.object({
    kind: v.literal("mined"),
    hash: v.string(),
    succeeded: v.boolean(),
    traded: v.optional(vTraded),
  }),
  /** Its nonce is used, some blocks back, and by none of its own. */
  v.object({ kind: v.literal("used"), mined: v.number() }),
  /** So few of its account's transactions are mined that its nonce is not the next one. */
  v.object({ kind: v.literal("apart"), mined: v.number() }),
  /** Its nonce is free after all. */
  v.object({ kind: v.literal("free") }),
  /** Nothing of it was signed, and nothing will be. */
  v.object({ kind: v.literal("dropped"), error: v.string(), errorCode: vErrorCode }),
  /** Its caller has been told that the swap is over while its approval was not mined. */
  v.object({ kind: v.literal("given up") }),
  /** The block that decided it is gone: it is looked at again soon. */
  v.object({ kind: v.literal("lost") }),
);
export type Step = Infer<typeof vStep>;

/** Moves an order on; a late or repeated step changes nothing. @returns The order afterwards. */
export const advance = internalMutation({
  args: { ...vOrderId, step: vStep },
  returns: vOrderRow,
  handler: async (ctx, { orderId, step }) => {
    await take(ctx, await byId(ctx, orderId), step);
    return byId(ctx, orderId);
  },
});

async function take(ctx: MutationCtx, row: Order, step: Step): Promise<void> {
  switch (step.kind) {
    case "mined":
      return noteMined(ctx, row, step);
    case "used":
      return usedOtherwise(ctx, row, step.mined);
    case "apart":
      return endApart(ctx, row, step.mined);
    case "free":
      if (row.usedSince !== undefined) await ctx.db.patch("orders", row._id, { usedSince: undefined });
      return;
    case "dropped":
      return dropOrder(ctx, row, step.error, step.errorCode);
    case "given up":
      if (row.state === "prepared") return dropOrder(ctx, row, NOT_SWAPPED, "upstream");
      if (row.state === "signed" && row.tries.at(-1)?.kind === "approve")
        await ctx.db.patch("orders", row._id, { error: NOT_SWAPPED, errorCode: "upstream" });
      return;
    case "lost":
      if (isEnded(row)) await ctx.db.patch("orders", row._id, { nextCheckAt: Date.now() + MINUTE });
  }
}

/** Takes up what is due: checks what was signed, ends what was never answered or signed. */
export const takeUpDue = dueWork(async (ctx) => {
  const now = Date.now();
  const due = await rowsDue(ctx.db.query("orders"), "nextCheckAt", now).take(50);
  for (const row of due) {
    if (row.state === "prepared") await dropOrder(ctx, row, NOT_SENT, "upstream");
    else if (row.state === "asked") await end(ctx, row, await howEnded(ctx, row, now), now);
    else {
      const age = now - (row.tries.at(-1)?.at ?? now);
      const pause = Math.min(Math.max(20 * SECOND, age), 5 * MINUTE);
      await ctx.db.patch("orders", row._id, { nextCheckAt: now + pause });
      await ctx.scheduler.runAfter(0, internal.wallets.orders.actions.check, { orderId: row._id });
    }
  }
});

async function howEnded(ctx: QueryCtx, row: Order, now: number) {
  const standing = await standingOf(ctx, row, now);
  return standing === "void" || standing === "undelivered" ? standing : "expired";
}

/**
 * Accepts the chain's count of an account's transactions, which two answers have told: for an operator who has restored
 * a backup. It is never lowered.
 */
export const acceptCount = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const known = wallet.nextNonce ?? 0;
    if (mined <= known) return known;
    await ctx.db.patch("wallets", wallet._id, { nextNonce: mined });
    const detail = `next nonce ${mined} (${known} before)`;
    await recordAudit(ctx, { actor: OPERATOR, action: "nonces repaired", subject: walletId, detail });
    return mined;
  },
});
