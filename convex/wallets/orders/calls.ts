import { encodeFunctionData, erc20Abi, isAddressEqual, type Address } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { readAccount } from "../../providers/chain/accounts";
import { NotKnownYet } from "../../providers/chain/notKnownYet";
import {
  computeGasPrice,
  prepareTransaction,
  type Preparation,
  type Transaction,
} from "../../providers/chain/preparation";
import { requireHex, feeWords, requireStoredAddress, roundUp } from "../model";
import type { OrderRequest, ServiceRequest } from "../tables";
import { WALLET_TOKENS, type Symbol } from "../tokens";
import type { Order } from "./model";

/** The calls that orders are, and whether their wallets can pay for them. For actions. */

/** The wallet that pays: of an order, or of a rehearsal; and the price of one ether, in micro-USD. */
export type PayingWallet = Pick<Order, "userId" | "walletId" | "address" | "etherPrice">;

/** A call that the wallet can pay for. */
export type Next = {
  kind: "approve" | "call";
  call: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** The most that the network may take for it, in wei: its gas, and twice the current fee for its L1 data. */
  mostFee: bigint;
  /** What the network takes for it at the current fees, in wei. */
  usualFee: bigint;
};

type Send = Extract<OrderRequest, { kind: "send" }>;

/**
 * The most gas for one transaction: a recipient's or a token's own code decides how much a transfer burns. An ERC-20
 * transfer takes some 60,000 gas, one to a contract wallet some 100,000, a swap over several pools up to two million.
 */
const MOST_GAS = 300_000n;
const MOST_SWAP_GAS = 3_000_000n;

export const GAS_OF_NOTHING = 21_000n;
/** Of a token's transfer; one of ether takes less. */
export const USUAL_SEND_GAS = 60_000n;
/** The L1 fee follows the L1's own fees: keep twice the current one. */
export const L1_FEE_MARGIN = 2n;
/** How much higher the fees of a replacement are. */
const RAISED = (fee: bigint) => (fee * 125n) / 100n;

/** Room for the state to change between the estimate and the block. */
export function computeGasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

/** A send's call. */
export function transfer({ token, toAddress, amount }: Send): Transaction {
  const to = requireStoredAddress(toAddress);
  const { address } = WALLET_TOKENS[token];
  if (address === null) return { to, data: "0x", value: BigInt(amount) };
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, BigInt(amount)] });
  return { to: address, data, value: 0n };
}

/** A transaction that moves nothing. */
export function createEmptyTransaction(address: Address): Transaction {
  return { to: address, data: "0x", value: 0n };
}

export function buildServiceCall(request: ServiceRequest, own: Address): Transaction {
  const to = request.kind === "settlement" ? requireStoredAddress(request.to) : own;
  return { to, data: requireHex(request.data), value: 0n };
}

export function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}

type Cost = {
  kind: "send" | "approve" | "swap" | "service";
  /** What is spent of the chain's own coin besides fees, or of an ERC-20. */
  spent?: { token: Symbol; amount: bigint };
  /** Its gas, where the chain cannot estimate it: it has no signature, or follows a call that is not mined. */
  unsigned?: bigint;
  /** The gas of each call that follows it: nothing is signed unless the wallet can pay for all. */
  later?: readonly bigint[];
};

/**
 * Everything that the transaction needs from the chain, once the wallet is known to hold enough.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function requireAffordable(
  ctx: ActionCtx,
  payer: PayingWallet,
  call: Transaction,
  cost: Cost,
): Promise<Next> {
  const { kind, spent = { token: "ETH", amount: 0n }, later = [] } = cost;
  const { address } = WALLET_TOKENS[spent.token];
  const preparation = await prepareTransaction(requireStoredAddress(payer.address), call, address);
  const { native, token, fees, l1Fee } = preparation;
  await requireHeld(ctx, payer, spent, address === null ? native : token);
  const estimated = getGas(preparation, cost);
  const gas = computeGasLimit(estimated);
  const most = kind === "swap" ? MOST_SWAP_GAS : MOST_GAS;
  if (gas > most) {
    const what = `The transaction would take up to ${gas} gas, and may take at most ${most}`;
    throw new AppError("invalid_request", `${what}: nothing was signed`);
  }
  const mostFee = gas * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  // What was signed and cannot be mined is replaced by an empty transaction, which costs a fee as well.
  const reserve = GAS_OF_NOTHING * RAISED(fees.maxFeePerGas);
  const own = mostFee > reserve ? mostFee : reserve;
  const fee = later.reduce((sum, one) => sum + one * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN, own);
  const ether = address === null ? spent.amount : 0n;
  await requireHeld(ctx, payer, { token: "ETH", amount: ether + fee }, native, fee);
  if (mostFee > MOST_FEE) throw feeTooHighError(mostFee, MOST_FEE);
  const usualFee = estimated * computeGasPrice(fees) + l1Fee;
  return { kind: kind === "approve" ? "approve" : "call", call, preparation, gas, mostFee, usualFee };
}

/** @throws NotKnownYet `invalid_request` if the call would revert. */
function getGas({ gas }: Preparation, { unsigned }: Cost): bigint {
  if (unsigned !== undefined) return unsigned;
  if (gas.kind === "estimated") return gas.gas;
  throw new NotKnownYet("invalid_request", `The transaction would fail: ${gas.name}`);
}

/** The refusal of a transaction for which the network could take more than is allowed; in wei. */
export function feeTooHighError(fee: bigint, most: bigint): AppError {
  return new AppError(
    "upstream",
    `The network fee could reach ${formatUnits(fee, 18)} ETH, and at most ${formatUnits(most, 18)} ETH are ` +
      "allowed for a transaction: nothing was signed",
  );
}

/**
 * @param fee What of the needed amount is kept for the network.
 * @throws NotKnownYet `invalid_request` if the wallet holds too little.
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
  // A fee is an estimate: it is shown as what surely is enough.
  const most = fee === undefined ? needed : needed - fee + roundUp(fee);
  const missing = fee === undefined ? needed - held : roundUp(most - held);
  const what =
    fee === undefined
      ? `Insufficient ${token}: ${format(needed)} needed`
      : `Insufficient ETH for the network fee, at most ${feeWords(roundUp(fee), BigInt(payer.etherPrice))}: ${format(most)} needed in all`;
  const hint = await otherWalletHint(ctx, payer, token, needed).catch(() => "");
  const message = `${what}, the wallet holds ${format(held)}, ${format(missing)} is missing: send it to ${payer.address} on Base${hint}`;
  throw new NotKnownYet("invalid_request", message);
}

/** " The user's basic wallet holds 3 USDC: …" if that would be enough; otherwise nothing. */
async function otherWalletHint(
  ctx: ActionCtx,
  { userId, walletId }: PayingWallet,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, { userId, kind });
    if (wallet === null || wallet.walletId === walletId) continue;
    const { address, decimals } = WALLET_TOKENS[token];
    const held = await readAccount(
      requireStoredAddress(wallet.address),
      address === null ? [] : [address],
      [],
    );
    const balance = address === null ? held.native : (held.tokens[0] ?? 0n);
    if (balance >= needed)
      return `. The user's ${kind} wallet ${wallet.address} holds ${formatUnits(balance, decimals)} ${token}: a send with from: "${kind}" spends it`;
  }
  return "";
}
