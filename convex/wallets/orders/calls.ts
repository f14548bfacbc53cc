import {
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  isAddressEqual,
  parseAbi,
  size,
  slice,
  type Address,
  type Hex,
} from "viem";
import { AppError } from "../../lib/errors";
import { BPS } from "../../lib/money/amounts";
import { CHAIN_ID } from "../../lib/money/base";
import type { Transaction } from "../../providers/chain/preparation";
import type { Quote } from "../../providers/swap";
import type { TypedData } from "../custody/signatures";
import { asHex, storedAddress } from "../model";
import type { Request } from "../tables";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import type { Order } from "./model";

/** The calls that orders are, and the checks of quotes and calls before anything is signed. A quote is not trusted. Pure. */

export type SwapRequest = Extract<Request, { kind: "swap" }>;
type Sides = Pick<SwapRequest, "fromToken" | "toToken" | "amount">;

export const PRICE_MOVED = "The price has moved since it was approved: nothing was signed";
const OTHER = "The transaction is not what was ordered: nothing was signed";
const SUSPECT = "The swap provider sent a quote that does not match the request: nothing was signed";
const UNGUARANTEED =
  "The swap provider's call does not guarantee this wallet what was ordered: nothing was signed";
const WORSE = "The quote is worse than the market price allows: try a smaller amount or a larger slippage";

/** No real quote has a permit that is valid for longer. */
const LONGEST_PERMIT_SECONDS = 1_800n;

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

export function serviceCall(
  request: Extract<Request, { kind: "settlement" | "anchor" }>,
  own: Address,
): Transaction {
  const to = request.kind === "settlement" ? storedAddress(request.to) : own;
  return { to, data: asHex(request.data), value: 0n };
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
  if (!isSame(call, nothingFrom(owner)) && !isOrdered(request, call, owner, least))
    throw new AppError("internal", OTHER);
  if (minBuyAmount !== undefined && least !== undefined && least < BigInt(minBuyAmount))
    throw new AppError("upstream", PRICE_MOVED);
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

export function isSame(call: Transaction, ordered: Transaction): boolean {
  const { to, data, value } = call;
  return isAddressEqual(to, ordered.to) && data === ordered.data && value === ordered.value;
}

/**
 * @param owner The swap's wallet.
 * @returns The least that the chain guarantees the wallet.
 * @throws AppError `upstream` if the quote would have the wallet sign or pay something else than was ordered, or if its
 * call does not guarantee what the quote says.
 */
export function checkQuote(quote: Quote, swap: SwapRequest, owner: Address, nowMs: number): bigint {
  const amount = BigInt(swap.amount);
  const isNative = TOKENS[swap.fromToken].address === null;
  const needsPermit = !isNative && !isWrapping(swap);
  const lowest = (quote.buyAmount * (BPS - BigInt(swap.slippageBps))) / BPS;
  const spender = quote.issues.allowance?.spender;
  const isSound =
    isAddressEqual(quote.sellToken, swapAddress(swap.fromToken)) &&
    isAddressEqual(quote.buyToken, swapAddress(swap.toToken)) &&
    quote.sellAmount === amount &&
    // One unit for rounding.
    quote.minBuyAmount + 1n >= lowest &&
    quote.buyAmount > 0n &&
    quote.minBuyAmount > 0n &&
    needsPermit === Boolean(quote.permit2) &&
    (!quote.permit2 || isPermitOf(quote, quote.permit2.eip712, swap, nowMs)) &&
    (!isWrapping(swap) || quote.buyAmount === amount) &&
    (spender === undefined || isAddressEqual(spender, PERMIT2));
  if (!isSound) throw new AppError("upstream", SUSPECT);
  const least = guaranteedBy(quote.transaction, swap, owner);
  if (least === null || least < quote.minBuyAmount) throw new AppError("upstream", UNGUARANTEED);
  return least;
}

const wethAbi = parseAbi(["function deposit() payable", "function withdraw(uint256 wad)"]);

/** `execute((address recipient, address buyToken, uint256 minAmountOut) slippage, bytes[] actions, bytes32 zid)` */
const EXECUTE = "0x1fff991f";
const SLIPPAGE = [{ type: "address" }, { type: "address" }, { type: "uint256" }] as const;

/**
 * The least of the ordered token that a swap's call guarantees its wallet; `null` for a call that pays another amount,
 * or guarantees anything else. 0x's settler reverts, whatever its actions do, unless they have gained `minAmountOut` of
 * `buyToken` for it, and pays that to `recipient` (0x-settler, `SettlerBase._checkSlippageAndTransfer`); with both zero
 * it checks nothing. Wrapping uses WETH's own `deposit()` and `withdraw(amount)`.
 */
export function guaranteedBy({ to, data, value }: Transaction, swap: Sides, owner: Address): bigint | null {
  const amount = BigInt(swap.amount);
  if (value !== (TOKENS[swap.fromToken].address === null ? amount : 0n)) return null;
  if (isWrapping(swap)) return isPlainWrap(to, data, swap) ? amount : null;
  if (size(data) < 100 || slice(data, 0, 4).toLowerCase() !== EXECUTE) return null;
  // The three words stand at fixed places of the call, whatever else is in it.
  const words = slice(data, 4, 100);
  if (![0, 32].every((at) => /^0x0*$/.test(slice(words, at, at + 12)))) return null;
  const [recipient, buyToken, least] = decodeAbiParameters(SLIPPAGE, words);
  const isOrdered = isAddressEqual(recipient, owner) && isAddressEqual(buyToken, swapAddress(swap.toToken));
  return isOrdered && least > 0n ? least : null;
}

/** ETH and WETH are exchanged one to one, at the WETH contract itself. */
export function isWrapping({ fromToken, toToken }: Pick<Sides, "fromToken" | "toToken">): boolean {
  return (fromToken === "ETH" && toToken === "WETH") || (fromToken === "WETH" && toToken === "ETH");
}

function isPlainWrap(to: Address, data: Hex, { fromToken, amount }: Sides): boolean {
  const plain =
    fromToken === "ETH"
      ? encodeFunctionData({ abi: wethAbi, functionName: "deposit" })
      : encodeFunctionData({ abi: wethAbi, functionName: "withdraw", args: [BigInt(amount)] });
  return isAddressEqual(to, swapAddress("WETH")) && data.toLowerCase() === plain;
}

/** USD with 8 decimals, `null` without a live price. */
export type SidePrices = { from: bigint | null; to: bigint | null };

/** The values of the sold and the bought amount in one unit: USD with 8 + 36 decimals. `null` without both prices. */
function valuesOf(bought: bigint, swap: Sides, prices: SidePrices): { given: bigint; got: bigint } | null {
  if (prices.from === null || prices.to === null) return null;
  const scale = (symbol: Symbol) => 10n ** BigInt(18 - TOKENS[symbol].decimals);
  return {
    given: BigInt(swap.amount) * prices.from * scale(swap.fromToken),
    got: bought * prices.to * scale(swap.toToken),
  };
}

/** How much less than the sold amount `bought` is worth by the feeds, in whole basis points; `null` without both prices. */
export function costBps(bought: bigint, swap: Sides, prices: SidePrices): number | null {
  const values = valuesOf(bought, swap, prices);
  if (values === null || values.given === 0n) return null;
  // The last digit of an amount must not turn 14 into 15.
  return Math.round(Number(((values.given - values.got) * BPS * 100n) / values.given) / 100);
}

/**
 * Checks the guarantee of a swap's call against the price feeds.
 * @param least The least that the chain guarantees the wallet.
 * @param maxImpactBps How much worse than the feeds, besides the slippage, is still accepted.
 * @returns Whether it could be checked at all.
 * @throws AppError `invalid_request` if it is worse than slippage and impact allow.
 */
export function checkPrice(
  least: bigint,
  swap: SwapRequest,
  prices: SidePrices,
  maxImpactBps: bigint,
): boolean {
  if (isWrapping(swap)) return true;
  const values = valuesOf(least, swap, prices);
  if (values === null) return false;
  const tolerated = BigInt(swap.slippageBps) + maxImpactBps;
  const fair = tolerated >= BPS ? 0n : values.given * (BPS - tolerated);
  if (values.got * BPS < fair) throw new AppError("invalid_request", WORSE);
  return true;
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

export type Message = NonNullable<Quote["permit2"]>["eip712"]["message"];

/** The typed data of a permit whose message was checked. */
export function permitData({ permitted, spender, nonce, deadline }: Message): TypedData {
  const { token, amount } = permitted;
  return {
    domain: { name: "Permit2", chainId: CHAIN_ID, verifyingContract: PERMIT2 },
    types: TYPES,
    primaryType: "PermitTransferFrom",
    message: { permitted: { token, amount }, spender, nonce, deadline },
  };
}

/** Whether a permit lets the called contract take exactly the sold amount, and expires soon. */
function isPermitOf(
  quote: Quote,
  { domain, message }: NonNullable<Quote["permit2"]>["eip712"],
  swap: Sides,
  nowMs: number,
): boolean {
  const now = BigInt(Math.floor(nowMs / 1000));
  return (
    domain.chainId === CHAIN_ID &&
    isAddressEqual(domain.verifyingContract, PERMIT2) &&
    isSoldBy(message, swap) &&
    isAddressEqual(message.spender, quote.transaction.to) &&
    message.deadline > now &&
    message.deadline <= now + LONGEST_PERMIT_SECONDS
  );
}

/** Whether a permit is for exactly the token and amount that a swap sells. */
export function isSoldBy(
  { permitted }: Message,
  { fromToken, amount }: Pick<Sides, "fromToken" | "amount">,
): boolean {
  return isAddressEqual(permitted.token, swapAddress(fromToken)) && permitted.amount === BigInt(amount);
}
