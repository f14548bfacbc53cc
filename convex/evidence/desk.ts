import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/outside/providerCalls";
import { turnsOf } from "../lib/outside/sourceTurns";
import { together } from "../lib/outside/batches";
import { awaitRefresh } from "../lib/refreshes";
import { unlessLate } from "../lib/time";
import type { Asking } from "../providers/data/publicData";
import type { Outcome } from "./collections";
import { collect, deadlineOf } from "./collectors";
import { keyOf, refreshKey } from "./model";
import { vClaim, type Claim, type Fact, type Missing, type Wanted } from "./tables";

/**
 * Collections of facts, each made by one of those who need it while the others wait: by collector and subject, as
 * `lib/refreshes` does it. Whoever asks collects itself, within an action of its own.
 */

/** `waitMs`: for somebody who waits no longer; the collections go on behind. `turnOf`: whose turns it takes, the service's own without one. */
type Gathering = { freshMs: number; waitMs?: number; turnOf?: string | undefined };

/** A collection under way, up to when it has come and up to when it is stored. */
type Collection = { facts: Promise<Fact[]>; stored: Promise<unknown> };

/** Collections under way: those of the caller's own by their key, and what cannot be collected in the end, and why. */
export type Gathered = { own: ReadonlyMap<string, Collection>; missing: Promise<Missing[]> };

/**
 * Sees to it that facts of these collections are at most `freshMs` old; what nobody is collecting, the caller does. Never
 * throws for a source's sake.
 * @returns What could not be collected, and why.
 */
export async function gather(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  gathering: Gathering,
): Promise<Missing[]> {
  return (await beginGathering(ctx, wanted, gathering)).missing;
}

/** `gather`, for a caller who needs some of it before all has come. */
export async function beginGathering(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  { freshMs, waitMs, turnOf }: Gathering,
): Promise<Gathered> {
  const behind = waitMs !== undefined;
  const { mine, others } = await ctx.runMutation(internal.evidence.collections.claim, {
    wanted: [...wanted],
    freshMs,
    behind,
  });
  const end = AbortSignal.timeout(waitMs ?? deadlines.facts);
  const asking = turnOf === undefined ? ctx : { ...ctx, turnOf };
  const own = behind ? new Map<string, Collection>() : collectAll(asking, mine);
  const missing = missingOf([
    ...mine.map((one) => ({ one, work: own.get(keyOf(one))?.stored ?? joined(ctx, one, end) })),
    ...others.map((one) => ({ one, work: joined(ctx, one, end) })),
  ]);
  return { own, missing };
}

async function missingOf(works: { one: Wanted; work: Promise<unknown> }[]): Promise<Missing[]> {
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
export const run = providerAction({ claims: v.array(vClaim) }, async (ctx, { claims }) => {
  const own = collectAll(ctx, claims);
  await missingOf(claims.map((one) => ({ one, work: own.get(keyOf(one))?.stored ?? Promise.resolve() })));
});

/** What comes within this of one another is stored together. */
const STORED_TOGETHER_MS = 100;

/** Collects all of these side by side; each is stored when it has come. */
function collectAll(ctx: Asking, claims: readonly Claim[]): Map<string, Collection> {
  const asking = { ...ctx, waitTurn: turnsOf(ctx) };
  const store = together(async (outcomes: Outcome[]) => {
    await ctx.runMutation(internal.evidence.collections.store, { outcomes });
    return outcomes;
  }, STORED_TOGETHER_MS);
  return new Map(
    claims.map((claim) => {
      const end = AbortSignal.timeout(deadlineOf(claim.collector));
      const facts = unlessLate(collect(asking, claim), end, late);
      return [keyOf(claim), { facts, stored: keep(claim, facts, store) }];
    }),
  );
}

async function keep(
  claim: Claim,
  facts: Promise<Fact[]>,
  store: (outcome: Outcome) => Promise<unknown>,
): Promise<void> {
  try {
    await store({ claim, said: await facts });
  } catch (error) {
    const said = messageOf(error);
    log.warn("evidence.missing", { key: keyOf(claim), reason: said });
    await store({ claim, said });
    throw error;
  }
}

async function joined(ctx: ActionCtx, { attempt, ...one }: Claim, end: AbortSignal): Promise<void> {
  const outcome = await awaitRefresh(ctx, { key: refreshKey(one), attempt }, end);
  if (outcome === "late") throw late();
}

const late = () => new AppError("upstream", "It did not come in time");
