import type { FunctionReference } from "convex/server";
import { v, type ObjectType, type Value } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { refuseBeyond } from "./budget";
import { payerOf } from "./payers";
import { enter, placeOf, telling, vFailure, type Place } from "./lanes";
import type { Caller } from "./limits";
import { beginRefresh, finishRefresh, QUEUE_MS, type Ticket } from "./refreshes";
import { vPayer } from "./tables";

/** Refreshes (`lib/refreshes`) of what a model makes: in the lane of whoever asked, within the day's budget. */

/** What the action is given besides arguments of its own: the attempt, and whose budget it spends. */
export const vTurn = { attempt: v.number(), payer: vPayer };
type Turn = ObjectType<typeof vTurn>;

/**
 * Begins a refresh, or joins the one under way. The action takes the attempt up with `refreshes.take`, and may throw.
 * @throws AppError `rate_limited`, also when too much is being asked for or the day's budget is used up.
 */
export async function beginInLane<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  { place, ...refresh }: { key: string; restMs?: number; caller: Caller; place?: Place },
  action: FunctionReference<"action", "internal", Args & Turn>,
  args: Args,
): Promise<Ticket> {
  return beginRefresh(ctx, { ...refresh, leaseMs: QUEUE_MS }, async (attempt) => {
    const waits = place ?? placeOf(refresh.caller);
    const payer = place?.lane ?? payerOf(refresh.caller);
    await refuseBeyond(ctx, payer);
    const told = telling(internal.lib.renewals.failed, { key: refresh.key, attempt });
    await enter(ctx, waits, action, { ...args, attempt, payer }, { told });
  });
}

/** For the lane: the attempt has failed, or was lost with its server. */
export const failed = internalMutation({
  args: { key: v.string(), attempt: v.number(), ...vFailure },
  returns: v.null(),
  handler: async (ctx, { key, attempt, error, limitedUntil }) => {
    await finishRefresh(ctx, key, attempt, error, limitedUntil);
    return null;
  },
});
