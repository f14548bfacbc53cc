import { concat, numberToHex, size, type Address, type Hex } from "viem";
import type { ActionCtx } from "../../_generated/server";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS } from "../../lib/money/amounts";
import { feedAddresses, livePrices } from "../../market/feeds";
import { isDelegated, readAccount, readAllowance } from "../../providers/chain/accounts";
import { judgeSettler, lossIn, lossReads } from "../../providers/chain/accounts";
import { requestQuote, type Quote } from "../../providers/swap";
import { storedAddress } from "../model";
import type { Request } from "../tables";
import { PERMIT2, swapAddress, TOKENS } from "../tokens";
import {
  affordable,
  approval,
  PRICE_MOVED,
  refuseFor,
  serviceCall,
  transfer,
  type Affordable,
  type Payer,
} from "./calls";
import type { Order } from "./model";
import {
  checkPrice,
  checkQuote,
  isWrapping,
  type Message,
  type SidePrices,
  type SwapRequest,
} from "./quotes";

/** What an order signs, one call after the other: the one way for orders and for rehearsals. For actions. */

const OTHERS_MONEY =
  "toAddress is the swap provider's contract: anybody may take what is sent there, and nothing was sent";
const NOBODYS_MONEY = "toAddress is a token's contract: what is sent there is lost, and nothing was sent";
const UNPRICED = "There is no live price to check the quote against: nothing was swapped";
const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";

/** The gas that 0x's API states for a swap whose gas it does not know. */
const USUAL_SWAP_GAS = 300_000n;
/** Replaces the signature that nobody gives in a rehearsal, for the fee of the call's data. */
const NO_SIGNATURE: Hex = `0x${"ff".repeat(65)}`;

export type Next = Affordable & { kind: "approve" | "call"; least?: bigint };

/**
 * The calls that an order needs and its wallet can pay for: of a swap the approvals that it needs first, then the swap.
 * An order signs the first, and asks anew when it is mined; a rehearsal looks at all of them.
 * @param offer A swap's, `null` for other orders.
 * @param permit Signs a swap's permit; a rehearsal has none.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function* callsOf(
  ctx: ActionCtx,
  payer: Payer,
  request: Request,
  offer: Offer | null,
  permit?: (message: Message) => Promise<Hex>,
): AsyncGenerator<Next, undefined> {
  if (request.kind === "send") {
    yield { ...(await sendable(ctx, payer, request)), kind: "call" };
    return;
  }
  if (request.kind !== "swap" || offer === null) {
    if (request.kind === "swap") return;
    const call = serviceCall(request, storedAddress(payer.address));
    const cost = { kind: request.kind, spent: { token: "ETH", amount: 0n } } as const;
    yield { ...(await affordable(ctx, payer, call, cost)), kind: "call" };
    return;
  }
  const { fromToken, amount } = request;
  for (const one of offer.approvals) {
    const cost = { kind: "approve", spent: { token: fromToken, amount: 0n } } as const;
    yield { ...(await affordable(ctx, payer, approval(fromToken, one), cost)), kind: "approve" };
  }
  const { transaction, permit2, issues } = offer.quote;
  if (permit !== undefined && issues.allowance)
    throw new AppError("upstream", "The swap provider does not see the approval yet: try again");
  const { to, value, gas } = transaction;
  const isUnsigned = permit2 && permit === undefined;
  const signature = isUnsigned ? NO_SIGNATURE : permit2 ? await permit?.(permit2.eip712.message) : undefined;
  // The permit's signature is appended: its length as a 32-byte word, then its bytes.
  const data =
    signature === undefined
      ? transaction.data
      : concat([transaction.data, numberToHex(size(signature), { size: 32 }), signature]);
  const stated = isUnsigned ? { assumedGas: gas ?? USUAL_SWAP_GAS } : { wantedGas: gas ?? 0n };
  const cost = { kind: "swap", spent: { token: fromToken, amount: BigInt(amount) }, ...stated } as const;
  yield { ...(await affordable(ctx, payer, { to, data, value }, cost)), kind: "call", least: offer.least };
}

/**
 * A send that the wallet can pay for.
 * @throws AppError `invalid_request` if the recipient is the swap provider's contract, which anybody may empty, or a
 * token's; what `affordable` throws.
 */
async function sendable(
  ctx: ActionCtx,
  payer: Payer,
  request: Extract<Request, { kind: "send" }>,
): Promise<Affordable> {
  const spent = { token: request.token, amount: BigInt(request.amount) };
  const to = storedAddress(request.toAddress);
  const call = transfer(spent.token, to, spent.amount);
  const found = await affordable(ctx, payer, call, { kind: "send", spent, beside: lossReads(to) });
  const loss = lossIn(to, found.preparation.answers);
  if (loss === "settler") throw new AppError("invalid_request", OTHERS_MONEY);
  // A person's account may have a delegate (EIP-7702) that answers every call.
  if (loss === "token" && !(await isDelegated(to))) throw new AppError("invalid_request", NOBODYS_MONEY);
  return found;
}

/** A quote that was checked against its order, the price feeds and 0x's registry. */
export type Offer = {
  quote: Quote;
  /** The least that the chain guarantees the wallet, in the bought token's smallest unit. */
  least: bigint;
  priceChecked: boolean;
  prices: SidePrices;
  /** Allowances that Permit2 needs first, one after another. */
  approvals: bigint[];
};

/** An offer as its order keeps it, and as it is shown. */
export function termsOf({ quote, least, priceChecked }: Offer): NonNullable<Order["terms"]> {
  return { buyAmount: quote.buyAmount.toString(), minBuyAmount: least.toString(), priceChecked };
}

/**
 * A swap's balance, quote, price and called contract, checked; shared by orders and rehearsals.
 * @param approved The least that its owner has approved, if they were asked.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function offerOf(
  ctx: ActionCtx,
  payer: Payer,
  swap: SwapRequest,
  approved: bigint | null,
): Promise<Offer> {
  const taker = storedAddress(payer.address);
  const amount = BigInt(swap.amount);
  const { address } = TOKENS[swap.fromToken];
  // Settled rather than awaited together, so that what the wallet lacks is reported before the provider's failures.
  const [[asked], { balance, prices }, allowed] = await Promise.all([
    Promise.allSettled([ask(taker, swap)]),
    readMarket(taker, swap),
    address === null ? 0n : readAllowance(address, taker, PERMIT2),
  ]);
  if (balance < amount) await refuseFor(ctx, payer, swap.fromToken, amount, balance);
  if (asked.status === "rejected") throw asked.reason;
  const quote = await atLeast(asked.value, taker, swap, approved);
  const least = checkQuote(quote, swap, taker, Date.now());
  const priceChecked = checkPrice(least, swap, prices, BigInt(setting("MAX_PRICE_IMPACT_BPS")));
  if (!priceChecked && swap.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
  if (!isWrapping(swap)) await requireGenuine(quote.transaction.to);
  // Some tokens refuse to change an allowance that is not zero.
  const needed = allowed > 0n ? [0n, amount] : [amount];
  return { quote, least, priceChecked, prices, approvals: quote.permit2 && allowed < amount ? needed : [] };
}

function ask(taker: Address, { fromToken, toToken, amount, slippageBps }: SwapRequest): Promise<Quote> {
  const sides = {
    sellToken: swapAddress(fromToken),
    buyToken: swapAddress(toToken),
    sellAmount: BigInt(amount),
  };
  return requestQuote({ ...sides, taker, slippageBps });
}

/**
 * The quote; if it guarantees less than was approved and would bring more, one with that much less slippage.
 * @throws AppError `upstream` if the price has moved below that.
 */
async function atLeast(
  quote: Quote,
  taker: Address,
  swap: SwapRequest,
  approved: bigint | null,
): Promise<Quote> {
  if (approved === null || quote.minBuyAmount >= approved) return quote;
  if (quote.buyAmount < approved) throw new AppError("upstream", PRICE_MOVED);
  const slippageBps = Number(((quote.buyAmount - approved) * BPS) / quote.buyAmount);
  const tighter = await ask(taker, { ...swap, slippageBps });
  if (tighter.minBuyAmount < approved) throw new AppError("upstream", PRICE_MOVED);
  return tighter;
}

/** Requires that the called contract is the provider's own, by its registry on the chain. @throws AppError `upstream` */
async function requireGenuine(to: Address): Promise<void> {
  const verdict = await judgeSettler(to);
  if (verdict === "genuine") return;
  throw new AppError("upstream", verdict === "paused" ? PAUSED : COUNTERFEIT);
}

/** The wallet's balance of the sold token, and live prices of both tokens from the feeds, in one call. */
async function readMarket(
  owner: Address,
  { fromToken, toToken }: SwapRequest,
): Promise<{ balance: bigint; prices: SidePrices }> {
  const { address } = TOKENS[fromToken];
  const feeds = [TOKENS[fromToken].feed, TOKENS[toToken].feed] as const;
  const account = await readAccount(owner, address === null ? [] : [address], feedAddresses(feeds));
  const balance = address === null ? account.native : (account.tokens[0] ?? 0n);
  const prices = livePrices(feeds, account.rounds, Date.now());
  return { balance, prices: { from: prices.get(feeds[0]) ?? null, to: prices.get(feeds[1]) ?? null } };
}
