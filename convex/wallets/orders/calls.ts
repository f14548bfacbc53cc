import { encodeFunctionData, erc20Abi, isAddressEqual, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { NotKnownYet } from "../../providers/chain/rpc";
import {
  computeGasPrice,
  prepareTransaction,
  readMarket,
  type Preparation,
  type Transaction,
} from "../../providers/chain/accounts";
import { readHeld } from "../holdings";
import { requireHex, formatFee, formatTokenAmount, GAS_WAY, requireStoredAddress, roundUp } from "../model";
import type { OrderRequest, Payer } from "../tables";
import { WALLET_TOKENS, type Symbol } from "../tokens";
import { findGasOffer } from "./gas";
import type { Order } from "./model";

/** The calls that carry out orders, and the check that their wallets can pay for them. For actions. */

/** The paying wallet of an order or a rehearsal; `etherPrice`: the price of one ether in micro-USD. */
export type PayingWallet = Payer & Pick<Order, "userId" | "etherPrice">;

/** A call that the wallet can pay for. */
export type Next = {
  kind: "approve" | "call";
  call: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** The highest possible network fee, in wei: the gas limit, and twice the current L1 data fee. */
  mostFee: bigint;
  /** The network fee at current prices, in wei. */
  usualFee: bigint;
};

type Send = Extract<OrderRequest, { kind: "send" }>;

/**
 * Gas ceiling of one transaction, because the code of a recipient or a token decides how much a transfer burns. An
 * ERC-20 transfer takes some 60,000 gas, one to a contract wallet some 100,000, a swap over several pools up to two
 * million.
 */
const MOST_GAS = 300_000n;
const MOST_SWAP_GAS = 3_000_000n;

export const GAS_OF_NOTHING = 21_000n;
/** Gas of a token transfer; a transfer of ether takes less. */
export const USUAL_SEND_GAS = 60_000n;
/** The gas that 0x's API states for a swap whose gas it does not know. */
export const USUAL_SWAP_GAS = 300_000n;
/** The L1 data fee follows the L1's own fees: reserve twice the current one. */
export const L1_FEE_MARGIN = 2n;
/** A replacement's fees, raised by a quarter. */
const RAISED = (fee: bigint) => (fee * 125n) / 100n;

/** Gas limit: the estimate, and room for state changes before the block. */
export function computeGasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

/** The basis of the network fee: the bytes of a call, and its gas. */
export type PricedCall = { data: Hex; gas: bigint };

/** The network fees of a call that takes this gas, in wei: at current prices, and their ceiling. @throws AppError `upstream` */
export async function estimateFees({ data, gas }: PricedCall) {
  const { current, l1Fee } = await readMarket(data);
  const mostFee = computeGasLimit(gas) * current.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  return { usualFee: gas * computeGasPrice(current) + l1Fee, mostFee };
}

/** The call of a send. */
function buildTransfer({ token, toAddress, amount }: Send): Transaction {
  const to = requireStoredAddress(toAddress);
  const { address } = WALLET_TOKENS[token];
  if (address === null) return { to, data: "0x", value: BigInt(amount) };
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, BigInt(amount)] });
  return { to: address, data, value: 0n };
}

/** The call of a send with the gas that it usually takes, in the form of a swap's quote. */
export function buildUsualSend(send: Send) {
  const gas = send.token === "ETH" ? GAS_OF_NOTHING : USUAL_SEND_GAS;
  return { call: { data: buildTransfer(send).data, gas }, usualCostBps: null };
}

/** A transaction that moves nothing (to the sender itself), for cancelling a nonce. */
export function createEmptyTransaction(address: Address): Transaction {
  return { to: address, data: "0x", value: 0n };
}

/** The one call of a send, or of a service account's order; `null` for other orders. */
export function buildOnlyCall(request: OrderRequest, own: Address): Transaction | null {
  if (request.kind === "send") return buildTransfer(request);
  if (!("data" in request)) return null;
  const to = request.kind === "anchor" ? own : requireStoredAddress(request.to);
  const value = request.kind === "refuel" ? BigInt(request.value) : 0n;
  return { to, data: requireHex(request.data), value };
}

export function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}

type Cost = {
  kind: "call" | "approve" | "swap";
  /** The spent amount of ether (besides fees) or of an ERC-20. */
  spent?: { token: Symbol; amount: bigint };
  /** Assumed gas where the chain cannot estimate it: the signature is missing, or an earlier call is not mined yet. */
  unsigned?: bigint;
  /** Gas of each later call: nothing is signed unless the wallet can pay for all of them. */
  later?: readonly bigint[];
};

/**
 * Requires that the wallet can pay for a transaction, and returns everything that its signature needs.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function requireAffordable(
  ctx: ActionCtx,
  payer: PayingWallet,
  call: Transaction,
  cost: Cost,
): Promise<Next> {
  const { kind, spent = { token: "ETH", amount: 0n }, later = [], unsigned } = cost;
  const { address } = WALLET_TOKENS[spent.token];
  const preparation = await prepareTransaction(requireStoredAddress(payer.address), call, address);
  const { native, token, fees, l1Fee } = preparation;
  await requireHeld(ctx, payer, spent, address === null ? native : token);
  const needed = unsigned === undefined ? preparation.gas : { kind: "estimated" as const, gas: unsigned };
  if (needed.kind !== "estimated")
    throw new NotKnownYet("invalid_request", `The transaction would fail: ${needed.name}`);
  const gas = computeGasLimit(needed.gas);
  const most = kind === "swap" ? MOST_SWAP_GAS : MOST_GAS;
  if (gas > most) {
    const what = `The transaction would take up to ${gas} gas, and may take at most ${most}`;
    throw new AppError("invalid_request", `${what}: nothing was signed`);
  }
  const mostFee = gas * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  // Reserve the fee of a cancellation: a transaction that cannot be mined is replaced by an empty one.
  const reserve = GAS_OF_NOTHING * RAISED(fees.maxFeePerGas);
  const own = mostFee > reserve ? mostFee : reserve;
  const fee = later.reduce((sum, one) => sum + one * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN, own);
  const ether = address === null ? spent.amount : 0n;
  await requireHeld(ctx, payer, { token: "ETH", amount: ether + fee }, native, fee);
  if (mostFee > MOST_FEE) throw feeTooHighError(mostFee, MOST_FEE);
  const usualFee = needed.gas * computeGasPrice(fees) + l1Fee;
  return { kind: kind === "approve" ? "approve" : "call", call, preparation, gas, mostFee, usualFee };
}

/** The error for a transaction whose possible network fee exceeds its maximum (both in wei). */
export function feeTooHighError(fee: bigint, most: bigint): AppError {
  return new AppError(
    "upstream",
    `The network fee could reach ${formatUnits(fee, 18)} ETH, and at most ${formatUnits(most, 18)} ETH are ` +
      "allowed for a transaction: nothing was signed, so try again when fees have fallen",
  );
}

/**
 * @param fee The part of the needed amount that is reserved for the network.
 * @throws NotKnownYet `invalid_request` if the balance is too low.
 */
export async function requireHeld(
  ctx: ActionCtx,
  payer: PayingWallet,
  { token, amount: needed }: { token: Symbol; amount: bigint },
  held: bigint,
  fee?: bigint,
): Promise<void> {
  if (held >= needed) return;
  const format = (amount: bigint) => formatUnits(amount, WALLET_TOKENS[token].decimals);
  // The fee is an estimate: round it up, so that the stated amount is surely enough.
  const most = fee === undefined ? needed : needed - fee + roundUp(fee);
  const missing = fee === undefined ? needed - held : roundUp(most - held);
  const what =
    fee === undefined
      ? `Insufficient ${token}: ${format(needed)} needed`
      : `Insufficient ETH for the network fee, at most ${formatFee(roundUp(fee), BigInt(payer.etherPrice))}: ${format(most)} needed in all`;
  const hint = await describeOtherWallet(ctx, payer, token, needed).catch(() => "");
  const gasUsdc = fee === undefined ? null : await findGasOffer(ctx, payer, missing).catch(() => null);
  const way = gasUsdc === null ? hint : `${GAS_WAY}${hint}`;
  const message = `${what}, the wallet holds ${format(held)}, ${format(missing)} is missing: send it to ${payer.address} on Base${way}`;
  throw new NotKnownYet("invalid_request", message, gasUsdc === null ? {} : { body: { gasUsdc } });
}

/** " The user's basic wallet holds 3 USDC: …" if that balance would be enough; otherwise "". */
async function describeOtherWallet(
  ctx: ActionCtx,
  { userId, walletId }: PayingWallet,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, { userId, kind });
    if (wallet === null || wallet.walletId === walletId) continue;
    const balance = await readHeld({ address: wallet.address }, token);
    if (balance >= needed)
      return `. The user's ${kind} wallet ${wallet.address} holds ${formatTokenAmount(balance.toString(), token)}: a send with from: "${kind}" spends it`;
  }
  return "";
}
