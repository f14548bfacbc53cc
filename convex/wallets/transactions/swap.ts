import { concat, numberToHex, size, slice, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { deadlines } from "../../lib/outside/deadlines";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { BPS } from "../../lib/money/amounts";
import { SECOND, sleep } from "../../lib/time";
import { feedAddresses, livePrices } from "../../prices/feeds";
import { readAccount, readAllowance } from "../../providers/chain/accounts";
import { standing } from "../../providers/chain/transactions";
import { judgeSettler } from "../../providers/chain/settlers";
import { simulate } from "../../providers/chain/simulation";
import { requestQuote, type Quote } from "../../providers/swap";
import { storedAddress } from "../addresses";
import { toleratedBps } from "../limits/policies";
import { permissionOf } from "../permits";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import { checkOutcome, watchedOf } from "./terms/effects";
import {
  affordable,
  approval,
  refuseFor,
  type Affordable,
  type Job,
  type Payer,
  type Plan,
} from "./terms/plan";
import { checkPrice, checkQuote, isWrapping, type SidePrices, type Swap } from "./terms/quote";
import { PRICE_MOVED } from "./terms/permission";
import { signPermit } from "./terms/signer";
import { handOut, signInTerm } from "./progress/signatures";
import type { TransactionRequest } from "./tables";

type SwapRequest = Extract<TransactionRequest, { kind: "swap" }>;

const UNPRICED = "There is no live price to check the quote against: nothing was swapped";
const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";

/** A quote that was checked against its order, the price feeds and 0x's registry. */
type Checked = {
  quote: Quote;
  /** The least that the chain guarantees the wallet, in the bought token's smallest unit. */
  least: bigint;
  priceChecked: boolean;
};

/** The result of a swap's checks, before anything of it is signed. */
export type Offer = Checked & {
  swap: Swap;
  prices: SidePrices;
  /** How much worse than the feeds it may be, slippage included, in basis points. */
  tolerated: number;
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
  request: SwapRequest,
  approved: bigint | null = null,
): Promise<Offer> {
  const swap = swapOf(request);
  const taker = storedAddress(payer.address);
  // Settled rather than awaited together, so that what the wallet lacks is reported before the provider's failures.
  const [[asked], { balance, prices }, allowed] = await Promise.all([
    Promise.allSettled([ask(taker, swap)]),
    readMarket(taker, swap),
    readAllowed(ctx, payer.walletId, taker, swap.fromToken),
  ]);
  if (balance < swap.amount) await refuseFor(ctx, payer, swap.fromToken, swap.amount, balance);
  if (asked.status === "rejected") throw asked.reason;
  const checked = await check(await atLeast(asked.value, taker, swap, approved), request, taker, prices);
  const isAllowed = !checked.quote.permit2 || allowed.now - allowed.taken >= swap.amount;
  // Some tokens refuse to change an allowance that is not zero.
  const needed = allowed.now > 0n ? [0n, swap.amount] : [swap.amount];
  const tolerated = Number(toleratedBps(swap.slippageBps));
  return { ...checked, swap, prices, tolerated, approvals: isAllowed ? [] : needed };
}

function swapOf({ fromToken, toToken, amount, slippageBps }: SwapRequest): Swap {
  return { fromToken, toToken, amount: BigInt(amount), slippageBps };
}

function ask(taker: Address, { fromToken, toToken, amount, slippageBps }: Swap): Promise<Quote> {
  const sides = { sellToken: swapAddress(fromToken), buyToken: swapAddress(toToken), sellAmount: amount };
  return requestQuote({ ...sides, taker, slippageBps });
}

/**
 * The quote; if it guarantees less than was approved and would bring more, one with that much less slippage.
 * @throws AppError `upstream` if the price has moved below that.
 */
async function atLeast(quote: Quote, taker: Address, swap: Swap, approved: bigint | null): Promise<Quote> {
  if (approved === null || quote.minBuyAmount >= approved) return quote;
  if (quote.buyAmount < approved) throw new AppError("upstream", PRICE_MOVED);
  const slippageBps = Number(((quote.buyAmount - approved) * BPS) / quote.buyAmount);
  const tighter = await ask(taker, { ...swap, slippageBps });
  if (tighter.minBuyAmount < approved) throw new AppError("upstream", PRICE_MOVED);
  return tighter;
}

/** @throws AppError `invalid_request`, `upstream` */
async function check(
  quote: Quote,
  request: SwapRequest,
  taker: Address,
  prices: SidePrices,
): Promise<Checked> {
  const swap = swapOf(request);
  const least = checkQuote(quote, swap, taker, Date.now());
  const priceChecked = checkPrice(least, swap, prices, BigInt(setting("MAX_PRICE_IMPACT_BPS")));
  if (!priceChecked && request.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
  await requireGenuine(quote, swap);
  return { quote, least, priceChecked };
}

/**
 * Prepares a swap for its signature: the checks of `offerOf`, an approval if one is needed (after which the swap is
 * quoted and checked again), the signed permit, and a simulation of the call with the signature appended.
 */
export async function prepareSwap(ctx: ActionCtx, job: Job, request: SwapRequest): Promise<Plan> {
  const taker = storedAddress(job.transaction.address);
  const approved = await approvedLeast(ctx, job);
  const { swap, prices, approvals, ...offer } = await offerOf(ctx, job.transaction, request, approved);
  let checked: Checked = offer;
  let { nextNonce } = job;
  for (const amount of approvals)
    nextNonce = await approve(ctx, { ...job, nextNonce }, swap.fromToken, amount);
  if (approvals.length > 0) {
    checked = await check(
      await atLeast(await ask(taker, swap), taker, swap, approved),
      request,
      taker,
      prices,
    );
    if (checked.quote.issues.allowance) {
      throw new AppError("upstream", "The swap provider does not see the approval yet: try again");
    }
  }
  const { quote, least, priceChecked } = checked;
  const data = await withPermit(ctx, job, quote);
  const afforded = await affordableSwap(ctx, job.transaction, swap, quote, data);
  await simulateSwap(taker, afforded, swap, least);
  return {
    ...afforded,
    nextNonce,
    terms: {
      sellAmount: quote.sellAmount.toString(),
      buyAmount: quote.buyAmount.toString(),
      minBuyAmount: least.toString(),
      priceChecked,
    },
  };
}

/** The least that the owner of a swap has approved; `null` if nobody was asked. */
async function approvedLeast(ctx: ActionCtx, { transaction: { permissionId } }: Job): Promise<bigint | null> {
  if (permissionId === undefined) return null;
  const { minBuyAmount } = await ctx.runQuery(internal.wallets.transactions.permissions.live, {
    permissionId,
    now: Date.now(),
  });
  return minBuyAmount === undefined ? null : BigInt(minBuyAmount);
}

/**
 * A quote's call that the wallet can pay for.
 * @param data The call's data, with the permit's signature if it has one.
 * @param assumedGas Its gas, if there is no signature to estimate it with.
 */
export function affordableSwap(
  ctx: ActionCtx,
  payer: Payer,
  { fromToken, amount }: Swap,
  { transaction: { to, value, gas } }: Quote,
  data: Hex,
  assumedGas?: bigint,
): Promise<Affordable> {
  return affordable(
    ctx,
    payer,
    { to, data, value },
    {
      kind: "swap",
      spent: { token: fromToken, amount },
      wantedGas: gas ?? 0n,
      ...(assumedGas === undefined ? {} : { assumedGas }),
    },
  );
}

/** @throws AppError `invalid_request` if the swap would fail, `upstream` if it would do anything but swap. */
export async function simulateSwap(
  taker: Address,
  { transaction, gas, preparation: { fees, market } }: Affordable,
  swap: Swap,
  least: bigint,
): Promise<void> {
  const watched = watchedOf(taker, transaction.to);
  const offer = { gas, maxFeePerGas: fees.maxFeePerGas, baseFee: market.baseFee };
  const reads = watched.map(({ read }) => read);
  const simulated = await simulate(taker, transaction, offer, reads);
  checkOutcome(simulated, watched, taker, { ...swap, minBuyAmount: least });
}

/**
 * Requires that the called contract is the provider's own, by its registry on the chain; wrapping calls no contract of
 * theirs.
 * @throws AppError `upstream`
 */
async function requireGenuine({ transaction }: Quote, swap: Swap): Promise<void> {
  if (isWrapping(swap)) return;
  const verdict = await judgeSettler(transaction.to);
  if (verdict === "genuine") return;
  throw new AppError("upstream", verdict === "paused" ? PAUSED : COUNTERFEIT);
}

/**
 * The call's data with the permit's signature appended: its length as a 32-byte word, then its bytes.
 * @throws AppError `upstream` for a call that contains an earlier permit of the wallet.
 */
async function withPermit(ctx: ActionCtx, job: Job, quote: Quote): Promise<Hex> {
  const { permit2, transaction } = quote;
  const { walletId } = job;
  const call = transaction.data.toLowerCase();
  const earlier = await ctx.runQuery(internal.wallets.transactions.approvals.earlierPermits, {
    walletId,
    now: Date.now(),
  });
  if (earlier.some((r) => call.includes(r)))
    throw new AppError("upstream", "The swap provider's quote uses an earlier permit of this wallet");
  if (!permit2) return transaction.data;
  const { message } = permit2.eip712;
  const signature = await signPermit(ctx, permissionOf(job.transaction), message);
  const permit = {
    r: slice(signature, 0, 32).slice(2).toLowerCase(),
    endsAt: Number(message.deadline) * SECOND,
  };
  await ctx.runMutation(internal.wallets.transactions.approvals.notePermit, {
    transactionId: job.transaction._id,
    permit,
  });
  return concat([transaction.data, numberToHex(size(signature), { size: 32 }), signature]);
}

/** An approval of Permit2 that the wallet can pay for. */
export function affordableApproval(
  ctx: ActionCtx,
  payer: Payer,
  token: Symbol,
  amount: bigint,
): Promise<Affordable> {
  const spent = { token, amount: 0n };
  return affordable(ctx, payer, approval(swapAddress(token), PERMIT2, amount), { kind: "approve", spent });
}

/** Approves exactly `amount` and waits until it is mined. @returns The wallet's next nonce. */
async function approve(ctx: ActionCtx, job: Job, token: Symbol, amount: bigint): Promise<number> {
  const { transaction, nextNonce } = job;
  const parentId = transaction._id;
  const from = storedAddress(transaction.address);
  const request = { kind: "approve" as const, token, spender: PERMIT2, amount: amount.toString() };
  const plan = { ...(await affordableApproval(ctx, transaction, token, amount)), nextNonce };
  const signed = await signInTerm(ctx, job, plan);
  const transactionId = await ctx.runMutation(internal.wallets.transactions.approvals.storeApproval, {
    parentId,
    request,
    signed,
  });
  if (transactionId === null)
    throw new AppError("upstream", "The swap was not sent in time: nothing was swapped");
  await handOut(ctx, { _id: transactionId, ...signed });
  await mined(ctx, transactionId, from, signed);
  return signed.nonce + 1;
}

async function mined(
  ctx: ActionCtx,
  transactionId: Parameters<typeof handOut>[1]["_id"],
  from: Address,
  { nonce, txHash }: { nonce: number; txHash: Hex },
): Promise<void> {
  const until = AbortSignal.timeout(deadlines.approval);
  while (!until.aborted) {
    const now = await standing(from, nonce, [txHash]);
    if (now.kind === "mined") {
      const to = now.succeeded ? "confirmed" : "failed";
      await ctx.runMutation(internal.wallets.transactions.progress.outcome.advance, { transactionId, to });
      if (now.succeeded) return;
      throw new AppError(
        "upstream",
        "The token refused the approval that the swap needs: nothing was swapped",
      );
    }
    await sleep(SECOND / 2);
  }
  throw new AppError(
    "upstream",
    "The approval that the swap needs was not mined in time: nothing was swapped",
  );
}

/**
 * How much Permit2 may take of the sold token now, and how much of that the wallet's earlier swaps will have taken when
 * a new one is mined. The chain is asked, not the quote, which contains neither number if it finds the allowance
 * sufficient.
 */
async function readAllowed(
  ctx: ActionCtx,
  walletId: string,
  owner: Address,
  token: Symbol,
): Promise<{ now: bigint; taken: bigint }> {
  const { address } = TOKENS[token];
  if (address === null) return { now: 0n, taken: 0n };
  // In this order: a swap that is mined in between counts twice, which costs an approval; it never counts zero times.
  const taken = await ctx.runQuery(internal.wallets.wallets.inFlight, { walletId, token });
  const now = await readAllowance(address, owner, PERMIT2);
  return { now, taken: BigInt(taken) };
}

/** The wallet's balance of the sold token, and live prices of both tokens from the feeds, in one call. */
async function readMarket(
  owner: Address,
  { fromToken, toToken }: Swap,
): Promise<{ balance: bigint; prices: SidePrices }> {
  const { address } = TOKENS[fromToken];
  const feeds = [TOKENS[fromToken].feed, TOKENS[toToken].feed] as const;
  const account = await readAccount(owner, address === null ? [] : [address], feedAddresses(feeds));
  const balance = address === null ? account.native : (account.tokens[0] ?? 0n);
  const prices = livePrices(feeds, account.rounds, Date.now());
  return { balance, prices: { from: prices.get(feeds[0]) ?? null, to: prices.get(feeds[1]) ?? null } };
}
