import { v, type Infer } from "convex/values";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { mayActAs } from "../accounts/access";
import { setting } from "../lib/env";
import { rowsBy } from "../lib/records/rows";
import { DAY } from "../lib/time";
import { userIdByAddress } from "../wallets/model";
import {
  claimById,
  joinClaim,
  releaseDeposits,
  sameOrder,
  startSettling,
  startWriting,
  vRefusal,
  vTicket,
} from "./model";
import { vOrder, vProof, vTransfer, type Authorization, type Order, type Proof } from "./tables";
import { ALREADY_USED, refusal, type Refusal } from "./terms";
import { authorizationKey, canBuy, claimByKey, claimsOf, spendTransfer, transferKey } from "./transfers";

/** A proof becomes a claim: the one transaction that decides, after the chain was asked. `states.md` draws what follows. */

/** How many payments of one payer are executed at the same time: their money may leave in between. */
const MAX_UNDER_WAY = 10;
/** How many payments of a payer may be mined and fail in a day, at the relayer's cost. */
const MOST_FAILED = 2;
/** A payer's newest refused payments that are searched for failed ones. */
const REFUSED_SEARCHED = 20;

/** A transfer, and the nonce of the signed payment (EIP-3009) that it executed. */
const vCandidate = v.object({ ...vTransfer.fields, authorization: v.optional(v.string()) });
export type Candidate = Infer<typeof vCandidate>;

/** What the chain says of a proof. */
const vSeen = v.union(
  /** A transaction's transfers; `proven`: their payers have signed the proof. */
  v.object({ kind: v.literal("transfers"), candidates: v.array(vCandidate), proven: v.boolean() }),
  /** An authorization that nobody has used yet, and its payer's balance: digits, USDC's smallest unit. */
  v.object({ kind: v.literal("unused"), balance: v.string() }),
);
const vClaimed = v.union(vTicket, vRefusal, v.object({ kind: v.literal("busy") }));
export type Claimed = Infer<typeof vClaimed>;

/**
 * Joins the claim that a proof has made for this order before, whatever the chain says now, or makes it.
 * @param args.shown The proof's hash (`proofs.shownProof`): a repeat shows the one that made the claim.
 * @param args.seen What the chain says of it; without it a claim is only joined.
 * @returns `null` if there is nothing to join, and nothing was seen; `busy` if the payer's other open payments leave too
 * little for this one: each was tried against the whole balance, and the relayer would pay for those that fail.
 */
export const claim = internalMutation({
  args: {
    proof: vProof,
    shown: v.string(),
    order: vOrder,
    /** The hash of the caller's key. */
    keyHash: v.optional(v.string()),
    seen: v.optional(vSeen),
  },
  returns: v.union(vClaimed, v.null()),
  handler: async (ctx, given): Promise<Claimed | null> => {
    const { proof, seen } = given;
    const joined =
      proof.kind === "authorization"
        ? await joinSigned(ctx, given, proof.authorization)
        : await joinHash(ctx, given, proof);
    if (joined !== null || seen === undefined) return joined;
    if (seen.kind === "transfers") return claimTransfer(ctx, given, seen);
    return proof.kind === "hash" ? ALREADY_USED : claimSigned(ctx, given, proof.authorization, seen.balance);
  },
});

type Given = { shown: string; order: Order; keyHash?: string | undefined };

async function joinSigned(
  ctx: MutationCtx,
  { shown, order }: Given,
  authorization: Authorization,
): Promise<Claimed | null> {
  const row = await claimByKey(ctx, authorizationKey(authorization));
  if (row === null || row.state === "refused") return null;
  return sameOrder(row, order) && row.shown === shown ? joinClaim(ctx, row) : ALREADY_USED;
}

async function joinHash(
  ctx: MutationCtx,
  { shown, order, keyHash }: Given,
  proof: Extract<Proof, { kind: "hash" }>,
): Promise<Claimed | null> {
  const rows = await rowsBy(ctx.db.query("paymentClaims"), "txHash", proof.txHash).take(50);
  // The transaction that executed a signed payment is not a proof: anybody can read its hash from the chain.
  const row = rows.find((one) => one.authorization === undefined && sameOrder(one, order));
  if (row === undefined || row.shown !== shown) return null;
  const by = { userId: order.userId, keyHash };
  const bare = proof.signature === undefined ? await refusalOfBare(ctx, row.payer, by) : null;
  return bare ?? joinClaim(ctx, row);
}

/**
 * Claims one of a transaction's transfers for an order: the first that has bought no report yet. One that was credited
 * as a deposit is paid out of these credits.
 */
async function claimTransfer(
  ctx: MutationCtx,
  { shown, order, keyHash }: Given,
  { candidates, proven }: { candidates: readonly Candidate[]; proven: boolean },
): Promise<Claimed> {
  let refused: Refusal = ALREADY_USED;
  const { userId } = order;
  for (const { authorization, ...transfer } of candidates) {
    if (await isOfClaim(ctx, transfer.from, authorization)) continue;
    const bare = proven ? null : await refusalOfBare(ctx, transfer.from, { userId, keyHash });
    if (bare !== null) refused = bare;
    if (bare !== null || !(await canBuy(ctx, transfer, { userId, proven }))) continue;
    const key = `log:${transferKey(transfer)}`;
    await spendTransfer(ctx, transfer, { claimKey: key });
    const { from: payer, txHash } = transfer;
    const paid = { key, order, shown, payer, txHash, state: "paid" as const, createdAt: Date.now() };
    const row = await claimById(ctx, await ctx.db.insert("paymentClaims", paid));
    await releaseDeposits(ctx, row);
    return startWriting(ctx, row);
  }
  return refused;
}

/** Claims an unused authorization, and has it executed. */
async function claimSigned(
  ctx: MutationCtx,
  { shown, order }: Given,
  authorization: Authorization,
  balance: string,
): Promise<Claimed> {
  const key = authorizationKey(authorization);
  const payer = authorization.from;
  const refused = await claimsOf(ctx, payer, "refused").order("desc").take(REFUSED_SEARCHED);
  const failed = refused.filter(
    ({ refusal, createdAt }) => refusal?.reason === FAILED.reason && createdAt > Date.now() - DAY,
  );
  // A payment that has failed once fails again, at the relayer's cost each time.
  if (failed.length >= MOST_FAILED || failed.some((one) => one.key === key)) return FAILED;
  const underWay = await claimsOf(ctx, payer, "settling").take(MAX_UNDER_WAY);
  const taken = underWay.reduce((sum, one) => sum + BigInt(one.authorization?.value ?? 0), 0n);
  if (underWay.length === MAX_UNDER_WAY || taken + BigInt(authorization.value) > BigInt(balance))
    return { kind: "busy" };
  const state = "settling" as const;
  const fresh = { key, order, shown, authorization, payer, state, createdAt: Date.now() };
  const row = await claimByKey(ctx, key);
  if (row !== null) await ctx.db.replace("paymentClaims", row._id, fresh);
  const claimId = row?._id ?? (await ctx.db.insert("paymentClaims", fresh));
  return startSettling(ctx, await claimById(ctx, claimId));
}

const FAILED = refusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

/** Whether a transfer executed a signed payment that has a claim of its own: it is that claim's alone. */
async function isOfClaim(ctx: QueryCtx, from: string, nonce: string | undefined): Promise<boolean> {
  const row = nonce === undefined ? null : await claimByKey(ctx, authorizationKey({ from, nonce }));
  return row !== null && row.state !== "refused";
}

/** Why a transaction's hash without its payer's signature buys nothing for this order; `null` if it may. */
async function refusalOfBare(
  ctx: QueryCtx,
  payer: string,
  { userId, keyHash }: { userId?: string | undefined; keyHash?: string | undefined },
): Promise<Refusal | null> {
  const owner = await userIdByAddress(ctx, payer);
  if (owner !== null) {
    if (owner === userId && (await mayActAs(ctx, owner, keyHash))) return null;
    return refusal(
      "invalid_payer_signature",
      "This payment came from a registered wallet: name its userId (with its owner's token or key, if it has an owner), or sign the proof with that wallet",
    );
  }
  if (!/^off$/i.test(setting("BARE_HASH_PROOFS"))) return null;
  return refusal(
    "invalid_payer_signature",
    "A transaction hash alone is not accepted here: sign it with the paying wallet",
  );
}
