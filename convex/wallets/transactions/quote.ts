import { encodeFunctionData, isAddressEqual, parseAbi, type Address } from "viem";
import { CHAIN_ID } from "../../lib/base";
import { AppError } from "../../lib/errors";
import { BPS } from "../../lib/money";
import type { Quote } from "../../providers/swap";
import type { TypedData } from "../custody/signing";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";

/** A quote is somebody else's word: what it must say before anything is signed, and the permit that is signed for it. Pure. */

type Swap = { fromToken: Symbol; toToken: Symbol; amount: bigint; slippageBps: number };

const wethAbi = parseAbi(["function deposit() payable", "function withdraw(uint256 amount)"]);

/** A permit that outlives this is no quote's. */
const LONGEST_PERMIT_SECONDS = 1_800n;

const SUSPECT = "The swap provider sent a quote that does not match the request: nothing was signed";

/** @throws AppError `upstream` when the quote would have the wallet sign or pay something else than was asked for. */
export function checkQuote(quote: Quote, swap: Swap, nowMs: number): void {
  const sellToken = swapAddress(swap.fromToken);
  const native = TOKENS[swap.fromToken].address === null;
  const lowest = (quote.buyAmount * (BPS - BigInt(swap.slippageBps))) / BPS;
  const spender = quote.issues.allowance?.spender;
  const sound =
    isAddressEqual(quote.sellToken, sellToken) &&
    isAddressEqual(quote.buyToken, swapAddress(swap.toToken)) &&
    quote.sellAmount === swap.amount &&
    // One unit for rounding.
    quote.minBuyAmount + 1n >= lowest &&
    quote.buyAmount > 0n &&
    quote.transaction.value === (native ? swap.amount : 0n) &&
    (quote.permit2
      ? isPermitOf(quote, quote.permit2.eip712, sellToken, swap.amount, nowMs)
      : native || isWrapping(swap)) &&
    (!isWrapping(swap) || isPlainWrap(quote, swap)) &&
    (spender === undefined || isAddressEqual(spender, PERMIT2));
  if (!sound) throw new AppError("upstream", SUSPECT);
}

/** Whether a permit lets the called contract take exactly what is sold, and that soon. */
function isPermitOf(
  quote: Quote,
  { domain, message }: NonNullable<Quote["permit2"]>["eip712"],
  sellToken: Address,
  amount: bigint,
  nowMs: number,
): boolean {
  const now = BigInt(Math.floor(nowMs / 1000));
  return (
    domain.chainId === CHAIN_ID &&
    isAddressEqual(domain.verifyingContract, PERMIT2) &&
    isAddressEqual(message.permitted.token, sellToken) &&
    message.permitted.amount === amount &&
    isAddressEqual(message.spender, quote.transaction.to) &&
    message.deadline > now &&
    message.deadline <= now + LONGEST_PERMIT_SECONDS
  );
}

/** ETH and WETH change into each other one to one, at the WETH contract itself. */
export function isWrapping({ fromToken, toToken }: Pick<Swap, "fromToken" | "toToken">): boolean {
  return (fromToken === "ETH" && toToken === "WETH") || (fromToken === "WETH" && toToken === "ETH");
}

/** One to one, at the WETH contract, by exactly its own `deposit()` or `withdraw(amount)`. */
function isPlainWrap({ transaction, buyAmount, permit2 }: Quote, { fromToken, amount }: Swap): boolean {
  const data =
    fromToken === "ETH"
      ? encodeFunctionData({ abi: wethAbi, functionName: "deposit" })
      : encodeFunctionData({ abi: wethAbi, functionName: "withdraw", args: [amount] });
  return (
    !permit2 &&
    isAddressEqual(transaction.to, swapAddress("WETH")) &&
    buyAmount === amount &&
    transaction.data.toLowerCase() === data
  );
}

/**
 * Holds the quote's guaranteed minimum against the price feeds.
 * @param prices USD with 8 decimals, `null` without a live price.
 * @param maxImpactBps How much worse than the feeds, besides the slippage, is still taken.
 * @returns Whether it could be checked at all.
 * @throws AppError `invalid_request` when the minimum is worse than slippage and impact allow.
 */
export function checkPrice(
  quote: Quote,
  swap: Swap,
  prices: { from: bigint | null; to: bigint | null },
  maxImpactBps: bigint,
): boolean {
  if (isWrapping(swap)) return true;
  if (prices.from === null || prices.to === null) return false;
  const from = TOKENS[swap.fromToken];
  const to = TOKENS[swap.toToken];
  // Both sides in USD with 8 + 36 decimals: the tokens' own decimals are brought to 18 each.
  const given = swap.amount * prices.from * 10n ** BigInt(18 - from.decimals);
  const got = quote.minBuyAmount * prices.to * 10n ** BigInt(18 - to.decimals);
  const tolerated = BigInt(swap.slippageBps) + maxImpactBps;
  const least = tolerated >= BPS ? 0n : given * (BPS - tolerated);
  if (got * BPS < least) {
    throw new AppError(
      "invalid_request",
      "The quote is worse than the market price allows: try a smaller amount or a larger slippage",
    );
  }
  return true;
}

/**
 * Permit2's SignatureTransfer: one transfer, of at most one amount of one token, by one spender, until a deadline. Source:
 * Permit2's own `PermitHash.sol`. A provider's types are never signed: they could say anything.
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

type Message = NonNullable<Quote["permit2"]>["eip712"]["message"];

/** What is signed for a permit whose message was checked. */
export function permitData({ permitted, spender, nonce, deadline }: Message): TypedData {
  const { token, amount } = permitted;
  return {
    domain: { name: "Permit2", chainId: CHAIN_ID, verifyingContract: PERMIT2 },
    types: TYPES,
    primaryType: "PermitTransferFrom",
    message: { permitted: { token, amount }, spender, nonce, deadline },
  };
}
