import { v, type Infer } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type QueryCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { completeWork, snoozeWork, getRunningWork, vFailure } from "../platform/work";
import { vResearchResult } from "../research/tables";
import { hasReverted, openServiceOrder, reopenServiceOrder } from "../wallets/orders/model";
import { vOrderRow } from "../wallets/tables";
import { buyReport } from "./deposits";
import {
  findClaimInState,
  requireClaim,
  OUTAGE_PAUSE_MS,
  refuseClaim,
  startWriting,
  vClaimWork,
} from "./model";
import { vPaymentAuthorization, vUsdcTransfer, vTrouble } from "./tables";
import { ALREADY_USED, vRefusal } from "./terms";

/** From a claim to its report: each function is one transaction that decides (`states.md`). The chain was asked before. */

const vSettlementTask = v.object({
  authorization: vPaymentAuthorization,
  /** The relayer's order that executes it. */
  settlement: v.union(vOrderRow, v.null()),
  /** A facilitator was asked to execute it. */
  handedOver: v.boolean(),
  createdAt: v.number(),
});
export type SettlementTask = Infer<typeof vSettlementTask>;

/** What an attempt at settling needs to know; `null` if it was overtaken. */
export const getTask = internalQuery({
  args: vClaimWork,
  returns: v.union(vSettlementTask, v.null()),
  handler: async (ctx, work): Promise<SettlementTask | null> => {
    const row = await findClaimInState(ctx, work, "settling");
    if (row?.authorization === undefined) return null;
    const { authorization, createdAt, handedOver = false, settlementId } = row;
    return { authorization, createdAt, handedOver, settlement: await findSettlementOrder(ctx, settlementId) };
  },
});

/** The order that executes a claim's payment; `null` if there is none, or the one there was has left no call on the chain. */
async function findSettlementOrder(
  ctx: QueryCtx,
  id: Id<"orders"> | undefined,
): Promise<Doc<"orders"> | null> {
  const order = id === undefined ? null : await ctx.db.get("orders", id);
  return order?.state === "failed" && !hasReverted(order) ? null : order;
}

/**
 * Stores, before it happens, by whom a claim's payment is executed: by an order of the relayer, which is opened once, or by
 * a facilitator.
 * @returns `false` if the attempt was overtaken.
 */
export const handOver = internalMutation({
  args: {
    ...vClaimWork,
    /** `null`: to a facilitator. */
    call: v.union(v.object({ relayer: v.string(), to: v.string(), data: v.string() }), v.null()),
  },
  returns: v.boolean(),
  handler: async (ctx, { call, ...work }) => {
    const row = await findClaimInState(ctx, work, "settling");
    if (row === null) return false;
    if (call === null) {
      await ctx.db.patch("paymentClaims", row._id, { handedOver: true });
    } else if ((await findSettlementOrder(ctx, row.settlementId)) === null) {
      const earlier = row.settlementId === undefined ? null : await ctx.db.get("orders", row.settlementId);
      if (earlier !== null && (await reopenServiceOrder(ctx, earlier))) return true;
      const { relayer, to, data } = call;
      const request = { kind: "settlement" as const, claimKey: row.key, to, data };
      const settlementId = await openServiceOrder(ctx, "relayer", relayer, request);
      await ctx.db.patch("paymentClaims", row._id, { settlementId });
    }
    return true;
  },
});

/**
 * The payment is made: spends its transfer and has the report written.
 * @param transfers Those of the mined transaction that it may be.
 */
export const storePaid = defineMutation(
  { ...vClaimWork, transfers: v.array(vUsdcTransfer) },
  async (ctx, { transfers, ...work }) => {
    const row = await findClaimInState(ctx, work, "settling");
    if (row === null) return;
    for (const transfer of transfers) {
      if (!(await buyReport(ctx, transfer, row.key, { proven: true }))) continue;
      const { txHash } = transfer;
      await ctx.db.patch("paymentClaims", row._id, { txHash, state: "paid", trouble: undefined });
      await completeWork(ctx, work.job);
      await startWriting(ctx, row);
      return;
    }
    await refuseClaim(ctx, work, row, ALREADY_USED);
  },
);

/** Nothing was moved, and nothing will be: the claim is released. */
export const refuse = defineMutation(
  { ...vClaimWork, refused: vRefusal },
  async (ctx, { refused, ...work }) => {
    const row = await findClaimInState(ctx, work, "settling");
    if (row !== null) await refuseClaim(ctx, work, row, refused);
  },
);

export const deliverReport = defineMutation(
  { ...vClaimWork, result: vResearchResult, model: v.string() },
  async (ctx, { result, model, ...work }) => {
    const row = await findClaimInState(ctx, work, "paid");
    if (row === null) return;
    await completeWork(ctx, work.job);
    const report = { result, model, generatedAt: Date.now() };
    await ctx.db.patch("paymentClaims", row._id, { state: "delivered", report });
  },
);

/** The gateway does not answer: a report waits for it without an attempt, for a day. */
export const putOff = defineMutation(
  { ...vClaimWork, outage: v.string() },
  async (ctx, { outage, ...work }) => {
    const row = await findClaimInState(ctx, work, "paid");
    if (row === null) return;
    await ctx.db.patch("paymentClaims", row._id, { trouble: { code: "upstream", message: outage } });
    const { until = 0 } = (await getRunningWork(ctx, work.job)) ?? {};
    if (Date.now() + OUTAGE_PAUSE_MS < until) await snoozeWork(ctx, work.job, OUTAGE_PAUSE_MS);
    else await completeWork(ctx, work.job);
  },
);

/** Notes that a report was given. */
export const markAnswered = defineMutation({ claimId: v.id("paymentClaims") }, async (ctx, { claimId }) => {
  const { state, answeredAt } = await requireClaim(ctx, claimId);
  if (state === "delivered" && answeredAt === undefined)
    await ctx.db.patch("paymentClaims", claimId, { answeredAt: Date.now() });
});

/**
 * Stores why an attempt has failed, for its callers: the claim keeps its state, and is tried again by itself. An
 * unexpected error's message is for the operator only.
 */
export const storeFailure = defineMutation(
  { claimId: v.id("paymentClaims"), ...vFailure },
  async (ctx, { claimId, error, code }) => {
    const { state } = await requireClaim(ctx, claimId);
    if (state !== "settling" && state !== "paid") return;
    const message = code === undefined ? UNEXPECTED : error;
    await ctx.db.patch("paymentClaims", claimId, {
      trouble: { code: code === "upstream" ? "upstream" : "internal", message },
    });
  },
);

const UNEXPECTED = "Something went wrong: the payment is kept, send the same proof again";

const vClaimStatus = v.object({
  focus: v.string(),
  /** The payment, once it is made. */
  paid: v.union(v.object({ txHash: v.string(), payer: v.string() }), v.null()),
  refusal: v.optional(vRefusal),
  result: v.optional(vResearchResult),
  /** Nobody has had it yet. */
  isFirst: v.boolean(),
  /** The latest attempt has failed. The caller's money is safe: the same proof goes on. */
  trouble: v.optional(vTrouble),
});
export type ClaimStatus = Infer<typeof vClaimStatus>;

/** The state of a claim, for a caller who waits for it: it is not decided yet without a refusal, a report or a trouble. */
export const getClaimStatus = internalQuery({
  args: { claimId: v.id("paymentClaims"), shown: v.string() },
  returns: vClaimStatus,
  handler: async (ctx, { claimId, shown }): Promise<ClaimStatus> => {
    const row = await requireClaim(ctx, claimId);
    const { order, payer, txHash, refusal, report, trouble, state, answeredAt } = row;
    const paid = txHash === undefined ? null : { txHash, payer };
    const statusFields = { focus: order.focus, paid, isFirst: answeredAt === undefined };
    // A refused payment may have been claimed for another order since.
    if (row.shown !== shown) return { ...statusFields, paid: null, refusal: ALREADY_USED };
    if (state === "refused" && refusal !== undefined) return { ...statusFields, refusal };
    if (report !== undefined) return { ...statusFields, result: report.result };
    return trouble === undefined ? statusFields : { ...statusFields, trouble };
  },
});
