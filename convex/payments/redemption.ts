import { hashMessage } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getRequired } from "../lib/env";
import { AppError, getErrorData } from "../lib/errors";
import { deadlines } from "../platform/outside/deadlines";
import { withUsage } from "../platform/outside/calls";
import { createPauses, DAY, HOUR, SECOND, sleep, raceDeadline } from "../lib/time";
import { getListing, unknownTokenMessage, unsureTokenMessage } from "../market/listing";
import { listIncoming, readHead } from "../providers/chain/blocks";
import { UPSTREAM } from "../providers/chain/rpc";
import { readTransaction } from "../providers/chain/transactions";
import { findAuthorizationUse, isSignedBy } from "../providers/chain/usdc";
import { findOutage } from "../providers/models/gateway";
import { getServiceAddress } from "../wallets/custody/signatures";
import { isGood, tryAuthorization } from "./authorizations";
import { buildPaidHeaders, canSettleAuthorizations } from "./challenge";
import type { Claimed, Given, SeenTransfers } from "./claims";
import type { ClaimTicket } from "./model";
import type { ClaimStatus } from "./progress";
import { buildProofText } from "./proofs";
import type { PaymentAuthorization, HashProof, ReportOrder } from "./tables";
import { PRICE, PRICE_SHOWN, buildRefusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeems a proof for a report: checks with the chain what it pays, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;

/** `headers` say how it was paid. */
type Redeemed = {
  kind: "delivered";
  focus: string;
  result: NonNullable<ClaimStatus["result"]>;
  headers: Record<string, string>;
};

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for a while.
 * @throws AppError `upstream` if the chain cannot be reached, `paused` while no report could be written, `rate_limited`
 * while the payer's other signed payments may still take the balance that this one needs: nothing is claimed then. Of any
 * code, with the payment's headers, if the report has failed or is not finished: the payment is kept. For actions.
 */
export const redeem = withUsage(async (ctx, given: Given): Promise<Redeemed | Refusal> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  const moment = AbortSignal.timeout(deadlines.look);
  const joinEarlier = () => ctx.runMutation(internal.payments.claims.joinExistingClaim, given);
  let found =
    (await joinEarlier()) ?? (await raceDeadline(deadline, raceDeadline(moment, lookUpPayment(ctx, given))));
  if (found === null) {
    // The platform cuts what outlives its caller: a slow chain is asked by work of its own.
    await ctx.runMutation(internal.payments.claims.beginLook, given);
    found = await joinEarlier();
  }
  const pause = createPauses(ROW_PAUSE_MS);
  while (found?.kind === "looking" && !deadline.aborted) {
    await pause();
    found = await joinEarlier();
  }
  found ??= await raceDeadline(deadline, lookUpPayment(ctx, given));
  if (found === null || found.kind === "looking") throw new AppError("upstream", SLOW);
  return found.kind === "refused" ? found : waitFor(ctx, found, deadline);
});

/**
 * Looks a proof up on the chain, and claims it.
 * @throws AppError `not_found` if no source knows the order's token; nothing is claimed then.
 */
export async function lookUpPayment(ctx: ActionCtx, given: Given): Promise<Claimed> {
  const { proof, order, named } = given;
  const purchase = { ...given, order: { ...order, focus: await soldFocus(ctx, order.focus) } };
  // The payer has signed the token and the userId as requested.
  const signed = named === undefined ? order : { ...order, userId: named };
  return proof.kind === "hash"
    ? lookUpHash(ctx, purchase, proof, signed)
    : lookAtSigned(ctx, purchase, proof.authorization);
}

async function lookAtSigned(
  ctx: ActionCtx,
  wanted: Given,
  authorization: PaymentAuthorization,
): Promise<Claimed> {
  if (!canSettleAuthorizations()) {
    return buildRefusal(
      "unsupported_scheme",
      "This service does not execute signed payments: pay first and send the transaction's hash",
    );
  }
  const { order } = wanted;
  const isOwed = await ctx.runQuery(internal.payments.claims.isOwed, { payer: authorization.from, order });
  if (isOwed && (await isGood(authorization))) {
    const joined = await ctx.runMutation(internal.payments.claims.joinOwed, { ...wanted, authorization });
    if (joined !== null) return joined;
  }
  const seen = await tryAuthorization(authorization, getServiceAddress("relayer"));
  if (seen.kind === "refused") return seen;
  if (seen.kind === "used") return lookAtUsed(ctx, wanted, authorization);
  // Nothing is sold that cannot be made.
  const outage = await findOutage(ctx);
  if (outage !== null) {
    const error = `${outage}: no report could be written, and nothing was taken. Send the same proof again shortly`;
    throw new AppError("paused", error, { retryAfterMs: OUTAGE_AGAIN_MS });
  }
  return ctx.runMutation(internal.payments.claims.claimPayment, { ...wanted, seen });
}

/** The outage of a gateway is known for so long. */
const OUTAGE_AGAIN_MS = 30 * SECOND;

/** The focus of a report for sale: a token that cannot be checked at this moment is not sold. */
async function soldFocus(ctx: ActionCtx, token: string): Promise<string> {
  if (token === "") return "";
  const { kind, symbol } = await getListing(ctx, token);
  if (kind === "known") return symbol;
  const unused = "The payment is not used.";
  if (kind === "unknown") throw new AppError("not_found", `${unknownTokenMessage(symbol)}. ${unused}`);
  throw new AppError(
    "upstream",
    `${unsureTokenMessage(symbol)}. ${unused} Send the same proof again shortly.`,
  );
}

async function lookUpHash(
  ctx: ActionCtx,
  wanted: Given,
  proof: HashProof,
  signed: ReportOrder,
): Promise<Claimed> {
  const observed = await findCandidates(proof, signed);
  if (observed.kind === "refused") return observed;
  return ctx.runMutation(internal.payments.claims.claimPayment, { ...wanted, proof, seen: observed });
}

/**
 * An authorization that somebody else has executed. Everybody can read it from the chain by now, so it proves no more
 * than the hash of its transaction.
 */
async function lookAtUsed(
  ctx: ActionCtx,
  wanted: Given,
  authorization: PaymentAuthorization,
): Promise<Claimed> {
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  let txHash = await findAuthorizationUse(authorization);
  // The node that shows its use may be ahead of the one that shows its logs.
  while (txHash === null && !unheardOf.aborted) {
    await sleep(PAUSE_MS);
    txHash = await findAuthorizationUse(authorization);
  }
  if (txHash === null) return UNPAID_USE;
  const found = await lookUpHash(ctx, wanted, { kind: "hash", txHash }, wanted.order);
  return found.kind === "refused" && found.reason === "no_matching_transfer" ? UNPAID_USE : found;
}

async function waitFor(
  ctx: ActionCtx,
  { claimId, shown }: ClaimTicket,
  deadline: AbortSignal,
): Promise<Redeemed | Refusal> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const now: ClaimStatus = await ctx.runQuery(internal.payments.progress.getClaimStatus, {
      claimId,
      shown,
    });
    if (now.refusal !== undefined) return now.refusal;
    const headers = now.paid === null ? {} : buildPaidHeaders(now.paid);
    if (now.result !== undefined) {
      if (now.isFirst) await ctx.runMutation(internal.payments.progress.markAnswered, { claimId });
      return { kind: "delivered", focus: now.focus, result: now.result, headers };
    }
    if (now.trouble !== undefined) throw new AppError(now.trouble.code, now.trouble.message, { headers });
    if (deadline.aborted) throw new AppError("upstream", LATE, { headers });
    await pause();
  }
}

/** When to look again for a transaction that no node shows. */
const UNSEEN_AGAIN_MS = 3 * SECOND;

const SLOW = `${UPSTREAM} did not answer in time: send the same proof again shortly`;
const LATE = "The report is not finished yet: send the same proof again shortly, nothing more is charged";

/** Pause between two lookups of a transaction that is not mined yet. */
const PAUSE_MS = SECOND;
/** Payers of one transaction whose signature is looked for: a batch can contain any number of them. */
const PAYERS_TRIED = 5;

/**
 * The transfers of a transaction that can buy a report; waits for a transaction that nobody has seen yet. Signed by its
 * payer it may be a day old; else an hour: a hash, unlike a signature, does not say when it was meant.
 * @throws AppError `upstream`
 */
async function findCandidates(proof: HashProof, order: ReportOrder): Promise<SeenTransfers | Refusal> {
  const payTo = getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase();
  const payment = await awaitPayment(proof.txHash);
  if (payment.kind === "too large")
    throw new AppError("upstream", "The chain's answer on this transaction is too long to be read");
  if (payment.kind !== "mined") {
    return buildRefusal(
      "payment_not_found",
      "The chain has no such transaction yet: send the same proof again shortly",
      UNSEEN_AGAIN_MS,
    );
  }
  if (!payment.succeeded)
    return buildRefusal("transaction_failed", "This transaction failed: nothing was paid");
  const enough = listIncoming(payment.transfers, payTo).filter(({ amount }) => amount >= PRICE);
  if (enough.length === 0) {
    return buildRefusal(
      "no_matching_transfer",
      `This transaction did not move ${PRICE_SHOWN} USDC or more to this service's address`,
    );
  }
  const signer = await findSigner(proof, order, payTo, enough);
  if (signer === "stranger") {
    return buildRefusal("invalid_payer_signature", "The payer did not sign this transaction, user and token");
  }
  const proven = signer !== null;
  const age = (await readHead()).time - payment.block.time;
  if (age > (proven ? DAY : HOUR))
    return buildRefusal("payment_expired", "This payment is too old to buy a report");
  const candidates = enough
    .filter(({ from }) => !proven || from === signer)
    .map(({ position, from, amount, authorization }) => ({
      txHash: proof.txHash,
      position,
      from,
      amount: amount.toString(),
      ...(authorization === undefined ? {} : { authorization }),
    }));
  return { kind: "transfers", candidates, proven };
}

/** No trouble of a node ends the wait for money that may have moved, before its deadline. */
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

/** The payer who has signed; `stranger` if the proof's signature is none of theirs. */
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
