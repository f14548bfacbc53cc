import { encodeFunctionData, erc20Abi, isAddressEqual, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS, formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { feedAddresses, livePrices } from "../../market/feeds";
import { isDelegated, readAccount, readAllowance } from "../../providers/chain/accounts";
import { prepareTransaction, type Preparation, type Transaction } from "../../providers/chain/preparation";
import type { Read } from "../../providers/chain/rpc/reads";
import { judgeSettler, lossIn, lossReads } from "../../providers/chain/settlers";
import { requestQuote, type Quote } from "../../providers/swap";
import { asHex, storedAddress } from "../addresses";
import type { Request } from "../tables";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import type { Order } from "./model";
import {
  checkPrice,
  checkQuote,
  guaranteedBy,
  isWrapping,
  type SidePrices,
  type SwapRequest,
} from "./quotes";

/**
 * An order's next call (`sendable`, `offerOf`, `affordableApproval`, `affordableSwap`), and the check that every
 * signature passes (`mayBeSigned`). For actions.
 */

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
export const MOST_GAS = {
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

const OTHERS_MONEY =
  "toAddress is the swap provider's contract: anybody may take what is sent there, and nothing was sent";
const NOBODYS_MONEY = "toAddress is a token's contract: what is sent there is lost, and nothing was sent";
const UNPRICED = "There is no live price to check the quote against: nothing was swapped";
const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";
const PRICE_MOVED = "The price has moved since it was approved: nothing was signed";
const OTHER = "The transaction is not what was ordered: nothing was signed";

/** Room for the state to change between the estimate and the block. */
export function gasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

function transfer(token: Symbol, to: Address, amount: bigint): Transaction {
  const { address } = TOKENS[token];
  if (address === null) return { to, data: "0x", value: amount };
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] });
  return { to: address, data, value: 0n };
}

function approval(token: Symbol, amount: bigint): Transaction {
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

function serviceCall(
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
async function affordable(
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
async function refuseFor(
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

/**
 * A send that the wallet can pay for.
 * @throws AppError `invalid_request` if the recipient is the swap provider's contract, which anybody may empty, or a
 * token's; what `affordable` throws.
 */
export async function sendable(
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

/** A call of the service's own that its account can pay for. */
export function affordableService(
  ctx: ActionCtx,
  payer: Payer,
  request: Extract<Request, { kind: "settlement" | "anchor" }>,
): Promise<Affordable> {
  const call = serviceCall(request, storedAddress(payer.address));
  return affordable(ctx, payer, call, { kind: request.kind, spent: { token: "ETH", amount: 0n } });
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

/** An approval of Permit2 that the wallet can pay for. */
export function affordableApproval(
  ctx: ActionCtx,
  payer: Payer,
  token: Symbol,
  amount: bigint,
): Promise<Affordable> {
  return affordable(ctx, payer, approval(token, amount), { kind: "approve", spent: { token, amount: 0n } });
}

/**
 * A quote's call that the wallet can pay for.
 * @param data The call's data, with the permit's signature if it has one.
 * @param assumedGas Its gas, if there is no signature to estimate it with.
 */
export function affordableSwap(
  ctx: ActionCtx,
  payer: Payer,
  { fromToken, amount }: SwapRequest,
  { transaction: { to, value, gas } }: Quote,
  data: Hex,
  assumedGas?: bigint,
): Promise<Affordable> {
  const cost = { kind: "swap" as const, spent: { token: fromToken, amount: BigInt(amount) } };
  const stated = assumedGas === undefined ? { wantedGas: gas ?? 0n } : { assumedGas };
  return affordable(ctx, payer, { to, data, value }, { ...cost, ...stated });
}
