import type { MutationCtx } from "../../_generated/server";
import { recordAudit } from "../../lib/audit";
import { keyIdOf } from "../../lib/sealing";

/** Keeps a new wallet's sealed key. */
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
