import { v } from "convex/values";
import { internalMutation } from "../../_generated/server";
import { recordAudit } from "../../lib/audit";
import { byId, insertSigned, takeNonce, vSigned } from "./model";
import { vRequest } from "./tables";

/** What a swap has signed before itself: an approval, or a permit. */

/** The same for a swap's approval, whose row begins here. */
export const storeApproval = internalMutation({
  args: { parentId: v.id("transactions"), request: vRequest, signed: vSigned },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { parentId, request, signed }) => {
    const parent = await byId(ctx, parentId);
    if (parent.state !== "prepared" || !(await takeNonce(ctx, signed))) return null;
    await ctx.db.patch("transactions", parentId, { approvalTxHash: signed.txHash });
    return insertSigned(ctx, parent, { request, parentId, signed });
  },
});

/** Notes that a swap's permit was signed; the simulation shows it to the chain's RPC before the swap itself is signed. */
export const notePermit = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const { userId, request } = await byId(ctx, transactionId);
    const detail = request.kind === "swap" ? `${request.amount} ${request.fromToken}` : request.kind;
    await recordAudit(ctx, { actor: userId, action: "permit signed", subject: transactionId, detail });
    return null;
  },
});
