import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { awaitRefresh, beginRefresh, doneAt, finishRefresh } from "../lib/refreshes";
import { MINUTE, unlessLate } from "../lib/time";
import type { Asking } from "../providers/publicData";
import { collect, deadlineOf, goodForMs } from "./collectors";
import { keyOf, latestOf, slotOf } from "./model";
import { vCollector, vFact, vWanted, type Missing, type Wanted } from "./tables";

/**
 * Collections of facts, each made by one of those who need it while the others wait: by collector and subject, as
 * `lib/refreshes` does it. Whoever asks collects itself, within an action of its own.
 */

/** Longer than the longest deadline of a collector. */
const LEASE_MS = 2 * MINUTE;
/** After a failure a source is left alone for this long. */
const REST_MS = MINUTE;

const vClaim = v.object({ collector: vCollector, subject: v.string(), attempt: v.number() });

const refreshKey = (wanted: Wanted) => `evidence:${keyOf(wanted)}`;

type Claim = Wanted & { attempt: number };

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
  const { mine, others } = await ctx.runMutation(internal.evidence.collecting.claim, {
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
    await ctx.runMutation(internal.evidence.collecting.store, { ...one, attempt, facts });
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

/** What of these has to be waited for: what now is the caller's to collect (or is collected behind), and what others are at. */
export const claim = internalMutation({
  args: { wanted: v.array(vWanted), freshMs: v.number(), behind: v.boolean() },
  returns: v.object({ mine: v.array(vClaim), others: v.array(vClaim) }),
  handler: async (ctx, { wanted, freshMs, behind }) => {
    const now = Date.now();
    const claims: { mine: Claim[]; others: Claim[] } = { mine: [], others: [] };
    for (const one of wanted) {
      const isFresh = (at = 0) => now - at <= Math.max(freshMs, goodForMs(one.collector));
      // The facts themselves are long, and read last.
      if (isFresh(await doneAt(ctx, refreshKey(one)))) continue;
      if (isFresh((await latestOf(ctx, one))?.collectedAt)) continue;
      let whose: keyof typeof claims = "others";
      const work = { key: refreshKey(one), leaseMs: LEASE_MS, restMs: REST_MS, caller: { address: null } };
      const { attempt } = await beginRefresh(ctx, work, () => Promise.resolve((whose = "mine")));
      claims[whose].push({ ...one, attempt });
    }
    if (behind && claims.mine.length > 0) {
      await ctx.scheduler.runAfter(0, internal.evidence.collecting.run, { claims: claims.mine });
    }
    return claims;
  },
});

export const store = internalMutation({
  args: { collector: vCollector, subject: v.string(), attempt: v.number(), facts: v.array(vFact) },
  returns: v.null(),
  handler: async (ctx, { collector, subject, attempt, facts }) => {
    const one = { collector, subject };
    if (!(await finishRefresh(ctx, refreshKey(one), attempt, null))) return null;
    const now = Date.now();
    const row = { key: keyOf(one), slot: slotOf(now), collectedAt: now, facts };
    const stored = await latestOf(ctx, one);
    if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
    else await ctx.db.replace("facts", stored._id, row);
    return null;
  },
});

/** The facts of these collections as they stood at a moment (now, without one), and what had none of the `withinMs` before it. */
export const latest = internalQuery({
  args: { wanted: v.array(vWanted), withinMs: v.number(), at: v.optional(v.number()) },
  returns: v.object({ facts: v.array(vFact), absent: v.array(vWanted) }),
  handler: async (ctx, { wanted, withinMs, at = Date.now() }) => {
    const rows = await Promise.all(
      wanted.map(async (one) => {
        const row = await latestOf(ctx, one, at);
        return { one, facts: row === null || at - row.collectedAt > withinMs ? null : row.facts };
      }),
    );
    return {
      facts: rows.flatMap(({ facts }) => facts ?? []),
      absent: rows.flatMap(({ one, facts }) => (facts === null ? [one] : [])),
    };
  },
});
