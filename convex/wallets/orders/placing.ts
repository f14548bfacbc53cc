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
import { NO_WALLET, pauseOf, walletOf } from "../model";
import { vFound, vOrderRow, vPlacing, vUserRequest, vWalletKind, type By } from "../tables";
import { STANDINGS } from "./cards";
import { isOffList, leastLeft, limitsOf, refusalOf, type Ordering } from "./limits";
import { byId, callersKey, earlierOf, openOrder, type NewOrder } from "./model";
import { askInChat, openLike, standingOf } from "./questions";

/** Orders of HTTP callers, for actions: who pays, what would be refused, opening or asking, and how they stand. */

/** The hash of the caller's key. */
const vKeyHash = v.optional(v.string());

/** Whose word a caller's is; of one whose order its owner has to approve, their own word opens nothing. */
function wordOf(verdict: Verdict): { by: By; key?: Ordering["key"] } {
  if (verdict.kind !== "allowed") return { by: "id" };
  const { by, key } = verdict;
  return { by: by === "unclaimed" ? "free" : by, key };
}

/**
 * The wallet that would pay for an order, for callers who may move it or have its owner asked, or, for a rehearsal, see
 * it.
 * @returns `isRepeat`: the idempotency key was used before, and nothing new is moved.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`accounts/access`);
 * `not_found` without a wallet of this kind: if there is another, the message names it.
 */
export const payer = internalQuery({
  args: {
    userId: v.string(),
    request: vUserRequest,
    idempotencyKey: v.optional(v.string()),
    keyHash: vKeyHash,
    kind: vWalletKind,
    isRehearsal: v.boolean(),
    now: v.number(),
  },
  returns: v.object({ walletId: v.string(), address: v.string(), isRepeat: v.boolean() }),
  handler: async (ctx, { userId, kind, idempotencyKey, isRehearsal, request, keyHash, now }) => {
    const verdict = await verdictNow(ctx, userId, isRehearsal ? "holdings" : request.kind, now, keyHash);
    if (verdict.kind !== "allowed") await requireAsked(ctx, userId, verdict, now);
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet === null) {
      const another = kind === "custody" ? "basic" : "custody";
      const other = await walletOf(ctx, userId, another);
      const hint = `. There is a ${another} wallet, ${other?.address}: a send with from: "${another}" spends it`;
      throw new AppError("not_found", NO_WALLET + (other === null ? "" : hint));
    }
    const { walletId, address } = wallet;
    const like = { userId, walletId, request, idempotencyKey, ...wordOf(verdict) };
    return { walletId, address, isRepeat: !isRehearsal && (await earlierOf(ctx, like)) !== null };
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
    ...vPlacing,
    keyHash: vKeyHash,
    /** The caller's network address. */
    address: v.union(v.string(), v.null()),
    found: v.optional(vFound),
    /** An earlier request had opened it when this one began: no price was read for it. */
    isRepeat: v.boolean(),
  },
  returns: v.union(vPlaced, v.null()),
  handler: async (ctx, { keyHash, found, isRepeat, minBuyAmount, mostFee, ...given }) => {
    const { userId, idempotencyKey, request } = given;
    const now = Date.now();
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const order: NewOrder = { ...given, ...wordOf(verdict), source: "web" };
    let account = verdict.kind === "allowed" ? null : await requireAsked(ctx, userId, verdict, now);
    const earlier = await earlierOf(ctx, order);
    if (earlier !== null)
      return { orderId: earlier._id, isAsked: earlier.question !== undefined, isRepeat: true };
    if (isRepeat) throw new AppError("conflict", FREED);
    // What a key may not send by itself, its owner may be asked about; not what is beyond its cap.
    if (await isOffList(ctx, order, now)) account = await approvingLink(ctx, userId, now);
    if (account === null) return { orderId: await openOrder(ctx, order), isAsked: false, isRepeat: false };
    const like = idempotencyKey === undefined ? await openLike(ctx, order, now) : null;
    if (like !== null) return { orderId: like._id, isAsked: true, isRepeat: false };
    if (found === undefined) return null;
    // By the key of a question without one, a repeat finds its outcome.
    const key = idempotencyKey ?? `approval_${crypto.randomUUID()}`;
    const shown = { ...order, minBuyAmount, mostFee, idempotencyKey: key };
    const row = await askInChat(ctx, { ...shown, account, found, asker: askerIn(verdict) });
    return { orderId: row._id, isAsked: true, isRepeat: false };
  },
});

const FREED = "The order with this idempotency key has just ended, and nothing was signed: send it again";

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
  error: v.optional(v.string()),
});
export type Asked = Infer<typeof vAsked>;

/** The state of an order's question to its owner. */
export const question = internalQuery({
  args: { orderId: v.id("orders"), now: v.number() },
  returns: vAsked,
  handler: async (ctx, { orderId, now }) => {
    const order = await byId(ctx, orderId);
    const { question, error } = order;
    return {
      approvalId: orderId,
      status: await standingOf(ctx, order, now),
      idempotencyKey: callersKey(order),
      expiresAt: question?.expiresAt ?? now,
      ...(error === undefined ? {} : { error }),
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

const WAITS = { status: 202, code: null, error: "Waiting for your approval in the chat that is linked" };

const vForecast = v.object({
  /** The refusal that the order would get; `null` if there is none. */
  refusal: v.union(vRefusal, v.null()),
  leftUsd: v.number(),
});
export type Forecast = Infer<typeof vForecast>;

/**
 * Only reads: why an order would be refused before the chain is asked, and what is left of its limits before it, in USD.
 * @throws AppError `unauthorized` or `forbidden` for a token that is invalid or another user's.
 */
export const forecast = internalQuery({
  args: {
    userId: v.string(),
    request: vUserRequest,
    value: v.optional(v.string()),
    address: v.union(v.string(), v.null()),
    keyHash: vKeyHash,
    /** Whether it is put to its owner: then the limits of a tap apply. */
    asked: v.optional(literals("tap", "chat")),
    now: v.number(),
  },
  returns: vForecast,
  handler: async (ctx, { keyHash, asked, now, ...given }) => {
    const { userId, request } = given;
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const isAsked =
      asked !== undefined || (verdict.kind === "asks" && (await approvingLink(ctx, userId, now)) !== null);
    const word = verdict.kind === "allowed" && asked === undefined ? wordOf(verdict) : { by: asked ?? "tap" };
    const ordering = { ...given, ...word };
    const limits = await limitsOf(ctx, ordering, now);
    const { isFrozen } = await rulesOf(ctx, userId, now);
    const failure =
      failureOf(isFrozen ? new AppError("paused", FROZEN) : pauseOf()) ??
      (verdict.kind === "allowed" || isAsked ? null : verdict) ??
      failureOf(await refusalOf(ctx, ordering, limits, now));
    const leftUsd = usdValue(leastLeft(limits));
    if (failure === null) return { refusal: isAsked ? WAITS : null, leftUsd };
    const { code, message: error } = failure;
    const retryAfterMs = "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
    const again = retryAfterMs === undefined ? {} : { retryAfterMs };
    return { refusal: { status: STATUS[code], code, error, ...again }, leftUsd };
  },
});
