import type { Address } from "viem";
import { deadlines } from "../../../lib/outside/deadlines";
import { required } from "../../../lib/env";
import { AppError } from "../../../lib/errors";
import { log } from "../../../lib/log";
import { microUsdOf } from "../../../lib/money/amounts";
import { FEED_DECIMALS, feedAddresses, livePrices } from "../../../prices/feeds";
import { readRounds } from "../../../providers/chain/accounts";
import { UPSTREAM } from "../../../providers/chain/rpc/client";
import { prepareTransaction, type Preparation } from "../../../providers/chain/preparation";
import type { LoggedTransfer } from "../../../providers/chain/receipts";
import { simulate } from "../../../providers/chain/simulation";
import {
  authorizationCall,
  readAuthorization,
  UNDEPLOYED_SUFFIX,
  type SignedAuthorization,
} from "../../../providers/chain/usdc";
import { asAddress, asHex } from "../../../wallets/addresses";
import { gasLimit } from "../../../wallets/transactions/terms/plan";
import { PRICE, PRICE_SHOWN, refusal, type Reason, type Refusal } from "../../terms";
import type { Transfer } from "../../tables";
import type { Authorization } from "../tables";

/** Checks whether a signed payment can be executed now. For actions. */

/** A settlement takes a moment to be mined, in seconds. */
const REMAINING_SECONDS = 6n;
/** The most of the relayer's gas that a contract wallet may spend on checking its own signature. */
const MAX_GAS = 300_000n;
/** How much of a payment the network may take, in percent. */
const SHARE_PERCENT = 75n;
/** The same without a live price of ether, in wei. */
const UNPRICED_COST = 5n * 10n ** 14n;

const MISSIGNED = "invalid_exact_evm_payload_signature";
const TOO_EARLY = [
  "invalid_exact_evm_payload_authorization_valid_after",
  "The authorization is not valid yet",
] as const;
export const TOO_LATE = "invalid_exact_evm_payload_authorization_valid_before";
const EXPIRED = [TOO_LATE, "The authorization has expired"] as const;
const SHORT = ["insufficient_funds", "The payer holds less USDC than the authorization is for"] as const;

/** Why an authorization is refused by its own terms; `null` if they are in order. */
export function refusalOfTerms(
  { to, value, validAfter, validBefore, signature }: Authorization,
  payTo: string,
  nowSeconds: bigint,
): Refusal | null {
  const grounds: [isSo: boolean, reason: Reason, error: string][] = [
    [
      to.toLowerCase() !== payTo.toLowerCase(),
      "invalid_exact_evm_payload_recipient_mismatch",
      "The authorization does not pay this service's address",
    ],
    [
      BigInt(value) < PRICE,
      "invalid_exact_evm_payload_authorization_value",
      `The authorization is for less than ${PRICE_SHOWN} USDC`,
    ],
    [BigInt(validAfter) > nowSeconds, ...TOO_EARLY],
    [BigInt(validBefore) < nowSeconds + REMAINING_SECONDS, ...EXPIRED],
    [
      signature.endsWith(UNDEPLOYED_SUFFIX),
      MISSIGNED,
      "Signatures of wallets that are not deployed are not accepted",
    ],
  ];
  const [ground] = grounds.filter(([isSo]) => isSo);
  return ground === undefined ? null : refusal(ground[1], ground[2]);
}

export function signedAuthorization(authorization: Authorization): SignedAuthorization {
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
  return {
    from: asAddress(from),
    to: asAddress(to),
    value: BigInt(value),
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce: asHex(nonce),
    signature: asHex(signature),
  };
}

export type Feasible =
  | { kind: "feasible"; preparation: Preparation; gas: bigint; balance: bigint; codeHash: string | null }
  /** Its nonce is used or cancelled: by whom and for what has to be looked up. */
  | { kind: "used" }
  | Refusal;

/**
 * Simulates the payment on the chain: this checks the signature, the nonce, the window, the balance, a pause and a
 * blacklist together.
 * @param relayer The account that pays the gas; `null` if a facilitator does.
 * @throws AppError `upstream`; `internal` if the relayer cannot pay the gas.
 */
export async function tryAuthorization(
  authorization: Authorization,
  relayer: Address | null,
): Promise<Feasible> {
  const signed = signedAuthorization(authorization);
  const [{ used, balance, codeHash }, preparation] = await Promise.all([
    readAuthorization(signed.from, signed.nonce),
    prepareTransaction(relayer ?? signed.to, authorizationCall(signed), null),
  ]);
  if (used) return { kind: "used" };
  if (preparation.gas.kind === "reverts") {
    return refusalOfRevert(preparation.gas.reason, balance < signed.value);
  }
  const gas = gasLimit(preparation.gas.gas);
  if (gas > MAX_GAS) {
    return refusal(MISSIGNED, "The payer's wallet takes too much gas to check");
  }
  if (relayer !== null && preparation.native < gas * preparation.fees.maxFeePerGas + 2n * preparation.l1Fee) {
    log.error("payments.relayer out of gas", { relayer });
    throw new AppError("internal", "The payment relayer cannot pay the network fee: nothing was moved");
  }
  if (relayer !== null) {
    const refused = await refusalAtPrice(relayer, signed, preparation, gas);
    if (refused !== null) return refused;
  }
  return { kind: "feasible", preparation, gas, balance, codeHash };
}

/**
 * Compares the cost of a settlement with its revenue, and simulates it once more exactly as it will be mined: a payer's
 * contract could recognise an estimate by its gas price of zero, and fail when the relayer pays.
 * @throws AppError `upstream`
 */
async function refusalAtPrice(
  relayer: Address,
  signed: SignedAuthorization,
  preparation: Preparation,
  gas: bigint,
): Promise<Refusal | null> {
  const { fees, market } = preparation;
  const offer = { gas, maxFeePerGas: fees.maxFeePerGas, baseFee: market.baseFee };
  const [worthwhile, tried] = await Promise.all([
    isWorthwhile(preparation),
    simulate(relayer, authorizationCall(signed), offer, []),
  ]);
  if (!worthwhile) {
    throw new AppError(
      "upstream",
      "The network fee is too high at the moment to execute a signed payment: nothing was moved",
    );
  }
  if (tried.kind === "done") return null;
  if (USED.test(tried.reason)) throw new AppError("upstream", ON_ITS_WAY);
  // Its money may have left since the estimate. USDC's answer about the signature comes from the wallet itself.
  const plain = REVERTS.find(([pattern, reason]) => reason !== MISSIGNED && pattern.test(tried.reason));
  if (plain !== undefined) return refusal(plain[1], plain[2]);
  return refusal(MISSIGNED, "The payer's wallet accepts this payment only in simulations: nothing was moved");
}

const USED = /used or canceled/i;
const ON_ITS_WAY = "The payment is on its way into the chain: send the same proof again";

/** USDC's own words, which public nodes pass on. */
const REVERTS: readonly [RegExp, Reason, string][] = [
  [/exceeds balance/i, ...SHORT],
  [/expired/i, ...EXPIRED],
  [/not yet valid/i, ...TOO_EARLY],
  [/signature|recover/i, MISSIGNED, "The authorization was not signed by its payer"],
];

function refusalOfRevert(text: string, short: boolean): Refusal {
  if (USED.test(text)) throw new AppError("upstream", ON_ITS_WAY);
  for (const [pattern, reason, error] of REVERTS) {
    if (pattern.test(text)) return refusal(reason, error);
  }
  // A node may refuse for reasons of its own, which say nothing about the payment.
  if (!/revert/i.test(text)) throw new AppError("upstream", `${UPSTREAM} refused a request`);
  if (short) return refusal(...SHORT);
  return refusal("transaction_failed", "USDC's contract refuses this authorization");
}

/** Whether the current network fee leaves enough of a payment. @throws AppError `upstream` if the chain cannot be reached. */
async function isWorthwhile({ gas, market, l1Fee }: Preparation): Promise<boolean> {
  if (gas.kind === "reverts") return false;
  const cost = gas.gas * (market.baseFee + market.tip) + l1Fee;
  const rounds = await readRounds(feedAddresses(["ETH"]), deadlines.price);
  const price = livePrices(["ETH"], rounds, Date.now()).get("ETH");
  if (price === undefined) return cost <= UNPRICED_COST;
  return microUsdOf(cost, 18, price, FEED_DECIMALS) * 100n <= PRICE * SHARE_PERCENT;
}

/** The transfers of a transaction that may belong to an authorization. */
export function transfersFor(
  transfers: readonly LoggedTransfer[],
  { from, value }: Authorization,
  txHash: string,
): Transfer[] {
  const payTo = required("PLATFORM_WALLET_ADDRESS").toLowerCase();
  return transfers
    .filter((one) => one.from === from && one.to === payTo && one.amount === BigInt(value))
    .map(({ position }) => ({ txHash, position, from, amount: value }));
}
