import {
  concat,
  encodeFunctionData,
  erc20Abi,
  numberToHex,
  parseTransaction,
  size,
  type Address,
  type Hex,
} from "viem";
import type { ActionCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { PRICE_MOVED } from "../../lib/refusals";
import { BPS } from "../../lib/money/amounts";
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
import { requireHex, requireStoredAddress } from "../model";
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
import {
  buildWrapping,
  checkPrice,
  checkQuote,
  computeCostBps,
  computeFairAmount,
  decodeGuarantee,
  isWrapping,
  type PermitMessage,
  type Prices,
  type Sides,
  type SwapRequest,
} from "./quotes";

/** Swaps: their offers, which are quotes that were checked before a signature (`quotes`), and their calls. For actions. */

/** A quote that was checked against its order, the price feeds and 0x's registry. */
export type Offer = {
  quote: SwapQuote;
  /** The minimum that the chain guarantees the wallet, in the bought token's smallest unit. */
  least: bigint;
  terms: NonNullable<Order["terms"]>;
  /** Loss of the quoted amount against the sold one by the feeds, in basis points; `null` without both prices. */
  usualCostBps: number | null;
  /** Allowances that Permit2 needs first, one after another. */
  approvals: bigint[];
};

const USUAL_APPROVAL_GAS = 60_000n;
/** Stands in for the missing signature of a rehearsal, to price the call's data. */
const NO_SIGNATURE: Hex = `0x${"ff".repeat(65)}`;

const UNSEEN = "The chain RPC does not show the approval yet";
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
  const signed = payer.tries?.map(({ raw }) => parseTransaction(requireHex(raw)).data);
  if (calls.some(({ data }) => signed?.includes(data))) throw new NotKnownYet("upstream", UNSEEN);
  for (const [i, one] of calls.entries()) {
    const later = [...calls.slice(i + 1).map(() => USUAL_APPROVAL_GAS), gas ?? USUAL_SWAP_GAS];
    // A token may refuse the second approval while the first is not mined.
    const stated = i === 0 ? {} : { unsigned: USUAL_APPROVAL_GAS };
    yield await requireAffordable(ctx, payer, one, { kind: "approve", later, ...stated });
  }
  const signature = permit2 && ((await permit?.(permit2.eip712.message)) ?? NO_SIGNATURE);
  // Append the permit's signature: its length as a 32-byte word, then its bytes.
  if (signature) call.data = concat([call.data, numberToHex(size(signature), { size: 32 }), signature]);
  const stated = signature === NO_SIGNATURE ? { unsigned: gas ?? USUAL_SWAP_GAS } : {};
  const spent = { token: swap.fromToken, amount: BigInt(swap.amount) };
  yield { ...(await requireAffordable(ctx, payer, call, { kind: "swap", spent, ...stated })), offer };
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
  const [[quoted], held, allowed] = await Promise.all([
    Promise.allSettled([ask(taker, swap)]),
    readAccount(taker, address === null ? [] : [address], listFeedAddresses(listFeeds(swap))),
    address === null ? 0n : readAllowance(address, taker, PERMIT2),
  ]);
  const balance = address === null ? held.native : (held.tokens[0] ?? 0n);
  await requireHeld(ctx, payer, { token: swap.fromToken, amount }, balance);
  if (quoted.status === "rejected") throw quoted.reason;
  const { prices: _, ...offer } = await checkOffer(payer, swap, quoted.value, held.rounds);
  // Some tokens refuse to change an allowance that is not zero.
  const needed = allowed > 0n ? [0n, amount] : [amount];
  return { ...offer, approvals: offer.quote.permit2 && allowed < amount ? needed : [] };
}

/**
 * Checks a quote against its order, the price feeds and 0x's registry.
 * @throws AppError `invalid_request`, `upstream`
 */
async function checkOffer(
  { address, minBuyAmount }: Pick<Order, "address" | "minBuyAmount">,
  swap: SwapRequest,
  quoted: SwapQuote,
  rounds: Rounds,
) {
  const taker = requireStoredAddress(address);
  let quote = quoted;
  let least = checkQuote(quote, swap, taker, Date.now());
  const approved = BigInt(minBuyAmount ?? 0);
  if (least < approved && quote.buyAmount >= approved) {
    // The quoted amount still covers the approved minimum: request a quote with the slippage that guarantees it.
    const slippageBps = Number(((quote.buyAmount - approved) * BPS) / quote.buyAmount);
    quote = await ask(taker, { ...swap, slippageBps });
    least = checkQuote(quote, swap, taker, Date.now());
  }
  if (least < approved) throw new AppError("upstream", PRICE_MOVED);
  const [from, to] = listFeeds(swap);
  const live = computeLivePrices([from, to], rounds, Date.now());
  const prices: Prices = { from: live.get(from) ?? null, to: live.get(to) ?? null };
  const costBps = checkPrice(least, swap, prices, BigInt(getSetting("MAX_PRICE_IMPACT_BPS")));
  if (costBps === null && swap.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
  // The called contract is the provider's own, by its registry on the chain.
  if (!isWrapping(swap) && !(await isGenuineSettler(quote.transaction.to)))
    throw new AppError("upstream", COUNTERFEIT);
  return { quote, least, prices, ...buildTerms([quote.buyAmount, least], swap, prices) };
}

type Rounds = Parameters<typeof computeLivePrices>[1];

function listFeeds({ fromToken, toToken }: Sides) {
  return [WALLET_TOKENS[fromToken].feed, WALLET_TOKENS[toToken].feed] as const;
}

/** @param bought The quoted amount, and the guaranteed part of it. */
function buildTerms([buyAmount, least]: [bigint, bigint], swap: SwapRequest, prices: Prices) {
  const usualCostBps = computeCostBps(buyAmount, swap, prices);
  const amounts = { buyAmount: buyAmount.toString(), minBuyAmount: least.toString() };
  return { usualCostBps, terms: { ...amounts, priceChecked: usualCostBps !== null } };
}

/**
 * The quote of a live swap with all its checks, for a wallet that may hold nothing. On paper it brings no more than what
 * the feeds say that the sold amount is worth.
 * @throws AppError `invalid_request`, `upstream`; on paper also without live prices
 */
export async function quoteSwap(
  payer: Pick<Order, "address" | "minBuyAmount">,
  swap: SwapRequest,
  isOnPaper: boolean,
) {
  const taker = requireStoredAddress(payer.address);
  const feeds = listFeedAddresses(listFeeds(swap));
  const [quoted, rounds] = await Promise.all([ask(taker, swap), readRounds(feeds, deadlines.chain)]);
  const { quote, prices, usualCostBps, terms } = await checkOffer(payer, swap, quoted, rounds);
  const { transaction, permit2, buyAmount } = quote;
  const gas = (transaction.gas ?? USUAL_SWAP_GAS) + (permit2 ? USUAL_APPROVAL_GAS : 0n);
  const call: PricedCall = { data: transaction.data, gas };
  if (!isOnPaper) return { usualCostBps, terms, call };
  const fair = computeFairAmount(swap, prices);
  if (fair === null) throw new AppError("upstream", UNPRICED);
  const bought = buyAmount < fair ? buyAmount : fair;
  const approved = BigInt(payer.minBuyAmount ?? 0);
  if (bought < approved) throw new AppError("upstream", PRICE_MOVED);
  const lowest = (bought * (BPS - BigInt(swap.slippageBps))) / BPS;
  return { ...buildTerms([bought, lowest > approved ? lowest : approved], swap, prices), call };
}

async function ask(taker: Address, swap: SwapRequest): Promise<SwapQuote> {
  const { fromToken, toToken, amount, slippageBps } = swap;
  // Wrapping needs no market, and works while the provider is down.
  if (isWrapping(swap))
    return { liquidityAvailable: true, buyAmount: BigInt(amount), transaction: buildWrapping(swap) };
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
