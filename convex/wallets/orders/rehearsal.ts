import { concat, numberToHex, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { failureOf, STATUS } from "../../lib/errors";
import type { Caller } from "../../lib/limits/callers";
import { formatUnits } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { counted } from "../../lib/outside/providerCalls";
import { FEED_DECIMALS } from "../../market/feeds";
import { valuesOf, type Values } from "../holdings";
import type { UserRequest } from "../tables";
import { PERMIT2 } from "../tokens";
import {
  affordableApproval,
  affordableSwap,
  MOST_GAS,
  offerOf,
  sendable,
  type Affordable,
  type Payer,
} from "./calls";
import { toleratedBps } from "./limits";
import { costBps, type SwapRequest } from "./quotes";
import type { Forecast, Refusal } from "./rows";

/**
 * What an order would do, by the same functions that orders pass, as far as they go without a signature. It signs,
 * stores and counts nothing. For actions.
 */

export type Rehearsal = {
  /** The refusal that the order would get; `null` if there is none. */
  refusal: Refusal | null;
  values: Values;
  limits: Forecast["limits"];
  /** Of all transactions that the order needs; `null` if it is refused before they are known. */
  fees: ReturnType<typeof feesOf> | null;
  transactions: number;
  /** The most that its dearest transaction may cost, in wei; as `fees`. */
  mostFee: bigint | null;
  swap: ReturnType<typeof shownSwap> | null;
};

/** The gas that 0x's API states for a swap whose gas it does not know. */
const USUAL_SWAP_GAS = 300_000n;

/** Replaces the signature that nobody gives: its length word and 65 bytes, for the fee of the call's data. */
const NO_SIGNATURE: Hex = concat([numberToHex(65, { size: 32 }), `0x${"ff".repeat(65)}`]);

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
    const { refusal, limits } = await ctx.runQuery(internal.wallets.orders.rows.forecast, {
      userId: payer.userId,
      request,
      address: caller.address,
      now: Date.now(),
      ...(asked === undefined ? {} : { asked }),
      ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
      ...(values.value === null ? {} : { value: values.value.toString() }),
    });
    const found: Rehearsal = {
      refusal,
      values,
      limits,
      fees: null,
      transactions: 0,
      mostFee: null,
      swap: null,
    };
    try {
      if (request.kind === "send") noteFees(found, "send", [await sendable(ctx, payer, request)]);
      else await rehearseSwap(ctx, payer, request, found);
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

/** It also leaves how far it got if a later step refuses it. */
async function rehearseSwap(
  ctx: ActionCtx,
  payer: Payer,
  request: SwapRequest,
  found: Rehearsal,
): Promise<void> {
  const offer = await offerOf(ctx, payer, request, null);
  const { quote, approvals } = offer;
  found.swap = shownSwap(offer, request);
  const all: Affordable[] = [];
  for (const amount of approvals) all.push(await affordableApproval(ctx, payer, request.fromToken, amount));
  const { data, gas } = quote.transaction;
  const swapping = quote.permit2
    ? affordableSwap(ctx, payer, request, quote, concat([data, NO_SIGNATURE]), gas ?? USUAL_SWAP_GAS)
    : affordableSwap(ctx, payer, request, quote, data);
  noteFees(found, "swap", [...all, await swapping]);
}

function shownSwap(offer: Awaited<ReturnType<typeof offerOf>>, request: SwapRequest) {
  const { quote, least, prices, priceChecked, approvals } = offer;
  const usd = (price: bigint | null) => (price === null ? null : Number(formatUnits(price, FEED_DECIMALS)));
  return {
    sellAmount: quote.sellAmount.toString(),
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

function noteFees(found: Rehearsal, kind: "send" | "swap", all: readonly Affordable[]): void {
  found.fees = feesOf(kind, all);
  found.transactions = all.length;
  found.mostFee = all.reduce((most, { mostFee }) => (mostFee > most ? mostFee : most), 0n);
}

function feesOf(kind: "send" | "swap", all: readonly Affordable[]) {
  const sum = (of: (one: Affordable) => bigint) => all.reduce((total, one) => total + of(one), 0n);
  const highest = all.reduce((most, { preparation: { fees } }) => {
    return fees.maxFeePerGas > most ? fees.maxFeePerGas : most;
  }, 0n);
  return {
    transactions: all.length,
    gasLimit: sum(({ gas }) => gas).toString(),
    maxFeePerGas: highest.toString(),
    /** The current fee for L1 data, in wei. */
    l1Fee: sum(({ preparation }) => preparation.l1Fee).toString(),
    /** The most that the network may take, in ETH. */
    mostEth: formatUnits(
      sum(({ mostFee }) => mostFee),
      18,
    ),
    /** A single transaction with more is refused. */
    ceilingGas: MOST_GAS[kind].toString(),
    ceilingEth: formatUnits(MOST_FEE, 18),
  };
}
