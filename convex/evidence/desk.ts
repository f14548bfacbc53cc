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
import type { Outcome } from "./collections";
import { collect, deadlineOf } from "./collectors";
import { keyOf, refreshKey } from "./model";
import { vClaim, type Claim, type Fact, type Missing, type Wanted } from "./tables";

/**
 * Collects facts; of the callers who need a collection, one makes it while the others wait, by collector and subject
 * (`lib/refreshes`). Callers collect in their own action.
 */

/** `waitMs`: for a caller with limited time; the collections continue in the background. */
type Gathering = { freshMs: number; waitMs?: number };

/** A running collection: its facts, and their storage. */
type Collection = { facts: Promise<Fact[]>; stored: Promise<unknown> };

/** Running collections: the caller's own by key, and those that finally failed, with the reason. */
export type Gathered = { own: ReadonlyMap<string, Collection>; missing: Promise<Missing[]> };

/**
 * Makes sure that the facts of these collections are at most `freshMs` old; the caller collects what nobody else is
 * collecting. Never throws for a source's failure.
 * @returns What could not be collected, and why.
 */
export async function gather(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  gathering: Gathering,
): Promise<Missing[]> {
  return (await beginGathering(ctx, wanted, gathering)).missing;
}

/** `gather`, for a caller who needs some of it before all is collected. */
export async function beginGathering(
  ctx: ActionCtx,
  wanted: readonly Wanted[],
  { freshMs, waitMs }: Gathering,
): Promise<Gathered> {
  const behind = waitMs !== undefined;
  const { mine, others } = await ctx.runMutation(internal.evidence.collections.claim, {
    wanted: [...wanted],
    freshMs,
    behind,
  });
  const end = AbortSignal.timeout(waitMs ?? deadlines.facts);
  const own = behind ? new Map<string, Collection>() : collectAll(ctx, mine);
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

/** Collects for a caller who does not wait until the end. */
export const run = providerAction({ claims: v.array(vClaim) }, async (ctx, { claims }) => {
  const own = collectAll(ctx, claims);
  await missingOf(claims.map((one) => ({ one, work: own.get(keyOf(one))?.stored ?? Promise.resolve() })));
});

/** Collections that end within this time of one another are stored together. */
const STORED_TOGETHER_MS = 100;

/** Makes all of these collections in parallel; each is stored when it is finished. */
function collectAll(ctx: ActionCtx, claims: readonly Claim[]): Map<string, Collection> {
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
    await store({ claim, result: await facts });
  } catch (error) {
    const reason = messageOf(error);
    log.warn("evidence.missing", { key: keyOf(claim), reason });
    await store({ claim, result: reason });
    throw error;
  }
}

async function joined(ctx: ActionCtx, { attempt, ...one }: Claim, end: AbortSignal): Promise<void> {
  const outcome = await awaitRefresh(ctx, { key: refreshKey(one), attempt }, end);
  if (outcome === "late") throw late();
}

const late = () => new AppError("upstream", "It did not come in time");
