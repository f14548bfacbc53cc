import { hashMessage, type Address } from "viem";
import { required } from "../lib/env";
import { AppError, failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { DAY, HOUR, SECOND, sleep } from "../lib/time";
import { incoming } from "../providers/chain/blocks";
import { prepareTransaction } from "../providers/chain/preparation";
import { refused } from "../providers/chain/rpc";
import { readPayment } from "../providers/chain/transactions";
import { authorizationCall, isWrapped, readAuthorization, signedBy } from "../providers/chain/usdc";
import { asAddress } from "../wallets/model";
import { gasLimit } from "../wallets/orders/calls";
import type { SeenTransfers } from "./claims";
import { proofText } from "./proofs";
import type { Authorization, HashProof, Order } from "./tables";
import { PRICE, PRICE_SHOWN, refusal, type Reason, type Refusal } from "./terms";

/** What the chain says of proofs: transactions that have paid, and signed payments that can be executed. For actions. */

/** Pause between two lookups of a transaction that is not mined yet. */
const PAUSE_MS = SECOND;
/** How old an unsigned payment may be: a hash, unlike a signature, does not say when it was meant. */
const UNPROVEN_AGE_SECONDS = HOUR / SECOND;
const PROVEN_AGE_SECONDS = DAY / SECOND;
/** Payers of one transaction whose signature is looked for: a batch can contain any number of them. */
const PAYERS_TRIED = 5;

/**
 * The transfers of a transaction that can buy a report; waits for a transaction that nobody has seen yet.
 * @throws AppError `upstream`
 */
export async function candidatesOf(proof: HashProof, order: Order): Promise<SeenTransfers | Refusal> {
  const payTo = required("PLATFORM_WALLET_ADDRESS").toLowerCase();
  const payment = await awaitPayment(proof.txHash);
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
  if (payment.ageSeconds > (proven ? PROVEN_AGE_SECONDS : UNPROVEN_AGE_SECONDS))
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
async function awaitPayment(txHash: string): Promise<Awaited<ReturnType<typeof readPayment>>> {
  const deadline = AbortSignal.timeout(deadlines.receipt);
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  for (;;) {
    try {
      const payment = await readPayment(txHash);
      if (payment.kind === "mined" || deadline.aborted) return payment;
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
const TOO_EARLY = [
  "invalid_exact_evm_payload_authorization_valid_after",
  "The authorization is not valid yet",
] as const;
const SHORT = ["insufficient_funds", "The payer holds less USDC than the authorization is for"] as const;
const EXPIRED = [
  "invalid_exact_evm_payload_authorization_valid_before",
  "The authorization has expired",
] as const;

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
  const [{ used, balance, isContract, at }, { gas: estimate, native, fees, l1Fee }] = await Promise.all([
    readAuthorization(authorization),
    prepareTransaction(relayer ?? asAddress(authorization.to), authorizationCall(authorization), null),
  ]);
  if (used) return { kind: "used" };
  const here = BigInt(Math.floor(Date.now() / SECOND));
  const now = here > at ? here : at;
  if (BigInt(authorization.validAfter) > now) return refusal(...TOO_EARLY);
  if (BigInt(authorization.validBefore) < now + REMAINING_SECONDS) return refusal(...EXPIRED);
  if (!isContract && isWrapped(authorization.signature)) {
    return refusal(MISSIGNED, "Signatures of wallets that are not deployed are not accepted");
  }
  if (balance < value) return refusal(...SHORT);
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
const REVERTS: readonly [RegExp, Reason, string][] = [
  // Also for what is on its way into the chain.
  [/exceeds balance/i, ...SHORT],
  [/expired/i, ...EXPIRED],
  [/not yet valid/i, ...TOO_EARLY],
  [/signature|recover/i, MISSIGNED, "The authorization was not signed by its payer"],
  // A node may refuse for reasons of its own, which say nothing about the payment.
  [/revert/i, "transaction_failed", "USDC's contract refuses this authorization"],
];

function refusalOfRevert(text: string): Refusal {
  if (/used or canceled/i.test(text)) {
    throw new AppError("upstream", "The payment is on its way into the chain: send the same proof again");
  }
  const known = REVERTS.find(([pattern]) => pattern.test(text));
  if (known === undefined) throw refused();
  return refusal(known[1], known[2]);
}
