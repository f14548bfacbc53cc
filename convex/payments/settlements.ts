import { v, type Infer } from "convex/values";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import type { Doc } from "../_generated/dataModel";
import { MINUTE, SECOND } from "../lib/time";
import { isReverted } from "../wallets/machine";
import { vSignedBytes } from "../wallets/nonces";
import { storeSigned } from "../wallets/serviceAccounts";
import { byId, project, vView, type View } from "../wallets/rows";
import { auditPayment, claimById, startGenerating, vRefusal } from "./claimRows";
import { payFromCredits } from "./creditedTransfers";
import { vAuthorization, vTransfer, vTroubleCode } from "./paidTables";
import { ALREADY_USED } from "./terms";
import { spendTransfer, spentTransfer } from "./transfers";

/** The rows of settling and writing: each function is one step of `settlement.ts` or `reports.ts`. */

const vWork = { claimId: v.id("paymentClaims"), attempt: v.number() };
type Work = { claimId: Doc<"paymentClaims">["_id"]; attempt: number };

/** How long the chain has to go on showing no use that pays until that is believed: a node may be behind others. */
const UNLOCATED_AFTER_MS = 10 * MINUTE;

const vTask = v.object({
  authorization: vAuthorization,
  /** The relayer's transaction that carries it out. */
  settlement: v.union(vView, v.null()),
  /** An earlier one was given up. */
  dropped: v.boolean(),
  createdAt: v.number(),
});
export type SettlementTask = Infer<typeof vTask>;

/** What an attempt at settling has before it; `null` when it was overtaken. */
export const task = internalQuery({
  args: vWork,
  returns: v.union(vTask, v.null()),
  handler: async (ctx, work): Promise<SettlementTask | null> => {
    const row = await current(ctx, work);
    if (row?.authorization === undefined) return null;
    const { authorization, createdAt } = row;
    return { authorization, createdAt, ...(await settlementOf(ctx, row)) };
  },
});

/**
 * Stores the signed bytes and takes their nonce, in one transaction: there is one giver of nonces, and a crash before it
 * takes none.
 * @returns `taken` when the nonce went to another payment meanwhile; `overtaken` when the bytes are void.
 */
export const store = internalMutation({
  args: { ...vWork, relayer: v.string(), signed: vSignedBytes },
  returns: v.union(
    v.object({ kind: v.literal("stored"), transactionId: v.id("transactions") }),
    v.object({ kind: v.literal("taken") }),
    v.object({ kind: v.literal("overtaken") }),
  ),
  handler: async (ctx, { relayer, signed, ...work }) => {
    const row = await current(ctx, work);
    if (row === null || (await settlementOf(ctx, row)).settlement !== null) {
      return { kind: "overtaken" as const };
    }
    const request = { kind: "settlement" as const, claimKey: row.key };
    const transactionId = await storeSigned(ctx, { role: "relayer", address: relayer, request, signed });
    if (transactionId === null) return { kind: "taken" as const };
    await ctx.db.patch("paymentClaims", row._id, { settlementId: transactionId });
    return { kind: "stored" as const, transactionId };
  },
});

/**
 * The relayer's transaction that carries a claim's payment out, or `null`.
 * @returns `dropped`: there was one that never took effect, and nothing stands in for it yet.
 */
async function settlementOf(
  ctx: QueryCtx,
  { settlementId }: Doc<"paymentClaims">,
): Promise<{ settlement: View | null; dropped: boolean }> {
  if (settlementId === undefined) return { settlement: null, dropped: false };
  const settlement = project(await byId(ctx, settlementId));
  const dropped = settlement.state === "failed" && !isReverted(settlement);
  return { settlement: dropped ? null : settlement, dropped };
}

/**
 * Notes that no use of the authorization is found that pays, which would end a payment wrongly if it came from a node that
 * is behind. @returns Whether that has been the answer for long enough to be believed.
 */
export const doubt = internalMutation({
  args: vWork,
  returns: v.boolean(),
  handler: async (ctx, work) => {
    const row = await current(ctx, work);
    if (row === null) return false;
    const now = Date.now();
    const { unlocatedSince } = row;
    if (unlocatedSince !== undefined) return now - unlocatedSince >= UNLOCATED_AFTER_MS;
    await ctx.db.patch("paymentClaims", row._id, { unlocatedSince: now });
    return false;
  },
});

/**
 * The payment is made: spends its transfer and has the report written.
 * @param candidates The transfers of the mined transaction that it may be.
 */
export const paid = internalMutation({
  args: { ...vWork, candidates: v.array(vTransfer) },
  returns: v.null(),
  handler: async (ctx, { candidates, ...work }) => {
    const row = await current(ctx, work);
    if (row === null) return null;
    for (const transfer of candidates) {
      const spent = await spentTransfer(ctx, transfer);
      if (spent?.claimKey !== undefined) continue;
      if (spent !== null && !(await payFromCredits(ctx, transfer, row.order.userId, row.strength))) continue;
      await spendTransfer(ctx, transfer, { claimKey: row.key });
      await auditPayment(ctx, row._id, { order: row.order, transfer });
      await ctx.db.patch("paymentClaims", row._id, { state: "paid", txHash: transfer.txHash });
      await startGenerating(ctx, row);
      return null;
    }
    await end(ctx, row, ALREADY_USED);
    return null;
  },
});

/** Nothing was moved, and nothing will be: the claim is released. */
export const refuse = internalMutation({
  args: { ...vWork, refused: vRefusal },
  returns: v.null(),
  handler: async (ctx, { refused, ...work }) => {
    const row = await current(ctx, work);
    if (row !== null) await end(ctx, row, refused);
    return null;
  },
});

/** An attempt has failed. The payment stands as it does: settling is taken up again by the cron, or by the payer. */
export const fail = internalMutation({
  args: { ...vWork, code: vTroubleCode, message: v.string() },
  returns: v.null(),
  handler: async (ctx, { code, message, ...work }) => {
    const row = await ctx.db.get("paymentClaims", work.claimId);
    if (row === null || row.attempt !== work.attempt) return null;
    const trouble = { attempt: work.attempt, code, message };
    if (row.state === "settling") {
      const pause = Math.min(30 * SECOND * 2 ** Math.min(work.attempt, 6), 30 * MINUTE);
      await ctx.db.patch("paymentClaims", row._id, { trouble, leaseUntil: Date.now() + pause });
    } else if (row.state === "generating") {
      await ctx.db.patch("paymentClaims", row._id, { trouble, state: "paid", leaseUntil: 0 });
    }
    return null;
  },
});

async function end(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  { reason, error }: Infer<typeof vRefusal>,
): Promise<void> {
  await ctx.db.patch("paymentClaims", row._id, {
    state: "refused",
    refusal: { reason, error },
    leaseUntil: 0,
    settlementId: undefined,
    unlocatedSince: undefined,
    txHash: undefined,
  });
}

async function current(ctx: QueryCtx, { claimId, attempt }: Work): Promise<Doc<"paymentClaims"> | null> {
  const row = await claimById(ctx, claimId);
  return row.state === "settling" && row.attempt === attempt ? row : null;
}
