import { v, type Infer, type ObjectType } from "convex/values";
import { getOrThrow } from "convex-helpers/server/relationships";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { recordAudit } from "../../lib/records/audit";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { rowsByBoth } from "../../lib/records/rows";
import { HOUR, MINUTE } from "../../lib/time";
import { cancel, open, failureHandler, underWay, vJob, wake, workOn } from "../../lib/work/jobs";
import { mayActAs } from "../../users/access";
import { userIdByAddress } from "../../wallets/model";
import { isReverted } from "../../wallets/transactions/states";
import { creditRest } from "../deposits/model";
import { ALREADY_USED, REASONS, refusal, type Reason, type Refusal } from "../terms";
import { claimByKey, payFromCredits, spendTransfer, spentTransfer, transferKey } from "../transfers";
import { vTransfer, type Transfer } from "../tables";
import type { Order, Strength } from "./tables";

/**
 * Claims of payments: who may claim a mined transfer, by the strength of the proof, and how claims start their work.
 * Plain functions for mutations.
 */

/** How long a delivered report is returned again for the same proof and order. */
export const REPLAY_MS = HOUR;
/**
 * An executed signed payment is on the chain for everybody to copy, and without a named user nothing distinguishes its
 * payer from a reader of the chain.
 */
const COPYABLE_REPLAY_MS = 5 * MINUTE;

const vReason = v.union(...REASONS.map((reason) => v.literal(reason)));
export const vRefusal = v.object({ kind: v.literal("refused"), reason: vReason, error: v.string() });

/** An attempt at a claim's work. */
export const vClaimWork = { claimId: v.id("paymentClaims"), job: vJob };
export type ClaimWork = ObjectType<typeof vClaimWork>;

/** A claim to wait for. */
export const vTicket = v.object({ kind: v.literal("claim"), claimId: v.id("paymentClaims") });
export type ClaimTicket = Infer<typeof vTicket>;

/** A payer's claims in a state, the oldest first. @param payer In lower case. */
export function claimsOf(ctx: QueryCtx, payer: string, state: Doc<"paymentClaims">["state"]) {
  return rowsByBoth(ctx.db.query("paymentClaims"), "payer", payer, "state", state);
}

/** The claim of an attempt; `null` if the attempt was overtaken. */
export async function claimAt(
  ctx: QueryCtx,
  { claimId, job }: ClaimWork,
  state: "settling" | "generating",
): Promise<Doc<"paymentClaims"> | null> {
  const row = await claimById(ctx, claimId);
  return row.state === state && (await underWay(ctx, job)) !== null ? row : null;
}

export async function claimById(ctx: QueryCtx, claimId: Id<"paymentClaims">): Promise<Doc<"paymentClaims">> {
  const row = await ctx.db.get("paymentClaims", claimId);
  if (row === null) throw new Error("The claim is gone");
  return row;
}

/**
 * The relayer's transaction for a claim's payment, or `null`.
 * @returns `dropped`: there was one that never took effect, and there is no new one yet.
 */
export async function settlementOf(
  ctx: QueryCtx,
  { settlementId }: Doc<"paymentClaims">,
): Promise<{ settlement: Doc<"transactions"> | null; dropped: boolean }> {
  if (settlementId === undefined) return { settlement: null, dropped: false };
  const settlement = await getOrThrow(ctx, "transactions", settlementId);
  const dropped = settlement.state === "failed" && !isReverted(settlement);
  return { settlement: dropped ? null : settlement, dropped };
}

/**
 * Joins a claim of the same order: waits for its running work, or begins its next step.
 * @param isFresh The payer has signed again for this request: nobody can have copied that from the chain.
 */
export async function joinClaim(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  { isFresh = false }: { isFresh?: boolean } = {},
): Promise<ClaimTicket | Refusal> {
  if (row.state === "delivered") {
    const copyable = row.authorization !== undefined && row.order.userId === undefined && !isFresh;
    const given = copyable ? COPYABLE_REPLAY_MS : REPLAY_MS;
    if (row.report === undefined || Date.now() - row.report.generatedAt > given) return ALREADY_USED;
    return { kind: "claim", claimId: row._id };
  }
  const work = await workOn(ctx, row._id);
  if (work === null) return row.state === "settling" ? startSettling(ctx, row) : startGenerating(ctx, row);
  // Failed work is tried again immediately, because somebody waits for it.
  await wake(ctx, { workId: work._id, attempt: work.attempt });
  if (row.trouble !== undefined) await ctx.db.patch("paymentClaims", row._id, { trouble: undefined });
  return { kind: "claim", claimId: row._id };
}

/** The most refused claims of a payer under one name that are searched. */
const MOST_NAMED = 20;

/**
 * Joins the payer's earlier or current purchase under the same name, by a new signature: it is the same purchase, and
 * the new payment is not executed.
 * @param besides The key of the new payment's own claim.
 * @returns `null` if there is none.
 * @throws AppError `conflict` if that was another order.
 */
export async function joinNamed(
  ctx: MutationCtx,
  { payer, identifier, besides }: { payer: string; identifier: string | undefined; besides: string },
  order: Order,
): Promise<ClaimTicket | Refusal | null> {
  if (identifier === undefined) return null;
  const rows = rowsByBoth(ctx.db.query("paymentClaims"), "payer", payer, "identifier", identifier);
  const named = (await rows.order("desc").take(MOST_NAMED)).find(
    ({ state, key }) => state !== "refused" && key !== besides,
  );
  if (named === undefined) return null;
  if (sameOrder(named, order)) return joinClaim(ctx, named, { isFresh: true });
  throw new AppError("conflict", "This payment identifier was used for another order: choose a new one");
}

/** Has a signed payment executed, from its current state until the chain has decided. */
export async function startSettling(
  ctx: MutationCtx,
  { _id: claimId }: Doc<"paymentClaims">,
): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "settling", trouble: undefined });
  const onFailure = failureHandler(internal.payments.reports.progress.failed, { claimId });
  await open(ctx, internal.payments.reports.settlement.settle, { claimId }, { subject: claimId, onFailure });
  return { kind: "claim", claimId };
}

/** Has the report of a paid claim written, once; on failure, its payer asks again. */
export async function startGenerating(
  ctx: MutationCtx,
  { _id: claimId }: Doc<"paymentClaims">,
): Promise<ClaimTicket> {
  await ctx.db.patch("paymentClaims", claimId, { state: "generating", trouble: undefined });
  const terms = {
    subject: claimId,
    attempts: 1,
    place: { lane: "paid" as const, owner: claimId, request: false },
  };
  const onFailure = failureHandler(internal.payments.reports.progress.failed, { claimId });
  await open(ctx, internal.payments.reports.desk.write, { claimId }, { ...terms, onFailure });
  return { kind: "claim", claimId };
}

/** Records in the audit trail which payment bought a report: who, what, and by which transaction. */
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

export const vCandidate = v.object({
  transfer: vTransfer,
  /** Whether its payer has signed the proof, or opened a lock. */
  proven: v.boolean(),
});
export type Candidate = Infer<typeof vCandidate>;
type Graded = { transfer: Candidate["transfer"]; strength: Strength };

/** An order, and the hash of the proof that was shown for it. */
export type Shown = { order: Order; shown: string };

/**
 * Claims one of a transaction's transfers for an order: the order's own claim, otherwise the first free one, otherwise
 * one that a bare hash has taken. A claim is joined with a proof as strong as the one that made it; a stronger one
 * takes it over.
 */
export async function claimMined(
  ctx: MutationCtx,
  candidates: readonly Candidate[],
  by: Shown,
): Promise<ClaimTicket | Refusal> {
  const { order } = by;
  const graded: Graded[] = [];
  let refused: Refusal = ALREADY_USED;
  for (const candidate of candidates) {
    const strength = await strengthOf(ctx, candidate, order);
    if (typeof strength === "object") refused = strength;
    else graded.push({ transfer: candidate.transfer, strength });
  }
  const claims: { row: Doc<"paymentClaims">; grade: Graded }[] = [];
  for (const grade of graded) {
    const spent = await spentTransfer(ctx, grade.transfer);
    if (spent?.claimKey === undefined) continue;
    const row = await claimByKey(ctx, spent.claimKey);
    if (row !== null && row.authorization === undefined) claims.push({ row, grade });
  }
  const own = claims.find(({ row }) => sameOrder(row, order));
  if (own !== undefined) {
    const { row, grade } = own;
    if (grade.strength > row.strength && !row.overridden) return override(ctx, row, grade, by);
    return grade.strength >= row.strength ? joinClaim(ctx, row) : ALREADY_USED;
  }
  for (const grade of graded) {
    const { transfer, strength } = grade;
    const spent = await spentTransfer(ctx, transfer);
    if (spent?.claimKey !== undefined) continue;
    if (spent === null || (strength > 0 && (await payFromCredits(ctx, transfer, order.userId, strength)))) {
      return openClaim(ctx, grade, by);
    }
  }
  const weak = claims.find(({ row, grade }) => row.strength === 0 && grade.strength > 0 && !row.overridden);
  return weak === undefined ? refused : override(ctx, weak.row, weak.grade, by);
}

/**
 * A bare hash of a registered user's payment is refused: it would let a stranger use up that user's deposit. The userId
 * of a signed-in user counts only with that user's token.
 */
async function strengthOf(
  ctx: MutationCtx,
  { transfer, proven }: Candidate,
  order: Order,
): Promise<Strength | Refusal> {
  const { userId } = order;
  if (proven) return 2;
  const owner = await userIdByAddress(ctx, transfer.from);
  if (owner !== null && owner === userId && (await mayActAs(ctx, userId))) return 1;
  if (owner !== null) {
    return refusal(
      "invalid_payer_signature",
      "This payment came from a registered wallet: name its userId (with its user's token, if that user signs in), or sign the proof with that wallet",
    );
  }
  if (/^off$/i.test(setting("BARE_HASH_PROOFS"))) {
    return refusal(
      "invalid_payer_signature",
      "A transaction hash alone is not accepted here: sign it with the paying wallet",
    );
  }
  return 0;
}

async function openClaim(
  ctx: MutationCtx,
  { transfer, strength }: Graded,
  { order, shown }: Shown,
): Promise<ClaimTicket> {
  const key = `log:${transferKey(transfer)}`;
  await spendTransfer(ctx, transfer, { claimKey: key });
  const claimId = await ctx.db.insert("paymentClaims", {
    key,
    order,
    shown,
    strength,
    overridden: false,
    state: "paid",
    payer: transfer.from,
    txHash: transfer.txHash,
    createdAt: Date.now(),
  });
  await auditPayment(ctx, claimId, { order, transfer });
  await creditRest(ctx, transfer);
  return startGenerating(ctx, await claimById(ctx, claimId));
}

/** The payer takes over the claim from somebody who had only read the hash; that one's report in progress is dropped. */
async function override(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  { transfer, strength }: Graded,
  { order, shown }: Shown,
): Promise<ClaimTicket> {
  await cancel(ctx, row._id);
  const taken = { order, shown, strength, overridden: true };
  await ctx.db.patch("paymentClaims", row._id, { ...taken, report: undefined, forgetAt: undefined });
  await auditPayment(ctx, row._id, { order, transfer });
  return startGenerating(ctx, row);
}
