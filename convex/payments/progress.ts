import { v, type Infer, type ObjectType } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { DAY, HOUR, MINUTE } from "../lib/time";
import { defineMutation } from "../platform/changes";
import { hasLeft } from "../platform/limits/charges";
import { queryByBoth } from "../platform/records";
import {
  buildFailureHandler,
  completeWork,
  enqueueWork,
  findWork,
  getRunningWork,
  runWorkNow,
  snoozeWork,
  vFailure,
  vJob,
} from "../platform/work";
import { vResearchResult } from "../research/tables";
import { vOrderRow } from "../wallets/tables";
import { buyReport } from "./deposits";
import { vClaimRow, vPaymentAuthorization, vUsdcTransfer, type ReportOrder } from "./tables";
import { ALREADY_USED, vRefusal, type Refusal } from "./terms";
import { openServiceOrder, reopenServiceOrder } from "../wallets/service";
import { hasReverted } from "../wallets/model";

/** Payment claims from their payment to their report, one transaction each (`states.md`). */

/**
 * How long a delivered report is repeated for the same proof and order. The chain publishes the proof of a settled
 * payment, but not the order's `userId`.
 */
const REPLAY_MS = HOUR;
const REPLAY_UNNAMED_MS = 10 * MINUTE;
/** Attempts at writing a report, the time for them, and the pause between looks at a gateway that is down. */
const ATTEMPTS = 8;
const OWED_MS = DAY;
const OUTAGE_PAUSE_MS = 5 * MINUTE;
/** The newest claims of a payer that are searched for an owed report. */
const SEARCHED = 20;

type Claim = Doc<"paymentClaims">;

/** An attempt at a claim's work. */
const vClaimWork = { claimId: v.id("paymentClaims"), job: vJob };
export type ClaimWork = ObjectType<typeof vClaimWork>;

/** A claim to wait for. */
export const vTicket = v.object({
  kind: v.literal("claim"),
  claimId: v.id("paymentClaims"),
  /** The claim's `presentedHash`. */
  presentedHash: v.string(),
});
export type ClaimTicket = Infer<typeof vTicket>;

export async function requireClaim(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Claim> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/** The claim of a work attempt; `null` if the attempt was superseded. */
async function findClaimInState(
  ctx: QueryCtx,
  { claimId, job }: ClaimWork,
  state: "settling" | "paid",
): Promise<Claim | null> {
  const row = await requireClaim(ctx, claimId);
  return row.state === state && (await getRunningWork(ctx, job)) !== null ? row : null;
}

/** The claim of a signed payment. */
export async function findClaimByPayment(
  ctx: QueryCtx,
  payment: { from: string; nonce: string },
): Promise<Claim | null> {
  return getOneFrom(ctx.db, "paymentClaims", "by_key", toPaymentKey(payment));
}

export function toPaymentKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from}:${nonce}`;
}

/** A payer's claims in a state, the oldest first. @param payer In lower case. */
export function queryClaims(ctx: QueryCtx, payer: string, state: Claim["state"]) {
  return queryByBoth(ctx.db.query("paymentClaims"), "payer", payer, "state", state);
}

/** The payer's claim for the same order, settled or settling, whose report was never delivered; `null` if there is none. */
export async function findOwedClaim(
  ctx: QueryCtx,
  payer: string,
  { focus, userId }: ReportOrder,
): Promise<Claim | null> {
  for (const state of ["paid", "delivered", "settling"] as const) {
    const rows = await queryClaims(ctx, payer, state).order("desc").take(SEARCHED);
    const isOwed = (one: Claim) => one.answeredAt === undefined && one.order.focus === focus;
    const owed = rows.find((one) => isOwed(one) && one.order.userId === userId);
    if (owed !== undefined) return owed;
  }
  return null;
}

/** Joins a claim: its running work goes on, failed work runs now, and missing work is enqueued. */
export async function joinClaim(ctx: MutationCtx, row: Claim): Promise<ClaimTicket | Refusal> {
  const { _id: claimId, presentedHash, answeredAt = Infinity, order } = row;
  const ticket = { kind: "claim" as const, claimId, presentedHash };
  if (row.state === "delivered") {
    const keptMs = order.userId === undefined ? REPLAY_UNNAMED_MS : REPLAY_MS;
    return Date.now() - answeredAt <= keptMs ? ticket : ALREADY_USED;
  }
  const work = await findWork(ctx, claimId);
  if (work === null) await (row.state === "settling" ? startSettling(ctx, claimId) : startWriting(ctx, row));
  // A caller is waiting.
  else await runWorkNow(ctx, work);
  if (row.trouble !== undefined) await ctx.db.patch("paymentClaims", claimId, { trouble: undefined });
  return ticket;
}

/** Enqueues the settlement of a signed payment. */
export async function startSettling(ctx: MutationCtx, claimId: Id<"paymentClaims">): Promise<void> {
  const onFailure = buildFailureHandler(internal.payments.progress.storeFailure, { claimId });
  await enqueueWork(
    ctx,
    internal.payments.settlement.settlePayment,
    { claimId },
    { subject: claimId, onFailure },
  );
}

/** Enqueues the report of a paid claim. */
export async function startWriting(
  ctx: MutationCtx,
  { _id: claimId, payer, order }: Pick<Claim, "_id" | "payer" | "order">,
): Promise<void> {
  const terms = { subject: claimId, attempts: ATTEMPTS, until: Date.now() + OWED_MS } as const;
  const onFailure = buildFailureHandler(internal.payments.progress.storeFailure, { claimId });
  const task = { claimId, focus: order.focus };
  const place = { queue: "models", rank: "paid", onFailure } as const;
  await enqueueWork(ctx, internal.payments.settlement.writeReport, task, { ...terms, ...place });
  await releaseDeposits(ctx, payer);
}

/** Refuses a claim: its payment has moved nothing, and never will. */
async function refuseClaim(
  ctx: MutationCtx,
  { job }: Pick<ClaimWork, "job">,
  { _id, payer }: Claim,
  refusal: Refusal,
): Promise<void> {
  if (refusal.reason === "transaction_failed") await hasLeft(ctx, "failedPayment", payer);
  await ctx.db.patch("paymentClaims", _id, { state: "refused", refusal });
  await completeWork(ctx, job);
  await releaseDeposits(ctx, payer);
}

/** Matches a payer's held deposits again once a claim has taken its transfer, or was refused. */
async function releaseDeposits(ctx: MutationCtx, payer: string): Promise<void> {
  const waiting = await queryByBoth(ctx.db.query("transfers"), "from", payer, "state", "unmatched").first();
  if (waiting === null) return;
  await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address: payer });
}

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

const UNEXPECTED = "Something went wrong";

/** A claim, for a caller waiting for it: undecided while it has no refusal, no report and no trouble. */
export const getClaim = internalQuery({
  args: { claimId: v.id("paymentClaims") },
  returns: vClaimRow,
  handler: (ctx, { claimId }): Promise<Claim> => requireClaim(ctx, claimId),
});
