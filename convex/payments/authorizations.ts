import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../platform/outside/deadlines";
import { DAY, SECOND } from "../lib/time";
import { prepareTransaction } from "../providers/chain/accounts";
import { NotKnownYet, nodeRefusalError, untilKnown } from "../providers/chain/rpc";
import { buildAuthorizationCall, isSignedByPayer, readAuthorization } from "../providers/chain/usdc";
import { getServiceAddress } from "../wallets/custody/signatures";
import { parseStoredAddress } from "../wallets/model";
import { computeGasLimit } from "../wallets/orders/calls";
import type { PaymentAuthorization } from "./tables";
import { EXPIRED, PRICE, PRICE_SHOWN, buildRefusal, type Refusal } from "./terms";

/** Verifies a signed payment against the chain before the relayer or the facilitator executes it. */

/** Seconds that a settlement may take to be mined. */
const REMAINING_SECONDS = 6;
/** Gas limit of a settlement: contract wallets verify their own signatures at the relayer's expense. */
const MAX_GAS = 200_000n;
/** Retry-After for a payer whose money may be on its way. */
const SHORT_AGAIN_MS = 5 * SECOND;

const MISSIGNED = "invalid_exact_evm_payload_signature";
const SHORT = buildRefusal(
  "insufficient_funds",
  "The payer holds less USDC than the authorization is for: fund the wallet and send the same proof again",
  SHORT_AGAIN_MS,
);
const buildTooEarly = (againMs: number) =>
  buildRefusal(
    "invalid_exact_evm_payload_authorization_valid_after",
    "The authorization is not valid yet: send it again when it is",
    Math.max(SECOND, againMs),
  );

export type Feasibility =
  /** `balance`: the payer's, in digits. */
  | { kind: "unused"; balance: string }
  /** The nonce is used or cancelled: the transaction that used it has to be found. */
  | { kind: "used" }
  | Refusal;

/** A refusal by one node at one moment, which another node or the next block may not repeat. */
class NotFeasibleYet extends NotKnownYet {
  constructor(readonly refused: Refusal) {
    super("payment_required", refused.error);
  }
}

/**
 * Checks an authorization's terms, and simulates its settlement: the signature, the nonce, a pause and a blacklist
 * together. A used authorization is reported as used even if it has expired. A refusal is read again until a lagging node
 * must have caught up.
 * @throws AppError `upstream`; `internal` if the relayer cannot pay the gas.
 */
export function tryAuthorization(authorization: PaymentAuthorization): Promise<Feasibility> {
  return untilFeasible(authorization, () => tryOnce(authorization));
}

/** Checks everything about an authorization but the balance behind it. @throws AppError `upstream` */
export async function isSignedAndUnused(authorization: PaymentAuthorization): Promise<boolean> {
  const [feasibility, isSigned] = await Promise.all([
    untilFeasible(authorization, () => readOnce(authorization)),
    isSignedByPayer(authorization),
  ]);
  return feasibility.kind === "unused" && isSigned;
}

async function untilFeasible(
  authorization: PaymentAuthorization,
  poll: () => Promise<Feasibility>,
): Promise<Feasibility> {
  const refusal = checkTerms(authorization);
  if (refusal !== null) return refusal;
  const waits = AbortSignal.timeout(deadlines.lag);
  try {
    return await untilKnown(poll, (failure) => waits.aborted || isFinal(failure, authorization));
  } catch (error) {
    if (error instanceof NotFeasibleYet) return error.refused;
    throw error;
  }
}

function checkTerms({ to, value, validBefore }: PaymentAuthorization): Refusal | null {
  if (to !== getRequired("PLATFORM_WALLET_ADDRESS").toLowerCase()) {
    return buildRefusal(
      "invalid_exact_evm_payload_recipient_mismatch",
      "The authorization pays another address: sign one to the payTo of the terms",
    );
  }
  if (BigInt(value) < PRICE) {
    return buildRefusal(
      "invalid_exact_evm_payload_authorization_value",
      `The authorization is for less than ${PRICE_SHOWN} USDC: sign one for the price`,
    );
  }
  // The claim stays open until `validBefore`.
  if (toMs(validBefore) <= Date.now() + DAY) return null;
  return buildRefusal(
    EXPIRED.reason,
    "The authorization is valid for more than a day: sign one that ends sooner",
  );
}

const toMs = (seconds: string): number => Number(seconds) * SECOND;

/** Whether waiting cannot cure a failure: by this service's clock, or because a key's signature is wrong on every node. */
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

async function readOnce(authorization: PaymentAuthorization): Promise<Feasibility> {
  const { used, balance, at } = await readAuthorization(authorization);
  if (used) return { kind: "used" };
  const now = Math.max(Date.now(), Number(at) * SECOND);
  const early = toMs(authorization.validAfter) - now;
  if (early > 0) throw new NotFeasibleYet(buildTooEarly(early));
  if (toMs(authorization.validBefore) < now + REMAINING_SECONDS * SECOND) throw new NotFeasibleYet(EXPIRED);
  return { kind: "unused", balance: balance.toString() };
}

async function tryOnce(authorization: PaymentAuthorization): Promise<Feasibility> {
  const relayer = getServiceAddress("relayer");
  const [feasibility, { gas: estimate, native, fees, l1Fee }] = await Promise.all([
    readOnce(authorization),
    prepareTransaction(
      relayer ?? parseStoredAddress(authorization.to),
      buildAuthorizationCall(authorization),
      null,
    ),
  ]);
  if (feasibility.kind !== "unused") return feasibility;
  if (BigInt(feasibility.balance) < BigInt(authorization.value)) throw new NotFeasibleYet(SHORT);
  if (estimate.kind === "reverts") throw new NotFeasibleYet(explainRevert(estimate.reason));
  const gas = computeGasLimit(estimate.gas);
  if (gas > MAX_GAS)
    return buildRefusal(
      MISSIGNED,
      "The payer's wallet contract needs too much gas to verify its signature: pay by transfer and send its hash",
    );
  if (relayer !== null && native < gas * fees.maxFeePerGas + 2n * l1Fee) {
    log.error("payments.relayer out of gas", { relayer });
    throw new AppError(
      "internal",
      "The payment relayer cannot pay the network fee: nothing was moved. Pay by transfer and send its hash",
    );
  }
  return feasibility;
}

/** Revert reasons of the USDC contract, which public nodes pass on. */
const REVERTS: readonly [RegExp, Refusal][] = [
  // Nodes count pending transfers here, too.
  [/exceeds balance/i, SHORT],
  [/expired/i, EXPIRED],
  [/not yet valid/i, buildTooEarly(0)],
  [
    /signature|recover/i,
    buildRefusal(
      MISSIGNED,
      "The authorization was not signed by its payer: sign it with the wallet in `from`",
    ),
  ],
  // Other texts are the node's own, and say nothing about the payment.
  [
    /revert/i,
    buildRefusal(
      "transaction_failed",
      "The USDC contract refuses this authorization: pay from another wallet",
    ),
  ],
];

function explainRevert(text: string): Refusal {
  if (/used or canceled/i.test(text)) {
    throw new NotKnownYet("upstream", "The payment is on its way into the chain: send the same proof again");
  }
  const [, known] = REVERTS.find(([pattern]) => pattern.test(text)) ?? [];
  if (known === undefined) throw nodeRefusalError();
  return known;
}
