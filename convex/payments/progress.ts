import { v, type Infer } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { end, vFailure } from "../lib/work/jobs";
import { vResult } from "../research/tables";
import { hasReverted, openServiceOrder } from "../wallets/orders/model";
import { vOrderRow } from "../wallets/tables";
import { claimAt, claimById, isReason, releaseDeposits, startWriting, vClaimWork, vRefusal } from "./model";
import { vAuthorization, vPaidReport, vTransfer, vTroubleCode } from "./tables";
import { ALREADY_USED, refusal } from "./terms";
import { canBuy, spendTransfer } from "./transfers";

/** From a claim to its report: each function is one transaction that decides (`states.md`). The chain was asked before. */

const vTask = v.object({
  authorization: vAuthorization,
  /** The relayer's order that executes it. */
  settlement: v.union(vOrderRow, v.null()),
  /** A facilitator was asked to execute it. */
  handedOver: v.boolean(),
  createdAt: v.number(),
});
export type Task = Infer<typeof vTask>;

/** What an attempt at settling needs to know; `null` if it was overtaken. */
export const task = internalQuery({
  args: vClaimWork,
  returns: v.union(vTask, v.null()),
  handler: async (ctx, work): Promise<Task | null> => {
    const row = await claimAt(ctx, work, "settling");
    if (row?.authorization === undefined) return null;
    const { authorization, createdAt, handedOver = false, settlementId } = row;
    return { authorization, createdAt, handedOver, settlement: await settlementOf(ctx, settlementId) };
  },
});

/** The order that executes a claim's payment; `null` if there is none, or the one there was has left no call on the chain. */
async function settlementOf(ctx: QueryCtx, id: Id<"orders"> | undefined): Promise<Doc<"orders"> | null> {
  const order = id === undefined ? null : await ctx.db.get("orders", id);
  return order?.state === "failed" && !hasReverted(order) ? null : order;
}

/** Opens the order that executes a claim's payment, once. @param args.to The call's contract, and its data. */
export const openSettlement = change(
  { ...vClaimWork, relayer: v.string(), to: v.string(), data: v.string() },
  async (ctx, { relayer, to, data, ...work }) => {
    const row = await claimAt(ctx, work, "settling");
    if (row === null || (await settlementOf(ctx, row.settlementId)) !== null) return;
    const request = { kind: "settlement" as const, claimKey: row.key, to, data };
    const settlementId = await openServiceOrder(ctx, "relayer", relayer, request);
    await ctx.db.patch("paymentClaims", row._id, { settlementId });
  },
);

/** Stores that a facilitator is about to be asked. @returns `false` if the attempt was overtaken. */
export const handOver = internalMutation({
  args: vClaimWork,
  returns: v.boolean(),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "settling");
    if (row !== null && row.handedOver !== true)
      await ctx.db.patch("paymentClaims", row._id, { handedOver: true });
    return row !== null;
  },
});

/**
 * The payment is made: spends its transfer and has the report written.
 * @param transfers Those of the mined transaction that it may be.
 */
export const paid = change(
  { ...vClaimWork, transfers: v.array(vTransfer) },
  async (ctx, { transfers, ...work }) => {
    const row = await claimAt(ctx, work, "settling");
    if (row === null) return;
    for (const transfer of transfers) {
      if (!(await canBuy(ctx, transfer, { proven: true }))) continue;
      await spendTransfer(ctx, transfer, { claimKey: row.key });
      await ctx.db.patch("paymentClaims", row._id, { state: "paid", txHash: transfer.txHash });
      await end(ctx, work.job);
      await releaseDeposits(ctx, row);
      await startWriting(ctx, row);
      return;
    }
    await refuseClaim(ctx, work.job, row, ALREADY_USED);
  },
);

/** Nothing was moved, and nothing will be: the claim is released. */
export const refuse = change({ ...vClaimWork, refused: vRefusal }, async (ctx, { refused, ...work }) => {
  const row = await claimAt(ctx, work, "settling");
  if (row !== null) await refuseClaim(ctx, work.job, row, refused);
});

async function refuseClaim(
  ctx: MutationCtx,
  job: Infer<typeof vClaimWork.job>,
  row: Doc<"paymentClaims">,
  { reason, error }: Infer<typeof vRefusal>,
): Promise<void> {
  await ctx.db.patch("paymentClaims", row._id, { state: "refused", refusal: { reason, error } });
  await end(ctx, job);
  await releaseDeposits(ctx, row);
}

/** The focus of the report to write; `null` if the attempt was overtaken. */
export const reportToWrite = internalQuery({
  args: vClaimWork,
  returns: v.union(v.string(), v.null()),
  handler: async (ctx, work) => (await claimAt(ctx, work, "paid"))?.order.focus ?? null,
});

export const deliver = change(
  { ...vClaimWork, result: vResult, model: v.string() },
  async (ctx, { result, model, ...work }) => {
    const row = await claimAt(ctx, work, "paid");
    if (row === null) return;
    await end(ctx, work.job);
    const report = { result, model, generatedAt: Date.now() };
    await ctx.db.patch("paymentClaims", row._id, { state: "delivered", report });
  },
);

/**
 * Stores why an attempt has failed, for its callers: the claim keeps its state. A payment is tried again by itself, a
 * report when its payer asks again.
 */
export const failed = change(
  { claimId: v.id("paymentClaims"), ...vFailure },
  async (ctx, { claimId, error, code }) => {
    const { state } = await claimById(ctx, claimId);
    if (state === "settling" || state === "paid")
      await ctx.db.patch("paymentClaims", claimId, { trouble: troubleOf(state, code, error) });
  },
);

/** The failure for its callers. An unexpected error's message is for the operator only. */
function troubleOf(
  state: "settling" | "paid",
  code: string | undefined,
  error: string,
): NonNullable<Doc<"paymentClaims">["trouble"]> {
  if (code === "upstream") return { code, message: error };
  if (state === "paid") return { code: "internal", message: "The report could not be written" };
  if (code === "not_configured") return { code, message: error };
  const message = code === undefined ? "The payment could not be settled: send the same proof again" : error;
  return { code: "internal", message };
}

/** The payment, once it is made. */
const vPaid = v.object({ txHash: v.string(), payer: v.string() });
const vReceipt = v.union(vPaid, v.null());
const vStanding = v.union(
  v.object({ kind: v.literal("working"), receipt: vReceipt }),
  /** The caller's money is safe: send the same proof again. */
  v.object({ kind: v.literal("failed"), code: vTroubleCode, message: v.string(), receipt: vReceipt }),
  v.object({ kind: v.literal("delivered"), focus: v.string(), report: vPaidReport, receipt: vReceipt }),
  vRefusal,
);
export type Standing = Infer<typeof vStanding>;

/** The state of a claim, for a caller who waits for it. */
export const standing = internalQuery({
  args: { claimId: v.id("paymentClaims"), bodyHash: v.string() },
  returns: vStanding,
  handler: async (ctx, { claimId, bodyHash }): Promise<Standing> => {
    const row = await claimById(ctx, claimId);
    if (row.order.bodyHash !== bodyHash) return ALREADY_USED;
    if (row.state === "refused" && row.refusal !== undefined && isReason(row.refusal.reason)) {
      return refusal(row.refusal.reason, row.refusal.error);
    }
    const receipt = row.txHash === undefined ? null : { txHash: row.txHash, payer: row.payer };
    const { order, report, trouble } = row;
    if (report !== undefined)
      return { kind: "delivered", focus: order.focus, report: { result: report.result }, receipt };
    if (trouble === undefined) return { kind: "working", receipt };
    return { kind: "failed", code: trouble.code, message: trouble.message, receipt };
  },
});
