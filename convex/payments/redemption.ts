import { hashMessage, type Address } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { required } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/calls";
import { createPauses, DAY, HOUR, SECOND, sleep, within } from "../lib/time";
import { listingOf, unknownToken, unsureToken } from "../market/listing";
import { noAnswer } from "../providers/call";
import { incoming, readHead } from "../providers/chain/blocks";
import { prepareTransaction } from "../providers/chain/preparation";
import { refused, UPSTREAM } from "../providers/chain/rpc";
import { readTransaction } from "../providers/chain/transactions";
import {
  authorizationCall,
  findAuthorizationUse,
  readAuthorization,
  signedBy,
} from "../providers/chain/usdc";
import { serviceAddress } from "../wallets/custody/signatures";
import { asAddress } from "../wallets/model";
import { gasLimit } from "../wallets/orders/calls";
import { paidHeaders, settlesAuthorizations } from "./challenge";
import type { Claimed, SeenTransfers } from "./claims";
import type { ClaimTicket } from "./model";
import type { Standing } from "./progress";
import { proofText } from "./proofs";
import type { Authorization, HashProof, Order, Proof } from "./tables";
import { PRICE, PRICE_SHOWN, refusal, UNPAID_USE, type Refusal } from "./terms";

/** Redeems a proof for a report: checks with the chain what it pays, claims it, and waits for the report. */

const ROW_PAUSE_MS = 150;

/** `headers` say how it was paid. */
type Redeemed = {
  kind: "delivered";
  focus: string;
  result: NonNullable<Standing["result"]>;
  headers: Record<string, string>;
};

/** `shown`: `proofs.shownBy`. `keyHash`: the hash of the caller's key. */
type Wanted = { proof: Proof; order: Order; shown: string; keyHash?: string };

type Asked = { wanted: Wanted; named: string | undefined };

/**
 * Redeems a proof for an order, once; the same proof and order again join the work, or get the same report for an hour.
 * @param asked.named The order's `userId` as its caller names it, which the payer has signed.
 * @throws AppError `upstream` if the chain cannot be reached, `rate_limited` while the payer's other signed payments may
 * still take the balance that this one needs: nothing is claimed then. Of any code, with the payment's headers, if the
 * report has failed or is not finished: the payment is kept. For actions.
 */
export const redeem = counted(async (ctx, { wanted, named }: Asked): Promise<Redeemed | Refusal> => {
  const deadline = AbortSignal.timeout(deadlines.caller);
  const joined: Claimed | null = await ctx.runMutation(internal.payments.claims.join, wanted);
  // A slow chain holds no caller beyond the deadline; the next request joins a claim that is made after it.
  const claimed = joined ?? (await within(deadline, look(ctx, wanted, named)));
  if (claimed === null) throw noAnswer(UPSTREAM, "timeout");
  return claimed.kind === "refused" ? claimed : waitFor(ctx, claimed, wanted.shown, deadline);
});

/**
 * Looks a proof up on the chain, and claims it.
 * @throws AppError `not_found` if no source knows the order's token; nothing is claimed then.
 */
async function look(ctx: ActionCtx, requested: Wanted, named: string | undefined): Promise<Claimed> {
  const { proof, order } = requested;
  const wanted = { ...requested, order: { ...order, focus: await soldFocus(ctx, order.focus) } };
  // The payer has signed the token and the userId as requested.
  const signed = named === undefined ? order : { ...order, userId: named };
  if (proof.kind === "hash") return lookAtHash(ctx, wanted, proof, signed);
  if (!settlesAuthorizations()) {
    return refusal(
      "unsupported_scheme",
      "This service does not execute signed payments: pay first and send the transaction's hash",
    );
  }
  const seen = await tryAuthorization(proof.authorization, serviceAddress("relayer"));
  if (seen.kind === "refused") return seen;
  if (seen.kind === "used") return lookAtUsed(ctx, wanted, proof.authorization);
  return ctx.runMutation(internal.payments.claims.claim, { ...wanted, seen });
}

/** The focus of a report for sale: a token that cannot be checked at this moment is not sold. */
async function soldFocus(ctx: ActionCtx, token: string): Promise<string> {
  if (token === "") return "";
  const { kind, symbol } = await listingOf(ctx, token);
  if (kind === "known") return symbol;
  const unused = "The payment is not used.";
  if (kind === "unknown") throw new AppError("not_found", `${unknownToken(symbol)}. ${unused}`);
  throw new AppError("upstream", `${unsureToken(symbol)}. ${unused} Send the same proof again shortly.`);
}

async function lookAtHash(ctx: ActionCtx, wanted: Wanted, proof: HashProof, signed: Order): Promise<Claimed> {
  const seen = await candidatesOf(proof, signed);
  if (seen.kind === "refused") return seen;
  return ctx.runMutation(internal.payments.claims.claim, { ...wanted, proof, seen });
}

/**
 * An authorization that somebody else has executed. Everybody can read it from the chain by now, so it proves no more
 * than the hash of its transaction.
 */
async function lookAtUsed(ctx: ActionCtx, wanted: Wanted, authorization: Authorization): Promise<Claimed> {
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  let txHash = await findAuthorizationUse(authorization);
  // The node that shows its use may be ahead of the one that shows its logs.
  while (txHash === null && !unheardOf.aborted) {
    await sleep(PAUSE_MS);
    txHash = await findAuthorizationUse(authorization);
  }
  if (txHash === null) return UNPAID_USE;
  const found = await lookAtHash(ctx, wanted, { kind: "hash", txHash }, wanted.order);
  return found.kind === "refused" && found.reason === "no_matching_transfer" ? UNPAID_USE : found;
}

async function waitFor(
  ctx: ActionCtx,
  { claimId }: ClaimTicket,
  shown: string,
  deadline: AbortSignal,
): Promise<Redeemed | Refusal> {
  const pause = createPauses(ROW_PAUSE_MS);
  for (;;) {
    const now: Standing = await ctx.runQuery(internal.payments.progress.standing, { claimId, shown });
    if (now.refusal !== undefined) return now.refusal;
    const headers = now.paid === null ? {} : paidHeaders(now.paid);
    if (now.result !== undefined) return { kind: "delivered", focus: now.focus, result: now.result, headers };
    if (now.trouble !== undefined) throw new AppError(now.trouble.code, now.trouble.message, { headers });
    if (deadline.aborted) throw new AppError("upstream", LATE, { headers });
    await pause();
  }
}

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
async function candidatesOf(proof: HashProof, order: Order): Promise<SeenTransfers | Refusal> {
  const payTo = required("PLATFORM_WALLET_ADDRESS").toLowerCase();
  const payment = await awaitPayment(proof.txHash);
  if (payment.kind === "too large")
    throw new AppError("upstream", "The chain's answer on this transaction is too long to be read");
  if (payment.kind !== "mined") {
    return refusal(
      "payment_not_found",
      "The chain has no such transaction yet: send the same proof again shortly",
    );
  }
  if (!payment.succeeded) return refusal("transaction_failed", "This transaction failed: nothing was paid");
  const enough = incoming(payment.transfers, payTo).filter(({ amount }) => amount >= PRICE);
  if (enough.length === 0) {
    return refusal(
      "no_matching_transfer",
      `This transaction did not move ${PRICE_SHOWN} USDC or more to this service's address`,
    );
  }
  const signer = await signerOf(proof, order, payTo, enough);
  if (signer === "stranger") {
    return refusal("invalid_payer_signature", "The payer did not sign this transaction, user and token");
  }
  const proven = signer !== null;
  const age = (await readHead()).time - payment.block.time;
  if (age > (proven ? DAY : HOUR))
    return refusal("payment_expired", "This payment is too old to buy a report");
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
      if (deadline.aborted || failureOf(error)?.code !== "upstream") throw error;
    }
    await sleep(PAUSE_MS);
  }
}

/** The payer who has signed; `stranger` if the proof's signature is none of theirs. */
async function signerOf(
  { txHash, signature }: HashProof,
  order: Order,
  payTo: string,
  transfers: readonly { from: string }[],
): Promise<string | null> {
  if (signature === undefined) return null;
  const hash = hashMessage(proofText(txHash, payTo, order));
  const payers = [...new Set(transfers.map(({ from }) => from))].slice(0, PAYERS_TRIED);
  for (const payer of payers) {
    if (await signedBy(payer, hash, signature)) return payer;
  }
  return "stranger";
}

/** A settlement takes a moment to be mined, in seconds. */
const REMAINING_SECONDS = 6n;
/** The most gas of a settlement: contract wallets check their own signatures, at the relayer's cost. */
const MAX_GAS = 200_000n;

const MISSIGNED = "invalid_exact_evm_payload_signature";
const TOO_EARLY = refusal(
  "invalid_exact_evm_payload_authorization_valid_after",
  "The authorization is not valid yet",
);
const SHORT = refusal("insufficient_funds", "The payer holds less USDC than the authorization is for");
const EXPIRED = refusal(
  "invalid_exact_evm_payload_authorization_valid_before",
  "The authorization has expired",
);

type Feasible =
  /** `balance`: its payer's, digits. */
  | { kind: "unused"; balance: string }
  /** Its nonce is used or cancelled: by whom and for what has to be looked up. */
  | { kind: "used" }
  | Refusal;

/**
 * Reads an authorization's terms, and tries its payment by a call: this checks the signature, the nonce, a pause and a
 * blacklist together. One that was used is not refused for its age.
 * @param relayer The account that pays the gas; `null` if a facilitator does.
 * @throws AppError `upstream`; `internal` if the relayer cannot pay the gas.
 */
export async function tryAuthorization(
  authorization: Authorization,
  relayer: Address | null,
): Promise<Feasible> {
  const value = BigInt(authorization.value);
  if (authorization.to !== required("PLATFORM_WALLET_ADDRESS").toLowerCase()) {
    return refusal(
      "invalid_exact_evm_payload_recipient_mismatch",
      "The authorization does not pay this service's address",
    );
  }
  if (value < PRICE) {
    return refusal(
      "invalid_exact_evm_payload_authorization_value",
      `The authorization is for less than ${PRICE_SHOWN} USDC`,
    );
  }
  const [{ used, balance, at }, { gas: estimate, native, fees, l1Fee }] = await Promise.all([
    readAuthorization(authorization),
    prepareTransaction(relayer ?? asAddress(authorization.to), authorizationCall(authorization), null),
  ]);
  if (used) return { kind: "used" };
  const here = BigInt(Math.floor(Date.now() / SECOND));
  const now = here > at ? here : at;
  if (BigInt(authorization.validAfter) > now) return TOO_EARLY;
  if (BigInt(authorization.validBefore) < now + REMAINING_SECONDS) return EXPIRED;
  if (balance < value) return SHORT;
  if (estimate.kind === "reverts") return refusalOfRevert(estimate.reason);
  const gas = gasLimit(estimate.gas);
  if (gas > MAX_GAS) return refusal(MISSIGNED, "The payer's wallet takes too much gas to check");
  if (relayer !== null && native < gas * fees.maxFeePerGas + 2n * l1Fee) {
    log.error("payments.relayer out of gas", { relayer });
    throw new AppError("internal", "The payment relayer cannot pay the network fee: nothing was moved");
  }
  return { kind: "unused", balance: balance.toString() };
}

/** USDC's own words, which public nodes pass on. */
const REVERTS: readonly [RegExp, Refusal][] = [
  // Also for what is on its way into the chain.
  [/exceeds balance/i, SHORT],
  [/expired/i, EXPIRED],
  [/not yet valid/i, TOO_EARLY],
  [/signature|recover/i, refusal(MISSIGNED, "The authorization was not signed by its payer")],
  // A node may refuse for reasons of its own, which say nothing about the payment.
  [/revert/i, refusal("transaction_failed", "USDC's contract refuses this authorization")],
];

function refusalOfRevert(text: string): Refusal {
  if (/used or canceled/i.test(text)) {
    throw new AppError("upstream", "The payment is on its way into the chain: send the same proof again");
  }
  const [, known] = REVERTS.find(([pattern]) => pattern.test(text)) ?? [];
  if (known === undefined) throw refused();
  return known;
}
