import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError, failureOf, STATUS } from "../../lib/errors";
import type { Caller } from "../../lib/limits/callers";
import { formatUnits, usdValue } from "../../lib/money/amounts";
import { MOST_FEE } from "../../lib/money/base";
import { counted } from "../../lib/outside/providerCalls";
import { valuesOf } from "../holdings";
import { soldBy } from "../model";
import type { UserRequest } from "../tables";
import type { Payer } from "./calls";
import type { Forecast } from "./placing";
import { callsOf, offerOf, termsOf, type Offer } from "./plan";
import { costBps } from "./quotes";

/**
 * What an order would do: the calls and checks that orders pass, as far as they go without a signature. It signs, stores
 * and counts nothing. For actions.
 */

type Wondering = {
  payer: Payer;
  request: UserRequest;
  caller: Pick<Caller, "address" | "keyHash">;
  /** Whether it is to be put to its owner, and where it was begun. */
  asked?: "tap" | "chat";
};

type Rehearsal = Forecast & {
  values: Awaited<ReturnType<typeof valuesOf>>;
  /** The most that each of its transactions may cost, in wei; none if it is refused before they are known. */
  fees: bigint[];
  swap: ReturnType<typeof termsOf> | null;
  costBps: number | null;
};

export const rehearse = counted(
  async (ctx: ActionCtx, { payer, request, caller, asked }: Wondering): Promise<Rehearsal> => {
    const values = await valuesOf(soldBy(request));
    const forecast: Forecast = await ctx.runQuery(internal.wallets.orders.placing.forecast, {
      userId: payer.userId,
      request,
      address: caller.address,
      now: Date.now(),
      ...(asked === undefined ? {} : { asked }),
      ...(caller.keyHash === undefined ? {} : { keyHash: caller.keyHash }),
      ...(values.value === undefined ? {} : { value: values.value }),
    });
    let { refusal } = forecast;
    let offer: Offer | null = null;
    let fees: bigint[] = [];
    try {
      if (request.kind === "swap") offer = await offerOf(ctx, payer, request, null);
      for await (const { mostFee } of callsOf(ctx, payer, request, offer)) fees.push(mostFee);
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) throw error;
      fees = [];
      // An order that waits for its owner may still be refused.
      if (refusal === null || refusal.code === null)
        refusal = { status: STATUS[failure.code], code: failure.code, error: failure.message };
    }
    return {
      refusal,
      leftUsd: forecast.leftUsd,
      values,
      fees,
      swap: offer === null ? null : termsOf(offer),
      costBps: offer === null || request.kind === "send" ? null : costBps(offer.least, request, offer.prices),
    };
  },
);

/** What a rehearsal tells of an order. @param fee The most that each of its transactions may cost, in wei. */
export function foundIn({ values, fees, costBps }: Rehearsal, fee = mostOf(fees)) {
  const most = fees.length === 0 ? null : formatUnits(fee * BigInt(fees.length), 18);
  const valueUsd = values.value === undefined ? null : usdValue(BigInt(values.value));
  return { valueUsd, mostFeeEth: most, costBps };
}

function mostOf(fees: readonly bigint[]): bigint {
  return fees.reduce((a, b) => (a > b ? a : b), 0n);
}

/**
 * The findings of a rehearsal, for a question to the owner.
 * @throws AppError for orders that would be refused whatever the owner says.
 */
export async function foundFor(ctx: ActionCtx, wondering: Wondering) {
  const rehearsal = await rehearse(ctx, wondering);
  const { refusal, values, swap, fees } = rehearsal;
  if (refusal !== null && refusal.code !== null) {
    const { code, error, retryAfterMs } = refusal;
    throw new AppError(code, error, retryAfterMs === undefined ? {} : { retryAfterMs });
  }
  // Fees may rise until the owner has tapped: one transaction may cost twice as much as now, up to the general limit.
  const doubled = 2n * mostOf(fees);
  const mostFee = doubled < MOST_FEE ? doubled : MOST_FEE;
  return {
    ...values,
    ...(swap === null ? {} : { minBuyAmount: swap.minBuyAmount }),
    mostFee: mostFee.toString(),
    found: foundIn(rehearsal, mostFee),
  };
}
