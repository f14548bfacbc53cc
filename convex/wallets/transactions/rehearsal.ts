import type { Infer } from "convex/values";
import { concat, numberToHex, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { MOST_FEE } from "../../lib/money/base";
import type { Caller } from "../../lib/limits/callers";
import { failureOf, STATUS, type ErrorCode } from "../../lib/errors";
import { formatUnits, usdValue } from "../../lib/money/amounts";
import { counted } from "../../lib/outside/providerCalls";
import { FEED_DECIMALS } from "../../prices/feeds";
import { storedAddress } from "../addresses";
import { valueOf } from "../holdings";
import { PERMIT2 } from "../tokens";
import { MOST_GAS, sendable, type Affordable, type Payer } from "./terms/plan";
import { costBps } from "./terms/quote";
import type { vRefusal, vStanding } from "./forecast";
import { affordableApproval, affordableSwap, offerOf, simulateSwap, type Offer } from "./swap";
import type { TransactionRequest } from "./tables";

/**
 * What an order would do, by the same functions that orders pass, as far as they go without a signature. It signs,
 * stores and reserves nothing. For actions.
 */

type SwapRequest = Extract<TransactionRequest, { kind: "swap" }>;
type OrderRequest = Extract<TransactionRequest, { kind: "send" | "swap" }>;

type Refusal = Infer<typeof vRefusal>;

export type Rehearsal = {
  /** The refusal that the order would get; `null` if there is none. */
  refusal: Refusal | null;
  /** The value of the sent or sold amount, in USD, and as digits in micro-USD; `null` without a live price. */
  valueUsd: number | null;
  valueMicroUsd: string | null;
  limits: Infer<typeof vStanding>["limits"];
  fees: Fees | null;
  /** The most that its dearest transaction may cost, in wei; as `fees`. */
  mostFee: bigint | null;
  swap: SwapRehearsal | null;
};

/** Of all transactions that the order needs. */
type Fees = {
  transactions: number;
  gasLimit: string;
  maxFeePerGas: string;
  /** The current fee for L1 data, in wei. */
  l1Fee: string;
  /** The most that the network may take, in ETH. */
  mostEth: string;
  /** A single transaction with more is refused. */
  ceilingGas: string;
  ceilingEth: string;
};

type SwapRehearsal = {
  sellAmount: string;
  buyAmount: string;
  minBuyAmount: string;
  priceChecked: boolean;
  approvals: { spender: string; amount: string }[];
  price: {
    source: "chainlink";
    fromUsd: number | null;
    toUsd: number | null;
    /** How much less than the sold amount the quote, and its guaranteed minimum, are worth; and the accepted limit. */
    costBps: number | null;
    mostCostBps: number | null;
    toleratedBps: number;
  };
};

/** @property caller Who asks. @property asked Whether it is to be put to its owner, and where it was begun. */
type RehearsalRequest = {
  payer: Payer;
  request: OrderRequest;
  caller: Pick<Caller, "address" | "keyHash">;
  asked?: "approval" | "chat";
};

/** The gas that 0x's API states for a swap whose gas it does not know. */
const USUAL_SWAP_GAS = 300_000n;

/** Replaces the signature that nobody gives: its length word and 65 bytes, for the fee of the call's data. */
const NO_SIGNATURE: Hex = concat([numberToHex(65, { size: 32 }), `0x${"ff".repeat(65)}`]);

export const rehearse = counted(
  async (ctx: ActionCtx, { payer, request, caller, asked }: RehearsalRequest): Promise<Rehearsal> => {
    const token = request.kind === "send" ? request.token : request.fromToken;
    const micro = await valueOf({ token, amount: request.amount });
    const standing = await ctx.runQuery(internal.wallets.transactions.forecast.of, {
      ...{ userId: payer.userId, request, caller: caller.address, now: Date.now() },
      ...(asked === undefined ? {} : { asked }),
      ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
      ...(micro === null ? {} : { valueMicroUsd: micro }),
    });
    const rehearsal: Rehearsal = {
      refusal: standing.refusal,
      valueUsd: micro === null ? null : usdValue(BigInt(micro)),
      valueMicroUsd: micro,
      limits: standing.limits,
      fees: null,
      mostFee: null,
      swap: null,
    };
    try {
      if (request.kind === "send") noteFees(rehearsal, "send", [await sendable(ctx, payer, request)]);
      else await rehearseSwap(ctx, payer, request, rehearsal);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      // An order that waits for its owner may still be refused.
      if (rehearsal.refusal === null || rehearsal.refusal.code === null)
        rehearsal.refusal = asRefusal(failure);
    }
    return rehearsal;
  },
);

/** It also returns how far it got if a later step refuses it. */
async function rehearseSwap(
  ctx: ActionCtx,
  payer: Payer,
  request: SwapRequest,
  rehearsal: Rehearsal,
): Promise<void> {
  const offer = await offerOf(ctx, payer, request);
  const { quote, swap, least, approvals } = offer;
  rehearsal.swap = shownSwap(offer);
  const approving: Affordable[] = [];
  for (const amount of approvals)
    approving.push(await affordableApproval(ctx, payer, swap.fromToken, amount));
  if (quote.permit2) {
    const data = concat([quote.transaction.data, NO_SIGNATURE]);
    const gas = quote.transaction.gas ?? USUAL_SWAP_GAS;
    const swapping = await affordableSwap(ctx, payer, swap, quote, data, gas);
    noteFees(rehearsal, "swap", [...approving, swapping]);
    return;
  }
  const swapping = await affordableSwap(ctx, payer, swap, quote, quote.transaction.data);
  noteFees(rehearsal, "swap", [...approving, swapping]);
  await simulateSwap(storedAddress(payer.address), swapping, swap, least);
}

function shownSwap({ quote, swap, least, prices, priceChecked, approvals, tolerated }: Offer): SwapRehearsal {
  const usd = (price: bigint | null) => (price === null ? null : Number(formatUnits(price, FEED_DECIMALS)));
  return {
    sellAmount: quote.sellAmount.toString(),
    buyAmount: quote.buyAmount.toString(),
    minBuyAmount: least.toString(),
    priceChecked,
    approvals: approvals.map((amount) => ({ spender: PERMIT2, amount: amount.toString() })),
    price: {
      source: "chainlink",
      fromUsd: usd(prices.from),
      toUsd: usd(prices.to),
      costBps: costBps(quote.buyAmount, swap, prices),
      mostCostBps: costBps(least, swap, prices),
      toleratedBps: tolerated,
    },
  };
}

function noteFees(rehearsal: Rehearsal, kind: "send" | "swap", all: readonly Affordable[]): void {
  rehearsal.fees = feesOf(kind, all);
  rehearsal.mostFee = all.reduce((most, { mostFee }) => (mostFee > most ? mostFee : most), 0n);
}

function feesOf(kind: "send" | "swap", all: readonly Affordable[]): Fees {
  const sum = (of: (one: Affordable) => bigint) => all.reduce((total, one) => total + of(one), 0n);
  const [highest = 0n] = all
    .map(({ preparation }) => preparation.fees.maxFeePerGas)
    .sort((a, b) => (a > b ? -1 : 1));
  return {
    transactions: all.length,
    gasLimit: sum(({ gas }) => gas).toString(),
    maxFeePerGas: highest.toString(),
    l1Fee: sum(({ preparation }) => preparation.l1Fee).toString(),
    mostEth: formatUnits(
      sum(({ mostFee }) => mostFee),
      18,
    ),
    ceilingGas: MOST_GAS[kind].toString(),
    ceilingEth: formatUnits(MOST_FEE, 18),
  };
}

function asRefusal({ code, message }: { code: ErrorCode; message: string }): Refusal {
  return { status: STATUS[code], code, error: message };
}
