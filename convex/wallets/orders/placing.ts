import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { permit, verdictNow, type Verdict } from "../../accounts/access";
import { rulesOf } from "../../accounts/model";
import { AppError, failureOf, vErrorCode, FROZEN } from "../../lib/errors";
import { usdValue } from "../../lib/money/amounts";
import { rowsByBoth } from "../../lib/records";
import { MINUTE } from "../../lib/time";
import { approvingLink } from "../../messenger/model";
import { NO_WALLET, pauseOf, walletOf, type WalletKind } from "../model";
import { vFound, vOrderRow, vPlacing, vUserRequest, vWalletKind, type By } from "../tables";
import { credentialOf, weigh, type Ordering } from "./limits";
import { earlierOf, hasTerms, openOrder, type Keyed, type NewOrder, type Order } from "./model";
import { askInChat, seenAt } from "./questions";

/** Orders of HTTP callers, for actions: who pays, what would be refused, opening or asking, and how they stand. */

/** What is asked for, and the hash of the caller's key. */
const vAsked = { userId: v.string(), request: vUserRequest, keyHash: v.optional(v.string()) };
/** Whether a model's tool asks, which repeats what it has no answer to. */
const vTool = { isTool: v.optional(v.boolean()) };
/** The caller's network address. */
const vFrom = v.union(v.string(), v.null());

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

/** For so long a tool's same terms are the same order. */
const SAME_FOR_MS = 10 * MINUTE;
/** The newest orders among which they are looked for. */
const MOST_NEWEST = 100;

/**
 * The order that an earlier request has opened: with the same key or, of a tool without one, with the same credential and
 * terms in the last ten minutes, unless it has failed or its question has ended.
 */
async function earlierFor(
  ctx: QueryCtx,
  order: Keyed,
  isTool: boolean | undefined,
  now: number,
): Promise<Order | null> {
  if (isTool !== true || order.idempotencyKey !== undefined) return earlierOf(ctx, order);
  const { userId, by, key } = order;
  const since = now - SAME_FOR_MS;
  const orders = ctx.db.query("orders");
  const newest =
    by === "id"
      ? orders.withIndex("by_userId_and_asked", (q) => q.eq("userId", userId).eq("question.byId", true))
      : orders.withIndex("by_userId_and_countedAt", (q) => q.eq("userId", userId).gt("countedAt", since));
  const credential = credentialOf({ by, keyId: key?._id });
  for (const row of await newest.order("desc").take(MOST_NEWEST)) {
    const isRecent = Math.max(row._creationTime, row.countedAt ?? 0) > since;
    const isTheirs = by === "id" || credentialOf(row) === credential;
    if (!isRecent || !isTheirs || !hasTerms(row, order)) continue;
    if ((await seenAt(ctx, row, now)).state !== "failed") return row;
  }
  return null;
}

async function payingWallet(ctx: QueryCtx, userId: string, kind: WalletKind): Promise<Doc<"wallets">> {
  const wallet = await walletOf(ctx, userId, kind);
  if (wallet === null) throw new AppError("not_found", NO_WALLET);
  return wallet;
}

/**
 * The chat that is asked about an order that a caller may not open; `null` where nobody has to be asked.
 * @throws AppError `forbidden` where it is not allowed and nobody can be asked.
 */
async function askedAbout(
  ctx: QueryCtx,
  verdict: Verdict,
  userId: string,
  now: number,
): Promise<Doc<"messengerLinks"> | null> {
  if (verdict.kind === "allowed") return null;
  const link = verdict.kind === "asks" ? await approvingLink(ctx, userId, now) : null;
  if (link === null) throw verdict.error;
  return link;
}

/**
 * The wallet that pays for an order, for callers who may move it or have its owner asked.
 * @returns Whether its owner has to be asked; `earlier`: the order that the key has opened before: nothing new is moved.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`accounts/access`);
 * `not_found` without a wallet of this kind.
 */
export const payer = internalQuery({
  args: { ...vAsked, ...vTool, idempotencyKey: v.optional(v.string()), kind: vWalletKind, now: v.number() },
  returns: v.object({
    walletId: v.string(),
    address: v.string(),
    isAsked: v.boolean(),
    earlier: v.union(vPlaced, v.null()),
  }),
  handler: async (ctx, { kind, keyHash, isTool, now, ...given }) => {
    const { userId, request } = given;
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const isAsked = (await askedAbout(ctx, verdict, userId, now)) !== null;
    const { walletId, address } = await payingWallet(ctx, userId, kind);
    const earlier = await earlierFor(ctx, { ...given, ...wordOf(verdict), walletId }, isTool, now);
    return { walletId, address, isAsked, earlier: earlier === null ? null : placed(earlier, true) };
  },
});

/**
 * Opens an order of an HTTP caller, or has its owner asked, in the transaction that decides; a key that was used before
 * finds its order.
 * @param args.found What trying it out has found, for the card of an owner who has to be asked.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it and nobody can be asked;
 * `conflict`, `paused`, `rate_limited`, and the refusals of the limits.
 */
export const place = internalMutation({
  args: { ...vPlacing, ...vAsked, ...vTool, address: vFrom, found: v.optional(vFound) },
  returns: vPlaced,
  handler: async (ctx, { keyHash, isTool, found, ...given }) => {
    const { userId, request } = given;
    const now = Date.now();
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const order: NewOrder = { ...given, ...wordOf(verdict) };
    const account = await askedAbout(ctx, verdict, userId, now);
    const earlier = await earlierFor(ctx, order, isTool, now);
    if (earlier !== null) return placed(earlier, true);
    if (account === null) return placed(await openOrder(ctx, order), false);
    if (found === undefined) throw new AppError("conflict", "The owner's rules have just changed: try again");
    // By the key of a question without one, a repeat finds its outcome.
    const { idempotencyKey = `approval_${crypto.randomUUID()}` } = given;
    return placed(await askInChat(ctx, { ...order, idempotencyKey, found, account }), false);
  },
});

const vForecast = v.object({
  walletId: v.string(),
  address: v.string(),
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
 * Only reads, for whoever may see the wallet: why an order would be refused before the chain is asked, and what is left
 * of its limits before it, in USD.
 * @throws AppError `unauthorized` or `forbidden` for a token that is invalid or another user's; `not_found` as `payer`.
 */
export const forecast = internalQuery({
  args: {
    ...vAsked,
    kind: vWalletKind,
    value: v.optional(v.string()),
    address: vFrom,
    now: v.number(),
  },
  returns: vForecast,
  handler: async (ctx, { kind, keyHash, now, ...given }) => {
    const { userId, request } = given;
    permit(await verdictNow(ctx, userId, "holdings", now, keyHash));
    const { walletId, address } = await payingWallet(ctx, userId, kind);
    const verdict = await verdictNow(ctx, userId, request.kind, now, keyHash);
    const asked = await askedAbout(ctx, verdict, userId, now).catch(failureOf);
    const isBarred = asked !== null && "code" in asked;
    const word = verdict.kind === "allowed" ? wordOf(verdict) : { by: "tap" as const };
    const { refusal, left } = await weigh(ctx, { ...given, ...word }, now);
    const { isFrozen } = await rulesOf(ctx, userId, now);
    const stopped = isFrozen ? new AppError("paused", FROZEN) : pauseOf();
    const why = failureOf(stopped) ?? (isBarred ? asked : failureOf(refusal));
    const isAsked = asked !== null && !isBarred;
    return { walletId, address, refusal: why, isAsked, leftUsd: usdValue(left) };
  },
});

/** How many of a user's newest orders are searched for a hash that was replaced, or is an approval's. */
const MOST_SEARCHED = 200;

/** A user's order by any hash that was told for it; `null` if there is none. */
export const byHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vOrderRow, v.null()),
  handler: async (ctx, { userId, txHash }) => {
    const orders = () => ctx.db.query("orders");
    const shown = await rowsByBoth(orders(), "userId", userId, "txHash", txHash).first();
    if (shown !== null) return shown;
    const counted = orders().withIndex("by_userId_and_countedAt", (q) => q.eq("userId", userId));
    const newest = await counted.order("desc").take(MOST_SEARCHED);
    return newest.find(({ tries }) => tries.some(({ hash }) => hash === txHash)) ?? null;
  },
});
