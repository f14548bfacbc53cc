import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/outside/providerCalls";
import { awaitRefresh } from "../lib/refreshes";
import { unlessLate } from "../lib/time";
import type { Asking } from "../providers/data/publicData";
import { collect, deadlineOf } from "./collectors";
import { keyOf, refreshKey } from "./model";
import { vClaim, type Claim, type Missing, type Wanted } from "./tables";

/**
 * Collections of facts, each made by one of those who need it while the others wait: by collector and subject, as
 * `lib/refreshes` does it. Whoever asks collects itself, within an action of its own.
 */

/** `waitMs`: for somebody who waits no longer; the collections go on behind. `turnOf`: whose turns it takes, the service's own without one. */
type Gathering = { freshMs: number; waitMs?: number; turnOf?: string | undefined };

/**
 * Sees to it that facts of these collections are at most `freshMs` old; what nobody is collecting, the caller does. Never
 * throws for a source's sake.
 * @returns What could not be collected, and why.
 */
export async function gather(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  { freshMs, waitMs, turnOf }: Gathering,
): Promise<Missing[]> {
  const behind = waitMs !== undefined;
  const { mine, others } = await ctx.runMutation(internal.evidence.collections.claim, {
    wanted: [...wanted],
    freshMs,
    behind,
  });
  const end = AbortSignal.timeout(waitMs ?? deadlines.facts);
  const asking = turnOf === undefined ? ctx : { ...ctx, turnOf };
  return missingOf([
    ...mine.map((one) => ({ one, work: behind ? joined(ctx, one, end) : collectOne(asking, one) })),
    ...others.map((one) => ({ one, work: joined(ctx, one, end) })),
  ]);
}

async function missingOf(works: { one: Wanted; work: Promise<void> }[]): Promise<Missing[]> {
  const missing = await Promise.all(
    works.map(async ({ one: { collector, subject }, work }): Promise<Missing[]> => {
      try {
        await work;
        return [];
      } catch (error) {
        return [{ collector, subject, reason: messageOf(error) }];
      }
    }),
  );
  return missing.flat();
}

/** Collects for somebody who does not wait until the end. */
export const run = providerAction({
  args: { claims: v.array(vClaim) },
  returns: v.null(),
  handler: async (ctx, { claims }) => {
    await missingOf(claims.map((one) => ({ one, work: collectOne(ctx, one) })));
    return null;
  },
});

async function collectOne(ctx: Asking, { collector, subject, attempt }: Claim): Promise<void> {
  const one = { collector, subject };
  try {
    const facts = await unlessLate(collect(ctx, one), AbortSignal.timeout(deadlineOf(collector)), late);
    await ctx.runMutation(internal.evidence.collections.store, { ...one, attempt, facts });
  } catch (error) {
    const failure = messageOf(error);
    log.warn("evidence.missing", { key: keyOf(one), reason: failure });
    await ctx.runMutation(internal.lib.refreshes.fail, { key: refreshKey(one), attempt, failure });
    throw error;
  }
}

async function joined(ctx: ActionCtx, { attempt, ...one }: Claim, end: AbortSignal): Promise<void> {
  const outcome = await awaitRefresh(ctx, { key: refreshKey(one), attempt }, end);
  if (outcome === "late") throw late();
}

const late = () => new AppError("upstream", "It did not come in time");
