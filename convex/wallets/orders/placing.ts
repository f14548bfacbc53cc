import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../../_generated/server";
import { requireAllowed, authorize, type Decision } from "../../identity/access";
import { getRules, readMode } from "../../identity/model";
import { AppError, getErrorData, vErrorCode } from "../../lib/errors";
import { FROZEN } from "../../lib/refusals";
import { toUsd } from "../../lib/money/amounts";
import { defined } from "../../lib/objects";
import { queryByBoth } from "../../platform/records";
import { MINUTE } from "../../lib/time";
import { findApprovingLink } from "../../messenger/model";
import { toPayer } from "../book";
import { NO_WALLET, getPauseError, findWallet, requireMode } from "../model";
import { vPayer, vWalletKind, vOrderRow, vUserRequest, type By, type UserRequest } from "../tables";
import { toCredentialKey, checkLimits, type Ordering } from "./limits";
import {
  findEarlierOrder,
  hasTerms,
  openOrder,
  type Keyed,
  type NewOrder,
  type Order,
  vEstimate,
  vPlacing,
} from "./model";
import { askInChat, getStateAt } from "./questions";

/** Orders of HTTP callers, for actions: the paying wallet, likely refusals, opening or asking, and status. */

/** The requested order, and the hash of the caller's API key. */
const vAsked = { userId: v.string(), request: vUserRequest, keyHash: v.optional(v.string()) };
/** Whether the caller is a model's tool: tools repeat calls that got no answer. */
const vTool = { isTool: v.optional(v.boolean()) };
/** The caller's network address. */
const vFrom = v.union(v.string(), v.null());

/** The action to authorize: the permission to swap includes buying gas. */
function toAction({ kind }: UserRequest): "send" | "swap" {
  return kind === "gas" ? "swap" : kind;
}

/** The credential an order counts against. An order that needs approval never opens on the caller's own credential. */
function getCredential(decision: Decision): { by: By; key?: Ordering["key"] } {
  if (decision.kind !== "allowed") return { by: "id" };
  const { by, key } = decision;
  return { by: by === "unclaimed" ? "free" : by, key };
}

/** How long a tool's repeat of the same terms is the same order. */
const SAME_FOR_MS = 10 * MINUTE;
/** Ceiling of the newest orders that are searched for a repeat. */
const MOST_NEWEST = 100;

/**
 * The order of an earlier request with the same idempotency key. For a tool without a key: with the same credential and
 * terms in the last ten minutes, unless it has failed or its question has ended.
 */
async function findRepeatedOrder(
  ctx: QueryCtx,
  order: Keyed,
  isTool: boolean | undefined,
  now: number,
): Promise<Order | null> {
  if (isTool !== true || order.idempotencyKey !== undefined) return findEarlierOrder(ctx, order);
  const { userId, by, key } = order;
  const since = now - SAME_FOR_MS;
  const orders = ctx.db.query("orders");
  const paper = await readMode(ctx, userId);
  const newest =
    by === "id"
      ? orders.withIndex("by_userId_and_asked", (q) =>
          q.eq("userId", userId).eq("paper", paper).eq("question.byId", true),
        )
      : orders.withIndex("by_userId_and_countedAt", (q) =>
          q.eq("userId", userId).eq("paper", paper).gt("countedAt", since),
        );
  const credential = toCredentialKey({ by, keyId: key?._id });
  for (const row of await newest.order("desc").take(MOST_NEWEST)) {
    const isRecent = Math.max(row._creationTime, row.countedAt ?? 0) > since;
    const isTheirs = by === "id" || toCredentialKey(row) === credential;
    if (!isRecent || !isTheirs || !hasTerms(row, order)) continue;
    if ((await getStateAt(ctx, row, now)).state !== "failed") return row;
  }
  return null;
}

/**
 * The linked account that has to approve an order; `null` if the caller needs no approval.
 * @throws AppError `forbidden` if the order is not allowed and no chat can approve it.
 */
async function findRequiredApprover(
  ctx: QueryCtx,
  decision: Decision,
  userId: string,
  now: number,
): Promise<Doc<"messengerLinks"> | null> {
  if (decision.kind === "allowed") return null;
  const link = decision.kind === "asks" ? await findApprovingLink(ctx, userId, now) : null;
  if (link === null) throw decision.error;
  return link;
}

/**
 * The paying wallet of an order, for callers that may move it or have its owner asked.
 * @returns Whether the order needs approval; `earlier`: the order of the same idempotency key, which moves nothing new.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it (`identity/access`);
 * `not_found` without a wallet of this kind.
 */
export const getPayingWallet = internalQuery({
  args: { ...vAsked, ...vTool, idempotencyKey: v.optional(v.string()), kind: vWalletKind, now: v.number() },
  returns: v.object({
    ...vPayer.fields,
    isAsked: v.boolean(),
    earlier: v.union(v.id("orders"), v.null()),
  }),
  handler: async (ctx, { kind, keyHash, isTool, now, ...given }) => {
    const { userId, request } = given;
    const decision = await authorize(ctx, userId, toAction(request), now, keyHash);
    const isAsked = (await findRequiredApprover(ctx, decision, userId, now)) !== null;
    const wallet = await findWallet(ctx, userId, kind);
    if (wallet === null) throw new AppError("not_found", NO_WALLET);
    const payer = await toPayer(ctx, wallet);
    const order = { ...given, ...getCredential(decision), walletId: payer.walletId };
    const earlier = await findRepeatedOrder(ctx, order, isTool, now);
    if (earlier === null) await requireMode(ctx, wallet, request);
    return { ...payer, isAsked, earlier: earlier && earlier._id };
  },
});

/**
 * Opens an HTTP caller's order, or puts it to its owner, in the transaction that decides. A repeated idempotency key
 * returns the earlier order.
 * @param args.estimate The estimate of the rehearsal, for the owner's card.
 * @throws AppError `unauthorized` or `forbidden` if the userId's owner has not allowed it and no chat can approve it;
 * `conflict`, `paused`, `rate_limited`, and the refusals of the limits.
 */
export const placeOrder = internalMutation({
  args: { ...vPlacing, ...vAsked, ...vTool, address: vFrom, estimate: v.optional(vEstimate) },
  returns: v.object({ orderId: v.id("orders"), isRepeat: v.boolean() }),
  handler: async (ctx, { keyHash, isTool, estimate, ...given }) => {
    const { userId, request } = given;
    const now = Date.now();
    const decision = await authorize(ctx, userId, toAction(request), now, keyHash);
    const order: NewOrder = { ...given, ...getCredential(decision) };
    const account = await findRequiredApprover(ctx, decision, userId, now);
    const earlier = await findRepeatedOrder(ctx, order, isTool, now);
    if (earlier !== null) return { orderId: earlier._id, isRepeat: true };
    if (account === null) return { orderId: (await openOrder(ctx, order))._id, isRepeat: false };
    if (estimate === undefined)
      throw new AppError("conflict", "The owner's rules have just changed: try again");
    // Generate a key for a question without one, by which a repeat finds its outcome.
    const { idempotencyKey = `approval_${crypto.randomUUID()}` } = given;
    const { _id: orderId } = await askInChat(ctx, { ...order, idempotencyKey, estimate, account });
    return { orderId, isRepeat: false };
  },
});

const vForecast = v.object({
  /** `null` before the wallet's creation, which is the refusal as well. */
  wallet: v.union(vPayer, v.null()),
  paper: v.optional(v.literal(true)),
  /** The refusal that the order would get; `null` if there is none. */
  refusal: v.union(
    v.object({ code: vErrorCode, message: v.string(), retryAfterMs: v.optional(v.number()) }),
    v.null(),
  ),
  /** Whether it would wait for its owner's approval. */
  isAsked: v.boolean(),
  leftUsd: v.number(),
});
export type Forecast = Infer<typeof vForecast>;

/**
 * Read-only, for any caller that may see the wallet: the refusal an order would get before the chain is involved, and
 * the remaining allowance before it, in USD.
 * @throws AppError `unauthorized` or `forbidden` for a token that is invalid or another user's.
 */
export const forecastOrder = internalQuery({
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
    requireAllowed(await authorize(ctx, userId, "holdings", now, keyHash));
    const row = await findWallet(ctx, userId, kind);
    const decision = await authorize(ctx, userId, toAction(request), now, keyHash);
    const needsApproval = await findRequiredApprover(ctx, decision, userId, now).catch(getErrorData);
    const isBarred = needsApproval !== null && "code" in needsApproval;
    const word = decision.kind === "allowed" ? getCredential(decision) : { by: "tap" as const };
    const { refusal, narrowest } = await checkLimits(ctx, { ...given, ...word }, now);
    const { isFrozen, paper } = await getRules(ctx, userId, now);
    const stopped = isFrozen ? new AppError("paused", FROZEN) : getPauseError();
    const missing =
      row === null
        ? new AppError("not_found", NO_WALLET)
        : await requireMode(ctx, row, request).then(() => null, getErrorData);
    const why = getErrorData(stopped) ?? (isBarred ? needsApproval : getErrorData(missing ?? refusal));
    const isAsked = needsApproval !== null && !isBarred;
    const wallet = row && (await toPayer(ctx, row));
    return { wallet, refusal: why, isAsked, leftUsd: toUsd(narrowest.left), ...defined({ paper }) };
  },
});

/** Ceiling of the newest orders that are searched for a replaced hash or an approval's. */
const MOST_SEARCHED = 200;

/** A user's order by any transaction hash ever reported for it; `null` if there is none. */
export const findOrderByHash = internalQuery({
  args: { userId: v.string(), txHash: v.string() },
  returns: v.union(vOrderRow, v.null()),
  handler: async (ctx, { userId, txHash }) => {
    const orders = () => ctx.db.query("orders");
    const byTxHash = await queryByBoth(orders(), "userId", userId, "txHash", txHash).first();
    if (byTxHash !== null) return byTxHash;
    const live = orders().withIndex("by_userId_and_countedAt", (q) =>
      q.eq("userId", userId).eq("paper", undefined),
    );
    const newest = await live.order("desc").take(MOST_SEARCHED);
    return newest.find(({ tries }) => tries.some(({ hash }) => hash === txHash)) ?? null;
  },
});
