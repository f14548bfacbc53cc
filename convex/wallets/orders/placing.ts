import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { verdictNow, type Verdict } from "../../accounts/access";
import { rulesOf } from "../../accounts/model";
import { AppError, failureOf, vErrorCode, FROZEN } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { usdValue } from "../../lib/money/amounts";
import { rowsByBoth } from "../../lib/records";
import { approvalFromNote, approvingLink } from "../../messenger/model";
import { NO_WALLET, pauseOf, walletOf } from "../model";
import { vFound, vOrderRow, vPlacing, vUserRequest, vWalletKind, type By } from "../tables";
import { isOffList, weigh, type Ordering } from "./limits";
import { earlierOf, openOrder, type NewOrder, type Order } from "./model";
import { askInChat, openLike } from "./questions";

/** Orders of HTTP callers, for actions: who pays, what would be refused, opening or asking, and how they stand. */

/** The hash of the caller's key. */
const vKeyHash = v.optional(v.string());

/** Whose word a caller's is; of one whose order its owner has to approve, their own word opens nothing. */
function wordOf(verdict: Verdict): { by: By; key?: Ordering["key"] } {
  if (verdict.kind !== "allowed") return { by: "id" };
  const { by, key } = verdict;
  return { by: by === "unclaimed" ? "free" : by, key };
}

const vPlaced = v.object({
  orderId: v.id("orders"),
  /** Whether its owner is asked, and whether an earlier request has opened it. */
  isAsked: v.boolean(),
  isRepeat: v.boolean(),
});

function placed({ _id: orderId, question }: Order, isRepeat: boolean): Infer<typeof vPlaced> {
  return { orderId, isAsked: question !== undefined, isRepeat };
}

/**
 * The wallet that would pay for an order, for callers who may move it or have its owner asked, or, for a rehearsal, see
 * it.
 * @returns `earlier`: the order that the idempotency key has opened before; then nothing new is moved.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`accounts/access`);
 * `not_found` without a wallet of this kind.
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
  returns: v.object({ walletId: v.string(), address: v.string(), earlier: v.union(vPlaced, v.null()) }),
  handler: async (ctx, { userId, kind, idempotencyKey, isRehearsal, request, keyHash, now }) => {
    const verdict = await verdictNow(ctx, userId, isRehearsal ? "holdings" : request.kind, now, keyHash);
    if (verdict.kind !== "allowed") await requireAsked(ctx, userId, verdict, now);
    const wallet = await walletOf(ctx, userId, kind);
    if (wallet === null) throw new AppError("not_found", NO_WALLET);
    const { walletId, address } = wallet;
    const like = { userId, walletId, request, idempotencyKey, ...wordOf(verdict) };
    const earlier = isRehearsal ? null : await earlierOf(ctx, like);
    return { walletId, address, earlier: earlier === null ? null : placed(earlier, true) };
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
  },
  returns: v.union(vPlaced, v.null()),
  handler: async (ctx, { keyHash, found, ...given }) => {
    const { userId, request } = given;
    const now = Date.now();
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const order: NewOrder = { ...given, ...wordOf(verdict) };
    let account = verdict.kind === "allowed" ? null : await requireAsked(ctx, userId, verdict, now);
    const earlier = await earlierOf(ctx, order);
    if (earlier !== null) return placed(earlier, true);
    // What a key may not send by itself, its owner may be asked about; not what is beyond its cap.
    if (await isOffList(ctx, order, now)) account = await approvingLink(ctx, userId, now);
    if (account === null) return placed(await openOrder(ctx, order), false);
    // By the key of a question without one, a repeat finds its outcome.
    const { idempotencyKey = `approval_${crypto.randomUUID()}` } = given;
    const like = given.idempotencyKey === undefined ? await openLike(ctx, order, now) : null;
    if (like !== null) return placed(like, false);
    if (found === undefined) return null;
    return placed(await askInChat(ctx, { ...order, idempotencyKey, found, account }), false);
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

const vForecast = v.object({
  /** The refusal that the order would get; `null` if there is none. */
  refusal: v.union(
    v.object({ code: vErrorCode, message: v.string(), retryAfterMs: v.optional(v.number()) }),
    v.null(),
  ),
  /** Whether it would wait for its owner. */
  isAsked: v.boolean(),
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
    const { refusal, left } = await weigh(ctx, { ...given, ...word }, now);
    const { isFrozen } = await rulesOf(ctx, userId, now);
    const barred =
      (isFrozen ? new AppError("paused", FROZEN) : pauseOf()) ??
      (verdict.kind === "allowed" || isAsked ? null : new AppError(verdict.code, verdict.message));
    return { refusal: failureOf(barred ?? refusal), isAsked, leftUsd: usdValue(left) };
  },
});
