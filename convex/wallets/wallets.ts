import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { vCaller, type Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { keepKey } from "./custody/envelopes";
import { insertWallet, walletOf, type WalletKind } from "./model";
import { vWalletKind } from "./tables";

const vWallet = v.object({ walletId: v.string(), address: v.string() });
/** `existing`: whether it was there before. */
const vOwnWallet = v.object({ ...vWallet.fields, existing: v.boolean() });

/** A user's wallet of a kind, or `null`. */
export const find = internalQuery({
  args: { userId: v.string(), kind: vWalletKind },
  returns: v.union(vWallet, v.null()),
  handler: async (ctx, { userId, kind }) => {
    const wallet = await walletOf(ctx, userId, kind);
    return wallet === null ? null : { walletId: wallet.walletId, address: wallet.address };
  },
});

/**
 * Stores a new wallet, unless the user has one of this kind already: then the new key is discarded unused, and nothing
 * is counted.
 * @param args.caller Against whose limits it counts; absent: none's.
 * @throws AppError `rate_limited`
 */
export const adopt = internalMutation({
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
    const present = await walletOf(ctx, userId, kind);
    if (present !== null) return { walletId: present.walletId, address: present.address, existing: true };
    if (caller !== undefined) await charge(ctx, "wallet", caller);
    await insertWallet(ctx, { walletId, userId, kind, address });
    await keepKey(ctx, { walletId, userId, sealedKey });
    return { walletId, address, existing: false };
  },
});

/**
 * The user's wallet of a kind. If there is none, it is created; of concurrent calls, one key is kept. For actions.
 * @param caller Against whose limits a new one counts; absent: none's.
 * @throws AppError `not_configured` without WALLET_ENCRYPTION_KEY if one has to be created; `rate_limited`.
 */
export async function ensureWallet(
  ctx: ActionCtx,
  owned: { userId: string; kind: WalletKind },
  caller?: Caller,
): Promise<Infer<typeof vOwnWallet>> {
  const present = await ctx.runQuery(internal.wallets.wallets.find, owned);
  if (present !== null) return { ...present, existing: true };
  const { createWallet } = await import("./custody/signatures");
  return ctx.runMutation(internal.wallets.wallets.adopt, {
    ...owned,
    ...(await createWallet()),
    ...(caller === undefined ? {} : { caller }),
  });
}
