import { v, type Infer, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { rowsByBoth } from "../lib/records/rows";
import { HOUR } from "../lib/time";
import { failureHandler, open, underWay, vJob, wake, workOn } from "../lib/work/jobs";
import type { Order, Transfer } from "./tables";
import { ALREADY_USED, REASONS, type Reason, type Refusal } from "./terms";

/** Claims of payments, as steps of their callers' mutations. */

/** How long a delivered report is returned again for the same proof and order. */
const REPLAY_MS = HOUR;

const vReason = v.union(...REASONS.map((reason) => v.literal(reason)));
export const vRefusal = v.object({ kind: v.literal("refused"), reason: vReason, error: v.string() });

/** An attempt at a claim's work. */
export const vClaimWork = { claimId: v.id("paymentClaims"), job: vJob };
export type ClaimWork = ObjectType<typeof vClaimWork>;

/** A claim to wait for. */
export const vTicket = v.object({ kind: v.literal("claim"), claimId: v.id("paymentClaims") });
export type ClaimTicket = Infer<typeof vTicket>;

export async function claimById(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Doc<"paymentClaims">> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/** The claim of an attempt; `null` if the attempt was overtaken. */
export async function claimAt(
  ctx: QueryCtx,
  { claimId, job }: ClaimWork,
  state: "settling" | "paid",
): Promise<Doc<"paymentClaims"> | null> {
  const row = await claimById(ctx, claimId);
  return row.state === state && (await underWay(ctx, job)) !== null ? row : null;
}

export function sameOrder(row: Doc<"paymentClaims">, order: Order): boolean {
  return row.order.bodyHash === order.bodyHash;
}

export function isReason(text: string): text is Reason {
  return REASONS.some((reason) => reason === text);
}

/** Joins a claim by its own proof and order: waits for its running work, or begins its next step. */
export async function joinClaim(ctx: MutationCtx, row: Doc<"paymentClaims">): Promise<ClaimTicket | Refusal> {
  const ticket: ClaimTicket = { kind: "claim", claimId: row._id };
  if (row.state === "delivered") {
    const isGiven = row.report !== undefined && Date.now() - row.report.generatedAt <= REPLAY_MS;
    return isGiven ? ticket : ALREADY_USED;
  }
  const work = await workOn(ctx, row._id);
  if (work === null) return row.state === "settling" ? startSettling(ctx, row) : startWriting(ctx, row);
  // Failed work is tried again at once, because somebody waits for it.
  await wake(ctx, work);
  if (row.trouble !== undefined) await ctx.db.patch("paymentClaims", row._id, { trouble: undefined });
  return ticket;
}

/** Has a signed payment executed, until the chain has decided. */
export async function startSettling(
  ctx: MutationCtx,
  { _id: claimId }: Doc<"paymentClaims">,
): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "settling", trouble: undefined });
  const onFailure = failureHandler(internal.payments.progress.failed, { claimId });
  await open(ctx, internal.payments.settlement.settle, { claimId }, { subject: claimId, onFailure });
  return { kind: "claim", claimId };
}

/** Has the report of a paid claim written; on failure it stays paid, and its payer asks again. */
export async function startWriting(
  ctx: MutationCtx,
  { _id: claimId }: Doc<"paymentClaims">,
): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "paid", trouble: undefined });
  const terms = { subject: claimId, attempts: 1, queue: "models", rank: "paid" } as const;
  const onFailure = failureHandler(internal.payments.progress.failed, { claimId });
  await open(ctx, internal.payments.settlement.write, { claimId }, { ...terms, onFailure });
  return { kind: "claim", claimId };
}

/** A claim has taken its transfer, or has ended: its payer's deposits are matched again, less what it took. */
export async function releaseDeposits(ctx: MutationCtx, { payer }: Doc<"paymentClaims">): Promise<void> {
  const waiting = await rowsByBoth(ctx.db.query("deposits"), "from", payer, "state", "unmatched").first();
  if (waiting === null) return;
  await ctx.scheduler.runAfter(0, internal.payments.deposits.creditAddress, { address: payer });
}
