import { v, type Infer } from "convex/values";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx } from "../../_generated/server";
import { rowsBy } from "../../lib/records/rows";
import { mayActAs } from "../../users/access";
import { refusalFor } from "./relayer";
import { ALREADY_USED, refusal, type Refusal } from "../terms";
import {
  claimById,
  claimMined,
  claimsOf,
  isReason,
  joinClaim,
  joinNamed,
  sameOrder,
  startSettling,
  vCandidate,
  vRefusal,
  vTicket,
  type ClaimTicket,
} from "./model";
import { authorizationKey, claimByKey, restOf, vRest } from "../transfers";
import { authorizationText, shownProof } from "./proofs/texts";
import {
  vAuthorization,
  vOrder,
  vPaidReport,
  vProof,
  vTroubleCode,
  type Authorization,
  type Order,
} from "./tables";

/** Claims payments: one mutation decides who redeems what. The chain was asked before. */

/** How many payments of one payer are executed at the same time: their money may leave in between. */
const MAX_UNDER_WAY = 10;

const vClaimed = v.union(vTicket, vRefusal);

/**
 * Joins the claim that this proof has made for this order before, whatever the chain says now. Data from the chain
 * proves nothing here: the proof has to be the one that made the claim, including signature and secret.
 * @returns `null` if there is no such claim.
 */
export const rejoin = internalMutation({
  args: { proof: vProof, order: vOrder },
  returns: v.union(vTicket, vRefusal, v.null()),
  handler: async (ctx, { proof, order }): Promise<ClaimTicket | Refusal | null> => {
    if (proof.kind === "authorization") {
      const { authorization } = proof;
      const row = await claimByKey(ctx, authorizationKey(authorization));
      if (row === null || row.state === "refused") return null;
      return rejoinSigned(ctx, row, authorization, order);
    }
    const rows = await rowsBy(ctx.db.query("paymentClaims"), "txHash", proof.txHash).take(50);
    // The settlement of a signed payment is not a proof: anybody can read its hash from the chain.
    const shown = shownProof(proof);
    const row = rows.find((one) => one.authorization === undefined && sameOrder(one, order));
    if (row === undefined || row.shown !== shown) return null;
    // A hash alone is only as good as its userId, which may be a signed-in user's by now.
    if (row.strength === 1 && !(await mayActAs(ctx, order.userId))) return null;
    return joinClaim(ctx, row);
  },
});

/** Whether this authorization was accepted for this order before, by a simulation that covers its signature. */
export const wasAccepted = internalQuery({
  args: { authorization: vAuthorization, order: vOrder },
  returns: v.boolean(),
  handler: async (ctx, { authorization, order }) => {
    const row = await claimByKey(ctx, authorizationKey(authorization));
    return row !== null && sameOrder(row, order) && isSameAuthorization(row, authorization);
  },
});

async function rejoinSigned(
  ctx: MutationCtx,
  row: Doc<"paymentClaims">,
  authorization: Authorization,
  order: Order,
): Promise<ClaimTicket | Refusal> {
  const same = sameOrder(row, order) && isSameAuthorization(row, authorization);
  return same ? joinClaim(ctx, row) : ALREADY_USED;
}

function isSameAuthorization({ authorization }: Doc<"paymentClaims">, shown: Authorization): boolean {
  return authorization !== undefined && authorizationText(authorization) === authorizationText(shown);
}

/** Claims one of a transaction's transfers for an order, with the proof `shown`. */
export const claimTransfer = internalMutation({
  args: { candidates: v.array(vCandidate), order: vOrder, shown: v.string() },
  returns: vClaimed,
  handler: (ctx, { candidates, order, shown }) => claimMined(ctx, candidates, { order, shown }),
});

/** A signed payment for an order, and the payer's own name for the purchase. */
const vNamed = v.object({
  authorization: vAuthorization,
  identifier: v.optional(v.string()),
  order: vOrder,
});

/** Joins the purchase that a payment names, if its payer is known to have signed it; `null` if it is a new one. */
export const rejoinNamed = internalMutation({
  args: vNamed.fields,
  returns: v.union(vTicket, vRefusal, v.null()),
  handler: async (ctx, { authorization, identifier, order }): Promise<ClaimTicket | Refusal | null> =>
    joinNamed(
      ctx,
      { payer: authorization.from, identifier, besides: authorizationKey(authorization) },
      order,
    ),
});

/**
 * Claims an unused authorization, and has it executed.
 * @param balance The payer's balance in the simulation: digits, USDC's smallest unit.
 * @param codeHash The SHA-256 of the payer's code, `null` for an account with a key.
 * @returns `busy` if the payer's other open payments leave too little for this one: each was simulated against the
 * whole balance, and the relayer would pay for those that fail. Also if too many payments of new payers are open.
 */
export const claimAuthorization = internalMutation({
  args: {
    ...vNamed.fields,
    balance: v.string(),
    codeHash: v.union(v.string(), v.null()),
  },
  returns: v.union(vClaimed, v.object({ kind: v.literal("busy") })),
  handler: async (
    ctx,
    { authorization, identifier, balance, codeHash, order },
  ): Promise<ClaimTicket | Refusal | { kind: "busy" }> => {
    const key = authorizationKey(authorization);
    const row = await claimByKey(ctx, key);
    if (row !== null && row.state !== "refused") return rejoinSigned(ctx, row, authorization, order);
    const payer = authorization.from;
    const named = await joinNamed(ctx, { payer, identifier, besides: key }, order);
    if (named !== null) return named;
    const refused = await refusalFor(ctx, payer, codeHash);
    if (refused !== null) return refused;
    const underWay = await claimsOf(ctx, payer, "settling").take(MAX_UNDER_WAY);
    const taken = underWay.reduce((sum, one) => sum + BigInt(one.authorization?.value ?? 0), 0n);
    if (underWay.length === MAX_UNDER_WAY || taken + BigInt(authorization.value) > BigInt(balance)) {
      return { kind: "busy" };
    }
    const claim = { order, authorization, payer, ...(identifier === undefined ? {} : { identifier }) };
    if (row !== null) {
      await ctx.db.patch("paymentClaims", row._id, { ...claim, refusal: undefined });
      return startSettling(ctx, row);
    }
    const claimId = await ctx.db.insert("paymentClaims", {
      ...claim,
      key,
      strength: 2,
      overridden: false,
      state: "settling",
      createdAt: Date.now(),
    });
    return startSettling(ctx, await claimById(ctx, claimId));
  },
});

/** The payment, once it is made. */
const vPaid = v.object({ txHash: v.string(), payer: v.string() });
export type Paid = Infer<typeof vPaid>;
const receipt = v.union(vPaid, v.null());
const vStanding = v.union(
  v.object({ kind: v.literal("working"), receipt }),
  /** The caller's money is safe: send the same proof again. */
  v.object({ kind: v.literal("failed"), code: vTroubleCode, message: v.string(), receipt }),
  v.object({
    kind: v.literal("delivered"),
    focus: v.string(),
    report: vPaidReport,
    deliveredAt: v.number(),
    rest: v.union(vRest, v.null()),
    receipt,
  }),
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
    const isPaid = row.state !== "settling" && row.state !== "refused";
    const receipt = isPaid && row.txHash !== undefined ? { txHash: row.txHash, payer: row.payer } : null;
    if (row.state === "delivered") {
      // Deleted while its caller waited.
      if (row.report === undefined) return ALREADY_USED;
      const { result, sources, generatedAt: deliveredAt } = row.report;
      const [{ focus }, rest] = [row.order, await restOf(ctx, row)];
      return { kind: "delivered", focus, report: { result, sources }, deliveredAt, rest, receipt };
    }
    if (row.state === "refused" && row.refusal !== undefined && isReason(row.refusal.reason)) {
      return refusal(row.refusal.reason, row.refusal.error);
    }
    const { trouble } = row;
    if (trouble === undefined) return { kind: "working", receipt };
    return { kind: "failed", code: trouble.code, message: trouble.message, receipt };
  },
});
