import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { verdictNow, type Verdict } from "../../accounts/access";
import { rulesOf } from "../../accounts/model";
import { AppError, failureOf, STATUS, vErrorCode } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { usdValue } from "../../lib/money/amounts";
import { rowsByBoth } from "../../lib/records/rows";
import { FROZEN } from "../../lib/security/refusals";
import { approvalFromNote, approvingLink } from "../../messenger/model";
import { pauseOf, walletOf } from "../model";
import { vFound, vOrderRow, vRequest, vWalletKind, type By, type UserRequest } from "../tables";
import { STANDINGS } from "./cards";
import { isOffList, isUsers, limitsOf, refusalOf, sumOf, type Ordering } from "./limits";
import { callersKey, earlierOf, openOrder, type NewOrder } from "./model";
import { askInChat, openLike, standingOf } from "./questions";

/** Orders of HTTP callers, for actions: who pays, what would be refused, opening or asking, and how they stand. */

const vOrdering = {
  userId: v.string(),
  request: vRequest,
  idempotencyKey: v.optional(v.string()),
  /** The hash of the caller's key. */
  keyHash: v.optional(v.string()),
};

function usersOwn(request: Infer<typeof vRequest>): UserRequest {
  if (isUsers(request)) return request;
  throw new AppError("internal", "Nobody orders this");
}

/** Whose word a caller's is; of one whose order its owner has to approve, their own word opens nothing. */
function wordOf(verdict: Verdict): { by: By; key?: Ordering["key"] } {
  if (verdict.kind !== "allowed") return { by: "id" };
  const { by, key } = verdict;
  return { by: by === "unclaimed" ? "free" : by, key };
}

const vPayer = v.object({
  walletId: v.string(),
  address: v.string(),
  /** Whether the idempotency key was used before: then nothing new is moved. */
  isRepeat: v.boolean(),
});

/**
 * The wallet that would pay for an order, for callers who may move it or have its owner asked, or, for a rehearsal, see
 * it; `null` if there is none.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`accounts/access`).
 */
export const payer = internalQuery({
  args: { ...vOrdering, kind: vWalletKind, isRehearsal: v.boolean(), now: v.number() },
  returns: v.union(vPayer, v.null()),
  handler: async (ctx, { userId, kind, idempotencyKey, isRehearsal, request: asked, keyHash, now }) => {
    const request = usersOwn(asked);
    const verdict = await verdictNow(ctx, userId, isRehearsal ? "holdings" : request.kind, now, keyHash);
    if (verdict.kind !== "allowed") await requireAsked(ctx, userId, verdict, now);
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet === null) return null;
    const { walletId, address } = wallet;
    const like = { userId, walletId, request, idempotencyKey, ...wordOf(verdict) };
    const isRepeat = !isRehearsal && (await earlierOf(ctx, like)) !== null;
    return { walletId, address, isRepeat };
  },
});

/** The chat that is asked about what a caller may not order. @throws AppError `forbidden` where none is. */
async function requireAsked(
  ctx: QueryCtx,
  userId: string,
  { kind, code, message }: Exclude<Verdict, { kind: "allowed" }>,
  now: number,
) {
  const link = kind === "asks" ? await approvingLink(ctx, userId, now) : null;
  if (link !== null) return link;
  const later = kind === "asks" ? await approvalFromNote(ctx, userId, now) : "";
  throw new AppError(code, message + later);
}

const vPlaced = v.object({
  orderId: v.id("orders"),
  /** Whether its owner is asked, and whether an earlier request has opened it. */
  isAsked: v.boolean(),
  isRepeat: v.boolean(),
});

/**
 * Opens an order of an HTTP caller, or has its owner asked, in the transaction that decides; a key that was used before
 * finds its order.
 * @param args.found What a rehearsal has found, for the owner's card.
 * @returns `null` if its owner has to be asked and nothing was found yet.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it and nobody can be asked;
 * `conflict`, `paused`, `rate_limited`, and the refusals of the limits.
 */
export const place = internalMutation({
  args: {
    ...vOrdering,
    walletId: v.string(),
    /** The caller's network address. */
    address: v.union(v.string(), v.null()),
    /** Prices as an action has read them: of the amount, absent without a live price, and of one ether. Digits, micro-USD. */
    value: v.optional(v.string()),
    etherPrice: v.string(),
    found: v.optional(vFound),
    minBuyAmount: v.optional(v.string()),
    mostFee: v.optional(v.string()),
  },
  returns: v.union(vPlaced, v.null()),
  handler: async (ctx, { keyHash, value, etherPrice, found, minBuyAmount, mostFee, ...given }) => {
    const { userId, idempotencyKey } = given;
    const now = Date.now();
    const request = usersOwn(given.request);
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const order: NewOrder = {
      ...given,
      ...wordOf(verdict),
      request,
      source: "web",
      value: value === undefined ? null : BigInt(value),
      etherPrice: BigInt(etherPrice),
    };
    let account = verdict.kind === "allowed" ? null : await requireAsked(ctx, userId, verdict, now);
    const earlier = await earlierOf(ctx, order);
    if (earlier !== null)
      return { orderId: earlier._id, isAsked: earlier.question !== undefined, isRepeat: true };
    // What a key may not send by itself, its owner may be asked about; not what is beyond its cap.
    if (await isOffList(ctx, order, now)) account = await approvingLink(ctx, userId, now);
    if (account === null) return { orderId: await openOrder(ctx, order), isAsked: false, isRepeat: false };
    const like = idempotencyKey === undefined ? await openLike(ctx, order, now) : null;
    if (like !== null) return { orderId: like._id, isAsked: true, isRepeat: false };
    if (found === undefined) return null;
    const shown = { ...order, minBuyAmount, mostFee, idempotencyKey: idempotencyKey ?? newKey() };
    const row = await askInChat(ctx, { ...shown, account, found, asker: askerIn(verdict) });
    return { orderId: row._id, isAsked: true, isRepeat: false };
  },
});

/** For a question without a key: by it a repeat finds its outcome. */
function newKey(): string {
  return `approval_${crypto.randomUUID()}`;
}

/** Who asks, for the card: whoever shows a key or the owner's token is no stranger. */
function askerIn(verdict: Verdict): string {
  if (verdict.kind !== "allowed" || verdict.by === "id") return "Somebody who knows your account id";
  return verdict.key === undefined ? "Somebody with your login" : `Your key ${verdict.key.name}`;
}

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

/** The state of a question to an owner; `null` for an id that is not this user's. */
export const question = internalQuery({
  args: { userId: v.string(), approvalId: v.string(), now: v.number() },
  returns: v.union(vAsked, v.null()),
  handler: async (ctx, { userId, approvalId, now }) => {
    const id = ctx.db.normalizeId("orders", approvalId);
    const order = id === null ? null : await ctx.db.get("orders", id);
    if (order?.userId !== userId || order.question === undefined) return null;
    return {
      approvalId: order._id,
      status: await standingOf(ctx, order, now),
      idempotencyKey: callersKey(order),
      expiresAt: order.question.expiresAt,
      kind: order.request.kind === "swap" ? ("swap" as const) : ("send" as const),
      order,
    };
  },
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

/** `code` is `null` for orders that only wait. */
const vRefusal = v.object({
  status: v.number(),
  code: v.union(vErrorCode, v.null()),
  error: v.string(),
  retryAfterMs: v.optional(v.number()),
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
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const isAsked =
      asked !== undefined || (verdict.kind === "asks" && (await approvingLink(ctx, userId, now)) !== null);
    const word = verdict.kind === "allowed" && asked === undefined ? wordOf(verdict) : { by: asked ?? "tap" };
    const ordering = { userId, request, address, ...word };
    const limits = await limitsOf(ctx, ordering, now);
    const { isFrozen } = await rulesOf(ctx, userId, now);
    const failure =
      failureOf(isFrozen ? new AppError("paused", FROZEN) : pauseOf()) ??
      (verdict.kind === "allowed" || isAsked ? null : verdict) ??
      failureOf(await refusalOf(ctx, ordering, limits, value === undefined ? null : BigInt(value), now));
    const retryAfterMs = failure !== null && "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
    const again = retryAfterMs === undefined ? {} : { retryAfterMs };
    return {
      refusal:
        failure !== null
          ? { status: STATUS[failure.code], code: failure.code, error: failure.message, ...again }
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
