import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { recordAudit } from "../lib/audit";
import { enter } from "../lib/lanes";
import { HOUR, MINUTE, SECOND } from "../lib/time";
import type { Order } from "./paidTables";
import { REASONS, type Reason, type Refusal, ALREADY_USED } from "./terms";
import type { Transfer } from "./transfers";

/** Looking at claims and giving them to somebody to work on. Plain functions for the mutations of claims. */

/** A delivered report is given again for the same proof and order this long. */
export const REPLAY_MS = HOUR;
/**
 * A signed payment is in the chain for everybody to copy once it was carried out, and where no user was named nothing else
 * tells its payer from a reader of the chain.
 */
const COPYABLE_REPLAY_MS = 5 * MINUTE;
const SETTLING_LEASE_MS = 90 * SECOND;
/** The sources' longest wait, the writing with its repair turn, and a margin. */
export const GENERATING_LEASE_MS = 5 * MINUTE;
/** How long it may wait for its place before that: waiting is not being lost. */
const GENERATING_QUEUE_MS = 15 * MINUTE;

const vReason = v.union(...REASONS.map((reason) => v.literal(reason)));
export const vRefusal = v.object({ kind: v.literal("refused"), reason: vReason, error: v.string() });

/** A claim to wait for, and the piece of work that its caller waits for. */
export const vTicket = v.object({
  kind: v.literal("claim"),
  claimId: v.id("paymentClaims"),
  attempt: v.number(),
});
export type ClaimTicket = Infer<typeof vTicket>;

export async function claimByKey(ctx: QueryCtx, key: string): Promise<Doc<"paymentClaims"> | null> {
  return ctx.db
    .query("paymentClaims")
    .withIndex("by_key", (q) => q.eq("key", key))
    .unique();
}

export async function claimById(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Doc<"paymentClaims">> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/** Whether a claim is being worked on now. */
function isRunning(row: Doc<"paymentClaims">, now: number): boolean {
  const working = row.state === "settling" || row.state === "generating";
  return working && row.leaseUntil > now && row.trouble?.attempt !== row.attempt;
}

/** Joins a claim of the same order: waits for the work under way, or begins what is owed. */
export async function joinClaim(ctx: MutationCtx, row: Doc<"paymentClaims">): Promise<ClaimTicket | Refusal> {
  const now = Date.now();
  if (row.state === "delivered") {
    const copyable = row.authorization !== undefined && row.order.userId === undefined;
    const given = copyable ? COPYABLE_REPLAY_MS : REPLAY_MS;
    if (row.report === undefined || now - row.report.generatedAt > given) return ALREADY_USED;
    return { kind: "claim", claimId: row._id, attempt: row.attempt };
  }
  if (isRunning(row, now)) return { kind: "claim", claimId: row._id, attempt: row.attempt };
  return row.state === "settling" ? startSettling(ctx, row) : startGenerating(ctx, row);
}

/** Has a signed payment carried out, from where it stands. */
export async function startSettling(ctx: MutationCtx, row: Doc<"paymentClaims">): Promise<ClaimTicket> {
  const work = { claimId: row._id, attempt: row.attempt + 1 };
  const leaseUntil = Date.now() + SETTLING_LEASE_MS;
  await ctx.db.patch("paymentClaims", row._id, { state: "settling", attempt: work.attempt, leaseUntil });
  await ctx.scheduler.runAfter(0, internal.payments.settlement.settle, work);
  return { kind: "claim", ...work };
}

/** Has the report of a paid claim written. */
export async function startGenerating(ctx: MutationCtx, row: Doc<"paymentClaims">): Promise<ClaimTicket> {
  const work = { claimId: row._id, attempt: row.attempt + 1 };
  const leaseUntil = Date.now() + GENERATING_QUEUE_MS;
  await ctx.db.patch("paymentClaims", row._id, { state: "generating", attempt: work.attempt, leaseUntil });
  const place = { lane: "paid" as const, owner: row._id, request: false };
  await enter(ctx, place, internal.payments.reports.generate, work);
  return { kind: "claim", ...work };
}

/** Notes that a payment has bought a report: who, what, and by which transaction. */
export async function auditPayment(
  ctx: MutationCtx,
  claimId: Id<"paymentClaims">,
  { order, transfer }: { order: Order; transfer: Pick<Transfer, "txHash" | "position" | "from" | "amount"> },
): Promise<void> {
  const { txHash, position, from, amount } = transfer;
  await recordAudit(ctx, {
    actor: order.userId ?? from,
    action: "payment accepted",
    subject: claimId,
    detail: `${amount} units of USDC from ${from} by ${txHash}:${position}`,
  });
}

export function sameOrder(row: Doc<"paymentClaims">, order: Order): boolean {
  return row.order.bodyHash === order.bodyHash;
}

export function isReason(text: string): text is Reason {
  return REASONS.some((reason) => reason === text);
}
