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
import { vClaimRow, vPaymentAuthorization, vUsdcTransfer } from "./tables";
import { ALREADY_USED, vRefusal } from "./terms";

/** The transitions from a claim to its report (`states.md`), one transaction each. */

const vSettlementTask = v.object({
  authorization: vPaymentAuthorization,
  /** The relayer's order that executes it. */
  settlement: v.union(vOrderRow, v.null()),
  /** A facilitator was asked to execute it. */
  handedOver: v.boolean(),
  createdAt: v.number(),
});
export type SettlementTask = Infer<typeof vSettlementTask>;

/** Reads what a settlement attempt needs; `null` if the attempt was superseded. */
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

/** The relayer's order for a claim; `null` if there is none, or if it failed without reaching the chain. */
async function findSettlementOrder(
  ctx: QueryCtx,
  id: Id<"orders"> | undefined,
): Promise<Doc<"orders"> | null> {
  const order = id === undefined ? null : await ctx.db.get("orders", id);
  return order?.state === "failed" && !hasReverted(order) ? null : order;
}

/**
 * Records the executor before the payment is handed over: the relayer, by an order that is opened once, or a facilitator.
 * @returns `false` if the attempt was superseded.
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
 * Records a settled payment: spends its transfer, and enqueues the report.
 * @param transfers The matching transfers of the mined transaction.
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

/** Refuses a claim whose payment can never settle. */
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

/** Puts a report off while the gateway is down, for a day at most. It costs no attempt. */
export const deferReport = defineMutation(
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

/** Records the first delivery of a report. */
export const markAnswered = defineMutation({ claimId: v.id("paymentClaims") }, async (ctx, { claimId }) => {
  const { state, answeredAt } = await requireClaim(ctx, claimId);
  if (state === "delivered" && answeredAt === undefined)
    await ctx.db.patch("paymentClaims", claimId, { answeredAt: Date.now() });
});

/**
 * Stores the failure of an attempt for its callers. The claim keeps its state, and is retried. The message of an
 * unexpected error is for the operator alone.
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

/** A claim, for a caller waiting for it: undecided while it has no refusal, no report and no trouble. */
export const getClaim = internalQuery({
  args: { claimId: v.id("paymentClaims") },
  returns: vClaimRow,
  handler: (ctx, { claimId }): Promise<Doc<"paymentClaims">> => requireClaim(ctx, claimId),
});
