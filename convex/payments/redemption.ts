import { hashMessage } from "viem";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { getRequired } from "../lib/env";
import { AppError, getErrorData } from "../lib/errors";
import { defined } from "../lib/objects";
import { deadlines } from "../platform/outside/deadlines";
import { withUsage } from "../platform/outside/calls";
import { createPauses, DAY, HOUR, SECOND, sleep, raceDeadline } from "../lib/time";
import { getListing, explainUnknownToken, explainUnsureToken } from "../market/listing";
import { listIncoming, readHead } from "../providers/chain/blocks";
import { UPSTREAM } from "../providers/chain/rpc";
import { readTransaction } from "../providers/chain/transactions";
import { findAuthorizationUse, isSignedBy } from "../providers/chain/usdc";
import { findOutage } from "../providers/models/gateway";
import { isSignedAndUnused, tryAuthorization } from "./authorizations";
import { buildPaidHeaders, canSettleAuthorizations } from "./challenge";
import type { Claimed, Purchase, ObservedTransfers } from "./claims";
import type { ClaimTicket } from "./progress";
import { buildProofText } from "./proofs";
import type { PaymentAuthorization, HashProof, ReportOrder } from "./tables";
import { ALREADY_USED, PRICE, PRICE_SHOWN, buildRefusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeems a proof for a report: verifies it on the chain, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;

/** `headers`: the receipt. */
type Redeemed = {
  kind: "delivered";
  focus: string;
  result: NonNullable<Doc<"paymentClaims">["report"]>["result"];
  headers: Record<string, string>;
};

/**
 * Redeems a proof for an order, once. A repeat of both joins the work, or gets the same report for a while. For actions.
 * @throws AppError Without a claim: `upstream` if the chain is out of reach, `paused` while the gateway is down,
 * `rate_limited` while other payments of the payer are being settled. With the receipt headers, if the report has failed
 * or is not finished: the payment is kept.
 */
export const redeem = withUsage(async (ctx, given: Purchase): Promise<Redeemed | Refusal> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  const moment = AbortSignal.timeout(deadlines.look);
  const joinEarlier = (isSlow = false) =>
    ctx.runMutation(internal.payments.claims.joinExistingClaim, { ...given, isSlow });
  const pause = createPauses(ROW_PAUSE_MS);
  let found =
    (await joinEarlier()) ??
    (await raceDeadline(deadline, raceDeadline(moment, lookUpPayment(ctx, given)))) ??
    // Convex ends an HTTP action with its response: a slow look-up goes on as work.
    (await joinEarlier(true));
  while (found?.kind === "looking" && !deadline.aborted) {
    await pause();
    found = await joinEarlier();
  }
  found ??= await raceDeadline(deadline, lookUpPayment(ctx, given));
  if (found === null || found.kind === "looking") throw new AppError("upstream", SLOW);
  return found.kind === "refused" ? found : waitFor(ctx, found, deadline);
});

/**
 * Looks up a proof on the chain, and claims the payment.
 * @throws AppError `not_found` if no source knows the order's token: the payment stays unspent.
 */
export async function lookUpPayment(ctx: ActionCtx, given: Purchase): Promise<Claimed> {
  const { proof, order, requestedId } = given;
  const purchase = { ...given, order: { ...order, focus: await requireListedFocus(ctx, order.focus) } };
  // The payer has signed the token and the userId as sent.
  const signed = requestedId === undefined ? order : { ...order, userId: requestedId };
  return proof.kind === "hash"
    ? lookUpHash(ctx, purchase, proof, signed)
    : lookUpSigned(ctx, purchase, proof.authorization);
}

async function lookUpSigned(
  ctx: ActionCtx,
  purchase: Purchase,
  authorization: PaymentAuthorization,
): Promise<Claimed> {
  if (!canSettleAuthorizations()) {
    return buildRefusal(
      "unsupported_scheme",
      "This service does not execute signed payments: send a transfer, and then its transaction hash as the proof",
    );
  }
  const { order } = purchase;
  const { claimPayment } = internal.payments.claims;
  // It joins the owed claim, whatever its payer holds. If that was delivered meanwhile, the mutation asks for a later try.
  if (
    (await ctx.runQuery(internal.payments.claims.isOwed, { payer: authorization.from, order })) &&
    (await isSignedAndUnused(authorization))
  )
    return ctx.runMutation(claimPayment, { ...purchase, observed: { kind: "unused", balance: "0" } });
  const observed = await tryAuthorization(authorization);
  if (observed.kind === "refused") return observed;
  if (observed.kind === "used") return lookUpUsed(ctx, purchase, authorization);
  // No payment is executed while no report can be written.
  const outage = await findOutage(ctx);
  if (outage !== null) {
    const error = `${outage}: no report could be written, and nothing was taken. Send the same proof again shortly`;
    throw new AppError("paused", error, { retryAfterMs: OUTAGE_AGAIN_MS });
  }
  return ctx.runMutation(claimPayment, { ...purchase, observed });
}

/** The result of a probe is kept as long. */
const OUTAGE_AGAIN_MS = 30 * SECOND;

/** Resolves an order's token. A token that cannot be checked is not sold. */
async function requireListedFocus(ctx: ActionCtx, token: string): Promise<string> {
  if (token === "") return "";
  const { kind, symbol } = await getListing(ctx, token);
  if (kind === "known") return symbol;
  const unused = "The payment is not used.";
  if (kind === "unknown") throw new AppError("not_found", `${explainUnknownToken(symbol)}. ${unused}`);
  throw new AppError(
    "upstream",
    `${explainUnsureToken(symbol)}. ${unused} Send the same proof again shortly.`,
  );
}

async function lookUpHash(
  ctx: ActionCtx,
  purchase: Purchase,
  proof: HashProof,
  signed: ReportOrder,
): Promise<Claimed> {
  const observed = await findCandidates(proof, signed);
  if (observed.kind === "refused") return observed;
  return ctx.runMutation(internal.payments.claims.claimPayment, { ...purchase, proof, observed });
}

/**
 * Looks up an authorization that a third party has executed. It is public on the chain, so it proves no more than the
 * hash of its transaction.
 */
async function lookUpUsed(
  ctx: ActionCtx,
  purchase: Purchase,
  authorization: PaymentAuthorization,
): Promise<Claimed> {
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  let txHash = await findAuthorizationUse(authorization);
  // The node with the nonce may be ahead of the node with the logs.
  while (txHash === null && !unheardOf.aborted) {
    await sleep(PAUSE_MS);
    txHash = await findAuthorizationUse(authorization);
  }
  if (txHash === null) return UNPAID_USE;
  const found = await lookUpHash(ctx, purchase, { kind: "hash", txHash }, purchase.order);
  return found.kind === "refused" && found.reason === "no_matching_transfer" ? UNPAID_USE : found;
}

async function waitFor(
  ctx: ActionCtx,
  { claimId, presentedHash }: ClaimTicket,
  deadline: AbortSignal,
): Promise<Redeemed | Refusal> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const claim = await ctx.runQuery(internal.payments.progress.getClaim, { claimId });
    const { order, payer, txHash, refusal, report, trouble } = claim;
    // A refused payment may have been claimed for another order since.
    if (claim.presentedHash !== presentedHash) return ALREADY_USED;
    if (claim.state === "refused" && refusal !== undefined) return refusal;
    const headers = txHash === undefined ? {} : buildPaidHeaders({ txHash, payer });
    const kept = txHash === undefined ? "Nothing more is charged" : `Your payment ${txHash} is kept`;
    const fail = (code: "upstream" | "internal", message: string) =>
      new AppError(code, `${message}. ${kept}: send the same proof again`, { headers });
    if (report !== undefined) {
      if (claim.answeredAt === undefined)
        await ctx.runMutation(internal.payments.progress.markAnswered, { claimId });
      return { kind: "delivered", focus: order.focus, result: report.result, headers };
    }
    if (trouble !== undefined) throw fail(trouble.code, trouble.message);
    if (deadline.aborted) throw fail("upstream", "The report is not finished yet");
    await pause();
  }
}

/** Retry-After for a transaction that no node knows. */
const UNSEEN_AGAIN_MS = 3 * SECOND;

const SLOW = `${UPSTREAM} did not answer in time: send the same proof again shortly`;

/** Pause between two look-ups of a transaction that is not mined yet. */
const PAUSE_MS = SECOND;
/** Payers of one transaction whose signature is tried: a batch can contain any number. */
const PAYERS_TRIED = 5;

/**
 * Finds the transfers of a transaction that can buy a report, and waits for one that is not mined yet. A proof with its
 * payer's signature may be a day old, a bare hash an hour: anyone can copy a hash from the chain.
 * @throws AppError `upstream`
 */
async function findCandidates(proof: HashProof, order: ReportOrder): Promise<ObservedTransfers | Refusal> {
  const payTo = getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase();
  const payment = await awaitPayment(proof.txHash);
  if (payment.kind === "too large")
    throw new AppError(
      "upstream",
      "The receipt of this transaction is too large to be read: pay with a transaction of its own",
    );
  if (payment.kind !== "mined") {
    return buildRefusal(
      "payment_not_found",
      "This transaction is not on the chain yet: send the same proof again shortly",
      UNSEEN_AGAIN_MS,
    );
  }
  if (!payment.succeeded)
    return buildRefusal(
      "transaction_failed",
      "This transaction failed, and nothing was paid: make a new payment",
    );
  const enough = listIncoming(payment.transfers, payTo).filter(({ amount }) => amount >= PRICE);
  if (enough.length === 0) {
    return buildRefusal(
      "no_matching_transfer",
      `This transaction did not move ${PRICE_SHOWN} USDC or more to this service's address: pay the address in paymentDetails`,
    );
  }
  const signer = await findSigner(proof, order, payTo, enough);
  if (signer === "stranger") {
    return buildRefusal(
      "invalid_payer_signature",
      "The signature is not the payer's for this transaction, userId and token: sign the proof text again",
    );
  }
  const proven = signer !== null;
  const age = (await readHead()).time - payment.block.time;
  if (age > (proven ? DAY : HOUR))
    return buildRefusal("payment_expired", "This payment is too old to buy a report: make a new payment");
  const candidates = enough
    .filter(({ from }) => !proven || from === signer)
    .map(({ position, from, amount, authorization }) => ({
      txHash: proof.txHash,
      position,
      from,
      amount: amount.toString(),
      ...defined({ authorization }),
    }));
  return { kind: "transfers", candidates, proven };
}

/** Waits for a transaction to be mined. A node's failure does not end the wait before its deadline: money may have moved. */
async function awaitPayment(txHash: string): Promise<Awaited<ReturnType<typeof readTransaction>>> {
  const deadline = AbortSignal.timeout(deadlines.receipt);
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  for (;;) {
    try {
      const payment = await readTransaction(txHash);
      if (payment.kind === "mined" || payment.kind === "too large" || deadline.aborted) return payment;
      if (payment.kind === "missing" && unheardOf.aborted) return payment;
    } catch (error) {
      if (deadline.aborted || getErrorData(error)?.code !== "upstream") throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/** Finds the payer behind the proof's signature; `stranger` if it is none of the payers; `null` without a signature. */
async function findSigner(
  { txHash, signature }: HashProof,
  order: ReportOrder,
  payTo: string,
  transfers: readonly { from: string }[],
): Promise<string | null> {
  if (signature === undefined) return null;
  const hash = hashMessage(buildProofText(txHash, payTo, order));
  const payers = [...new Set(transfers.map(({ from }) => from))].slice(0, PAYERS_TRIED);
  for (const payer of payers) {
    if (await isSignedBy(payer, hash, signature)) return payer;
  }
  return "stranger";
}
