import {
  decodeAbiParameters,
  encodeFunctionData,
  isAddressEqual,
  parseAbi,
  size,
  slice,
  type Address,
} from "viem";
import { AppError } from "../../lib/errors";
import { WORSE_THAN_MARKET } from "../../lib/refusals";
import { BPS } from "../../lib/money/amounts";
import { CHAIN_ID } from "../../lib/money/base";
import type { Transaction } from "../../providers/chain/accounts";
import type { TypedData } from "../../providers/chain/usdc";
import type { SwapQuote } from "../../providers/swap";
import { PERMIT2, toSwapAddress, WALLET_TOKENS, type Symbol } from "../tokens";
import { isSame } from "./calls";
import type { OrderRequest } from "../tables";

/** The guarantees and costs of a quote. It is not trusted: its call, its permit and the price feeds decide. Pure. */

export type SwapRequest = Extract<OrderRequest, { kind: "swap" }>;
export type Sides = Pick<SwapRequest, "fromToken" | "toToken" | "amount">;
export type PermitMessage = NonNullable<SwapQuote["permit2"]>["eip712"]["message"];
/** In USD with 8 decimals, `null` without a live price. */
export type Prices = { from: bigint | null; to: bigint | null };

/** Longer than the validity of any genuine quote's permit. */
const LONGEST_PERMIT_SECONDS = 1_800n;

const UNGUARANTEED =
  "The swap provider's call does not guarantee this wallet what was ordered: nothing was signed, so try again later";

/**
 * Checks a quote by its call and the requested permit alone: the provider's claims count for nothing.
 * @param owner The swap's wallet.
 * @returns The minimum that the chain guarantees the wallet.
 * @throws AppError `upstream` if the call guarantees less than the slippage allows, or the permit covers anything else.
 */
export function checkQuote(quote: SwapQuote, swap: SwapRequest, owner: Address, nowMs: number): bigint {
  const { transaction, permit2, buyAmount } = quote;
  const least = decodeGuarantee(transaction, swap, owner);
  if (least === null) throw new AppError("upstream", UNGUARANTEED);
  const lowest = (buyAmount * (BPS - BigInt(swap.slippageBps))) / BPS;
  const isPermitted = !permit2 || isValidPermit(permit2.eip712.message, transaction.to, swap, nowMs);
  // One unit for rounding.
  if (least + 1n < lowest || !isPermitted) throw new AppError("upstream", UNGUARANTEED);
  return least;
}

const wethAbi = parseAbi(["function deposit() payable", "function withdraw(uint256 wad)"]);

/** `execute((address recipient, address buyToken, uint256 minAmountOut) slippage, bytes[] actions, bytes32 zid)` */
const EXECUTE = "0x1fff991f";
const SLIPPAGE = [{ type: "address" }, { type: "address" }, { type: "uint256" }] as const;

/**
 * The minimum of the bought token that a swap's call guarantees its wallet; `null` for a call that pays another amount,
 * or guarantees anything else. 0x's settler reverts, whatever its actions do, unless they have gained `minAmountOut` of
 * `buyToken` for it, and pays that to `recipient` (0x-settler, `SettlerBase._checkSlippageAndTransfer`); with both zero
 * it checks nothing. Wrapping uses WETH's own `deposit()` and `withdraw(amount)`.
 */
export function decodeGuarantee(call: Transaction, swap: Sides, owner: Address): bigint | null {
  const { data, value } = call;
  const amount = BigInt(swap.amount);
  if (isWrapping(swap)) return isSame(call, buildWrapping(swap)) ? amount : null;
  if (value !== (WALLET_TOKENS[swap.fromToken].address === null ? amount : 0n)) return null;
  if (size(data) < 100 || slice(data, 0, 4).toLowerCase() !== EXECUTE) return null;
  // The three words have fixed offsets in the call, whatever else it contains.
  const words = slice(data, 4, 100);
  if (![0, 32].every((at) => /^0x0*$/.test(slice(words, at, at + 12)))) return null;
  const [recipient, buyToken, least] = decodeAbiParameters(SLIPPAGE, words);
  const isOrdered = isAddressEqual(recipient, owner) && isAddressEqual(buyToken, toSwapAddress(swap.toToken));
  return isOrdered && least > 0n ? least : null;
}

/** ETH and WETH are exchanged one to one, at the WETH contract itself. */
export function isWrapping({ fromToken, toToken }: Pick<Sides, "fromToken" | "toToken">): boolean {
  return (fromToken === "ETH" && toToken === "WETH") || (fromToken === "WETH" && toToken === "ETH");
}

export function buildWrapping({ fromToken, amount }: Sides): Transaction {
  const to = toSwapAddress("WETH");
  if (fromToken === "ETH")
    return {
      to,
      data: encodeFunctionData({ abi: wethAbi, functionName: "deposit" }),
      value: BigInt(amount),
    };
  const data = encodeFunctionData({ abi: wethAbi, functionName: "withdraw", args: [BigInt(amount)] });
  return { to, data, value: 0n };
}

/**
 * Checks the guarantee of a swap's call against the price feeds.
 * @param least The minimum that the chain guarantees the wallet.
 * @param maxImpactBps Accepted loss against the feeds, besides the slippage.
 * @returns The loss against the sold amount, in whole basis points; `null` if a price is missing.
 * @throws AppError `invalid_request` if the loss exceeds slippage and impact.
 */
export function checkPrice(
  least: bigint,
  swap: SwapRequest,
  prices: Prices,
  maxImpactBps: bigint,
): number | null {
  const worth = compareWorth(least, swap, prices);
  const share = BPS - BigInt(swap.slippageBps) - maxImpactBps;
  if (worth !== null && worth.got * BPS < worth.given * share)
    throw new AppError("invalid_request", WORSE_THAN_MARKET);
  return computeCostBps(least, swap, prices);
}

/** The loss of a bought amount against the sold one, in whole basis points; `null` if a price is missing. */
export function computeCostBps(bought: bigint, swap: Sides, prices: Prices): number | null {
  if (isWrapping(swap)) return 0;
  const worth = compareWorth(bought, swap, prices);
  if (worth === null) return null;
  // Round, because the last digit of an amount must not turn 14 into 15.
  return Math.round(Number(((worth.given - worth.got) * BPS * 100n) / worth.given) / 100);
}

function compareWorth(bought: bigint, swap: Sides, { from, to }: Prices) {
  if (isWrapping(swap) || from === null || to === null) return null;
  const scale = (symbol: Symbol) => 10n ** BigInt(18 - WALLET_TOKENS[symbol].decimals);
  return {
    given: BigInt(swap.amount) * from * scale(swap.fromToken),
    got: bought * to * scale(swap.toToken),
  };
}

/** The worth of the sold amount in the bought token by the feeds, rounded down; `null` without both prices. */
export function computeFairAmount(swap: Sides, prices: Prices): bigint | null {
  if (isWrapping(swap)) return BigInt(swap.amount);
  const worth = compareWorth(1n, swap, prices);
  return worth === null ? null : worth.given / worth.got;
}

/**
 * Permit2's SignatureTransfer: one transfer, of at most one amount of one token, by one spender, until a deadline.
 * Source: Permit2's own `PermitHash.sol`. A provider's types are never signed: they could say anything.
 */
const TYPES = {
  PermitTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
};

/** The typed data of a checked permit message. */
export function buildPermitData({ permitted, spender, nonce, deadline }: PermitMessage): TypedData {
  const { token, amount } = permitted;
  return {
    domain: { name: "Permit2", chainId: CHAIN_ID, verifyingContract: PERMIT2 },
    types: TYPES,
    primaryType: "PermitTransferFrom",
    message: { permitted: { token, amount }, spender, nonce, deadline },
  };
}

/** Whether a permit lets the called contract take exactly the sold amount, and expires soon. */
function isValidPermit(message: PermitMessage, called: Address, swap: Sides, nowMs: number): boolean {
  const { spender, deadline } = message;
  const left = deadline - BigInt(Math.floor(nowMs / 1000));
  return (
    isSoldBy(message, swap) && isAddressEqual(spender, called) && left > 0n && left <= LONGEST_PERMIT_SECONDS
  );
}

/** Whether a permit covers exactly the sold token and amount. */
export function isSoldBy(
  { permitted }: PermitMessage,
  { fromToken, amount }: Pick<Sides, "fromToken" | "amount">,
): boolean {
  return isAddressEqual(permitted.token, toSwapAddress(fromToken)) && permitted.amount === BigInt(amount);
}
