import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError, failureOf, STATUS } from "../../lib/errors";
import type { Caller } from "../../lib/limits/callers";
import { formatUnits, usdValue } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { counted } from "../../lib/outside/providerCalls";
import { FEED_DECIMALS } from "../../market/feeds";
import { valuesOf, type Values } from "../holdings";
import type { UserRequest } from "../tables";
import { PERMIT2 } from "../tokens";
import type { Payer } from "./calls";
import { toleratedBps } from "./limits";
import type { Forecast, Refusal } from "./placing";
import { callsOf, offerOf, type Next, type Offer } from "./plan";
import { costBps, type SwapRequest } from "./quotes";

/**
 * What an order would do: the calls and checks that orders pass, as far as they go without a signature. It signs, stores
 * and counts nothing. For actions.
 */

export type Rehearsal = {
  /** The refusal that the order would get; `null` if there is none. */
  refusal: Refusal | null;
  values: Values;
  limits: Forecast["limits"];
  /** All transactions that the order needs; empty if it is refused before they are known. */
  calls: Next[];
  swap: ReturnType<typeof shownSwap> | null;
};

type Wondering = {
  payer: Payer;
  request: UserRequest;
  caller: Pick<Caller, "address" | "keyHash">;
  /** Whether it is to be put to its owner, and where it was begun. */
  asked?: "tap" | "chat";
};

export const rehearse = counted(
  async (ctx: ActionCtx, { payer, request, caller, asked }: Wondering): Promise<Rehearsal> => {
    const token = request.kind === "send" ? request.token : request.fromToken;
    const values = await valuesOf({ token, amount: request.amount });
    const { refusal, limits } = await ctx.runQuery(internal.wallets.orders.placing.forecast, {
      userId: payer.userId,
      request,
      address: caller.address,
      now: Date.now(),
      ...(asked === undefined ? {} : { asked }),
      ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
      ...(values.value === null ? {} : { value: values.value.toString() }),
    });
    const found: Rehearsal = { refusal, values, limits, calls: [], swap: null };
    try {
      const offer = request.kind === "swap" ? await offerOf(ctx, payer, request, null) : null;
      if (request.kind === "swap" && offer !== null) found.swap = shownSwap(offer, request);
      const calls: Next[] = [];
      for await (const call of callsOf(ctx, payer, request, offer)) calls.push(call);
      found.calls = calls;
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      // An order that waits for its owner may still be refused.
      if (found.refusal === null || found.refusal.code === null)
        found.refusal = { status: STATUS[failure.code], code: failure.code, error: failure.message };
    }
    return found;
  },
);

function shownSwap({ quote, least, prices, priceChecked, approvals }: Offer, request: SwapRequest) {
  const usd = (price: bigint | null) => (price === null ? null : Number(formatUnits(price, FEED_DECIMALS)));
  return {
    buyAmount: quote.buyAmount.toString(),
    minBuyAmount: least.toString(),
    priceChecked,
    approvals: approvals.map((amount) => ({ spender: PERMIT2, amount: amount.toString() })),
    price: {
      source: "chainlink" as const,
      fromUsd: usd(prices.from),
      toUsd: usd(prices.to),
      /** How much less than the sold amount the quote, and its guaranteed minimum, are worth; and the accepted limit. */
      costBps: costBps(quote.buyAmount, request, prices),
      mostCostBps: costBps(least, request, prices),
      toleratedBps: Number(toleratedBps(request.slippageBps)),
    },
  };
}

/** The fees of all transactions of an order; `null` if they are not known. */
export function feesOf(calls: readonly Next[]) {
  if (calls.length === 0) return null;
  const sum = (of: (one: Next) => bigint) => calls.reduce((total, one) => total + of(one), 0n);
  return {
    transactions: calls.length,
    gasLimit: sum(({ gas }) => gas).toString(),
    /** The most that the network may take, in ETH. */
    mostEth: formatUnits(
      sum(({ mostFee }) => mostFee),
      18,
    ),
    /** A single transaction with more is refused. */
    ceilingEth: formatUnits(MOST_FEE, 18),
  };
}

/**
 * The findings of a rehearsal, for a question to the owner.
 * @throws AppError for orders that would be refused whatever the owner says.
 */
export async function foundFor(ctx: ActionCtx, wondering: Wondering) {
  const { refusal, values, swap, calls } = await rehearse(ctx, wondering);
  if (refusal !== null && refusal.code !== null) {
    const { code, error, retryAfterMs } = refusal;
    throw new AppError(code, error, retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  // Fees may rise until the owner has tapped: one transaction may cost twice as much as now, up to the general limit.
  const doubled = calls.map(({ mostFee }) => 2n * mostFee).reduce((a, b) => (a > b ? a : b), 0n);
  const mostFee = doubled < MOST_FEE ? doubled : MOST_FEE;
  return {
    etherPrice: values.etherPrice.toString(),
    ...(values.value === null ? {} : { value: values.value.toString() }),
    ...(swap === null ? {} : { minBuyAmount: swap.minBuyAmount }),
    mostFee: mostFee.toString(),
    found: {
      valueUsd: values.value === null ? null : usdValue(values.value),
      mostFeeEth: formatUnits(mostFee * BigInt(calls.length), 18),
      costBps: swap?.price.mostCostBps ?? null,
    },
  };
}
