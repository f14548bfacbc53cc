import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { beginRefresh, doneAt, finishRefresh } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { goodForMs, keyOf, latestOf, refreshKey, slotOf } from "./model";
import { vClaim, vCollector, vFact, vWanted, type Claim } from "./tables";

/** Who collects what, and what came of it. */

/** Longer than the longest deadline of a collector. */
const LEASE_MS = 2 * MINUTE;
/** After a failure a source is left alone for this long. */
const REST_MS = MINUTE;

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
      await ctx.scheduler.runAfter(0, internal.evidence.desk.run, { claims: claims.mine });
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
