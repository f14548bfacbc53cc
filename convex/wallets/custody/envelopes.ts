import { getOneFrom } from "convex-helpers/server/relationships";
import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalQuery, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { OPERATOR, recordAudit } from "../../lib/records/audit";
import { AppError } from "../../lib/errors";
import { livePermission } from "../permits";
import { vPermission } from "../transactions/tables";
import { outdatedIn, replacing } from "../../lib/security/rotation";
import { keyIdOf, type SealContext } from "../../lib/security/seals";

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

/** A permission and its wallet's sealed key, only for `custody/signatures`. @throws AppError as `livePermission`. */
export const sealed = internalQuery({
  args: { permissionId: v.id("permissions"), isFirst: v.boolean(), now: v.number() },
  returns: v.object({ permission: vPermission, envelope: v.string() }),
  handler: async (ctx, { permissionId, ...asked }) => {
    const permission = await livePermission(ctx, permissionId, asked);
    const row = await keyOf(ctx, permission.walletId);
    if (row === null) throw new AppError("internal", "This wallet has no key");
    return { permission, envelope: row.sealedKey };
  },
});

/** Keys sealed under another master key than the named one. */
export const outdated = outdatedIn(
  (db) => db.query("walletKeys"),
  ({ walletId, sealedKey }) => ({ id: walletId, sealedSecret: sealedKey, context: keySeal(walletId) }),
);

/** Replaces keys by re-sealed ones; a key that changed meanwhile stays. */
export const replace = replacing(async (ctx, { id: walletId, from, to }) => {
  const row = await keyOf(ctx, walletId);
  if (row?.sealedKey !== from) return false;
  const keyId = keyIdOf(to);
  await ctx.db.patch("walletKeys", row._id, { sealedKey: to, keyId });
  await recordAudit(ctx, { actor: OPERATOR, action: "key rotated", subject: walletId, detail: keyId });
  return true;
});

async function keyOf(ctx: QueryCtx, walletId: string): Promise<Doc<"walletKeys"> | null> {
  return getOneFrom(ctx.db, "walletKeys", "by_walletId", walletId);
}
