import { v, type Infer, type ObjectType } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { hasLeft } from "../platform/limits/charges";
import { queryByBoth } from "../platform/records";
import { DAY, HOUR, MINUTE } from "../lib/time";
import {
  completeWork,
  buildFailureHandler,
  enqueueWork,
  getRunningWork,
  vJob,
  runWorkNow,
  findWork,
} from "../platform/work";
import type { ReportOrder } from "./tables";
import { ALREADY_USED, type Refusal } from "./terms";

/** Payment claims, as steps of their callers' mutations (`states.md`). */

/**
 * How long a delivered report is repeated for the same proof and order. The chain publishes the proof of a settled
 * payment, but not the order's `userId`.
 */
const REPLAY_MS = HOUR;
const REPLAY_UNNAMED_MS = 10 * MINUTE;
/** Attempts at writing a report, the time for them, and the pause between looks at a gateway that is down. */
const ATTEMPTS = 8;
const OWED_MS = DAY;
export const OUTAGE_PAUSE_MS = 5 * MINUTE;
/** The newest claims of a payer that are searched for an owed report. */
const SEARCHED = 20;

type Row = Doc<"paymentClaims">;

/** An attempt at a claim's work. */
export const vClaimWork = { claimId: v.id("paymentClaims"), job: vJob };
export type ClaimWork = ObjectType<typeof vClaimWork>;

/** A claim to wait for. */
export const vTicket = v.object({
  kind: v.literal("claim"),
  claimId: v.id("paymentClaims"),
  /** The claim's `shown`. */
  shown: v.string(),
});
export type ClaimTicket = Infer<typeof vTicket>;

export async function requireClaim(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Row> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/** The claim of a work attempt; `null` if the attempt was superseded. */
export async function findClaimInState(
  ctx: QueryCtx,
  { claimId, job }: ClaimWork,
  state: "settling" | "paid",
): Promise<Row | null> {
  const row = await requireClaim(ctx, claimId);
  return row.state === state && (await getRunningWork(ctx, job)) !== null ? row : null;
}

/** The claim of a signed payment. */
export async function findClaimByPayment(
  ctx: QueryCtx,
  payment: { from: string; nonce: string },
): Promise<Row | null> {
  return getOneFrom(ctx.db, "paymentClaims", "by_key", toPaymentKey(payment));
}

export function toPaymentKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from}:${nonce}`;
}

/** A payer's claims in a state, the oldest first. @param payer In lower case. */
export function queryClaims(ctx: QueryCtx, payer: string, state: Row["state"]) {
  return queryByBoth(ctx.db.query("paymentClaims"), "payer", payer, "state", state);
}

/** The payer's claim for the same order, settled or settling, whose report was never delivered; `null` if there is none. */
export async function findOwedClaim(
  ctx: QueryCtx,
  payer: string,
  { focus, userId }: ReportOrder,
): Promise<Row | null> {
  for (const state of ["paid", "delivered", "settling"] as const) {
    const rows = await queryClaims(ctx, payer, state).order("desc").take(SEARCHED);
    const isOwed = (one: Row) => one.answeredAt === undefined && one.order.focus === focus;
    const owed = rows.find((one) => isOwed(one) && one.order.userId === userId);
    if (owed !== undefined) return owed;
  }
  return null;
}

/** Joins a claim: its running work goes on, failed work runs now, and missing work is enqueued. */
export async function joinClaim(ctx: MutationCtx, row: Row): Promise<ClaimTicket | Refusal> {
  const { _id: claimId, shown, answeredAt = Infinity, order } = row;
  const ticket = { kind: "claim" as const, claimId, shown };
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
  { _id: claimId, payer, order }: Pick<Row, "_id" | "payer" | "order">,
): Promise<void> {
  const terms = { subject: claimId, attempts: ATTEMPTS, until: Date.now() + OWED_MS } as const;
  const onFailure = buildFailureHandler(internal.payments.progress.storeFailure, { claimId });
  const task = { claimId, focus: order.focus };
  const place = { queue: "models", rank: "paid", onFailure } as const;
  await enqueueWork(ctx, internal.payments.settlement.writeReport, task, { ...terms, ...place });
  await releaseDeposits(ctx, payer);
}

/** Refuses a claim: its payment has moved nothing, and never will. */
export async function refuseClaim(
  ctx: MutationCtx,
  { job }: Pick<ClaimWork, "job">,
  { _id, payer }: Row,
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
