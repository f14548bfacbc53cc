import { v, type Infer } from "convex/values";
import { omit } from "convex-helpers";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { beginRefresh, endRefresh, findRefresh, finishRefresh } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { goodForMs, keyOf, latestOf, refreshKey, slotOf } from "./model";
import { factsIn, sheetsOf } from "./sayings";
import { vClaim, vFact, vWanted, type Claim, type Fact, type Wanted } from "./tables";

/** Who collects what, and what came of it. */

/** Longer than the longest deadline of a collector. */
const LEASE_MS = 2 * MINUTE;
/** After a failure a source is left alone for this long. */
const REST_MS = MINUTE;

export const vStanding = v.object({ facts: v.array(vFact), absent: v.array(vWanted) });

/** What of these has to be waited for: what now is the caller's to collect (or is collected behind), and what others are at. */
export const claim = internalMutation({
  args: { wanted: v.array(vWanted), freshMs: v.number(), behind: v.boolean() },
  returns: v.object({ mine: v.array(vClaim), others: v.array(vClaim) }),
  handler: async (ctx, { wanted, freshMs, behind }) => {
    const now = Date.now();
    const claims: { mine: Claim[]; others: Claim[] } = { mine: [], others: [] };
    for (const one of wanted) {
      // The facts themselves are long: where their refresh tells when they were collected, they are not read for that.
      const key = refreshKey(one);
      const found = await findRefresh(ctx, key);
      const at = found?.doneAt ?? (await latestOf(ctx, one))?.collectedAt ?? 0;
      if (now - at <= Math.max(freshMs, goodForMs(one.collector))) continue;
      let whose: keyof typeof claims = "others";
      const work = { key, found, leaseMs: LEASE_MS, restMs: REST_MS, caller: { address: null } };
      const { attempt } = await beginRefresh(ctx, work, () => Promise.resolve((whose = "mine")));
      claims[whose].push({ ...one, attempt });
    }
    if (behind && claims.mine.length > 0) {
      await ctx.scheduler.runAfter(0, internal.evidence.desk.run, { claims: claims.mine });
    }
    return claims;
  },
});

/** What came of a claim: facts, or why there are none. */
const vOutcome = v.object({ claim: vClaim, said: v.union(v.array(vFact), v.string()) });
export type Outcome = Infer<typeof vOutcome>;

/** Ends the claims of collections that have come together. */
export const store = change({ outcomes: v.array(vOutcome) }, async (ctx, { outcomes }) => {
  for (const { claim, said } of outcomes) {
    if (typeof said === "string") await finishRefresh(ctx, refreshKey(claim), claim.attempt, said);
    else await keep(ctx, claim, said);
  }
});

async function keep(ctx: MutationCtx, claim: Claim, facts: readonly Fact[]): Promise<void> {
  const one = omit(claim, ["attempt"]);
  const before = await endRefresh(ctx, refreshKey(one), claim.attempt, null);
  if (before === null) return;
  const now = Date.now();
  const row = { key: keyOf(one), slot: slotOf(now), collectedAt: now, facts: sheetsOf(facts) };
  // Those of an earlier half hour stay, and are not read to be told from this one's.
  const isFirst = before.doneAt !== undefined && slotOf(before.doneAt) < row.slot;
  const stored = isFirst ? null : await latestOf(ctx, one);
  if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
  else await ctx.db.replace("facts", stored._id, row);
}

/** The facts of these collections as they stand, or stood, `at` a moment (epoch ms), and what had none of the `withinMs` before. */
export const latest = internalQuery({
  args: { wanted: v.array(vWanted), withinMs: v.number(), at: v.number() },
  returns: vStanding,
  handler: standing,
});

/** The same at a moment (epoch ms). */
export async function standing(
  ctx: QueryCtx,
  { wanted, withinMs, at }: { wanted: readonly Wanted[]; withinMs: number; at: number },
): Promise<Infer<typeof vStanding>> {
  const rows = await Promise.all(
    wanted.map(async (one) => {
      const row = await latestOf(ctx, one, at);
      return { one, facts: row === null || at - row.collectedAt > withinMs ? null : factsIn(row) };
    }),
  );
  return {
    facts: rows.flatMap(({ facts }) => facts ?? []),
    absent: rows.flatMap(({ one, facts }) => (facts === null ? [one] : [])),
  };
}
