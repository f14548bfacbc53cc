import { encodeFunctionData, erc20Abi, isAddressEqual, type Address } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { readAccount } from "../../providers/chain/accounts";
import { prepareTransaction, type Preparation, type Transaction } from "../../providers/chain/preparation";
import type { Read } from "../../providers/chain/accounts";
import { asHex, storedAddress } from "../model";
import type { Request } from "../tables";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import type { Order } from "./model";
import { guaranteedBy } from "./quotes";

/** The calls that orders are, the check that every signature passes (`mayBeSigned`), and what their wallets can pay for. For actions. */

/** The wallet that pays: of an order, or of a rehearsal. */
export type Payer = Pick<Order, "userId" | "walletId" | "address">;

/** A call that the wallet can pay for. */
export type Affordable = {
  call: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** The most that the network may take for it, in wei: its gas, and twice the current fee for its L1 data. */
  mostFee: bigint;
};

/**
 * The most gas for one transaction: a recipient's or a token's own code decides how much a transfer burns. An ERC-20
 * transfer takes some 60,000 gas, one to a contract wallet some 100,000, a swap over several pools up to two million.
 */
const MOST_GAS = {
  send: 250_000n,
  approve: 150_000n,
  swap: 3_000_000n,
  settlement: 300_000n,
  anchor: 100_000n,
} as const;

export const GAS_OF_NOTHING = 21_000n;
/** The L1 fee follows the L1's own fees: keep twice the current one. */
export const L1_FEE_MARGIN = 2n;
/** How much higher the fees of a replacement are. */
const RAISED = (fee: bigint) => (fee * 125n) / 100n;

export const PRICE_MOVED = "The price has moved since it was approved: nothing was signed";
const OTHER = "The transaction is not what was ordered: nothing was signed";

/** Room for the state to change between the estimate and the block. */
export function gasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

export function transfer(token: Symbol, to: Address, amount: bigint): Transaction {
  const { address } = TOKENS[token];
  if (address === null) return { to, data: "0x", value: amount };
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] });
  return { to: address, data, value: 0n };
}

export function approval(token: Symbol, amount: bigint): Transaction {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, amount] });
  return { to: swapAddress(token), data, value: 0n };
}

/** A transaction that moves nothing. */
export function nothingFrom(address: Address): Transaction {
  return { to: address, data: "0x", value: 0n };
}

/**
 * The signer's check of the exact bytes, once per signature: what is ordered, and nothing else.
 * @param least The guaranteed minimum that a swap's owner will see.
 * @throws AppError `internal` for our own mistakes; `upstream` if the price has moved below what was approved.
 */
export function mayBeSigned(
  { address, request, minBuyAmount }: Pick<Order, "address" | "request" | "minBuyAmount">,
  call: Transaction,
  least: bigint | undefined,
): void {
  const owner = storedAddress(address);
  if (isSame(call, nothingFrom(owner)) || isOrdered(request, call, owner, least)) {
    if (minBuyAmount !== undefined && least !== undefined && least < BigInt(minBuyAmount))
      throw new AppError("upstream", PRICE_MOVED);
    return;
  }
  throw new AppError("internal", OTHER);
}

function isOrdered(request: Request, call: Transaction, owner: Address, least: bigint | undefined): boolean {
  switch (request.kind) {
    case "send":
      return isSame(call, transfer(request.token, storedAddress(request.toAddress), BigInt(request.amount)));
    case "swap": {
      // Also the approval that it needs first: of exactly the sold amount, or of zero, where a token wants that before.
      const approvals = [0n, BigInt(request.amount)].map((amount) => approval(request.fromToken, amount));
      if (request.fromToken !== "ETH" && approvals.some((one) => isSame(call, one))) return true;
      const guaranteed = guaranteedBy(call, request, owner);
      return guaranteed !== null && least !== undefined && guaranteed >= least;
    }
    case "settlement":
    case "anchor":
      return isSame(call, serviceCall(request, owner));
  }
}

function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}

export function serviceCall(
  request: Extract<Request, { kind: "settlement" | "anchor" }>,
  own: Address,
): Transaction {
  const to = request.kind === "settlement" ? storedAddress(request.to) : own;
  return { to, data: asHex(request.data), value: 0n };
}

type Cost = {
  kind: keyof typeof MOST_GAS;
  /** What is spent of the chain's own coin besides fees, or of an ERC-20. */
  spent: { token: Symbol; amount: bigint };
  /** The gas that a quote states, if it exceeds the chain's estimate. */
  wantedGas?: bigint;
  /** The assumed gas, if the chain cannot estimate it because a rehearsal has no signature. */
  assumedGas?: bigint;
  /** Calls to make beside the preparation's. */
  beside?: readonly Read[];
};

/**
 * Everything that the transaction needs from the chain, once the wallet is known to hold enough.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function affordable(
  ctx: ActionCtx,
  payer: Payer,
  call: Transaction,
  { kind, spent, wantedGas = 0n, assumedGas, beside }: Cost,
): Promise<Affordable> {
  const preparation = await prepareTransaction(
    storedAddress(payer.address),
    call,
    TOKENS[spent.token].address,
    beside,
  );
  const { native, token, fees, l1Fee } = preparation;
  const isNative = TOKENS[spent.token].address === null;
  const balance = isNative ? native : token;
  if (balance < spent.amount) await refuseFor(ctx, payer, spent.token, spent.amount, balance);
  const gas = gasOf(preparation, wantedGas, assumedGas);
  if (gas > MOST_GAS[kind]) {
    throw new AppError(
      "invalid_request",
      `The transaction would take up to ${gas} gas, and a transaction of this kind (${kind}) may take ` +
        `at most ${MOST_GAS[kind]}: nothing was signed`,
    );
  }
  const mostFee = gas * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  // What was signed and cannot be mined is replaced by an empty transaction, which costs a fee as well.
  const reserve = GAS_OF_NOTHING * RAISED(fees.maxFeePerGas);
  const kept = mostFee > reserve ? mostFee : reserve;
  const needed = kept + (isNative ? spent.amount : 0n);
  if (native < needed) {
    const hint = await otherWalletHint(ctx, payer, "ETH", needed);
    throw new AppError(
      "invalid_request",
      `Insufficient ETH for the network fee: ${formatUnits(needed, 18)} needed in all (fee up to ` +
        `${formatUnits(kept, 18)}), the wallet holds ${formatUnits(native, 18)}, ` +
        `${formatUnits(needed - native, 18)} is missing${hint}`,
    );
  }
  if (mostFee > MOST_FEE) throw tooDear(mostFee, MOST_FEE);
  return { call, preparation, gas, mostFee };
}

/** @throws AppError `invalid_request` if the call would revert. */
function gasOf({ gas }: Preparation, wanted: bigint, assumed: bigint | undefined): bigint {
  if (assumed !== undefined) return gasLimit(assumed);
  if (gas.kind === "reverts")
    throw new AppError("invalid_request", `The transaction would fail: ${gas.name}`);
  // A quote may state more gas than the estimate, up to three times as much.
  const most = gas.gas * 3n;
  return gasLimit(wanted <= gas.gas ? gas.gas : wanted < most ? wanted : most);
}

/** The refusal of a transaction for which the network could take more than is allowed; in wei. */
export function tooDear(fee: bigint, most: bigint): AppError {
  return new AppError(
    "upstream",
    `The network fee could reach ${formatUnits(fee, 18)} ETH, and at most ${formatUnits(most, 18)} ETH are ` +
      "allowed for a transaction: nothing was signed",
  );
}

/** Ends a request for which the wallet holds too little. @throws AppError `invalid_request`, always. */
export async function refuseFor(
  ctx: ActionCtx,
  payer: Payer,
  token: Symbol,
  needed: bigint,
  balance: bigint,
): Promise<never> {
  const shown = (amount: bigint) => formatUnits(amount, TOKENS[token].decimals);
  const hint = await otherWalletHint(ctx, payer, token, needed);
  throw new AppError(
    "invalid_request",
    `Insufficient ${token}: ${shown(needed)} needed, the wallet holds ${shown(balance)}, ` +
      `${shown(needed - balance)} is missing${hint}`,
  );
}

/** " The user's basic wallet holds 3 USDC: …" if that would be enough; otherwise nothing. A failure here is ignored. */
async function otherWalletHint(
  ctx: ActionCtx,
  { userId, walletId }: Payer,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  try {
    for (const kind of ["basic", "custody"] as const) {
      const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
      if (wallet === null || wallet.walletId === walletId) continue;
      const { address, decimals } = TOKENS[token];
      const tokens = address === null ? [] : [address];
      const balances = await readAccount(storedAddress(wallet.address), tokens, []);
      const balance = address === null ? balances.native : (balances.tokens[0] ?? 0n);
      if (balance >= needed)
        return `. The user's ${kind} wallet ${wallet.address} holds ${formatUnits(balance, decimals)} ${token}: a send with from: "${kind}" spends it`;
    }
  } catch {
    return "";
  }
  return "";
}
