import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { AppError } from "../../lib/errors";
import { livePermission } from "../permits";
import { keyIdOf, vResealed, vSealed, type SealContext } from "../../lib/security/seals";

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
  await ctx.db.insert("walletKeys", { walletId, userId, sealedKey, keyId: keyIdOf(sealedKey) });
  await recordAudit(ctx, {
    actor: userId,
    action: "key created",
    subject: walletId,
    detail: keyIdOf(sealedKey),
  });
}

/** The sealed key of a permission's wallet, only for `custody/signatures`. @throws AppError as `livePermission`. */
export const sealed = internalQuery({
  args: { permissionId: v.id("permissions"), isFirst: v.boolean(), now: v.number() },
  returns: v.object({ walletId: v.string(), envelope: v.string() }),
  handler: async (ctx, { permissionId, ...asked }) => {
    const { walletId } = await livePermission(ctx, permissionId, asked);
    const row = await keyOf(ctx, walletId);
    if (row === null) throw new AppError("internal", "This wallet has no key");
    return { walletId, envelope: row.sealedKey };
  },
});

/** Keys sealed under another master key than the named one. */
export const outdated = internalQuery({
  args: { keyId: v.string(), limit: v.number() },
  returns: v.array(vSealed),
  handler: async (ctx, { keyId, limit }) => {
    const before = await ctx.db
      .query("walletKeys")
      .withIndex("by_keyId", (q) => q.lt("keyId", keyId))
      .take(limit);
    const after = await ctx.db
      .query("walletKeys")
      .withIndex("by_keyId", (q) => q.gt("keyId", keyId))
      .take(limit - before.length);
    return [...before, ...after].map(({ walletId, sealedKey }) => {
      return { id: walletId, sealedSecret: sealedKey, context: keySeal(walletId) };
    });
  },
});

/** Replaces keys by re-sealed ones; a key that changed meanwhile stays. */
export const replace = internalMutation({
  args: { resealed: v.array(vResealed) },
  returns: v.number(),
  handler: async (ctx, { resealed }) => {
    let replaced = 0;
    for (const { id: walletId, from, to } of resealed) {
      const row = await keyOf(ctx, walletId);
      if (row === null || row.sealedKey !== from) continue;
      await ctx.db.patch("walletKeys", row._id, { sealedKey: to, keyId: keyIdOf(to) });
      await recordAudit(ctx, {
        actor: OPERATOR,
        action: "key rotated",
        subject: walletId,
        detail: keyIdOf(to),
      });
      replaced++;
    }
    return replaced;
  },
});

async function keyOf(ctx: QueryCtx, walletId: string): Promise<Doc<"walletKeys"> | null> {
  return getOneFrom(ctx.db, "walletKeys", "by_walletId", walletId);
}
