import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import type { Doc } from "../_generated/dataModel";
import { setting } from "../lib/env";
import { vResult } from "../research/tables";
import { userIdByAddress } from "../wallets/owners";
import {
  auditPayment,
  claimById,
  claimByKey,
  isReason,
  joinClaim,
  sameOrder,
  startGenerating,
  startSettling,
  vRefusal,
  vTicket,
  type ClaimTicket,
} from "./claimRows";
import { payFromCredits } from "./creditedTransfers";
import { vAuthorization, vOrder, vTransfer, vTroubleCode, type Order, type Strength } from "./paidTables";
import { ALREADY_USED, refusal, type Refusal } from "./terms";
import { spendTransfer, spentTransfer, transferKey } from "./transfers";

/** Claiming payments: one mutation decides who redeems what. Everything about the chain was checked before. */

/** Rows per transaction; a report is about ten kilobytes. */
const FORGOTTEN_TOGETHER = 100;

const vClaimed = v.union(vTicket, vRefusal);

export function authorizationKey({ from, nonce }: { from: string; nonce: string }): string {
  return `auth:${from.toLowerCase()}:${nonce.toLowerCase()}`;
}

const vProofKey = v.union(
  v.object({ kind: v.literal("hash"), txHash: v.string() }),
  v.object({ kind: v.literal("authorization"), from: v.string(), nonce: v.string() }),
);

/**
 * Joins what this proof has claimed for this order before, whatever the chain says by now.
 * @returns `null` when there is no such claim.
 */
export const rejoin = internalMutation({
  args: { proof: vProofKey, order: vOrder },
  returns: v.union(vTicket, vRefusal, v.null()),
  handler: async (ctx, { proof, order }): Promise<ClaimTicket | Refusal | null> => {
    if (proof.kind === "authorization") {
      const row = await claimByKey(ctx, authorizationKey(proof));
      if (row === null || row.state === "refused") return null;
      return sameOrder(row, order) ? joinClaim(ctx, row) : ALREADY_USED;
    }
    const rows = await ctx.db
      .query("paymentClaims")
      .withIndex("by_txHash", (q) => q.eq("txHash", proof.txHash))
      .take(50);
    // The settlement of a signed payment is no proof of its own: anybody can read its hash from the chain.
    const row = rows.find((one) => one.authorization === undefined && sameOrder(one, order));
    return row === undefined ? null : joinClaim(ctx, row);
  },
});

const vCandidate = v.object({
  transfer: vTransfer,
  /** Its payer has signed the proof, or opened a lock. */
  proven: v.boolean(),
});
type Candidate = Infer<typeof vCandidate>;
type Graded = { transfer: Candidate["transfer"]; strength: Strength };

/**
 * Claims one of a transaction's transfers for an order: the order's own claim, else the first that nobody has, else one
 * that a bare hash has taken.
 */
export const claimTransfer = internalMutation({
  args: { candidates: v.array(vCandidate), order: vOrder },
  returns: vClaimed,
  handler: async (ctx, { candidates, order }): Promise<ClaimTicket | Refusal> => {
    const graded: Graded[] = [];
    let refused: Refusal = ALREADY_USED;
    for (const candidate of candidates) {
      const strength = await strengthOf(ctx, candidate, order);
      if (typeof strength === "object") refused = strength;
      else graded.push({ transfer: candidate.transfer, strength });
    }
    const held: { row: Doc<"paymentClaims">; by: Graded }[] = [];
    for (const by of graded) {
      const spent = await spentTransfer(ctx, by.transfer);
      if (spent?.claimKey === undefined) continue;
      const row = await claimByKey(ctx, spent.claimKey);
      if (row !== null && row.authorization === undefined) held.push({ row, by });
    }
    const own = held.find(({ row }) => sameOrder(row, order));
    if (own !== undefined) return joinClaim(ctx, own.row);
    for (const by of graded) {
      const spent = await spentTransfer(ctx, by.transfer);
      if (spent?.claimKey !== undefined) continue;
      if (
        spent === null ||
        (by.strength > 0 && (await payFromCredits(ctx, by.transfer, order.userId, by.strength)))
      ) {
        return open(ctx, by, order);
      }
    }
    const weak = held.find(({ row, by }) => row.strength === 0 && by.strength > 0 && !row.overridden);
    return weak === undefined ? refused : override(ctx, weak.row, weak.by, order);
  },
});

/**
 * A bare hash of a registered user's payment is refused: it would let a stranger eat that user's deposit.
 */
async function strengthOf(
  ctx: MutationCtx,
  { transfer, proven }: Candidate,
  order: Order,
): Promise<Strength | Refusal> {
  if (proven) return 2;
  const owner = await userIdByAddress(ctx, transfer.from);
  if (owner !== null && owner === order.userId) return 1;
  if (owner !== null) {
    return refusal(
      "invalid_payer_signature",
      "This payment came from a registered wallet: name its userId, or sign the proof with that wallet",
    );
  }
  if (/^off$/i.test(setting("BARE_HASH_PROOFS"))) {
    return refusal(
      "invalid_payer_signature",
      "A transaction hash alone is no proof here: sign it with the paying wallet",
    );
  }
  return 0;
}

async function open(ctx: MutationCtx, { transfer, strength }: Graded, order: Order): Promise<ClaimTicket> {
  const key = `log:${transferKey(transfer)}`;
  await spendTransfer(ctx, transfer, { claimKey: key });
  const claimId = await ctx.db.insert("paymentClaims", {
    key,
    order,
    strength,
    overridden: false,
    state: "paid",
    attempt: 0,
    leaseUntil: 0,
    payer: transfer.from,
    txHash: transfer.txHash,
    createdAt: Date.now(),
  });
  await auditPayment(ctx, claimId, { order, transfer });
  return startGenerating(ctx, await claimById(ctx, claimId));
}

/** The payer takes the claim from whoever had only read the hash; a report under way for that one is dropped. */
async function override(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  { transfer, strength }: Graded,
  order: Order,
): Promise<ClaimTicket> {
  const taken = { order, strength, overridden: true, trouble: undefined };
  await ctx.db.patch("paymentClaims", row._id, { ...taken, report: undefined, forgetAt: undefined });
  await auditPayment(ctx, row._id, { order, transfer });
  return startGenerating(ctx, row);
}

/** Claims an authorization that was not used yet, and has it carried out. */
export const claimAuthorization = internalMutation({
  args: { authorization: vAuthorization, order: vOrder },
  returns: vClaimed,
  handler: async (ctx, { authorization, order }): Promise<ClaimTicket | Refusal> => {
    const key = authorizationKey(authorization);
    const row = await claimByKey(ctx, key);
    if (row !== null && row.state !== "refused") {
      return sameOrder(row, order) ? joinClaim(ctx, row) : ALREADY_USED;
    }
    const payer = authorization.from;
    const claim = { order, authorization, payer };
    if (row !== null) {
      await ctx.db.patch("paymentClaims", row._id, { ...claim, refusal: undefined, trouble: undefined });
      return startSettling(ctx, row);
    }
    const claimId = await ctx.db.insert("paymentClaims", {
      ...claim,
      key,
      strength: 2,
      overridden: false,
      state: "settling",
      attempt: 0,
      leaseUntil: 0,
      createdAt: Date.now(),
    });
    return startSettling(ctx, await claimById(ctx, claimId));
  },
});

const vStanding = v.union(
  v.object({
    state: v.literal("working"),
    receipt: v.union(v.object({ txHash: v.string(), payer: v.string() }), v.null()),
  }),
  v.object({
    state: v.literal("failed"),
    code: vTroubleCode,
    message: v.string(),
    /** The payment, once it is made. */
    receipt: v.union(v.object({ txHash: v.string(), payer: v.string() }), v.null()),
  }),
  v.object({
    state: v.literal("delivered"),
    result: vResult,
    receipt: v.union(v.object({ txHash: v.string(), payer: v.string() }), v.null()),
  }),
  vRefusal.extend({ state: v.literal("refused") }),
);
export type Standing = Infer<typeof vStanding>;

/** How a claim stands for one who waits for an attempt at it; a later attempt's end counts as its own. */
export const standing = internalQuery({
  args: { claimId: v.id("paymentClaims"), attempt: v.number(), bodyHash: v.string() },
  returns: vStanding,
  handler: async (ctx, { claimId, attempt, bodyHash }): Promise<Standing> => {
    const row = await claimById(ctx, claimId);
    if (row.order.bodyHash !== bodyHash) return { state: "refused", ...ALREADY_USED };
    // Forgotten while its caller waited.
    if (row.state === "delivered" && row.report === undefined) return { state: "refused", ...ALREADY_USED };
    const paid = row.state !== "settling" && row.state !== "refused" && row.txHash !== undefined;
    const receipt = paid && row.txHash !== undefined ? { txHash: row.txHash, payer: row.payer } : null;
    if (row.state === "delivered" && row.report !== undefined) {
      return { state: "delivered", result: row.report.result, receipt };
    }
    if (row.state === "refused" && row.refusal !== undefined && isReason(row.refusal.reason)) {
      return { state: "refused", ...refusal(row.refusal.reason, row.refusal.error) };
    }
    const { trouble } = row;
    if (trouble !== undefined && trouble.attempt >= attempt && trouble.attempt === row.attempt) {
      return { state: "failed", code: trouble.code, message: trouble.message, receipt };
    }
    return { state: "working", receipt };
  },
});

/** Forgets the text of reports that are no longer given again; that their payments are spent is kept. */
export const forgetReports = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
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
    return null;
  },
});

/** Puts lost work back on its way: a settlement goes on, a report waits for its payer to ask again. */
export const resumeLost = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    const lost = (state: "settling" | "generating") =>
      ctx.db
        .query("paymentClaims")
        .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", state).lt("leaseUntil", Date.now()))
        .take(50);
    for (const row of await lost("settling")) await startSettling(ctx, row);
    for (const row of await lost("generating")) {
      await ctx.db.patch("paymentClaims", row._id, {
        state: "paid",
        leaseUntil: 0,
        trouble: {
          attempt: row.attempt,
          code: "upstream",
          message: "The writing of the report was interrupted",
        },
      });
    }
    return null;
  },
});
