import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { vBilled, vProvider } from "../tables";
import { DAY, MINUTE } from "../time";

/** What actions have noted about providers (`lib/outside/providerCalls`), as rows. */

export type Provider = Infer<typeof vProvider>;
/** How an action's calls to a provider went: whether one was answered, and how many failed after the last answer. */
const vOutcome = v.object({ provider: vProvider, worked: v.boolean(), failures: v.number() });
export type Outcome = Infer<typeof vOutcome>;

/** What a call has cost, and the callers in whose parts it counts. */
const vSpending = v.object({
  /** `2026-01-05` (UTC). */
  day: v.string(),
  provider: vBilled,
  micros: v.number(),
  /** Whether a caller asked for it, who has not paid for it. */
  isCallers: v.boolean(),
  holders: v.array(v.string()),
});
export type Spending = Infer<typeof vSpending>;

/** `part`: what a gateway refuses of a request, such as `schema` or `limit 1000`. */
const vRefusal = v.object({ gateway: v.string(), part: v.string() });
export type Refusal = Infer<typeof vRefusal>;

export const vNoted = v.object({
  outcomes: v.array(vOutcome),
  spent: v.array(vSpending),
  refused: v.array(vRefusal),
});
export type Noted = Infer<typeof vNoted>;

/** A provider fails from this many failed calls in a row on, until it answers one. */
export const FAILS_FROM = 2;
/** While it goes on failing, this is how often that is written. */
const WRITTEN_EVERY_MS = MINUTE;

export async function keepNoted(ctx: MutationCtx, { outcomes, spent: costs, refused }: Noted): Promise<void> {
  for (const outcome of outcomes) await keepState(ctx, outcome);
  for (const cost of costs) await addSpent(ctx, cost);
  for (const refusal of refused) await keepRefusal(ctx, refusal);
}

/** A gateway may accept tomorrow what it refuses today. */
const REFUSED_FOR_MS = DAY;

async function keepRefusal(ctx: MutationCtx, { gateway, part }: Refusal): Promise<void> {
  const now = Date.now();
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", "llm");
  if (row === null) return;
  const others = stillRefused(row, now).filter((one) => one.gateway !== gateway || one.part !== part);
  await ctx.db.patch("providerStates", row._id, { refused: [...others, { gateway, part, at: now }] });
}

export async function partsRefused(ctx: QueryCtx, of: string, now: number): Promise<string[]> {
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", "llm");
  const refused = row === null ? [] : stillRefused(row, now);
  return refused.flatMap(({ gateway, part }) => (gateway === of ? [part] : []));
}

const stillRefused = ({ refused = [] }: Doc<"providerStates">, now: number) =>
  refused.filter(({ at }) => now - at < REFUSED_FOR_MS);

/** Nothing is written while a provider works. */
async function keepState(ctx: MutationCtx, { provider, worked, failures }: Outcome): Promise<void> {
  const now = Date.now();
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", provider);
  const failed = failures === 0 ? {} : { failedAt: now };
  if (row === null) {
    await ctx.db.insert("providerStates", { provider, failures, since: now, ...failed });
    return;
  }
  const inRow = Math.min(FAILS_FROM, failures + (worked ? 0 : row.failures));
  if (inRow === row.failures && (failures === 0 || now - (row.failedAt ?? 0) < WRITTEN_EVERY_MS)) return;
  const turned = inRow >= FAILS_FROM !== row.failures >= FAILS_FROM;
  const since = turned ? now : row.since;
  await ctx.db.patch("providerStates", row._id, { failures: inRow, since, ...failed });
}

/** Whether a provider is known to work, and its next success would change nothing. */
export async function isWorking(ctx: QueryCtx, provider: Provider): Promise<boolean> {
  return (await getOneFrom(ctx.db, "providerStates", "by_provider", provider))?.failures === 0;
}

/** The sum of all callers; those of the providers have their names, and those of one caller their hash. */
export const CALLERS = "callers";

/** How many rows count one sum together, so that actions which end together seldom conflict. */
const SHARDS = 4;

/** Adds what a call has cost to the day's sums: its provider's, all callers', and its callers' own. */
async function addSpent(ctx: MutationCtx, spending: Spending): Promise<void> {
  const { day, provider, micros, isCallers, holders } = spending;
  for (const of of [provider, ...(isCallers ? [CALLERS] : []), ...holders]) {
    const shard = Math.floor(Math.random() * SHARDS);
    const row = await ctx.db
      .query("spending")
      .withIndex("by_day", (q) => q.eq("day", day).eq("of", of).eq("shard", shard))
      .unique();
    if (row === null) await ctx.db.insert("spending", { day, of, shard, micros });
    else await ctx.db.patch("spending", row._id, { micros: row.micros + micros });
  }
}

/** A sum of a day, in millionths of a USD. */
export async function sumOf(ctx: QueryCtx, day: string, of: string): Promise<number> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("of", of))
    .take(SHARDS);
  return rows.reduce((total, { micros }) => total + micros, 0);
}
