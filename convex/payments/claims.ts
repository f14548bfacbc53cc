import { v, type Infer, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { isIdentified } from "../identity/access";
import { getSetting } from "../lib/env";
import { AppError } from "../lib/errors";
import { hasOneLeft } from "../platform/limits/charges";
import { queryBy } from "../platform/records";
import { SECOND } from "../lib/time";
import { enqueueWork, findWork } from "../platform/work";
import { findUserIdByAddress } from "../wallets/model";
import { buyReport, toTransferKey } from "./deposits";
import {
  requireClaim,
  findClaimByPayment,
  queryClaims,
  joinClaim,
  findOwedClaim,
  toPaymentKey,
  startSettling,
  startWriting,
  vTicket,
} from "./progress";
import { vReportOrder, vPaymentProof, vUsdcTransfer, type PaymentAuthorization } from "./tables";
import { ALREADY_USED, buildRefusal, vRefusal, type Refusal } from "./terms";

/** Turns a verified proof into a claim, in one transaction. `states.md` shows what follows. */

/** Signed payments of one payer in execution at a time: the balance may leave between them. */
const MAX_UNDER_WAY = 10;

/** The result of a look-up on the chain. */
const vObserved = v.union(
  v.object({
    kind: v.literal("transfers"),
    /** Transfers of a transaction; `authorization`: the nonce of the signed payment (EIP-3009) behind the transfer. */
    candidates: v.array(v.object({ ...vUsdcTransfer.fields, authorization: v.optional(v.string()) })),
    /** Whether the payers of these have signed the proof. */
    proven: v.boolean(),
  }),
  /** An unused authorization; `balance`: its payer's, in digits of USDC's smallest unit. */
  v.object({ kind: v.literal("unused"), balance: v.string() }),
);
export type ObservedTransfers = Extract<Infer<typeof vObserved>, { kind: "transfers" }>;

const vClaimed = v.union(vTicket, vRefusal);
export type Claimed = Infer<typeof vClaimed>;
/** The look-up of an earlier request is still running. */
const vLooking = v.object({ kind: v.literal("looking") });

export const vPurchase = {
  proof: vPaymentProof,
  order: vReportOrder,
  /** `proofs.hashPresented`. */
  presentedHash: v.string(),
  /** The `userId` as sent, before aliases are resolved: the payer has signed this one. */
  requestedId: v.optional(v.string()),
  /** The hash of the caller's key. */
  keyHash: v.optional(v.string()),
};
export type Purchase = ObjectType<typeof vPurchase>;

/**
 * Joins the claim of an earlier request with the same proof and order, without asking the chain; `null` if there is none.
 * @param args.isSlow Enqueues a look-up that outlives its caller, and claims the payment it finds.
 */
export const joinExistingClaim = internalMutation({
  args: { ...vPurchase, isSlow: v.boolean() },
  returns: v.union(vClaimed, vLooking, v.null()),
  handler: async (ctx, { isSlow, ...given }): Promise<Claimed | Infer<typeof vLooking> | null> => {
    const found = await findJoinedClaim(ctx, given);
    if (found !== null) return found;
    const { proof, presentedHash } = given;
    const subject = `look:${proof.kind === "hash" ? proof.txHash : toPaymentKey(proof.authorization)}:${presentedHash}`;
    if ((await findWork(ctx, subject)) !== null) return { kind: "looking" };
    if (!isSlow) return null;
    await enqueueWork(ctx, internal.payments.settlement.lookUpProof, given, { subject, attempts: 1 });
    return { kind: "looking" };
  },
});

/** Whether a payer has an open claim for this order: a new proof then joins it. */
export const isOwed = internalQuery({
  args: { payer: v.string(), order: vReportOrder },
  returns: v.boolean(),
  handler: async (ctx, { payer, order }) => (await findOwedClaim(ctx, payer, order)) !== null,
});

/**
 * Joins an authorization to the payer's earlier claim for the same order, without executing it: a client that got no
 * answer signs anew. The row keeps the nonce for ever.
 */
async function joinEarlierClaim(ctx: MutationCtx, given: Purchase): Promise<Claimed | null> {
  const { proof, order } = given;
  const owed = proof.kind === "hash" ? null : await findOwedClaim(ctx, proof.authorization.from, order);
  if (proof.kind === "hash" || owed === null) return null;
  await writeSignedClaim(ctx, given, proof.authorization, { state: "joined", joins: owed._id });
  return joinClaim(ctx, owed);
}

/** Writes the claim of a signed payment; a refused claim of the same payment is replaced. */
async function writeSignedClaim(
  ctx: MutationCtx,
  { order, presentedHash }: Purchase,
  authorization: PaymentAuthorization,
  state: Pick<Doc<"paymentClaims">, "state" | "joins">,
): Promise<Id<"paymentClaims">> {
  const key = toPaymentKey(authorization);
  const claim = {
    key,
    order,
    presentedHash,
    payer: authorization.from,
    authorization,
    createdAt: Date.now(),
    ...state,
  };
  const row = await findClaimByPayment(ctx, authorization);
  if (row === null) return ctx.db.insert("paymentClaims", claim);
  await ctx.db.replace("paymentClaims", row._id, claim);
  return row._id;
}

/**
 * Joins a proof's claim, or makes it.
 * @param args.seen The result of the look-up on the chain.
 * @throws AppError `rate_limited` if the payer's other open payments leave too little for this one.
 */
export const claimPayment = internalMutation({
  args: { ...vPurchase, observed: vObserved },
  returns: vClaimed,
  handler: async (ctx, { observed, ...given }): Promise<Claimed> => {
    const found = await findJoinedClaim(ctx, given);
    if (found !== null) return found;
    if (observed.kind === "transfers") return claimTransfer(ctx, given, observed);
    return (await joinEarlierClaim(ctx, given)) ?? claimSigned(ctx, given, BigInt(observed.balance));
  },
});

async function findJoinedClaim(
  ctx: MutationCtx,
  { proof, order, presentedHash, keyHash }: Purchase,
): Promise<Claimed | null> {
  if (proof.kind === "authorization") {
    const row = await findClaimByPayment(ctx, proof.authorization);
    const claim = row?.joins === undefined ? row : await requireClaim(ctx, row.joins);
    // A refused payment has moved nothing: it, and payments that have joined it, may be presented again.
    if (row === null || claim === null || claim.state === "refused") return null;
    return row.presentedHash === presentedHash ? joinClaim(ctx, claim) : ALREADY_USED;
  }
  const rows = await queryBy(ctx.db.query("paymentClaims"), "txHash", proof.txHash).take(50);
  // `presentedHash` covers the proof's signature: a settlement's hash, which anybody can read on the chain, matches none.
  const row = rows.find((one) => one.presentedHash === presentedHash);
  if (row === undefined) return null;
  const by = { userId: order.userId, keyHash };
  const bare = proof.signature === undefined ? await checkBareHash(ctx, row.payer, by) : null;
  return bare ?? joinClaim(ctx, row);
}

/**
 * Claims the first transfer of a transaction that has bought no report yet. For a transfer that was credited as a deposit,
 * the price is taken from these credits.
 */
async function claimTransfer(
  ctx: MutationCtx,
  { order, presentedHash, keyHash }: Purchase,
  { candidates, proven }: ObservedTransfers,
): Promise<Claimed> {
  let refused: Refusal = ALREADY_USED;
  const { userId } = order;
  for (const { authorization, ...transfer } of candidates) {
    const { from: payer, txHash } = transfer;
    if (await belongsToClaim(ctx, payer, authorization)) continue;
    const bare = proven ? null : await checkBareHash(ctx, payer, { userId, keyHash });
    if (bare !== null) refused = bare;
    const key = `log:${toTransferKey(transfer)}`;
    if (bare !== null || !(await buyReport(ctx, transfer, key, { userId, keyHash, proven }))) continue;
    const made = { key, order, presentedHash, payer, txHash, createdAt: Date.now() };
    const claimId = await ctx.db.insert("paymentClaims", { ...made, state: "paid" });
    await startWriting(ctx, { _id: claimId, payer, order });
    return { kind: "claim", claimId, presentedHash };
  }
  return refused;
}

/** Claims an unused authorization, and enqueues its settlement. */
async function claimSigned(ctx: MutationCtx, given: Purchase, balance: bigint): Promise<Claimed> {
  const { proof, presentedHash } = given;
  if (proof.kind === "hash") return ALREADY_USED;
  const { authorization } = proof;
  const payer = authorization.from;
  if (!(await hasOneLeft(ctx, "failedPayment", payer))) return FAILED;
  const underWay = await queryClaims(ctx, payer, "settling").take(MAX_UNDER_WAY);
  const taken = underWay.reduce((sum, one) => sum + BigInt(one.authorization?.value ?? 0), 0n);
  // Each was simulated against the whole balance, and the relayer pays the gas of those that fail.
  if (underWay.length === MAX_UNDER_WAY || taken + BigInt(authorization.value) > balance) {
    throw new AppError(
      "rate_limited",
      "Other payments of this wallet are still being settled: send the same proof again shortly",
      { retryAfterMs: 5 * SECOND },
    );
  }
  const claimId = await writeSignedClaim(ctx, given, authorization, { state: "settling" });
  await startSettling(ctx, claimId);
  return { kind: "claim", claimId, presentedHash };
}

const FAILED = buildRefusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

/** Whether a transfer belongs to the claim of a signed payment: its hash is public, so it proves nothing. */
async function belongsToClaim(ctx: QueryCtx, from: string, nonce: string | undefined): Promise<boolean> {
  const row = nonce === undefined ? null : await findClaimByPayment(ctx, { from, nonce });
  return row !== null && row.state !== "refused" && row.state !== "joined";
}

/** Checks a hash without its payer's signature; `null` if it may buy this order. */
async function checkBareHash(
  ctx: QueryCtx,
  payer: string,
  { userId, keyHash }: { userId?: string | undefined; keyHash?: string | undefined },
): Promise<Refusal | null> {
  const owner = await findUserIdByAddress(ctx, payer);
  if (owner !== null) {
    if (owner === userId && (await isIdentified(ctx, owner, keyHash))) return null;
    return buildRefusal(
      "invalid_payer_signature",
      "This payment came from a registered wallet: name its userId (with its owner's token or key, if it has an owner), or sign the proof with that wallet",
    );
  }
  if (!/^off$/i.test(getSetting("BARE_HASH_PROOFS"))) return null;
  return buildRefusal(
    "invalid_payer_signature",
    "A transaction hash alone is not accepted here: sign it with the paying wallet",
  );
}
