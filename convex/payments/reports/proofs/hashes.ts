import { hashMessage, keccak256, stringToBytes } from "viem";
import { USDC } from "../../../lib/money/base";
import { deadlines } from "../../../lib/outside/deadlines";
import { required } from "../../../lib/env";
import { DAY, HOUR, SECOND, sleep } from "../../../lib/time";
import type { LoggedTransfer } from "../../../providers/chain/receipts";
import { readPayment, signedBy, type MinedPayment } from "../../../providers/chain/usdc";
import { asAddress, asHex } from "../../../wallets/addresses";
import { PRICE, PRICE_SHOWN, refusal, type Refusal } from "../../terms";
import { isConfirmed } from "../../transfers";
import type { Candidate } from "../model";
import { proofText } from "./forms";
import type { Order, Proof } from "../tables";

/** Looks up transactions that have paid. For actions. */

/** Pause between two lookups of a transaction that is not mined yet. */
const PAUSE_MS = SECOND;
/** How old an unsigned payment may be: a hash, unlike a signature, does not say when it was meant. */
export const UNPROVEN_AGE_SECONDS = HOUR / SECOND;
export const PROVEN_AGE_SECONDS = DAY / SECOND;
/** Marks a hash lock after a `transfer`'s own calldata, since other suffixes are common. "paid" in ASCII. */
export const LOCK_TAG = "70616964";
/** The calldata of `transfer(address,uint256)`, in hex digits with its 0x. */
const TRANSFER_SELECTOR = "0xa9059cbb";
const TRANSFER_DIGITS = 2 + 2 * 68;
/** A shorter secret could be guessed from its hash on the chain. */
const MIN_SECRET = 16;

export const UNCONFIRMED = refusal(
  "payment_not_confirmed",
  "This payment has too few confirmations: send the same proof again shortly",
);
export const TOO_OLD = refusal("payment_expired", "This payment is too old to buy a report");

type HashProof = Extract<Proof, { kind: "hash" }>;

/**
 * The transfers of a transaction that can buy a report; waits for a transaction that nobody has seen yet.
 * @throws AppError `upstream`
 */
export async function candidatesOf(
  proof: HashProof,
  order: Order,
): Promise<{ kind: "candidates"; candidates: Candidate[] } | Refusal> {
  const payTo = required("PLATFORM_WALLET_ADDRESS").toLowerCase();
  const payment = await awaitPayment(proof.txHash);
  if (payment.kind === "missing") {
    return refusal(
      "payment_not_found",
      "The chain has no such transaction yet: send the same proof again shortly",
    );
  }
  if (!payment.succeeded) return refusal("transaction_failed", "This transaction failed: nothing was paid");
  const transfers = payment.transfers.filter(
    ({ from, to, amount }) => to === payTo && from !== payTo && amount >= PRICE,
  );
  const [first] = transfers;
  if (first === undefined) {
    return refusal(
      "no_matching_transfer",
      `This transaction did not move ${PRICE_SHOWN} USDC or more to this service's address`,
    );
  }
  if (!isConfirmed(payment)) return UNCONFIRMED;
  const signer = await signerOf(proof, order, payTo, transfers);
  if (signer === "stranger") {
    return refusal("invalid_payer_signature", "The payer did not sign this transaction, user and token");
  }
  const candidates = transfers.map(({ position, from, amount }) => ({
    transfer: { txHash: proof.txHash, position, from, amount: amount.toString() },
    proven: from === signer || opensLock(proof, payment, from),
  }));
  const young = candidates.filter(
    ({ proven }) => payment.ageSeconds <= (proven ? PROVEN_AGE_SECONDS : UNPROVEN_AGE_SECONDS),
  );
  if (young.length === 0) return TOO_OLD;
  return { kind: "candidates", candidates: young };
}

async function awaitPayment(txHash: string): Promise<Awaited<ReturnType<typeof readPayment>>> {
  const deadline = AbortSignal.timeout(deadlines.receipt);
  const unheardOf = AbortSignal.timeout(deadlines.unknownHash);
  for (;;) {
    const payment = await readPayment(asHex(txHash));
    if (payment.kind === "mined" || deadline.aborted) return payment;
    if (!payment.known && unheardOf.aborted) return payment;
    await sleep(PAUSE_MS);
  }
}

/** The payer who has signed; `stranger` if the proof's signature is none of theirs. */
async function signerOf(
  { txHash, signature }: HashProof,
  order: Order,
  payTo: string,
  transfers: readonly LoggedTransfer[],
): Promise<string | null> {
  if (signature === undefined) return null;
  const hash = hashMessage(proofText(txHash, payTo, order));
  // A batch can contain any number of payers; the caller is one of the first few.
  const payers = [...new Set(transfers.map(({ from }) => from))].slice(0, 5);
  for (const payer of payers) {
    if (await signedBy(asAddress(payer), hash, asHex(signature))) return payer;
  }
  return "stranger";
}

/** Whether the proof's requestId is the secret whose hash its payer appended to the transfer. */
function opensLock({ requestId }: HashProof, { sender, to, input }: MinedPayment, payer: string): boolean {
  if (requestId === undefined || requestId.length < MIN_SECRET) return false;
  if (sender !== payer || to !== USDC.toLowerCase() || !input.startsWith(TRANSFER_SELECTOR)) return false;
  const lock = LOCK_TAG + keccak256(stringToBytes(requestId)).slice(2);
  return input.slice(TRANSFER_DIGITS, TRANSFER_DIGITS + lock.length).toLowerCase() === lock;
}
