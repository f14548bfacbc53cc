import type { WithoutSystemFields } from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { isIdentified } from "../identity/access";
import { defineMutation } from "../platform/changes";
import { getSetting } from "../lib/env";
import { AppError } from "../lib/errors";
import { wouldHave } from "../platform/limits/charges";
import { queryBy } from "../platform/records";
import { SECOND } from "../lib/time";
import { enqueueWork, findWork } from "../platform/work";
import { findUserIdByAddress } from "../wallets/model";
import { buyReport, transferKey } from "./deposits";
import {
  requireClaim,
  findClaimByPayment,
  queryClaims,
  joinClaim,
  owedTo,
  toPaymentKey,
  startSettling,
  startWriting,
  vTicket,
} from "./model";
import {
  vPaymentAuthorization,
  vReportOrder,
  vPaymentProof,
  vUsdcTransfer,
  type PaymentAuthorization,
} from "./tables";
import { ALREADY_USED, buildRefusal, vRefusal, type Refusal } from "./terms";

/** A proof becomes a claim: the one transaction that decides, after the chain was asked. `states.md` draws what follows. */

/** How many payments of one payer are executed at the same time: their money may leave in between. */
const MAX_UNDER_WAY = 10;

/** What the chain says of a proof. */
const vSeen = v.union(
  v.object({
    kind: v.literal("transfers"),
    /** A transaction's transfers; `authorization`: the nonce of the signed payment (EIP-3009) that it executed. */
    candidates: v.array(v.object({ ...vUsdcTransfer.fields, authorization: v.optional(v.string()) })),
    /** Whether their payers have signed the proof. */
    proven: v.boolean(),
  }),
  /** An authorization that nobody has used yet, and its payer's balance: digits, USDC's smallest unit. */
  v.object({ kind: v.literal("unused"), balance: v.string() }),
);
export type SeenTransfers = Extract<Infer<typeof vSeen>, { kind: "transfers" }>;

const vClaimed = v.union(vTicket, vRefusal);
export type Claimed = Infer<typeof vClaimed>;
/** The chain is being asked about the proof, by work that its earlier caller has left behind. */
const vLooking = v.object({ kind: v.literal("looking") });

export const vGiven = {
  proof: vPaymentProof,
  order: vReportOrder,
  /** `proofs.hashPresented`. */
  shown: v.string(),
  /** The order's `userId` as its caller names it, which the payer has signed. */
  named: v.optional(v.string()),
  /** The hash of the caller's key. */
  keyHash: v.optional(v.string()),
};
export type Given = ObjectType<typeof vGiven>;

/** Joins the claim that a proof has made for this order before, whatever the chain says now; `null` if there is none. */
export const joinExistingClaim = internalMutation({
  args: vGiven,
  returns: v.union(vClaimed, vLooking, v.null()),
  handler: async (ctx, given): Promise<Claimed | Infer<typeof vLooking> | null> =>
    (await findJoinedClaim(ctx, given)) ??
    ((await findWork(ctx, lookSubject(given))) === null ? null : { kind: "looking" }),
});

/** Has a proof looked up by work that outlives its caller; it claims what the chain shows. */
export const beginLook = defineMutation(vGiven, async (ctx, given) => {
  const subject = lookSubject(given);
  if ((await findJoinedClaim(ctx, given)) !== null || (await findWork(ctx, subject)) !== null) return;
  await enqueueWork(ctx, internal.payments.settlement.lookUpProof, given, { subject, attempts: 1 });
});

function lookSubject({ proof, shown }: Given): string {
  return `look:${proof.kind === "hash" ? proof.txHash : toPaymentKey(proof.authorization)}:${shown}`;
}

/** Whether a payer has a claim for the same order: then a new proof of theirs joins it. */
export const isOwed = internalQuery({
  args: { payer: v.string(), order: vReportOrder },
  returns: v.boolean(),
  handler: async (ctx, { payer, order }) => (await owedTo(ctx, payer, order)) !== null,
});

/** Joins a payer's good authorization to their claim for the same order. @returns `null` if there is none by now. */
export const joinOwed = internalMutation({
  args: { ...vGiven, authorization: vPaymentAuthorization },
  returns: v.union(vClaimed, v.null()),
  handler: async (ctx, { authorization, ...given }): Promise<Claimed | null> =>
    (await findJoinedClaim(ctx, given)) ?? joinEarlierClaim(ctx, given, authorization),
});

/**
 * A payer's good authorization joins their earlier claim for the same order, and is not executed: a client that got no
 * answer signs anew. Its nonce has a row for ever.
 */
async function joinEarlierClaim(
  ctx: MutationCtx,
  { order, shown }: Given,
  authorization: PaymentAuthorization,
): Promise<Claimed | null> {
  const [key, payer] = [toPaymentKey(authorization), authorization.from];
  const owed = await owedTo(ctx, payer, order);
  if (owed === null) return null;
  const made = { key, order, shown, payer, authorization, joins: owed._id, createdAt: Date.now() };
  await putClaim(ctx, { ...made, state: "joined" });
  return joinClaim(ctx, owed);
}

/** Writes a signed payment's claim, over the one that was refused. */
async function putClaim(
  ctx: MutationCtx,
  claim: WithoutSystemFields<Doc<"paymentClaims">> & { authorization: PaymentAuthorization },
): Promise<Id<"paymentClaims">> {
  const row = await findClaimByPayment(ctx, claim.authorization);
  if (row === null) return ctx.db.insert("paymentClaims", claim);
  await ctx.db.replace("paymentClaims", row._id, claim);
  return row._id;
}

/**
 * Joins a proof's claim, or makes it.
 * @param args.seen What the chain says of the proof.
 * @throws AppError `rate_limited` if the payer's other open payments leave too little for this one.
 */
export const claimPayment = internalMutation({
  args: { ...vGiven, seen: vSeen },
  returns: vClaimed,
  handler: async (ctx, { seen, ...given }): Promise<Claimed> => {
    const found = await findJoinedClaim(ctx, given);
    if (found !== null) return found;
    if (seen.kind === "transfers") return claimTransfer(ctx, given, seen);
    const { proof } = given;
    return proof.kind === "hash"
      ? ALREADY_USED
      : ((await joinEarlierClaim(ctx, given, proof.authorization)) ??
          claimSigned(ctx, given, proof.authorization, BigInt(seen.balance)));
  },
});

async function findJoinedClaim(
  ctx: MutationCtx,
  { proof, order, shown, keyHash }: Given,
): Promise<Claimed | null> {
  if (proof.kind === "authorization") {
    const row = await findClaimByPayment(ctx, proof.authorization);
    const claim = row?.joins === undefined ? row : await requireClaim(ctx, row.joins);
    // Nothing was moved: the proof, and what has joined it, may be shown again.
    if (row === null || claim === null || claim.state === "refused") return null;
    return row.shown === shown ? joinClaim(ctx, claim) : ALREADY_USED;
  }
  const rows = await queryBy(ctx.db.query("paymentClaims"), "txHash", proof.txHash).take(50);
  // The transaction that executed a signed payment is not a proof: anybody can read its hash from the chain.
  const row = rows.find((one) => one.authorization === undefined && one.shown === shown);
  if (row === undefined) return null;
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
  { order, shown, keyHash }: Given,
  { candidates, proven }: SeenTransfers,
): Promise<Claimed> {
  let refused: Refusal = ALREADY_USED;
  const { userId } = order;
  for (const { authorization, ...transfer } of candidates) {
    const { from: payer, txHash } = transfer;
    if (await isOfClaim(ctx, payer, authorization)) continue;
    const bare = proven ? null : await refusalOfBare(ctx, payer, { userId, keyHash });
    if (bare !== null) refused = bare;
    const key = `log:${transferKey(transfer)}`;
    if (bare !== null || !(await buyReport(ctx, transfer, key, { userId, keyHash, proven }))) continue;
    const made = { key, order, shown, payer, txHash, createdAt: Date.now() };
    const claimId = await ctx.db.insert("paymentClaims", { ...made, state: "paid" });
    await startWriting(ctx, { _id: claimId, payer, order });
    return { kind: "claim", claimId, shown };
  }
  return refused;
}

/** Claims an unused authorization, and has it executed. */
async function claimSigned(
  ctx: MutationCtx,
  { order, shown }: Given,
  authorization: PaymentAuthorization,
  balance: bigint,
): Promise<Claimed> {
  const [key, payer] = [toPaymentKey(authorization), authorization.from];
  if (!(await wouldHave(ctx, "failedPayment", payer))) return FAILED;
  const underWay = await queryClaims(ctx, payer, "settling").take(MAX_UNDER_WAY);
  const taken = underWay.reduce((sum, one) => sum + BigInt(one.authorization?.value ?? 0), 0n);
  // Each was tried against the whole balance, and the relayer would pay for those that fail.
  if (underWay.length === MAX_UNDER_WAY || taken + BigInt(authorization.value) > balance) {
    throw new AppError(
      "rate_limited",
      "Other payments of this wallet are still being settled: send the same proof again shortly",
      { retryAfterMs: 5 * SECOND },
    );
  }
  const made = { key, order, shown, authorization, payer, createdAt: Date.now() };
  const claimId = await putClaim(ctx, { ...made, state: "settling" });
  await startSettling(ctx, claimId);
  return { kind: "claim", claimId, shown };
}

const FAILED = buildRefusal(
  "transaction_failed",
  "Payments from this wallet were mined and failed: pay by transfer and send the transaction's hash",
);

/** Whether a transfer executed a signed payment that has a claim of its own: it is that claim's alone. */
async function isOfClaim(ctx: QueryCtx, from: string, nonce: string | undefined): Promise<boolean> {
  const row = nonce === undefined ? null : await findClaimByPayment(ctx, { from, nonce });
  return row !== null && row.state !== "refused" && row.state !== "joined";
}

/** Why a transaction's hash without its payer's signature buys nothing for this order; `null` if it may. */
async function refusalOfBare(
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
