import { v } from "convex/values";
import { omit } from "convex-helpers";
import { internalMutation, internalQuery } from "../_generated/server";
import { change } from "../lib/changes";
import { vFact } from "../lib/facts";
import { claimRefresh, findRefresh, finishRefresh } from "../lib/cache";
import { MINUTE } from "../lib/time";
import { goodForMs, keyOf, latestOf, slotOf, standing, storedForm, vStanding } from "./facts";
import { vClaim, vWanted, type Claim, type Wanted } from "./tables";

/** Collections of facts: who collects them, and their outcomes. */

/** Longer than the longest wait for a collector. */
const LEASE_MS = MINUTE;
/** How long a source is left alone after a failure. */
const REST_MS = MINUTE;

/** The key of a collection in `lib/cache`. */
const refreshKey = (wanted: Wanted): string => `facts:${keyOf(wanted)}`;

/** What has to be waited for: collections that are now the caller's, and those of others. */
export const claim = internalMutation({
  args: { wanted: v.array(vWanted), freshMs: v.number() },
  returns: v.object({ mine: v.array(vClaim), others: v.array(vClaim.extend({ key: v.string() })) }),
  handler: async (ctx, { wanted, freshMs }) => {
    const now = Date.now();
    const mine: Claim[] = [];
    const others: (Claim & { key: string })[] = [];
    for (const one of wanted) {
      // The facts themselves are long: they are not read if their refresh shows when they were collected.
      const key = refreshKey(one);
      const found = await findRefresh(ctx, key);
      const at = found?.doneAt ?? (await latestOf(ctx, one))?.collectedAt ?? 0;
      if (now - at <= Math.max(freshMs, goodForMs(one.collector))) continue;
      const work = { key, found, leaseMs: LEASE_MS, restMs: REST_MS, caller: { address: null } };
      const { attempt, isNew = false } = await claimRefresh(ctx, work);
      if (isNew) mine.push({ ...one, attempt });
      else others.push({ ...one, attempt, key });
    }
    return { mine, others };
  },
});

/** Ends the claims of collections that were finished together: with facts, or with why there are none. */
export const store = change(
  { outcomes: v.array(v.object({ claim: vClaim, result: v.union(v.array(vFact), v.string()) })) },
  async (ctx, { outcomes }) => {
    for (const { claim, result } of outcomes) {
      const one = omit(claim, ["attempt"]);
      const failure = typeof result === "string" ? result : null;
      const ticket = { key: refreshKey(one), attempt: claim.attempt };
      if (!(await finishRefresh(ctx, ticket, failure)) || typeof result === "string") continue;
      const now = Date.now();
      const row = { key: keyOf(one), slot: slotOf(now), collectedAt: now, facts: storedForm(result) };
      const stored = await latestOf(ctx, one);
      if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
      else await ctx.db.replace("facts", stored._id, row);
    }
  },
);

/** The facts of these collections as of `at` (epoch ms), and the collections without facts in the `withinMs` before. */
export const latest = internalQuery({
  args: { wanted: v.array(vWanted), withinMs: v.number(), at: v.number() },
  returns: vStanding,
  handler: standing,
});
