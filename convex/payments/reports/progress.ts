import { v, type Infer } from "convex/values";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../../_generated/server";
import { change } from "../../lib/changes";
import { dueWork } from "../../lib/cronRuns";
import { MINUTE } from "../../lib/time";
import { end, vFailure } from "../../lib/work/jobs";
import { claimObservation, vShared } from "../../research/observations";
import { vResult, vSourceStates } from "../../research/shapes";
import { vTransaction } from "../../wallets/transactions/tables";
import { creditRest } from "../deposits/model";
import { ALREADY_USED } from "../terms";
import { payFromCredits, spendTransfer, spentTransfer } from "../transfers";
import { vTransfer } from "../tables";
import {
  auditPayment,
  claimAt,
  claimById,
  REPLAY_MS,
  settlementOf,
  startGenerating,
  vClaimWork,
  vRefusal,
  type ClaimWork,
} from "./model";
import { vAuthorization } from "./tables";

/** How a claim moves on: each function is one step of `settlement.ts` or `desk.ts`, or a cron's. */

/** Rows per transaction; a report is about ten kilobytes. */
const FORGOTTEN_TOGETHER = 100;

/** How long the chain has to show no paying use before that is believed: a node may lag behind others. */
const UNLOCATED_AFTER_MS = 10 * MINUTE;

const vTask = v.object({
  authorization: vAuthorization,
  /** The relayer's transaction that executes it. */
  settlement: v.union(vTransaction, v.null()),
  /** An earlier one was given up. */
  dropped: v.boolean(),
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
    const { authorization, createdAt, handedOver = false } = row;
    return { authorization, createdAt, handedOver, ...(await settlementOf(ctx, row)) };
  },
});

/** Stores that a facilitator is about to be asked. @returns `false` if the attempt was overtaken. */
export const handOver = internalMutation({
  args: vClaimWork,
  returns: v.boolean(),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "settling");
    if (row !== null) await ctx.db.patch("paymentClaims", row._id, { handedOver: true });
    return row !== null;
  },
});

/**
 * Stores that no paying use of the authorization is found. Believing this immediately would wrongly end a payment if
 * the node lags.
 * @returns Whether this answer has lasted long enough to be believed.
 */
export const doubt = internalMutation({
  args: vClaimWork,
  returns: v.boolean(),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "settling");
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
export const paid = change(
  { ...vClaimWork, candidates: v.array(vTransfer) },
  async (ctx, { candidates, ...work }) => {
    const row = await claimAt(ctx, work, "settling");
    if (row === null) return;
    for (const transfer of candidates) {
      const spent = await spentTransfer(ctx, transfer);
      if (spent?.claimKey !== undefined) continue;
      if (spent !== null && !(await payFromCredits(ctx, transfer, row.order.userId, row.strength))) continue;
      await spendTransfer(ctx, transfer, { claimKey: row.key });
      await auditPayment(ctx, row._id, { order: row.order, transfer });
      await creditRest(ctx, transfer);
      await ctx.db.patch("paymentClaims", row._id, { state: "paid", txHash: transfer.txHash });
      await end(ctx, work.job);
      await startGenerating(ctx, row);
      return;
    }
    await refuseClaim(ctx, work, row, ALREADY_USED);
  },
);

/** Nothing was moved, and nothing will be: the claim is released. */
export const refuse = change({ ...vClaimWork, refused: vRefusal }, async (ctx, { refused, ...work }) => {
  const row = await claimAt(ctx, work, "settling");
  if (row !== null) await refuseClaim(ctx, work, row, refused);
});

/** The evidence for the report, shared with other research on this focus; `null` if the attempt was overtaken. */
export const beginWriting = internalMutation({
  args: vClaimWork,
  returns: v.union(v.object({ focus: v.string(), shared: vShared }), v.null()),
  handler: async (ctx, work) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return null;
    const { focus } = row.order;
    return { focus, shared: await claimObservation(ctx, work.job, focus, "paid") };
  },
});

export const deliver = change(
  { ...vClaimWork, result: vResult, model: v.string(), sources: vSourceStates },
  async (ctx, { result, model, sources, ...work }) => {
    const row = await claimAt(ctx, work, "generating");
    if (row === null) return;
    await end(ctx, work.job);
    const generatedAt = Date.now();
    await ctx.db.patch("paymentClaims", row._id, {
      state: "delivered",
      report: { result, model, sources, generatedAt },
      forgetAt: generatedAt + REPLAY_MS,
    });
  },
);

/**
 * Stores why an attempt has failed, for its callers. A payment keeps its state, and is tried again; a claim whose
 * report could not be written stays paid, and its payer asks again.
 */
export const failed = change(
  { claimId: v.id("paymentClaims"), ...vFailure },
  async (ctx, { claimId, error, code }) => {
    const row = await claimById(ctx, claimId);
    if (row.state !== "settling" && row.state !== "generating") return;
    const trouble = troubleOf(row.state, code, error);
    const next = row.state === "generating" ? { state: "paid" as const } : {};
    await ctx.db.patch("paymentClaims", claimId, { ...next, trouble });
  },
);

/** The failure for its callers. An unexpected error's message is for the operator only. */
function troubleOf(
  state: "settling" | "generating",
  code: string | undefined,
  error: string,
): NonNullable<Doc<"paymentClaims">["trouble"]> {
  if (code === "upstream") return { code, message: error };
  if (state === "generating") return { code: "internal", message: "The report could not be written" };
  if (code === "not_configured") return { code, message: error };
  const message = code === undefined ? "The payment could not be settled: send the same proof again" : error;
  return { code: "internal", message };
}

async function refuseClaim(
  ctx: MutationCtx,
  { job }: ClaimWork,
  row: Doc<"paymentClaims">,
  { reason, error }: Infer<typeof vRefusal>,
): Promise<void> {
  await ctx.db.patch("paymentClaims", row._id, {
    state: "refused",
    refusal: { reason, error },
    settlementId: undefined,
    unlocatedSince: undefined,
    txHash: undefined,
  });
  await end(ctx, job);
}

/** Deletes the text of reports that are no longer returned; that their payments are spent is kept. */
export const forgetReports = dueWork(async (ctx) => {
  const old = await ctx.db
    .query("paymentClaims")
    .withIndex("by_forgetAt", (q) => q.gt("forgetAt", 0).lte("forgetAt", Date.now()))
    .take(FORGOTTEN_TOGETHER);
  for (const { _id } of old) {
    await ctx.db.patch("paymentClaims", _id, { report: undefined, forgetAt: undefined });
  }
  if (old.length === FORGOTTEN_TOGETHER) {
    await ctx.scheduler.runAfter(0, internal.payments.reports.progress.forgetReports, {});
  }
});
