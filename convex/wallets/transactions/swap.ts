import { v } from "convex/values";
import { concat, numberToHex, size, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import { internalMutation, type ActionCtx } from "../../_generated/server";
import { recordAudit } from "../../lib/audit";
import { deadlines } from "../../lib/deadlines";
import { setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { SECOND, sleep } from "../../lib/time";
import { feedAddresses, livePrices } from "../../prices/feeds";
import { readAccount, readAllowance } from "../../providers/chain";
import { standing } from "../../providers/chainTransactions";
import { judgeSettler } from "../../providers/settlers";
import { simulate } from "../../providers/simulation";
import { requestQuote, type Quote } from "../../providers/swap";
import { asAddress } from "../addresses";
import { signTypedData } from "../custody/signing";
import { PERMIT2, swapAddress, TOKENS, type Symbol } from "../tokens";
import { checkOutcome, watchedOf } from "./effects";
import { vSigned, byId, takeNonce, insertSigned } from "./model";
import { approval, affordable, refuseFor, type Job, type Plan } from "./plan";
import { permitData, checkPrice, checkQuote, isWrapping } from "./quote";
import { handOut, signInTerm } from "./signing";
import { vRequest, type TransactionRequest } from "./tables";

type SwapRequest = Extract<TransactionRequest, { kind: "swap" }>;

const UNPRICED = "There is no live price to check the quote against: nothing was swapped";
const COUNTERFEIT = "The swap provider's quote calls a contract that is not its own: nothing was signed";
const PAUSED = "The swap provider has paused its contract: nothing was signed";

/**
 * A swap, ready to be signed: balance, quote, price and the called contract are checked first, then an approval is made
 * where one is needed (and the swap quoted afresh), then the permit is signed, and the call is simulated with the
 * signature appended and its outcome held against the order.
 */
export async function prepareSwap(ctx: ActionCtx, job: Job, request: SwapRequest): Promise<Plan> {
  const swap = { ...request, amount: BigInt(request.amount) };
  const taker = asAddress(job.transaction.address);
  const ask = () =>
    requestQuote({
      sellToken: swapAddress(swap.fromToken),
      buyToken: swapAddress(swap.toToken),
      sellAmount: swap.amount,
      taker,
      slippageBps: swap.slippageBps,
    });
  // Settled rather than awaited together: what the wallet lacks is told before what the provider says.
  const [[asked], { held, prices }, allowed] = await Promise.all([
    Promise.allSettled([ask()]),
    readMarket(taker, swap),
    readAllowed(ctx, job.walletId, taker, swap.fromToken),
  ]);
  if (held < swap.amount) await refuseFor(ctx, job, swap.fromToken, swap.amount, held);
  const maxImpactBps = BigInt(setting("MAX_PRICE_IMPACT_BPS"));
  const check = (quote: Quote) => {
    checkQuote(quote, swap, Date.now());
    const checked = checkPrice(quote, swap, prices, maxImpactBps);
    if (!checked && request.acceptUnpriced !== true) throw new AppError("upstream", UNPRICED);
    return checked;
  };
  if (asked.status === "rejected") throw asked.reason;
  let quote = asked.value;
  let priceChecked = check(quote);
  await requireGenuine(quote, swap);
  let { nextNonce } = job;
  const sellToken = TOKENS[swap.fromToken].address;
  if (quote.permit2 && sellToken !== null && allowed.now - allowed.taken < swap.amount) {
    // Some tokens refuse to change an allowance that is not zero.
    const amounts = allowed.now > 0n ? [0n, swap.amount] : [swap.amount];
    for (const amount of amounts) {
      nextNonce = await approve(ctx, { ...job, nextNonce }, sellToken, PERMIT2, request, amount);
    }
    quote = await ask();
    priceChecked = check(quote);
    await requireGenuine(quote, swap);
    if (quote.issues.allowance) {
      throw new AppError("upstream", "The swap provider does not see the approval yet: try again");
    }
  }
  const data = await withPermit(ctx, job, quote);
  const { to, value, gas } = quote.transaction;
  const spent = { token: swap.fromToken, amount: swap.amount };
  const plan = await affordable(ctx, { ...job, nextNonce }, { to, data, value }, spent, gas ?? 0n);
  const watched = watchedOf(taker, to);
  const { fees, market } = plan.preparation;
  const offer = { gas: plan.gas, maxFeePerGas: fees.maxFeePerGas, baseFee: market.baseFee };
  const simulated = await simulate(
    taker,
    plan.transaction,
    offer,
    watched.map(({ read }) => read),
  );
  checkOutcome(simulated, watched, taker, { ...swap, minBuyAmount: quote.minBuyAmount });
  return {
    ...plan,
    terms: {
      sellAmount: quote.sellAmount.toString(),
      buyAmount: quote.buyAmount.toString(),
      minBuyAmount: quote.minBuyAmount.toString(),
      priceChecked,
    },
  };
}

/**
 * What is called is the provider's own contract, as its registry on the chain says; wrapping calls no contract of theirs.
 * @throws AppError `upstream`
 */
async function requireGenuine(
  { transaction }: Quote,
  swap: Pick<SwapRequest, "fromToken" | "toToken">,
): Promise<void> {
  if (isWrapping(swap)) return;
  const verdict = await judgeSettler(transaction.to);
  if (verdict === "genuine") return;
  throw new AppError("upstream", verdict === "paused" ? PAUSED : COUNTERFEIT);
}

/** The call's data with the permit's signature appended: its length as a 32-byte word, then its bytes. */
async function withPermit(ctx: ActionCtx, job: Job, quote: Quote): Promise<Hex> {
  const { permit2, transaction } = quote;
  if (!permit2) return transaction.data;
  const signature = await signTypedData(ctx, job.walletId, permitData(permit2.eip712.message));
  await ctx.runMutation(internal.wallets.transactions.swap.notePermit, {
    transactionId: job.transaction._id,
  });
  return concat([transaction.data, numberToHex(size(signature), { size: 32 }), signature]);
}

/** Approves exactly `amount` and waits until that is mined. @returns The wallet's next nonce. */
async function approve(
  ctx: ActionCtx,
  job: Job,
  token: Address,
  spender: Address,
  { fromToken }: SwapRequest,
  amount: bigint,
): Promise<number> {
  const parentId = job.transaction._id;
  const from = asAddress(job.transaction.address);
  const spent = { token: fromToken, amount: 0n };
  const plan = await affordable(ctx, job, approval(token, spender, amount), spent);
  const signed = await signInTerm(ctx, job, plan);
  const transactionId = await ctx.runMutation(internal.wallets.transactions.swap.storeApproval, {
    parentId,
    request: { kind: "approve", token: fromToken, spender, amount: amount.toString() },
    signed,
  });
  if (transactionId === null)
    throw new AppError("upstream", "The swap was not sent in time: nothing was swapped");
  await handOut(ctx, { _id: transactionId, address: from, ...signed }, { isFirst: true });
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
      await ctx.runMutation(internal.wallets.transactions.outcome.advance, { transactionId, to });
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
 * What Permit2 may take of the sold token now, and how much of that earlier swaps of the wallet will have taken by the
 * time a new one is mined. The chain is asked rather than the quote, which knows neither number when it sees enough.
 */
async function readAllowed(
  ctx: ActionCtx,
  walletId: string,
  owner: Address,
  token: Symbol,
): Promise<{ now: bigint; taken: bigint }> {
  const { address } = TOKENS[token];
  if (address === null) return { now: 0n, taken: 0n };
  // In this order: a swap that is mined in between counts twice, which costs an approval, and never not at all.
  const taken = await ctx.runQuery(internal.wallets.wallets.inFlight, { walletId, token });
  const now = await readAllowance(address, owner, PERMIT2);
  return { now, taken: BigInt(taken) };
}

/** What the wallet holds of the sold token, and live prices of both sides from the feeds, in one call. */
async function readMarket(
  owner: Address,
  { fromToken, toToken }: Pick<SwapRequest, "fromToken" | "toToken">,
): Promise<{ held: bigint; prices: { from: bigint | null; to: bigint | null } }> {
  const { address } = TOKENS[fromToken];
  const feeds = [TOKENS[fromToken].feed, TOKENS[toToken].feed] as const;
  const account = await readAccount(owner, address === null ? [] : [address], feedAddresses(feeds));
  const held = address === null ? account.native : (account.tokens[0] ?? 0n);
  const prices = livePrices(feeds, account.rounds, Date.now());
  return { held, prices: { from: prices.get(feeds[0]) ?? null, to: prices.get(feeds[1]) ?? null } };
}

/** The same for a swap's approval, whose row begins here. */
export const storeApproval = internalMutation({
  args: { parentId: v.id("transactions"), request: vRequest, signed: vSigned },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { parentId, request, signed }) => {
    const parent = await byId(ctx, parentId);
    if (parent.state !== "prepared" || !(await takeNonce(ctx, signed))) return null;
    await ctx.db.patch("transactions", parentId, { approvalTxHash: signed.txHash });
    return insertSigned(ctx, parent, { request, parentId, signed });
  },
});

/** Notes that a swap's permit was signed; the simulation shows it to the chain's RPC before the swap itself is signed. */
export const notePermit = internalMutation({
  args: { transactionId: v.id("transactions") },
  returns: v.null(),
  handler: async (ctx, { transactionId }) => {
    const { userId, request } = await byId(ctx, transactionId);
    const detail = request.kind === "swap" ? `${request.amount} ${request.fromToken}` : request.kind;
    await recordAudit(ctx, { actor: userId, action: "permit signed", subject: transactionId, detail });
    return null;
  },
});
