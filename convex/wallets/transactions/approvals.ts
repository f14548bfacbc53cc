import { v } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery } from "../../_generated/server";
import { change } from "../../lib/changes";
import { recordAudit } from "../../lib/records/audit";
import { byWalletId } from "../model";
import { insertSigned, takeNonce, vSigned } from "./bytes";
import { byId } from "./model";
import { requireLive } from "./permissions";
import { vRequest } from "./tables";

/** What a swap signs before itself: an approval, or a permit. */

/** Stores a signed approval of a swap, whose row begins here. */
export const storeApproval = internalMutation({
  args: { parentId: v.id("transactions"), request: vRequest, signed: vSigned },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { parentId, request, signed }) => {
    const parent = await byId(ctx, parentId);
    if (parent.state !== "prepared" || !(await takeNonce(ctx, signed))) return null;
    const permissionId = await requireLive(ctx, parent);
    await ctx.db.patch("transactions", parentId, { approvalTxHash: signed.txHash });
    return insertSigned(ctx, parent, { request, parentId, permissionId, signed });
  },
});

/** The most live permits: more than a wallet signs in the half hour for which one may be valid. */
const MOST_PERMITS = 500;

/**
 * Stores that a swap's permit was signed; the simulation shows it to the chain's RPC before the swap itself is signed.
 * @param args.permit The first 32 bytes of its signature, and its expiry, epoch ms.
 */
export const notePermit = change(
  { transactionId: v.id("transactions"), permit: v.object({ r: v.string(), endsAt: v.number() }) },
  async (ctx, { transactionId, permit }) => {
    const transaction = await byId(ctx, transactionId);
    const { userId, request, walletId } = transaction;
    await requireLive(ctx, transaction);
    const wallet = await byWalletId(ctx, walletId);
    const permits = [...livePermits(wallet, Date.now()), permit].slice(-MOST_PERMITS);
    await ctx.db.patch("wallets", wallet._id, { permits });
    const detail = request.kind === "swap" ? `${request.amount} ${request.fromToken}` : request.kind;
    await recordAudit(ctx, { actor: userId, action: "permit signed", subject: transactionId, detail });
  },
);

/**
 * Earlier permits of a wallet that may still be valid. Somebody who knows an unused one, for example of a swap that
 * reverted, could make the wallet's next call use it in addition.
 */
export const earlierPermits = internalQuery({
  args: { walletId: v.string(), now: v.number() },
  returns: v.array(v.string()),
  handler: async (ctx, { walletId, now }) =>
    livePermits(await byWalletId(ctx, walletId), now).map(({ r }) => r),
});

function livePermits({ permits = [] }: Doc<"wallets">, now: number) {
  return permits.filter(({ endsAt }) => endsAt > now);
}
