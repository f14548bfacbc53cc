import type { RegisteredAction } from "convex/server";
import { v, type Infer, type ObjectType, type PropertyValidators } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../../_generated/api";
import { internalAction, type ActionCtx, type MutationCtx, type QueryCtx } from "../../_generated/server";
import { defineMutation } from "../changes";
import { getErrorMessage } from "../../lib/errors";
import { log } from "../../lib/log";
import { literals } from "../../lib/literals";
import { PUBLIC_SOURCES } from "../../figures/publicSources";
import { MINUTE, SECOND } from "../../lib/time";

/**
 * Provider usage of an action: the outcome of its calls, for the operator, and their cost, for the day's budget. `providers/`
 * notes every call and its price; the action stores its notes once, at its end or with the mutation that stores
 * its result. Without notes nothing is written.
 */

/** The providers that bill by the call, or by the token. */
export const vBilled = literals("llm", "sentiment", "agentApi");

/** The outside services. */
export const vProvider = v.union(
  vBilled,
  literals("swap", "chain", "facilitator", "messenger"),
  literals(...PUBLIC_SOURCES),
);
export type Provider = Infer<typeof vProvider>;

/** The subject of a refusal by a provider that works for others: this service's key, its empty account, or its address. */
export const vRefusing = literals("key", "account", "address");
export type Refusing = Infer<typeof vRefusing>;

/**
 * How an action's calls to a provider went: whether one was answered, and how many failed after the last answer. `staleHead`:
 * the time of the chain's newest block where it was no head; `null` where it was one.
 */
const vOutcome = v.object({
  provider: vProvider,
  worked: v.boolean(),
  failures: v.number(),
  refuses: v.optional(vRefusing),
  staleHead: v.optional(v.union(v.number(), v.null())),
});

/** The cost of a call, and the shares of the budget that it counts against besides its provider's sum. */
const vSpending = v.object({
  /** `2026-01-05` (UTC). */
  day: v.string(),
  provider: vBilled,
  /** Millionths of a USD. */
  micros: v.number(),
  parts: v.array(v.string()),
});
type Spending = Infer<typeof vSpending>;

export const vProviderUsage = v.object({ outcomes: v.array(vOutcome), spent: v.array(vSpending) });
export type ProviderUsage = Infer<typeof vProviderUsage>;

/** Usage that is not stored yet. Convex gives every action its own module state. */
const usageByProvider = new Map<Provider, Infer<typeof vOutcome>>();
const spent = new Map<string, Spending>();
/** Providers whose stored state says that they work: another success is not stored. */
const working = new Set<Provider>();

/** Notes one call to a provider. It failed if there was no answer, an unreadable one, or a refusal ("not now", "not you"). */
export function noteCall(provider: Provider, failed: boolean, refuses?: Refusing): void {
  const { worked, failures, staleHead } = usageByProvider.get(provider) ?? { worked: false, failures: 0 };
  usageByProvider.set(provider, {
    provider,
    ...(staleHead === undefined ? {} : { staleHead }),
    ...(failed && refuses !== undefined ? { refuses } : {}),
    worked: worked || !failed,
    failures: failed ? failures + 1 : 0,
  });
}

/** Notes the time of a newest block that is stale, `null` for a current one, after the call that returned it. */
export function noteHead(staleHead: number | null): void {
  const outcome = usageByProvider.get("chain");
  if (outcome !== undefined) usageByProvider.set("chain", { ...outcome, staleHead });
}

/** Clocks differ a little. */
const MOST_AHEAD_MS = MINUTE;
/** Blocks come every two seconds; on a local chain whose clock is hastened, every five minutes of it. */
const MOST_BEHIND_MS = 10 * MINUTE;

/** The problem with a newest block of this time (epoch ms both), by the service's clock; `null` for a current one. */
export function findHeadProblem(time: number, now: number): string | null {
  const behind = now - time;
  if (behind < -MOST_AHEAD_MS)
    return `its newest block is ${Math.round(-behind / SECOND)} s ahead of the clock`;
  if (behind > MOST_BEHIND_MS) return `its newest block is ${Math.round(behind / MINUTE)} minutes old`;
  return null;
}

/** Marks a provider whose stored state says that it works, so that an action of every minute writes nothing. */
export function noteWorking(provider: Provider): void {
  working.add(provider);
}

export function noteSpent({ micros, ...of }: Spending): void {
  const key = Object.values(of).join(" ");
  spent.set(key, { ...of, micros: micros + (spent.get(key)?.micros ?? 0) });
}

/** The usage so far, for a mutation that stores it together with its other changes; nothing of it stays behind. */
export function takeUsage(): ProviderUsage {
  const news = [...usageByProvider.values()].filter(
    ({ provider, failures, staleHead }) =>
      failures > 0 || typeof staleHead === "number" || !working.has(provider),
  );
  const taken = { outcomes: news, spent: [...spent.values()] };
  for (const notes of [working, usageByProvider, spent]) notes.clear();
  return taken;
}

/**
 * Wraps the work of an action or an HTTP handler: its usage of providers is stored after it, also when it throws.
 * @example handler: withUsage(async (ctx, { token }) => askPrice(token))
 */
export function withUsage<Given extends unknown[], Value>(
  work: (ctx: ActionCtx, ...given: Given) => Value | Promise<Value>,
): (ctx: ActionCtx, ...given: Given) => Promise<Value> {
  return async (ctx, ...given) => {
    try {
      return await work(ctx, ...given);
    } finally {
      const taken = takeUsage();
      if (taken.outcomes.length + taken.spent.length > 0)
        await runAfterwards(() => ctx.runMutation(internal.platform.outside.calls.record, taken));
    }
  };
}

/** Bookkeeping after the work: a failure is logged for the operator, and changes no answer. */
export async function runAfterwards(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    log.error("bookkeeping.failed", { message: getErrorMessage(error) });
  }
}

/** An internal action that calls a provider, counted. It returns nothing: its mutations store the results. */
export function defineProviderAction<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: ActionCtx, given: ObjectType<Args>) => Promise<void>,
): RegisteredAction<"internal", ObjectType<Args>, Promise<null>>;
export function defineProviderAction(
  args: PropertyValidators,
  work: (ctx: ActionCtx, given: Record<string, unknown>) => Promise<void>,
) {
  const handler = withUsage(async (ctx, given: Record<string, unknown>): Promise<null> => {
    await work(ctx, given);
    return null;
  });
  return internalAction({ args, returns: v.null(), handler });
}

export const record = defineMutation(vProviderUsage.fields, async (ctx, taken) => {
  await flushUsage(ctx, taken);
});

/** Stores usage within a mutation. */
export async function flushUsage(ctx: MutationCtx, { outcomes, spent: costs }: ProviderUsage): Promise<void> {
  for (const outcome of outcomes) await storeProviderState(ctx, outcome);
  for (const cost of costs) await addSpent(ctx, cost);
}

/** A provider counts as failing after this many failed calls in a row, until it answers one. */
export const FAILS_FROM = 2;
/** While it goes on failing, this is how often that is written. */
const WRITTEN_EVERY_MS = MINUTE;

/** Updates a provider's state; nothing is written while it works. */
async function storeProviderState(
  ctx: MutationCtx,
  { provider, worked, failures, refuses, staleHead: told }: Infer<typeof vOutcome>,
): Promise<void> {
  const now = Date.now();
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", provider);
  const staleHead = told === undefined ? row?.staleHead : (told ?? undefined);
  const isWell = failures === 0 && typeof told !== "number";
  const failed = isWell ? {} : { failedAt: now };
  if (row === null) {
    const stale = staleHead === undefined ? {} : { staleHead };
    const why = refuses === undefined ? {} : { refuses };
    await ctx.db.insert("providerStates", { provider, failures, since: now, ...stale, ...failed, ...why });
    return;
  }
  const inRow = Math.min(FAILS_FROM, failures + (worked ? 0 : row.failures));
  const isSame =
    inRow === row.failures &&
    refuses === row.refuses &&
    (staleHead === undefined) === (row.staleHead === undefined);
  if (isSame && (isWell || now - (row.failedAt ?? 0) < WRITTEN_EVERY_MS)) return;
  const turned = inRow >= FAILS_FROM !== row.failures >= FAILS_FROM;
  const since = turned ? now : row.since;
  const ended = turned && inRow < FAILS_FROM ? { failedFrom: row.since } : {};
  const state = { failures: inRow, since, refuses, staleHead, ...failed, ...ended };
  await ctx.db.patch("providerStates", row._id, state);
}

/** Whether a provider is known to work, and its next success would change nothing. */
export async function isWorking(ctx: QueryCtx, provider: Provider): Promise<boolean> {
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", provider);
  return row?.failures === 0 && row.staleHead === undefined;
}

/** How many rows count one sum together, so that actions which end together seldom conflict. */
const SHARDS = 4;

/** Adds the cost of a call to the day's sums: its provider's, and those of its shares. */
async function addSpent(ctx: MutationCtx, spending: Spending): Promise<void> {
  const { day, provider, micros, parts } = spending;
  for (const of of [provider, ...parts]) {
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
export async function getSpentSum(ctx: QueryCtx, day: string, of: string): Promise<number> {
  const rows = await ctx.db
    .query("spending")
    .withIndex("by_day", (q) => q.eq("day", day).eq("of", of))
    .take(SHARDS);
  return rows.reduce((total, { micros }) => total + micros, 0);
}
