import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { getErrorData } from "../../lib/errors";
import { BPS } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { defined } from "../../lib/objects";
import type { Caller } from "../../platform/limits/callers";
import { withUsage } from "../../platform/outside/calls";
import { requireKey } from "../custody/signatures";
import { computeSlip, estimateValues } from "../holdings";
import { getOutgoing, requireStoredAddress, type WalletKind } from "../model";
import type { Estimate, UserRequest } from "../tables";
import { buildUsualSend, estimateFees, type PayingWallet } from "./calls";
import type { Order } from "./model";
import type { Forecast } from "./placing";
import { resolveAmount } from "./amounts";
import { rehearseOnPaper } from "./paper";
import { listCalls } from "./signer";
import { quoteSwap, type Offer } from "./swaps";

/** Rehearsals: the quote and the expected result of an order. Nothing is signed, stored or counted. For actions. */

/** An order's costs. Fees in wei: at the current price, and the maximum of all its transactions together. */
type Quote = { usualFee: bigint; feesInAll: bigint; usualCostBps: number | null; terms?: Order["terms"] };

export type Rehearsal = Pick<Forecast, "refusal" | "isAsked" | "leftUsd" | "paper"> & {
  /** With its exact amount. */
  request: UserRequest;
  /**
   * Value of the sent or sold amount, and of one ether, in micro-USD; without a live price the first is absent, the
   * second 0.
   */
  value?: string;
  etherPrice: string;
  /** The warning of `computeSlip` about the amount. */
  slip: string | null;
  /** `null` if the provider gave no quote. */
  quote: Quote | null;
};

/** The taker of quotes without a wallet: it holds nothing and has no key. */
const NO_TAKER = "0x000000000000000000000000000000000000dEaD";

/** Runs the checks of an order up to the signature, and quotes it whether or not it passes. */
export const rehearse = withUsage(
  async (
    ctx: ActionCtx,
    order: { userId: string; kind: WalletKind; request: UserRequest },
    { address, keyHash }: Pick<Caller, "address" | "keyHash">,
  ): Promise<Rehearsal> => {
    const { userId } = order;
    const forecastFor = (request: UserRequest, value: { value?: string }): Promise<Forecast> =>
      ctx.runQuery(internal.wallets.orders.placing.forecastOrder, {
        ...{ ...order, request, ...value, address, now: Date.now() },
        ...(keyHash === undefined ? {} : { keyHash }),
      });
    // A part of a balance is only read for callers that may see it.
    const sized = order.request.size === undefined ? null : await forecastFor(order.request, {});
    const request = await resolveAmount(ctx, sized?.wallet ?? { address: NO_TAKER }, order.request);
    const { etherPrice, ...value } = await estimateValues(getOutgoing(request));
    const forecast = await forecastFor(request, value);
    const { wallet, ...limits } = forecast;
    const taker = wallet?.address ?? NO_TAKER;
    const slip = await computeSlip(wallet ?? { address: NO_TAKER }, request, value.value);
    const facts = { ...limits, ...value, request, etherPrice, slip };
    if (wallet === null) return { ...facts, quote: await quoteQuietly(request, taker) };
    try {
      await requireKey(ctx, wallet.walletId);
      return { ...facts, quote: await rehearseOrder(ctx, { ...wallet, userId, etherPrice }, request) };
    } catch (error) {
      const failure = getErrorData(error);
      if (failure === null) throw error;
      const isQuotable = failure.code === "invalid_request";
      const quote = isQuotable ? await quoteQuietly(request, taker) : null;
      return { ...facts, quote, refusal: forecast.refusal ?? failure };
    }
  },
);

/** A quote without a paying wallet; `null` if there is none: the refusal itself is reported elsewhere. */
async function quoteQuietly(request: UserRequest, taker: string): Promise<Quote | null> {
  if (request.kind === "gas") return null;
  try {
    const address = requireStoredAddress(taker);
    const { call, ...offer } =
      request.kind === "swap" ? await quoteSwap(request, address) : buildUsualSend(request);
    const { usualFee, mostFee: feesInAll } = await estimateFees(call);
    return { ...offer, usualFee, feesInAll };
  } catch (error) {
    if (getErrorData(error) === null) throw error;
    return null;
  }
}

/** @param margin Factor by which fees may rise, up to the general ceiling, before the order is signed. */
async function rehearseOrder(ctx: ActionCtx, payer: PayingWallet, request: UserRequest, margin = 1n) {
  if (payer.book !== undefined) return rehearseOnPaper({ ...payer, book: payer.book }, request, margin);
  let offer: Offer | undefined;
  let usualFee = 0n;
  const fees: bigint[] = [];
  for await (const next of listCalls(ctx, { ...payer, request })) {
    fees.push(next.mostFee);
    usualFee += next.usualFee;
    offer = next.offer;
  }
  const maxCost = fees.reduce((a, b) => (a > b ? a : b), 0n) * margin;
  const mostFee = maxCost < MOST_FEE ? maxCost : MOST_FEE;
  const feesInAll = mostFee * BigInt(fees.length);
  const { usualCostBps = null, terms } = offer ?? {};
  return { mostFee, feesInAll, usualFee, usualCostBps, ...(terms === undefined ? {} : { terms }) };
}

/**
 * The estimate on the owner's card: fees may double before the tap.
 * @throws AppError for an order that cannot succeed, approved or not.
 */
export const estimateForApproval = withUsage(
  async (ctx: ActionCtx, payer: Omit<PayingWallet, "etherPrice">, request: UserRequest) => {
    const values = await estimateValues(getOutgoing(request));
    const { mostFee, feesInAll, usualFee, usualCostBps, terms } = await rehearseOrder(
      ctx,
      { ...payer, ...values },
      request,
      2n,
    );
    const worth =
      values.value === undefined || usualCostBps === null
        ? undefined
        : (BigInt(values.value) * (BPS - BigInt(usualCostBps))) / BPS;
    const found: Estimate = {
      mostFee: mostFee.toString(),
      feesInAll: feesInAll.toString(),
      usualFee: usualFee.toString(),
      ...defined({ boughtValue: worth?.toString() }),
      ...(terms === undefined ? {} : { minBuyAmount: terms.minBuyAmount, buyAmount: terms.buyAmount }),
    };
    return { ...values, found };
  },
);
