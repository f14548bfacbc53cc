import { concat, numberToHex, size, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS, formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { feedAddresses, livePrices } from "../../market/feeds";
import { judgeSettler, lossAt, readAccount, readAllowance } from "../../providers/chain/accounts";
import { prepareTransaction, type Preparation, type Transaction } from "../../providers/chain/preparation";
import { requestQuote, type Quote } from "../../providers/swap";
import { storedAddress } from "../model";
import type { Request } from "../tables";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import {
  approval,
  checkPrice,
  checkQuote,
  gasLimit,
  isWrapping,
  PRICE_MOVED,
  serviceCall,
  transfer,
  type Message,
  type SidePrices,
  type SwapRequest,
} from "./calls";
import type { Order } from "./model";

/** What an order signs, one call after the other, and can pay for: the one way for orders and for rehearsals. For actions. */

/** The wallet that pays: of an order, or of a rehearsal. */
export type Payer = Pick<Order, "userId" | "walletId" | "address">;

/** A call that the wallet can pay for. */
export type Next = {
  kind: "approve" | "call";
  call: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** The most that the network may take for it, in wei: its gas, and twice the current fee for its L1 data. */
  mostFee: bigint;
  /** What a swap's call was checked against. */
  offer?: Offer;
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
/** The gas that 0x's API states for a swap whose gas it does not know. */
const USUAL_SWAP_GAS = 300_000n;
/** Replaces the signature that nobody gives in a rehearsal, for the fee of the call's data. */
const NO_SIGNATURE: Hex = `0x${"ff".repeat(65)}`;

const OTHERS_MONEY =
  "toAddress is the swap provider's contract: anybody may take what is sent there, and nothing was sent";
const NOBODYS_MONEY = "toAddress is a token's contract: what is sent there is lost, and nothing was sent";
const UNPRICED = "There is no live price to check the quote against: nothing was swapped";
const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";
const UNSEEN = "The swap provider does not see the approval yet: try again";

/**
 * The calls that an order needs and its wallet can pay for: of a swap the approvals that it needs first, then the swap.
 * An order signs the first, and asks anew when it is mined; a rehearsal looks at all of them.
 * @param permit Signs a swap's permit; a rehearsal has none.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function* callsOf(
  ctx: ActionCtx,
  payer: Payer & Pick<Order, "request" | "minBuyAmount">,
  permit?: (message: Message) => Promise<Hex>,
): AsyncGenerator<Next, undefined> {
  const { request, minBuyAmount } = payer;
  if (request.kind === "send") {
    yield await sendOf(ctx, payer, request);
  } else if (request.kind !== "swap") {
    const call = serviceCall(request, storedAddress(payer.address));
    yield await affordable(ctx, payer, call, { kind: request.kind });
  } else {
    const offer = await offerOf(ctx, payer, request, minBuyAmount);
    for (const amount of offer.approvals)
      yield await affordable(ctx, payer, approval(request.fromToken, amount), { kind: "approve" });
    yield await swapOf(ctx, payer, request, offer, permit);
  }
}

/** @throws AppError `invalid_request` if the recipient is the swap provider's contract, which anybody may empty, or a token's. */
async function sendOf(
  ctx: ActionCtx,
  payer: Payer,
  { token, amount, toAddress }: Extract<Request, { kind: "send" }>,
): Promise<Next> {
  const spent = { token, amount: BigInt(amount) };
  const to = storedAddress(toAddress);
  const call = transfer(token, to, spent.amount);
  const [found, loss] = await Promise.all([
    affordable(ctx, payer, call, { kind: "send", spent }),
    lossAt(to),
  ]);
  if (loss === "settler") throw new AppError("invalid_request", OTHERS_MONEY);
  if (loss === "token") throw new AppError("invalid_request", NOBODYS_MONEY);
  return found;
}

async function swapOf(
  ctx: ActionCtx,
  payer: Payer,
  { fromToken, amount }: SwapRequest,
  offer: Offer,
  permit?: (message: Message) => Promise<Hex>,
): Promise<Next> {
  const { transaction, permit2, issues } = offer.quote;
  if (permit !== undefined && issues.allowance) throw new AppError("upstream", UNSEEN);
  const { to, value, gas } = transaction;
  const signature = permit2 ? ((await permit?.(permit2.eip712.message)) ?? NO_SIGNATURE) : null;
  // The permit's signature is appended: its length as a 32-byte word, then its bytes.
  const data =
    signature === null
      ? transaction.data
      : concat([transaction.data, numberToHex(size(signature), { size: 32 }), signature]);
  const isUnsigned = signature === NO_SIGNATURE;
  const stated = gas ?? (isUnsigned ? USUAL_SWAP_GAS : 0n);
  const spent = { token: fromToken, amount: BigInt(amount) };
  const found = await affordable(
    ctx,
    payer,
    { to, data, value },
    { kind: "swap", spent, stated, isUnsigned },
  );
  return { ...found, offer };
}

type Cost = {
  kind: keyof typeof MOST_GAS;
  /** What is spent of the chain's own coin besides fees, or of an ERC-20. */
  spent?: { token: Symbol; amount: bigint };
  /** The gas that a quote states. */
  stated?: bigint;
  /** Whether the chain cannot estimate the gas, because a rehearsal has no signature: then the stated gas counts. */
  isUnsigned?: boolean;
};

/**
 * Everything that the transaction needs from the chain, once the wallet is known to hold enough.
 * @throws AppError `invalid_request`, `upstream`
 */
async function affordable(ctx: ActionCtx, payer: Payer, call: Transaction, cost: Cost): Promise<Next> {
  const { kind, spent = { token: "ETH", amount: 0n } } = cost;
  const { address } = TOKENS[spent.token];
  const preparation = await prepareTransaction(storedAddress(payer.address), call, address);
  const { native, token, fees, l1Fee } = preparation;
  const balance = address === null ? native : token;
  if (balance < spent.amount) throw await lacking(ctx, payer, spent.token, { needed: spent.amount, balance });
  const gas = gasOf(preparation, cost);
  if (gas > MOST_GAS[kind])
    throw new AppError(
      "invalid_request",
      `The transaction would take up to ${gas} gas, and a transaction of this kind (${kind}) may take ` +
        `at most ${MOST_GAS[kind]}: nothing was signed`,
    );
  const mostFee = gas * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
  // What was signed and cannot be mined is replaced by an empty transaction, which costs a fee as well.
  const reserve = GAS_OF_NOTHING * RAISED(fees.maxFeePerGas);
  const kept = mostFee > reserve ? mostFee : reserve;
  const needed = kept + (address === null ? spent.amount : 0n);
  if (native < needed) throw await lacking(ctx, payer, "ETH", { needed, balance: native, fee: kept });
  if (mostFee > MOST_FEE) throw tooDear(mostFee, MOST_FEE);
  return { kind: kind === "approve" ? "approve" : "call", call, preparation, gas, mostFee };
}

/** @throws AppError `invalid_request` if the call would revert. */
function gasOf({ gas }: Preparation, { stated = 0n, isUnsigned = false }: Cost): bigint {
  if (isUnsigned) return gasLimit(stated);
  if (gas.kind === "reverts")
    throw new AppError("invalid_request", `The transaction would fail: ${gas.name}`);
  // A quote may state more gas than the estimate, up to three times as much.
  const most = gas.gas * 3n;
  return gasLimit(stated <= gas.gas ? gas.gas : stated < most ? stated : most);
}

/** The refusal of a transaction for which the network could take more than is allowed; in wei. */
export function tooDear(fee: bigint, most: bigint): AppError {
  return new AppError(
    "upstream",
    `The network fee could reach ${formatUnits(fee, 18)} ETH, and at most ${formatUnits(most, 18)} ETH are ` +
      "allowed for a transaction: nothing was signed",
  );
}

/** The refusal of a request for which the wallet holds too little. */
async function lacking(
  ctx: ActionCtx,
  payer: Payer,
  token: Symbol,
  { needed, balance, fee }: { needed: bigint; balance: bigint; fee?: bigint },
): Promise<AppError> {
  const shown = (amount: bigint) => formatUnits(amount, TOKENS[token].decimals);
  const what =
    fee === undefined
      ? `Insufficient ${token}: ${shown(needed)} needed`
      : `Insufficient ETH for the network fee: ${shown(needed)} needed in all (fee up to ${shown(fee)})`;
  const hint = await otherWalletHint(ctx, payer, token, needed).catch(() => "");
  const message = `${what}, the wallet holds ${shown(balance)}, ${shown(needed - balance)} is missing${hint}`;
  return new AppError("invalid_request", message);
}

/** " The user's basic wallet holds 3 USDC: …" if that would be enough; otherwise nothing. */
async function otherWalletHint(
  ctx: ActionCtx,
  { userId, walletId }: Payer,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  for (const kind of ["basic", "custody"] as const) {
    const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
    if (wallet === null || wallet.walletId === walletId) continue;
    const { address, decimals } = TOKENS[token];
    const held = await readAccount(storedAddress(wallet.address), address === null ? [] : [address], []);
    const balance = address === null ? held.native : (held.tokens[0] ?? 0n);
    if (balance >= needed)
      return `. The user's ${kind} wallet ${wallet.address} holds ${formatUnits(balance, decimals)} ${token}: a send with from: "${kind}" spends it`;
  }
  return "";
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
 * A swap's balance, quote, price and called contract, checked.
 * @param approved The least that its owner has approved, if they were asked.
 * @throws AppError `invalid_request`, `upstream`
 */
async function offerOf(
  ctx: ActionCtx,
  payer: Payer,
  swap: SwapRequest,
  approved: string | undefined,
): Promise<Offer> {
  const taker = storedAddress(payer.address);
  const amount = BigInt(swap.amount);
  const { address } = TOKENS[swap.fromToken];
  const feeds = [TOKENS[swap.fromToken].feed, TOKENS[swap.toToken].feed] as const;
  // Settled rather than awaited together, so that what the wallet lacks is reported before the provider's failures.
  const [[asked], held, allowed] = await Promise.all([
    Promise.allSettled([ask(taker, swap)]),
    readAccount(taker, address === null ? [] : [address], feedAddresses(feeds)),
    address === null ? 0n : readAllowance(address, taker, PERMIT2),
  ]);
  const balance = address === null ? held.native : (held.tokens[0] ?? 0n);
  if (balance < amount) throw await lacking(ctx, payer, swap.fromToken, { needed: amount, balance });
  if (asked.status === "rejected") throw asked.reason;
  const live = livePrices(feeds, held.rounds, Date.now());
  const prices = { from: live.get(feeds[0]) ?? null, to: live.get(feeds[1]) ?? null };
  const quote =
    approved === undefined ? asked.value : await atLeast(asked.value, taker, swap, BigInt(approved));
  const least = checkQuote(quote, swap, taker, Date.now());
  const priceChecked = checkPrice(least, swap, prices, BigInt(setting("MAX_PRICE_IMPACT_BPS")));
  if (!priceChecked && swap.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
  if (!isWrapping(swap)) await requireGenuine(quote.transaction.to);
  // Some tokens refuse to change an allowance that is not zero.
  const needed = allowed > 0n ? [0n, amount] : [amount];
  return { quote, least, priceChecked, prices, approvals: quote.permit2 && allowed < amount ? needed : [] };
}

function ask(taker: Address, { fromToken, toToken, amount, slippageBps }: SwapRequest): Promise<Quote> {
  const sides = { sellToken: swapAddress(fromToken), buyToken: swapAddress(toToken) };
  return requestQuote({ ...sides, sellAmount: BigInt(amount), taker, slippageBps });
}

/**
 * The quote; if it guarantees less than was approved and would bring more, one with that much less slippage.
 * @throws AppError `upstream` if the price has moved below that.
 */
async function atLeast(quote: Quote, taker: Address, swap: SwapRequest, approved: bigint): Promise<Quote> {
  if (quote.minBuyAmount >= approved) return quote;
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
