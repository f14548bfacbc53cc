import type { RegisteredMutation } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { getOneFrom } from "convex-helpers/server/relationships";
import { DAY, HOUR, MINUTE } from "../lib/time";

/** A mutation without a return value. */
export function defineMutation<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: MutationCtx, given: ObjectType<Args>) => Promise<void>,
): RegisteredMutation<"internal", ObjectType<Args>, Promise<null>>;
export function defineMutation(
  args: PropertyValidators,
  work: (ctx: MutationCtx, given: Record<string, unknown>) => Promise<void>,
) {
  return internalMutation({
    args,
    returns: v.null(),
    handler: async (ctx, given): Promise<null> => {
      await work(ctx, given);
      return null;
    },
  });
}

/** How often each cron of `convex/crons.ts` runs, by the name it has there; in ms. */
export const CRON_PERIODS = {
  "check research shifts": 5 * MINUTE,
  "issue the day's signals": DAY,
  "anchor the signal record": HOUR,
  "track signal outcomes": 30 * MINUTE,
  "recap the week's signals": 7 * DAY,
  "look for whales": HOUR,
  "take up what is due": MINUTE,
  "watch the budget": 30 * MINUTE,
  "delete what has aged": DAY,
} as const satisfies Readonly<Record<string, number>>;

type CronName = keyof typeof CRON_PERIODS;

/** A cron's mutation: does its work, and records that it ran. */
export function defineCron(name: CronName, work: (ctx: MutationCtx) => Promise<void>) {
  return defineMutation({}, async (ctx) => {
    await recordCronRun(ctx, name);
    await work(ctx);
  });
}

/**
 * Records that a cron did its work, in the same transaction: a failed run keeps the time of the last successful one.
 * One row per cron, so that crons never conflict with each other.
 */
export async function recordCronRun(ctx: MutationCtx, name: CronName): Promise<void> {
  const ranAt = Date.now();
  const row = await getOneFrom(ctx.db, "cronRuns", "by_name", name);
  if (row === null) await ctx.db.insert("cronRuns", { name, ranAt });
  else await ctx.db.patch("cronRuns", row._id, { ranAt });
}
