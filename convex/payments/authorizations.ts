import type { Address } from "viem";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../platform/outside/deadlines";
import { DAY, SECOND } from "../lib/time";
import { NotKnownYet, untilKnown } from "../providers/chain/notKnownYet";
import { prepareTransaction } from "../providers/chain/preparation";
import { nodeRefusalError } from "../providers/chain/rpc";
import { buildAuthorizationCall, isSignedByPayer, readAuthorization } from "../providers/chain/usdc";
import { parseStoredAddress } from "../wallets/model";
import { computeGasLimit } from "../wallets/orders/calls";
import type { PaymentAuthorization } from "./tables";
import { PRICE, PRICE_SHOWN, buildRefusal, type Refusal } from "./terms";

/** Whether a payment that is only signed can be executed, before anything is signed for it. */

/** A settlement takes a moment to be mined, in seconds. */
const REMAINING_SECONDS = 6;
/** The most gas of a settlement: contract wallets check their own signatures, at the relayer's cost. */
const MAX_GAS = 200_000n;
/** When a payer whose money may be on its way should try again. */
const SHORT_AGAIN_MS = 5 * SECOND;

const MISSIGNED = "invalid_exact_evm_payload_signature";
const SHORT = buildRefusal(
  "insufficient_funds",
  "The payer holds less USDC than the authorization is for",
  SHORT_AGAIN_MS,
);
const EXPIRED = buildRefusal(
  "invalid_exact_evm_payload_authorization_valid_before",
  "The authorization has expired",
);
const TOO_LONG = buildRefusal(
  "invalid_exact_evm_payload_authorization_valid_before",
  "The authorization is valid for more than a day: sign one that ends sooner",
);
const tooEarly = (againMs: number) =>
  buildRefusal(
    "invalid_exact_evm_payload_authorization_valid_after",
    "The authorization is not valid yet: send it again when it is",
    Math.max(SECOND, againMs),
  );

export type Feasible =
  /** `balance`: its payer's, digits. */
  | { kind: "unused"; balance: string }
  /** Its nonce is used or cancelled: by whom and for what has to be looked up. */
  | { kind: "used" }
  | Refusal;

/** What the chain refuses at one moment. Another node, or the next block, may not. */
class NotFeasibleYet extends NotKnownYet {
  constructor(readonly refused: Refusal) {
    super("payment_required", refused.error);
  }
}

/**
 * Reads an authorization's terms, and tries its payment by a call: this checks the signature, the nonce, a pause and a
 * blacklist together. One that was used is not refused for its age. What one node refuses is asked again until a lagging
 * one must have come up.
 * @param relayer The account that pays the gas; `null` if a facilitator does.
 * @throws AppError `upstream`; `internal` if the relayer cannot pay the gas.
 */
export function tryAuthorization(
  authorization: PaymentAuthorization,
  relayer: Address | null,
): Promise<Feasible> {
  return untilFeasible(authorization, () => tryOnce(authorization, relayer));
}

/** Whether an authorization is its payer's, unused, and fits in all but the money behind it. @throws AppError `upstream` */
export async function isGood(authorization: PaymentAuthorization): Promise<boolean> {
  const [seen, isSigned] = await Promise.all([
    untilFeasible(authorization, () => readOnce(authorization)),
    isSignedByPayer(authorization),
  ]);
  return seen.kind === "unused" && isSigned;
}

async function untilFeasible(
  authorization: PaymentAuthorization,
  look: () => Promise<Feasible>,
): Promise<Feasible> {
  const wrong = refusalOfTerms(authorization);
  if (wrong !== null) return wrong;
  const waits = AbortSignal.timeout(deadlines.lag);
  try {
    return await untilKnown(look, (failure) => waits.aborted || isFinal(failure, authorization));
  } catch (error) {
    if (error instanceof NotFeasibleYet) return error.refused;
    throw error;
  }
}

function refusalOfTerms({ to, value, validBefore }: PaymentAuthorization): Refusal | null {
  if (to !== getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase()) {
    return buildRefusal(
      "invalid_exact_evm_payload_recipient_mismatch",
      "The authorization does not pay this service's address",
    );
  }
  if (BigInt(value) < PRICE) {
    return buildRefusal(
      "invalid_exact_evm_payload_authorization_value",
      `The authorization is for less than ${PRICE_SHOWN} USDC`,
    );
  }
  // Its claim would stay open until then.
  return toMs(validBefore) > Date.now() + DAY ? TOO_LONG : null;
}

const toMs = (seconds: string): number => Number(seconds) * SECOND;

/** What waiting does not change, by this service's own clock, or because a key's signature needs no chain to be wrong. */
function isFinal(
  failure: NotKnownYet,
  { validAfter, validBefore, signature }: PaymentAuthorization,
): boolean {
  if (!(failure instanceof NotFeasibleYet)) return false;
  const isLater = toMs(validAfter) > Date.now() + deadlines.lag;
  const isOver = toMs(validBefore) < Date.now() + REMAINING_SECONDS * SECOND;
  const isKeys = signature.length === 2 + 2 * 65;
  return isLater || isOver || (failure.refused.reason === MISSIGNED && isKeys);
}

async function readOnce(authorization: PaymentAuthorization): Promise<Feasible> {
  const { used, balance, at } = await readAuthorization(authorization);
  if (used) return { kind: "used" };
  const now = Math.max(Date.now(), Number(at) * SECOND);
  const early = toMs(authorization.validAfter) - now;
  if (early > 0) throw new NotFeasibleYet(tooEarly(early));
  if (toMs(authorization.validBefore) < now + REMAINING_SECONDS * SECOND) throw new NotFeasibleYet(EXPIRED);
  return { kind: "unused", balance: balance.toString() };
}

async function tryOnce(authorization: PaymentAuthorization, relayer: Address | null): Promise<Feasible> {
  const [seen, { gas: estimate, native, fees, l1Fee }] = await Promise.all([
    readOnce(authorization),
    prepareTransaction(
      relayer ?? parseStoredAddress(authorization.to),
      buildAuthorizationCall(authorization),
      null,
    ),
  ]);
  if (seen.kind !== "unused") return seen;
  if (BigInt(seen.balance) < BigInt(authorization.value)) throw new NotFeasibleYet(SHORT);
  if (estimate.kind === "reverts") throw new NotFeasibleYet(refusalOfRevert(estimate.reason));
  const gas = computeGasLimit(estimate.gas);
  if (gas > MAX_GAS) return buildRefusal(MISSIGNED, "The payer's wallet takes too much gas to check");
  if (relayer !== null && native < gas * fees.maxFeePerGas + 2n * l1Fee) {
    log.error("payments.relayer out of gas", { relayer });
    throw new AppError("internal", "The payment relayer cannot pay the network fee: nothing was moved");
  }
  return seen;
}

/** USDC's own words, which public nodes pass on. */
const REVERTS: readonly [RegExp, Refusal][] = [
  // Also for what is on its way into the chain.
  [/exceeds balance/i, SHORT],
  [/expired/i, EXPIRED],
  [/not yet valid/i, tooEarly(0)],
  [/signature|recover/i, buildRefusal(MISSIGNED, "The authorization was not signed by its payer")],
  // A node may refuse for reasons of its own, which say nothing about the payment.
  [/revert/i, buildRefusal("transaction_failed", "USDC's contract refuses this authorization")],
];

function refusalOfRevert(text: string): Refusal {
  if (/used or canceled/i.test(text)) {
    throw new NotKnownYet("upstream", "The payment is on its way into the chain: send the same proof again");
  }
  const [, known] = REVERTS.find(([pattern]) => pattern.test(text)) ?? [];
  if (known === undefined) throw nodeRefusalError();
  return known;
}
