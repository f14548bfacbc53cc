import { v, type Infer } from "convex/values";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { required, setting } from "../lib/env";
import { mayActAs } from "../users/access";
import { userIdByAddress } from "../wallets/owners";
import {
  auditPayment,
  claimById,
  claimByKey,
  joinClaim,
  sameOrder,
  startGenerating,
  type ClaimTicket,
} from "./claimRows";
import { payFromCredits } from "./creditedTransfers";
import { proofText } from "./proofText";
import { vTransfer, type Order, type Strength } from "./paidTables";
import { ALREADY_USED, PRICE, PRICE_SHOWN, refusal, type Refusal } from "./terms";
import { spendTransfer, spentTransfer, transferKey } from "./transfers";

/** Claiming a mined transfer: how good a proof is, and whose it makes the claim. Plain functions for mutations. */

export const vCandidate = v.object({
  transfer: vTransfer,
  /** Its payer has signed the proof, or opened a lock. */
  proven: v.boolean(),
});
type Candidate = Infer<typeof vCandidate>;
type Graded = { transfer: Candidate["transfer"]; strength: Strength };

/** An order, and what the proof that was shown for it is known by. */
export type Shown = { order: Order; shown: string };

/**
 * Claims one of a transaction's transfers for an order: the order's own claim, else the first that nobody has, else one
 * that a bare hash has taken. A claim is joined with a proof as good as the one that made it; a better one takes it.
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
  const held: { row: Doc<"paymentClaims">; grade: Graded }[] = [];
  for (const grade of graded) {
    const spent = await spentTransfer(ctx, grade.transfer);
    if (spent?.claimKey === undefined) continue;
    const row = await claimByKey(ctx, spent.claimKey);
    if (row !== null && row.authorization === undefined) held.push({ row, grade });
  }
  const own = held.find(({ row }) => sameOrder(row, order));
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
      return open(ctx, grade, by);
    }
  }
  const weak = held.find(({ row, grade }) => row.strength === 0 && grade.strength > 0 && !row.overridden);
  return weak === undefined ? refused : override(ctx, weak.row, weak.grade, by);
}

/**
 * A bare hash of a registered user's payment is refused: it would let a stranger eat that user's deposit. The userId of
 * a signed-in user counts with that user's token alone.
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
      "This payment came from a registered wallet: name its userId (with its user's token, where that user signs in), or sign the proof with that wallet",
    );
  }
  if (/^off$/i.test(setting("BARE_HASH_PROOFS"))) {
    return refusal(
      "invalid_payer_signature",
      "A transaction hash alone is no proof here: sign it with the paying wallet",
    );
  }
  if (BigInt(transfer.amount) !== PRICE) {
    // What is beyond the price is a deposit of somebody who is not known yet, and who would lose it with the rest.
    const text = proofText(transfer.txHash, required("PLATFORM_WALLET_ADDRESS"), order);
    return refusal(
      "invalid_payer_signature",
      `A transaction hash alone redeems a payment of exactly ${PRICE_SHOWN} USDC. For another amount send {txHash, signature}, the paying wallet's signature (EIP-191) of this text:\n${text}`,
    );
  }
  return 0;
}

async function open(
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
  { order, shown }: Shown,
): Promise<ClaimTicket> {
  const taken = { order, shown, strength, overridden: true, trouble: undefined };
  await ctx.db.patch("paymentClaims", row._id, { ...taken, report: undefined, forgetAt: undefined });
  await auditPayment(ctx, row._id, { order, transfer });
  return startGenerating(ctx, row);
}
