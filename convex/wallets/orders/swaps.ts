import {
  concat,
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  isAddressEqual,
  numberToHex,
  parseTransaction,
  parseAbi,
  size,
  slice,
  type Address,
  type Hex,
} from "viem";
import type { ActionCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { PRICE_MOVED, WORSE_THAN_MARKET } from "../../lib/refusals";
import { BPS } from "../../lib/money/amounts";
import { CHAIN_ID } from "../../lib/money/base";
import { listFeedAddresses, computeLivePrices } from "../../market/feeds";
import {
  isGenuineSettler,
  readAccount,
  readAllowance,
  readRounds,
  type Transaction,
} from "../../providers/chain/accounts";
import { NotKnownYet } from "../../providers/chain/rpc";
import { requestQuote, type SwapQuote } from "../../providers/swap";
import { deadlines } from "../../platform/outside/deadlines";
import type { TypedData } from "../../providers/chain/usdc";
import { requireHex, requireStoredAddress } from "../model";
import type { OrderRequest } from "../tables";
import { PERMIT2, toSwapAddress, WALLET_TOKENS, type Symbol } from "../tokens";
import {
  requireAffordable,
  isSame,
  requireHeld,
  USUAL_SWAP_GAS,
  type Next,
  type PayingWallet,
  type PricedCall,
} from "./calls";
import type { Order } from "./model";

/** Swaps: their quotes, which are not trusted, and every check of a quote before a signature. */

export type SwapRequest = Extract<OrderRequest, { kind: "swap" }>;
type Sides = Pick<SwapRequest, "fromToken" | "toToken" | "amount">;
export type PermitMessage = NonNullable<SwapQuote["permit2"]>["eip712"]["message"];

/** A quote that was checked against its order, the price feeds and 0x's registry. */
export type Offer = {
  quote: SwapQuote;
  /** The minimum that the chain guarantees the wallet, in the bought token's smallest unit. */
  least: bigint;
  terms: NonNullable<Order["terms"]>;
  /**
   * Loss of the guaranteed minimum against the sold amount by the feeds, in basis points; `null` without both prices.
   */
  costBps: number | null;
  /** Loss of the quoted amount, in the same terms. */
  usualCostBps: number | null;
  /** Allowances that Permit2 needs first, one after another. */
  approvals: bigint[];
};

const USUAL_APPROVAL_GAS = 60_000n;
/** Stands in for the missing signature of a rehearsal, to price the call's data. */
const NO_SIGNATURE: Hex = `0x${"ff".repeat(65)}`;
/** Longer than the validity of any genuine quote's permit. */
const LONGEST_PERMIT_SECONDS = 1_800n;

const UNSEEN = "The chain RPC does not show the approval yet";
const UNGUARANTEED =
  "The swap provider's call does not guarantee this wallet what was ordered: nothing was signed, so try again later";
const UNPRICED = "There is no live price to check the quote against: nothing was swapped, so try again later";
const COUNTERFEIT =
  "The swap provider's quote calls a contract that is not its own, or is paused: nothing was signed, so try again later";

/**
 * The calls of a swap: the missing approvals, then the swap.
 * @param permit Signs the swap's permit; absent in a rehearsal.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function* listSwapCalls(
  ctx: ActionCtx,
  payer: PayingWallet & Pick<Order, "minBuyAmount"> & Partial<Pick<Order, "tries">>,
  swap: SwapRequest,
  permit?: (message: PermitMessage) => Promise<Hex>,
): AsyncGenerator<Next & { offer?: Offer }, undefined> {
  const offer = await getOffer(ctx, payer, swap);
  const { transaction, permit2 } = offer.quote;
  const { gas, ...call } = transaction;
  const calls = offer.approvals.map((amount) => buildApproval(swap.fromToken, amount));
  // The approval is mined, so a node without it lags. An approval is never signed twice.
  if (calls.some(({ data }) => listSignedCallData(payer).includes(data)))
    throw new NotKnownYet("upstream", UNSEEN);
  for (const [i, one] of calls.entries()) {
    const later = [...calls.slice(i + 1).map(() => USUAL_APPROVAL_GAS), gas ?? USUAL_SWAP_GAS];
    // A token may refuse the second approval while the first is not mined.
    const stated = i === 0 ? {} : { unsigned: USUAL_APPROVAL_GAS };
    yield await requireAffordable(ctx, payer, one, { kind: "approve", later, ...stated });
  }
  const signature = permit2 ? ((await permit?.(permit2.eip712.message)) ?? NO_SIGNATURE) : null;
  // Append the permit's signature: its length as a 32-byte word, then its bytes.
  if (signature !== null)
    call.data = concat([call.data, numberToHex(size(signature), { size: 32 }), signature]);
  const isUnsigned = signature === NO_SIGNATURE;
  const stated = isUnsigned ? { unsigned: gas ?? USUAL_SWAP_GAS } : {};
  const spent = { token: swap.fromToken, amount: BigInt(swap.amount) };
  yield { ...(await requireAffordable(ctx, payer, call, { kind: "swap", spent, ...stated })), offer };
}

/** The call data of every transaction that an order has signed. */
function listSignedCallData({ tries = [] }: Partial<Pick<Order, "tries">>): Hex[] {
  return tries.map(({ raw }) => parseTransaction(requireHex(raw)).data ?? "0x");
}

function buildApproval(token: Symbol, amount: bigint): Transaction {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, amount] });
  return { to: toSwapAddress(token), data, value: 0n };
}

/**
 * A swap's offer: balance, quote, price and called contract, all checked.
 * @throws AppError `invalid_request`, `upstream`
 */
async function getOffer(
  ctx: ActionCtx,
  payer: PayingWallet & Pick<Order, "minBuyAmount">,
  swap: SwapRequest,
): Promise<Offer> {
  const taker = requireStoredAddress(payer.address);
  const amount = BigInt(swap.amount);
  const { address } = WALLET_TOKENS[swap.fromToken];
  // Settled rather than awaited together, so that a short balance is reported before the provider's failures.
  const [[asked], held, allowed] = await Promise.all([
    Promise.allSettled([ask(taker, swap)]),
    readAccount(taker, address === null ? [] : [address], listFeedAddresses(listFeeds(swap))),
    address === null ? 0n : readAllowance(address, taker, PERMIT2),
  ]);
  const balance = address === null ? held.native : (held.tokens[0] ?? 0n);
  await requireHeld(ctx, payer, { token: swap.fromToken, amount }, balance);
  if (asked.status === "rejected") throw asked.reason;
  const { prices, ...offer } = await checkOffer(payer, swap, asked.value, held.rounds);
  // Some tokens refuse to change an allowance that is not zero.
  const needed = allowed > 0n ? [0n, amount] : [amount];
  return {
    ...offer,
    ...buildTerms(offer.quote, offer.least, swap, prices),
    approvals: offer.quote.permit2 && allowed < amount ? needed : [],
  };
}

/**
 * Checks a quote against its order, the price feeds and 0x's registry.
 * @throws AppError `invalid_request`, `upstream`
 */
async function checkOffer(
  { address, minBuyAmount }: Pick<Order, "address" | "minBuyAmount">,
  swap: SwapRequest,
  asked: SwapQuote,
  rounds: Rounds,
) {
  const taker = requireStoredAddress(address);
  let quote = asked;
  let least = checkQuote(quote, swap, taker, Date.now());
  const approved = BigInt(minBuyAmount ?? 0);
  if (least < approved && quote.buyAmount >= approved) {
    // The quoted amount still covers the approved minimum: request a quote with the slippage that guarantees it.
    const slippageBps = Number(((quote.buyAmount - approved) * BPS) / quote.buyAmount);
    quote = await ask(taker, { ...swap, slippageBps });
    least = checkQuote(quote, swap, taker, Date.now());
  }
  if (least < approved) throw new AppError("upstream", PRICE_MOVED);
  const prices = findPrices(swap, rounds);
  const costBps = checkPrice(least, swap, prices, BigInt(getSetting("MAX_PRICE_IMPACT_BPS")));
  if (costBps === null && swap.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
  // The called contract is the provider's own, by its registry on the chain.
  if (!isWrapping(swap) && !(await isGenuineSettler(quote.transaction.to)))
    throw new AppError("upstream", COUNTERFEIT);
  return { quote, least, costBps, prices };
}

type Rounds = Parameters<typeof computeLivePrices>[1];
/** In USD with 8 decimals, `null` without a live price. */
type Prices = { from: bigint | null; to: bigint | null };

function listFeeds({ fromToken, toToken }: Sides) {
  return [WALLET_TOKENS[fromToken].feed, WALLET_TOKENS[toToken].feed] as const;
}

function findPrices(swap: Sides, rounds: Rounds): Prices {
  const feeds = listFeeds(swap);
  const live = computeLivePrices(feeds, rounds, Date.now());
  return { from: live.get(feeds[0]) ?? null, to: live.get(feeds[1]) ?? null };
}

function buildTerms({ buyAmount }: SwapQuote, least: bigint, swap: SwapRequest, prices: Prices) {
  const usualCostBps = computeCostBps(buyAmount, swap, prices);
  const amounts = { buyAmount: buyAmount.toString(), minBuyAmount: least.toString() };
  return { usualCostBps, terms: { ...amounts, priceChecked: usualCostBps !== null } };
}

/**
 * An indicative quote for a wallet that may hold nothing: neither its price nor the called contract is checked.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function quoteSwap(swap: SwapRequest, taker: Address) {
  const { quote, rounds } = await askAndRead(swap, taker);
  const terms = buildTerms(quote, checkQuote(quote, swap, taker, Date.now()), swap, findPrices(swap, rounds));
  return { ...terms, call: toPricedCall(quote) };
}

/**
 * What a swap on paper brings: the quote of a live one with all its checks, or what the feeds say that the sold amount is
 * worth, whichever is less.
 * @throws AppError `invalid_request`, `upstream`, also without live prices
 */
export async function quoteSwapOnPaper(swap: SwapRequest, payer: Pick<Order, "address" | "minBuyAmount">) {
  const asked = await askAndRead(swap, requireStoredAddress(payer.address));
  const { quote, prices } = await checkOffer(payer, swap, asked.quote, asked.rounds);
  const fair = computeFairAmount(swap, prices);
  if (fair === null) throw new AppError("upstream", UNPRICED);
  const bought = quote.buyAmount < fair ? quote.buyAmount : fair;
  const approved = BigInt(payer.minBuyAmount ?? 0);
  if (bought < approved) throw new AppError("upstream", PRICE_MOVED);
  const lowest = (bought * (BPS - BigInt(swap.slippageBps))) / BPS;
  const filled = { ...quote, buyAmount: bought };
  return {
    ...buildTerms(filled, lowest > approved ? lowest : approved, swap, prices),
    call: toPricedCall(quote),
  };
}

async function askAndRead(swap: SwapRequest, taker: Address) {
  const feeds = listFeedAddresses(listFeeds(swap));
  const [quote, rounds] = await Promise.all([ask(taker, swap), readRounds(feeds, deadlines.chain)]);
  return { quote, rounds };
}

/** The call of a swap, with the gas of it and of its approval. */
function toPricedCall({ transaction: { data, gas }, permit2 }: SwapQuote): PricedCall {
  return { data, gas: (gas ?? USUAL_SWAP_GAS) + (permit2 ? USUAL_APPROVAL_GAS : 0n) };
}

/** What the sold amount is worth in the bought token by the feeds, rounded down; `null` without both prices. */
function computeFairAmount(swap: Sides, prices: Prices): bigint | null {
  if (isWrapping(swap)) return BigInt(swap.amount);
  const worth = compareWorth(1n, swap, prices);
  return worth === null ? null : worth.given / worth.got;
}

function ask(taker: Address, swap: SwapRequest): Promise<SwapQuote> {
  const { fromToken, toToken, amount, slippageBps } = swap;
  // Wrapping needs no market, and works while the provider is down.
  if (isWrapping(swap))
    return Promise.resolve({
      liquidityAvailable: true,
      buyAmount: BigInt(amount),
      transaction: buildWrapping(swap),
    });
  const sides = { sellToken: toSwapAddress(fromToken), buyToken: toSwapAddress(toToken) };
  return requestQuote({ ...sides, sellAmount: BigInt(amount), taker, slippageBps });
}

/**
 * Whether a call carries out a swap: a missing approval (of exactly the sold amount, or of zero for tokens that want it
 * first), or a call that guarantees `least`.
 * @throws AppError `upstream` if that is less than its owner has approved.
 */
export function isSwapCall(
  call: Transaction,
  swap: SwapRequest,
  { address, minBuyAmount }: Pick<Order, "address" | "minBuyAmount">,
  least: bigint | undefined,
): boolean {
  if (least !== undefined && least < BigInt(minBuyAmount ?? 0)) throw new AppError("upstream", PRICE_MOVED);
  const approvals = [0n, BigInt(swap.amount)].map((amount) => buildApproval(swap.fromToken, amount));
  if (swap.fromToken !== "ETH" && approvals.some((one) => isSame(call, one))) return true;
  const guaranteed = decodeGuarantee(call, swap, requireStoredAddress(address));
  return guaranteed !== null && least !== undefined && guaranteed >= least;
}

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
function decodeGuarantee(call: Transaction, swap: Sides, owner: Address): bigint | null {
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

function buildWrapping({ fromToken, amount }: Sides): Transaction {
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
function computeCostBps(bought: bigint, swap: Sides, prices: Prices): number | null {
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
