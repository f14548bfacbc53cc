import { v, type Infer, type ObjectType } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { rowsByBoth } from "../lib/records";
import { HOUR } from "../lib/time";
import { end, failureHandler, open, underWay, vJob, wake, workOn } from "../lib/work";
import { ALREADY_USED, type Refusal } from "./terms";

/** Claims of payments, as steps of their callers' mutations. `states.md` draws them. */

/** How long a delivered report is returned again for the same proof and order. */
const REPLAY_MS = HOUR;

type Row = Doc<"paymentClaims">;

/** An attempt at a claim's work. */
export const vClaimWork = { claimId: v.id("paymentClaims"), job: vJob };
export type ClaimWork = ObjectType<typeof vClaimWork>;

/** A claim to wait for. */
export const vTicket = v.object({ kind: v.literal("claim"), claimId: v.id("paymentClaims") });
export type ClaimTicket = Infer<typeof vTicket>;

export async function claimById(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Row> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/** The claim of an attempt; `null` if the attempt was overtaken. */
export async function claimAt(
  ctx: QueryCtx,
  { claimId, job }: ClaimWork,
  state: "settling" | "paid",
): Promise<Row | null> {
  const row = await claimById(ctx, claimId);
  return row.state === state && (await underWay(ctx, job)) !== null ? row : null;
}

/** The claim of a signed payment. */
export async function claimOfPayment(
  ctx: QueryCtx,
  payment: { from: string; nonce: string },
): Promise<Row | null> {
  return getOneFrom(ctx.db, "paymentClaims", "by_key", paymentKey(payment));
}

export function paymentKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from}:${nonce}`;
}

/** A payer's claims in a state, the oldest first. @param payer In lower case. */
export function claimsOf(ctx: QueryCtx, payer: string, state: Row["state"]) {
  return rowsByBoth(ctx.db.query("paymentClaims"), "payer", payer, "state", state);
}

/** Joins a claim by its own proof and order: waits for its running work, or begins its next step. */
export async function joinClaim(ctx: MutationCtx, row: Row): Promise<ClaimTicket | Refusal> {
  if (row.state === "delivered") {
    const isGiven = row.report !== undefined && Date.now() - row.report.generatedAt <= REPLAY_MS;
    return isGiven ? { kind: "claim", claimId: row._id } : ALREADY_USED;
  }
  const work = await workOn(ctx, row._id);
  if (work === null) return row.state === "settling" ? startSettling(ctx, row._id) : startWriting(ctx, row);
  // Failed work is tried again at once, because somebody waits for it.
  await wake(ctx, work);
  if (row.trouble !== undefined) await ctx.db.patch("paymentClaims", row._id, { trouble: undefined });
  return { kind: "claim", claimId: row._id };
}

/** Has a signed payment executed, until the chain has decided. */
export async function startSettling(ctx: MutationCtx, claimId: Id<"paymentClaims">): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "settling", trouble: undefined });
  const onFailure = failureHandler(internal.payments.progress.failed, { claimId });
  await open(ctx, internal.payments.settlement.settle, { claimId }, { subject: claimId, onFailure });
  return { kind: "claim", claimId };
}

/** Has the report of a paid claim written; on failure it stays paid, and its payer asks again. */
export async function startWriting(
  ctx: MutationCtx,
  { _id: claimId, payer, order }: Pick<Row, "_id" | "payer" | "order">,
): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "paid", trouble: undefined });
  const terms = { subject: claimId, attempts: 1, queue: "models", rank: "paid" } as const;
  const onFailure = failureHandler(internal.payments.progress.failed, { claimId });
  const task = { claimId, focus: order.focus };
  await open(ctx, internal.payments.settlement.write, task, { ...terms, onFailure });
  await releaseDeposits(ctx, payer);
  return { kind: "claim", claimId };
}

/** Ends a claim whose payment has moved nothing, and moves nothing any more. */
export async function refuseClaim(
  ctx: MutationCtx,
  { job }: Pick<ClaimWork, "job">,
  { _id, payer }: Row,
  refusal: Refusal,
): Promise<void> {
  await ctx.db.patch("paymentClaims", _id, { state: "refused", refusal });
  await end(ctx, job);
  await releaseDeposits(ctx, payer);
}

/** A claim has taken its transfer, or has ended: its payer's deposits are matched again, less what it took. */
async function releaseDeposits(ctx: MutationCtx, payer: string): Promise<void> {
  const waiting = await rowsByBoth(ctx.db.query("transfers"), "from", payer, "state", "unmatched").first();
  if (waiting === null) return;
  await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address: payer });
}
