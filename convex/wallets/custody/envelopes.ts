import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { refusalToSign } from "../model";
import { vOrderRow } from "../tables";
import { sealedIn, replacing } from "../../lib/security/rotation";
import type { SealContext } from "../../lib/security/seals";

/** Stores the sealed keys of users' wallets; only `custody/signatures` reads them. */

/** The context of a key's envelope: it opens only for the wallet it was made for. */
export function keySeal(walletId: string): SealContext {
  return { purpose: "wallet private key", owner: walletId };
}

/** Stores a new wallet's sealed key. */
export async function keepKey(
  ctx: MutationCtx,
  { walletId, userId, sealedKey }: { walletId: string; userId: string; sealedKey: string },
): Promise<void> {
  await ctx.db.insert("walletKeys", { walletId, userId, sealedKey });
}

/**
 * An order and its wallet's sealed key, only for `custody/signatures`.
 * @param args.isEmpty Whether it signs a transaction that moves nothing, which ends an order whatever the rules say now.
 * @throws AppError as `refusalToSign`.
 */
export const sealed = internalQuery({
  args: { orderId: v.id("orders"), isEmpty: v.boolean(), now: v.number() },
  returns: v.object({ order: vOrderRow, envelope: v.string() }),
  handler: async (ctx, { orderId, isEmpty, now }) => {
    const order = await ctx.db.get("orders", orderId);
    const isOpen = order?.state === "prepared" || order?.state === "signed";
    if (order === null || !isOpen)
      throw new AppError("internal", "Nothing is signed for an order that is over");
    const refusal = isEmpty ? null : await refusalToSign(ctx, order, now);
    if (refusal !== null) throw refusal;
    const row = await keyOf(ctx, order.walletId);
    if (row === null) throw new AppError("internal", "This wallet has no key");
    return { order, envelope: row.sealedKey };
  },
});

/** The sealed keys, for a rotation. */
export const all = sealedIn(
  (db) => db.query("walletKeys"),
  ({ walletId, sealedKey }) => ({ id: walletId, sealedSecret: sealedKey, context: keySeal(walletId) }),
);

/** Replaces keys by re-sealed ones; a key that changed meanwhile stays. */
export const replace = replacing(async (ctx, { id: walletId, from, to }) => {
  const row = await keyOf(ctx, walletId);
  if (row?.sealedKey !== from) return false;
  await ctx.db.patch("walletKeys", row._id, { sealedKey: to });
  return true;
});

async function keyOf(ctx: QueryCtx, walletId: string): Promise<Doc<"walletKeys"> | null> {
  return getOneFrom(ctx.db, "walletKeys", "by_walletId", walletId);
}
