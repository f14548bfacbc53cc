import { getOneFrom } from "convex-helpers/server/relationships";
import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, internalQuery, type ActionCtx, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { defined } from "../../lib/objects";
import { vCaller, type Caller } from "../../platform/limits/callers";
import { charge } from "../../platform/limits/charges";
import { findSigningRefusal, findWallet, requireLive, requireWallet, type WalletKind } from "../model";
import { toPayer } from "../book";
import { vPayer, vWalletKind } from "../tables";

/** Users' wallets and their sealed keys, which `custody/signatures` alone opens. */

/** `existing`: whether the wallet was there before. */
const vOwnWallet = v.object({ ...vPayer.fields, existing: v.boolean() });

/** A user's wallet of a kind, or `null`. */
export const findWalletRow = internalQuery({
  args: { userId: v.string(), kind: vWalletKind },
  returns: v.union(vPayer, v.null()),
  handler: async (ctx, { userId, kind }) => {
    const wallet = await findWallet(ctx, userId, kind);
    return wallet === null ? null : toPayer(ctx, wallet);
  },
});

/**
 * Stores a new wallet, unless the user already has one of this kind: then the new key is discarded unused, and nothing
 * is counted.
 * @param args.caller The caller whose limits count it; absent: no limit.
 * @throws AppError `rate_limited`
 */
export const storeNewWallet = internalMutation({
  args: {
    userId: v.string(),
    kind: vWalletKind,
    walletId: v.string(),
    address: v.string(),
    sealedKey: v.string(),
    caller: v.optional(vCaller),
  },
  returns: vOwnWallet,
  handler: async (ctx, { userId, kind, walletId, address, sealedKey, caller }) => {
    const present = await findWallet(ctx, userId, kind);
    if (present !== null) return { ...(await toPayer(ctx, present)), existing: true };
    if (caller !== undefined) await charge(ctx, "wallet", caller);
    await ctx.db.insert("wallets", { walletId, userId, kind, address });
    await ctx.db.insert("walletKeys", { walletId, userId, sealedKey });
    return { ...(await toPayer(ctx, await requireWallet(ctx, walletId))), existing: false };
  },
});

/**
 * The user's wallet of a kind, created if missing; of concurrent calls, one key is kept. For actions.
 * @param caller The caller whose limits count a new wallet; absent: no limit.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY if a wallet has to be created; `rate_limited`.
 */
export async function ensureWallet(
  ctx: ActionCtx,
  owned: { userId: string; kind: WalletKind },
  caller?: Caller,
): Promise<Infer<typeof vOwnWallet>> {
  const present = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, owned);
  if (present !== null) return { ...present, existing: true };
  const { createWallet } = await import("./signatures");
  const made = { ...owned, ...(await createWallet()), ...defined({ caller }) };
  return ctx.runMutation(internal.wallets.custody.wallets.storeNewWallet, made);
}

/**
 * The sealed key of an order's wallet, only for `custody/signatures`.
 * @param args.isEmpty Whether the transaction moves nothing: it may end an order whatever the current rules say.
 * @throws AppError as `findSigningRefusal`.
 */
export const getSealedKey = internalQuery({
  args: { orderId: v.id("orders"), isEmpty: v.boolean(), now: v.number() },
  returns: v.string(),
  handler: async (ctx, { orderId, isEmpty, now }) => {
    const order = await ctx.db.get("orders", orderId);
    const isOpen = order?.state === "prepared" || order?.state === "signed";
    if (order === null || !isOpen)
      throw new AppError("internal", "Nothing is signed for an order that is over");
    requireLive(order);
    const refusal = isEmpty ? null : await findSigningRefusal(ctx, order, now);
    if (refusal !== null) throw refusal;
    return requireSealedKey(ctx, order.walletId);
  },
});

/** The sealed key of a wallet, with which `custody/signatures` checks that it could be opened. */
export const envelope = internalQuery({
  args: { walletId: v.string() },
  returns: v.string(),
  handler: (ctx, { walletId }) => requireSealedKey(ctx, walletId),
});

async function requireSealedKey(ctx: QueryCtx, walletId: string): Promise<string> {
  const row = await getOneFrom(ctx.db, "walletKeys", "by_walletId", walletId);
  if (row === null) throw new AppError("internal", "This wallet has no key");
  return row.sealedKey;
}
