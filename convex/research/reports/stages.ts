import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import type { Payer } from "../../lib/budget/classes";
import { giveBack, type Prepaid } from "../../lib/budget/ledger";
import { completionCost, usualSentiment } from "../../lib/budget/costs";
import { failureOf } from "../../lib/errors";
import { COLLECTION_INTERVAL_MS, dueAfterMs, SHIFT_MS } from "./checkpoints";

/**
 * How a shift is paid for: in stages, each a report and the collections before it. The first is paid for at the start,
 * each later one when the one before is used up. Shared observations that others pay for cost it nothing. The unused
 * rest is returned at its end.
 */

const STAGES = Object.keys(dueAfterMs).length;
const COLLECTIONS = SHIFT_MS / COLLECTION_INTERVAL_MS + 1;

type Amounts = Omit<Prepaid, "day">;

/** Usual answers of usual models, in millionths of a USD: two of the gateway's and one about sentiment. */
function collectionCost(): Amounts {
  return { llm: 2 * completionCost({ input: 2_000, output: 1_500 }), sentiment: usualSentiment() };
}

function reportCost(): Amounts {
  return { llm: completionCost({ input: 8_000, output: 1_500 }), sentiment: 0 };
}

function stageCost(): Amounts {
  const collections = Math.ceil(COLLECTIONS / STAGES);
  const one = collectionCost();
  return { llm: collections * one.llm + reportCost().llm, sentiment: collections * one.sentiment };
}

/** Who pays for a shift's collection, and what is then left of its stage. */
type Paid = { payer: Payer; prepaid: Prepaid | undefined };

/**
 * Pays for a collection, and for the next stage if the one before is used up.
 * @param first Whether the shift is about to start; it does not start if nothing is left to pay with.
 * @returns If the budget is not enough for a later stage, the starter pays call by call: each source is asked if
 * something is left then, and is missing otherwise. Its reports are still written, from the service's own part.
 * @throws AppError `rate_limited`
 */
export async function payForCollection(
  ctx: MutationCtx,
  shift: Doc<"shifts">,
  first: boolean,
): Promise<Paid> {
  const { paidBy: payer, prepaid } = shift;
  // It was paid for as a whole.
  if (payer === undefined) return { payer: "shift", prepaid };
  const cost = collectionCost();
  if (prepaid !== undefined && covers(prepaid, cost)) return { payer: "shift", prepaid: less(prepaid, cost) };
  if (prepaid !== undefined) await giveBack(ctx, payer, prepaid);
  const stage = { payer, amounts: stageCost() };
  try {
    // In a transaction of its own, so that a failure leaves nothing behind.
    const next: Prepaid = await ctx.runMutation(internal.lib.budget.ledger.prepay, stage);
    return { payer: "shift", prepaid: less(next, cost) };
  } catch (error) {
    if (first || failureOf(error)?.code !== "rate_limited") throw error;
    return { payer, prepaid: undefined };
  }
}

/** A shift after a report that was written for it. */
export function afterReport(shift: Doc<"shifts">): Doc<"shifts"> {
  const { prepaid } = shift;
  return prepaid === undefined ? shift : { ...shift, prepaid: less(prepaid, reportCost()) };
}

/** Returns the unused prepayment of a shift that has ended. */
export async function giveBackRest(ctx: MutationCtx, { paidBy, prepaid }: Doc<"shifts">): Promise<void> {
  if (paidBy !== undefined && prepaid !== undefined) await giveBack(ctx, paidBy, prepaid);
}

function covers(paid: Amounts, cost: Amounts): boolean {
  return paid.llm >= cost.llm && paid.sentiment >= cost.sentiment;
}

function less({ day, ...paid }: Prepaid, cost: Amounts): Prepaid {
  const { llm, sentiment } = paid;
  return { day, llm: Math.max(0, llm - cost.llm), sentiment: Math.max(0, sentiment - cost.sentiment) };
}
