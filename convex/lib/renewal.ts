import type { RegisteredAction } from "convex/server";
import type { ObjectType, PropertyValidators } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { vRefresh } from "./cache";
import type { Payer } from "./limits/callers";
import { worker } from "./work/desk";
import type { Job } from "./work/jobs";

/**
 * A worker that renews the answer at a key (`lib/cache`).
 * @param leaseMs Longer than the work takes: after this long it counts as lost.
 * @param work Returns the answer in JSON.
 */
export function renewal<Args extends PropertyValidators>(
  args: Args,
  leaseMs: number,
  work: (ctx: ActionCtx, given: ObjectType<Args> & { payer: Payer }) => Promise<string>,
): RegisteredAction<"internal", ObjectType<Args & typeof vRefresh> & { job: Job }, Promise<null>>;
export function renewal(
  args: PropertyValidators,
  leaseMs: number,
  work: (ctx: ActionCtx, given: Record<string, unknown> & { payer: Payer }) => Promise<string>,
) {
  return worker({ ...args, ...vRefresh }, async (ctx, { job, key, attempt, ...given }) => {
    if (!(await ctx.runMutation(internal.lib.cache.take, { key, attempt, leaseMs }))) return "over";
    const body = await work(ctx, given);
    await ctx.runMutation(internal.lib.cache.keep, { key, body, of: { attempt, job } });
  });
}
