import { v, type Infer } from "convex/values";
import { omit } from "convex-helpers";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { beginRefresh, findRefresh, finishRefresh } from "../lib/refreshes";
import { MINUTE } from "../lib/time";
import { goodForMs, keyOf, latestOf, refreshKey, slotOf } from "./model";
import { factsIn, sheetsOf } from "./sayings";
import { vClaim, vFact, vWanted, type Claim, type Fact, type Wanted } from "./tables";

/** Collections of facts: who collects them, and their outcomes. */

/** Longer than the longest deadline of a collector. */
const LEASE_MS = 2 * MINUTE;
/** How long a source is left alone after a failure. */
const REST_MS = MINUTE;

export const vStanding = v.object({ facts: v.array(vFact), absent: v.array(vWanted) });

/** What has to be waited for: collections that are now the caller's, and those of others. */
export const claim = internalMutation({
  args: { wanted: v.array(vWanted), freshMs: v.number(), behind: v.boolean() },
  returns: v.object({ mine: v.array(vClaim), others: v.array(vClaim) }),
  handler: async (ctx, { wanted, freshMs, behind }) => {
    const now = Date.now();
    const claims: { mine: Claim[]; others: Claim[] } = { mine: [], others: [] };
    for (const one of wanted) {
      // The facts themselves are long: they are not read if their refresh shows when they were collected.
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

/** The outcome of a claim: facts, or why there are none. */
const vOutcome = v.object({ claim: vClaim, result: v.union(v.array(vFact), v.string()) });
export type Outcome = Infer<typeof vOutcome>;

const ticketOf = (claim: Claim) => ({ key: refreshKey(claim), attempt: claim.attempt });

/** Ends the claims of collections that were finished together. */
export const store = change({ outcomes: v.array(vOutcome) }, async (ctx, { outcomes }) => {
  for (const { claim, result } of outcomes) {
    if (typeof result === "string") await finishRefresh(ctx, ticketOf(claim), result);
    else await keep(ctx, claim, result);
  }
});

async function keep(ctx: MutationCtx, claim: Claim, facts: readonly Fact[]): Promise<void> {
  const one = omit(claim, ["attempt"]);
  const before = await finishRefresh(ctx, ticketOf(claim), null);
  if (before === null) return;
  const now = Date.now();
  const row = { key: keyOf(one), slot: slotOf(now), collectedAt: now, facts: sheetsOf(facts) };
  // Facts of an earlier half hour stay, and are not read to distinguish them.
  const isFirst = before.doneAt !== undefined && slotOf(before.doneAt) < row.slot;
  const stored = isFirst ? null : await latestOf(ctx, one);
  if (stored === null || stored.slot !== row.slot) await ctx.db.insert("facts", row);
  else await ctx.db.replace("facts", stored._id, row);
}

/** The facts of these collections as of `at` (epoch ms), and the collections without facts in the `withinMs` before. */
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
