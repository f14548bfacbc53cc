import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { dueWork } from "../lib/cronRuns";
import { rowsBy } from "../lib/records/rows";
import { DAY } from "../lib/time";
import { end, vFailure } from "../lib/work/jobs";
import { vResult } from "../research/tables";
import { hasReverted, openServiceOrder } from "../wallets/orders/model";
import { vOrderRow } from "../wallets/tables";
import {
  auditPayment,
  claimAt,
  claimById,
  isReason,
  joinClaim,
  refusalOfBare,
  releaseDeposits,
  REPLAY_MS,
  sameOrder,
  startSettling,
  startWriting,
  vClaimWork,
  vRefusal,
  vTicket,
  type ClaimTicket,
} from "./model";
import {
  vAuthorization,
  vOrder,
  vPaidReport,
  vProof,
  vTransfer,
  vTroubleCode,
  type Order,
  type Transfer,
} from "./tables";
import { ALREADY_USED, refusal, type Refusal } from "./terms";
import {
  authorizationKey,
  claimByKey,
  claimsOf,
  payFromCredits,
  spendTransfer,
  spentTransfer,
  transferKey,
} from "./transfers";

/**
 * Claims of payments, from the proof to the report: each function is one transaction that decides. `states.md` draws
 * them. The chain was asked before.
 */

/** How many payments of one payer are executed at the same time: their money may leave in between. */
const MAX_UNDER_WAY = 10;
/** How many payments of a payer may be mined and fail in a day, at the relayer's cost. */
const MOST_FAILED = 2;
/** A payer's newest refused payments that are searched for failed ones. */
const REFUSED_SEARCHED = 20;
/** Rows per transaction; a report is about ten kilobytes. */
const FORGOTTEN_TOGETHER = 100;

const vClaimed = v.union(vTicket, vRefusal);

/** A transfer, and the nonce of the signed payment (EIP-3009) that it executed. */
const vCandidate = v.object({ ...vTransfer.fields, authorization: v.optional(v.string()) });
export type Candidate = Infer<typeof vCandidate>;

/**
 * Joins the claim that this proof has made for this order before, whatever the chain says now.
 * @param shown The proof's hash (`proofs.shownProof`): it has to be the one that made the claim.
 * @returns `null` if there is no such claim.
 */
export const rejoin = internalMutation({
  args: { proof: vProof, shown: v.string(), order: vOrder },
  returns: v.union(vTicket, vRefusal, v.null()),
  handler: async (ctx, { proof, shown, order }): Promise<ClaimTicket | Refusal | null> => {
    if (proof.kind === "authorization") {
      const row = await claimByKey(ctx, authorizationKey(proof.authorization));
      return row === null || row.state === "refused" ? null : rejoinSigned(ctx, row, shown, order);
    }
    const rows = await rowsBy(ctx.db.query("paymentClaims"), "txHash", proof.txHash).take(50);
    // The transaction that executed a signed payment is not a proof: anybody can read its hash from the chain.
    const row = rows.find((one) => one.authorization === undefined && sameOrder(one, order));
    if (row === undefined || row.shown !== shown) return null;
    const bare = proof.signature === undefined ? await refusalOfBare(ctx, row.payer, order) : null;
    return bare ?? joinClaim(ctx, row);
  },
});

async function rejoinSigned(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  shown: string,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  return sameOrder(row, order) && row.shown === shown ? joinClaim(ctx, row) : ALREADY_USED;
}

/**
 * Claims one of a transaction's transfers for an order: the first that has bought no report yet. One that was credited
 * as a deposit is paid out of these credits.
 * @param proven Whether the payers of these transfers have signed the proof.
 */
export const claimTransfer = internalMutation({
  args: { candidates: v.array(vCandidate), proven: v.boolean(), order: vOrder, shown: v.string() },
  returns: vClaimed,
  handler: async (ctx, { candidates, proven, order, shown }): Promise<ClaimTicket | Refusal> => {
    let refused: Refusal = ALREADY_USED;
    const by = { proven, ...(order.userId === undefined ? {} : { userId: order.userId }) };
    for (const candidate of candidates) {
      if (await isOfClaim(ctx, candidate)) continue;
      const { authorization: _, ...transfer } = candidate;
      const bare = proven ? null : await refusalOfBare(ctx, transfer.from, order);
      if (bare !== null) refused = bare;
      if (bare !== null || !(await canBuy(ctx, transfer, by))) continue;
      const key = `log:${transferKey(transfer)}`;
      await spendTransfer(ctx, transfer, { claimKey: key });
      const claimId = await ctx.db.insert("paymentClaims", {
        key,
        order,
        shown,
        state: "paid",
        payer: transfer.from,
        txHash: transfer.txHash,
        createdAt: Date.now(),
      });
      await auditPayment(ctx, claimId, { order, transfer });
      const row = await claimById(ctx, claimId);
      await releaseDeposits(ctx, row);
      return startWriting(ctx, row);
    }
    return refused;
  },
});

/** Whether a transfer can buy a report: it bought nothing, or credits, which then pay the report. */
async function canBuy(
  ctx: MutationCtx,
  transfer: Transfer,
  by: { userId?: string; proven: boolean },
): Promise<boolean> {
  const spent = await spentTransfer(ctx, transfer);
  if (spent?.claimKey !== undefined) return false;
  return spent === null || payFromCredits(ctx, transfer, by);
}

/** Whether a transfer executed a signed payment that has a claim of its own: it is that claim's alone. */
async function isOfClaim(ctx: QueryCtx, { from, authorization }: Infer<typeof vCandidate>): Promise<boolean> {
  if (authorization === undefined) return false;
  const claim = await claimByKey(ctx, authorizationKey({ from, nonce: authorization }));
  return claim !== null && claim.state !== "refused";
}

/**
 * Claims an unused authorization, and has it executed.
 * @param balance The payer's balance on the chain: digits, USDC's smallest unit.
 * @returns `busy` if the payer's other open payments leave too little for this one: each was tried against the whole
 * balance, and the relayer would pay for those that fail.
 */
export const claimAuthorization = internalMutation({
  args: { authorization: vAuthorization, shown: v.string(), order: vOrder, balance: v.string() },
  returns: v.union(vClaimed, v.object({ kind: v.literal("busy") })),
  handler: async (
    ctx,
    { authorization, shown, order, balance },
  ): Promise<ClaimTicket | Refusal | { kind: "busy" }> => {
    const key = authorizationKey(authorization);
    const row = await claimByKey(ctx, key);
    if (row !== null && row.state !== "refused") return rejoinSigned(ctx, row, shown, order);
    const payer = authorization.from;
    const refused = await claimsOf(ctx, payer, "refused").order("desc").take(REFUSED_SEARCHED);
    const failed = refused.filter(
      ({ refusal, createdAt }) => refusal?.reason === FAILED.reason && createdAt > Date.now() - DAY,
    );
    // A payment that has failed once fails again, at the relayer's cost each time.
    if (failed.length >= MOST_FAILED || failed.some((one) => one.key === key)) return FAILED;
    const underWay = await claimsOf(ctx, payer, "settling").take(MAX_UNDER_WAY);
    const taken = underWay.reduce((sum, one) => sum + BigInt(one.authorization?.value ?? 0), 0n);
    if (underWay.length === MAX_UNDER_WAY || taken + BigInt(authorization.value) > BigInt(balance)) {
      return { kind: "busy" };
    }
    const fresh = { key, order, shown, authorization, payer, createdAt: Date.now() };
    if (row !== null) await ctx.db.replace("paymentClaims", row._id, { ...fresh, state: "settling" });
    const claimId = row?._id ?? (await ctx.db.insert("paymentClaims", { ...fresh, state: "settling" }));
    return startSettling(ctx, await claimById(ctx, claimId));
  },
});

const FAILED = refusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

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
      await auditPayment(ctx, row._id, { order: row.order, transfer });
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
    const generatedAt = Date.now();
    await ctx.db.patch("paymentClaims", row._id, {
      state: "delivered",
      report: { result, model, generatedAt },
      forgetAt: generatedAt + REPLAY_MS,
    });
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
    if (row.state === "delivered") {
      // Deleted while its caller waited.
      if (row.report === undefined) return ALREADY_USED;
      const { result } = row.report;
      return { kind: "delivered", focus: row.order.focus, report: { result }, receipt };
    }
    const { trouble } = row;
    if (trouble === undefined) return { kind: "working", receipt };
    return { kind: "failed", code: trouble.code, message: trouble.message, receipt };
  },
});

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
    await ctx.scheduler.runAfter(0, internal.payments.claims.forgetReports, {});
  }
});
