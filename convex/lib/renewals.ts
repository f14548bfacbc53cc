import type { FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
import { internal } from "../_generated/api";
import { type MutationCtx } from "../_generated/server";
import { change } from "./changes";
import { refuseBeyond } from "./budget/ledger";
import { classOf, payerOf } from "./limits/payers";
import type { Caller } from "./limits/callers";
import { beginRefresh, finishRefresh, QUEUE_MS } from "./refreshes";
import { type Ticket, vPayer } from "./tables";
import { end, open, failureHandler, vFailure, vJob, type Job } from "./work/jobs";

/** Refreshes (`lib/refreshes`) of models' output: in the lane of the caller, within the day's budget. */

/** What the action gets besides its own arguments: the attempt at the key, and the payer. */
export const vTurn = { key: v.string(), attempt: v.number(), payer: vPayer };
type Turn = ObjectType<typeof vTurn>;

/** The attempt that a result belongs to. */
export const vResultOf = v.object({ key: v.string(), attempt: v.number(), job: vJob });

/**
 * Begins a refresh, or joins the running one. The action takes the attempt with `refreshes.take`, and may throw.
 * @throws AppError `rate_limited`, also when too many requests wait or the day's budget is used up.
 */
export async function beginInLane<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  { rank, ...refresh }: { key: string; restMs?: number; caller: Caller; rank?: "service" },
  action: FunctionReference<"action", "internal", Args & Turn & { job: Job }>,
  args: Args,
): Promise<Ticket> {
  const { key, caller } = refresh;
  return beginRefresh(ctx, { ...refresh, leaseMs: QUEUE_MS }, async (attempt) => {
    const payer = rank ?? payerOf(caller);
    await refuseBeyond(ctx, payer);
    const onFailure = failureHandler(internal.lib.renewals.failed, { key, attempt });
    const terms = { queue: "models" as const, rank: rank ?? classOf(caller), attempts: 1, onFailure };
    await open(ctx, action, { ...args, key, attempt, payer }, terms);
  });
}

/** Ends the work and its attempt. Call it in the mutation that stores the result, and store nothing if it returns `false`. */
export async function finishInLane(
  ctx: MutationCtx,
  { key, attempt, job }: Infer<typeof vResultOf>,
): Promise<boolean> {
  await end(ctx, job);
  return (await finishRefresh(ctx, { key, attempt }, null)) !== null;
}

/** The attempt has failed, or was lost with its server. */
export const failed = change(
  { key: v.string(), attempt: v.number(), ...vFailure },
  async (ctx, { key, attempt, error, limitedUntil }) => {
    await finishRefresh(ctx, { key, attempt }, error, limitedUntil);
  },
);
