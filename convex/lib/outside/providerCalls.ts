import type {
  ArgsArrayForOptionalValidator,
  ArgsArrayToObject,
  RegisteredAction,
  ReturnValueForOptionalValidator,
} from "convex/server";
import { v, type GenericValidator, type Infer, type PropertyValidators } from "convex/values";
import { internal } from "../../_generated/api";
import {
  internalAction,
  internalMutation,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../../_generated/server";
import { messageOf } from "../errors";
import { log } from "../log";
import { vBilled, vPayingClass, vProvider } from "../tables";
import { HOUR, MINUTE } from "../time";
import { addSpent, anyShard } from "./spending";

/**
 * How the outside services answer, for the operator, and what those cost that nobody is refused for. `providers/` notes every
 * exchange and the purse its price; `counted` work stores what was noted in one mutation at its end, and what asked nobody
 * writes nothing.
 */

export type Provider = Infer<typeof vProvider>;
type Count = { provider: Provider; calls: number; failures: number };
const vSpent = v.object({ day: v.string(), payer: vPayingClass, provider: vBilled, micros: v.number() });
type Spent = Infer<typeof vSpent>;
export const vNoted = v.object({
  counts: v.array(v.object({ provider: vProvider, calls: v.number(), failures: v.number() })),
  spent: v.array(vSpent),
});
type Noted = Infer<typeof vNoted>;

const BUCKET_MS = 5 * MINUTE;
/** So many rows share a provider's 5 minutes: actions that end together rarely write the same one. */
const SHARDS = 8;
/** The most rows that an hour can have: 13 buckets (the oldest in part) of all providers. */
const HOUR_OF_ROWS = 13 * vProvider.members.length * SHARDS;

/** What was noted and not stored yet. The platform gives every action a module state of its own. */
const noted = new Map<Provider, Count>();
const spent = new Map<string, Spent>();

/** Notes one exchange with a provider. A failure is no answer, an unreadable one, or one that says "not now" or "not you". */
export function noteCall(provider: Provider, failed: boolean): void {
  const count = noted.get(provider) ?? { provider, calls: 0, failures: 0 };
  noted.set(provider, {
    provider,
    calls: count.calls + 1,
    failures: count.failures + (failed ? 1 : 0),
  });
}

/** Notes what a call cost. */
export function noteSpent({ micros, ...of }: Spent): void {
  const key = Object.values(of).join(" ");
  spent.set(key, { ...of, micros: micros + (spent.get(key)?.micros ?? 0) });
}

/**
 * Work that asks a provider, for whichever action or HTTP handler calls it: what it asked is counted, also when it throws.
 * A handler calls this as a plain function: an action of its own would wait for one of the deployment's places while its
 * caller holds another.
 */
export function counted<Given extends unknown[], Value>(
  work: (ctx: ActionCtx, ...given: Given) => Value | Promise<Value>,
): (ctx: ActionCtx, ...given: Given) => Promise<Value> {
  return async (ctx, ...given) => {
    try {
      return await work(ctx, ...given);
    } finally {
      await store(ctx);
    }
  };
}

/** An internal action that asks a provider, counted. Declared like any other. */
export function providerAction<
  Args extends PropertyValidators | GenericValidator,
  Returns extends GenericValidator,
  Value extends ReturnValueForOptionalValidator<Returns>,
  Given extends ArgsArrayForOptionalValidator<Args>,
>(definition: {
  args: Args;
  returns: Returns;
  handler: (ctx: ActionCtx, ...given: Given) => Value;
}): RegisteredAction<"internal", ArgsArrayToObject<Given>, Value>;
export function providerAction(definition: {
  args: PropertyValidators | GenericValidator;
  returns: GenericValidator;
  handler: (ctx: ActionCtx, given: Record<string, unknown>) => unknown;
}) {
  const { args, returns, handler } = definition;
  return internalAction({ args, returns, handler: counted(handler) });
}

/** What was noted, for a mutation that stores it beside what else it stores. */
export function takeNoted(): Noted {
  const taken = { counts: [...noted.values()], spent: [...spent.values()] };
  noted.clear();
  spent.clear();
  return taken;
}

async function store(ctx: ActionCtx): Promise<void> {
  const taken = takeNoted();
  if (taken.counts.length + taken.spent.length === 0) return;
  try {
    await ctx.runMutation(internal.lib.outside.providerCalls.record, taken);
  } catch (error) {
    // A statistic must not undo what the action has done.
    log.error("providers.uncounted", { message: messageOf(error) });
  }
}

export const record = internalMutation({
  args: vNoted,
  returns: v.null(),
  handler: async (ctx, taken) => {
    await keepNoted(ctx, taken);
    return null;
  },
});

export async function keepNoted(ctx: MutationCtx, { counts, spent: costs }: Noted): Promise<void> {
  const bucket = Math.floor(Date.now() / BUCKET_MS) * BUCKET_MS;
  const shard = Math.floor(Math.random() * SHARDS);
  for (const { provider, calls, failures } of counts) {
    const row = await ctx.db
      .query("providerCalls")
      .withIndex("by_bucket", (q) => q.eq("bucket", bucket).eq("provider", provider).eq("shard", shard))
      .unique();
    if (row === null) await ctx.db.insert("providerCalls", { bucket, provider, shard, calls, failures });
    else {
      const sum = { calls: row.calls + calls, failures: row.failures + failures };
      await ctx.db.patch("providerCalls", row._id, sum);
    }
  }
  for (const { micros, ...of } of costs) await addSpent(ctx, { ...of, shard: anyShard() }, micros);
}

/** Calls and failures of each provider that was asked in the last hour (and up to 5 minutes more). */
export async function callsOfLastHour(ctx: QueryCtx, now: number): Promise<Count[]> {
  const rows = await ctx.db
    .query("providerCalls")
    .withIndex("by_bucket", (q) => q.gt("bucket", now - HOUR - BUCKET_MS))
    .take(HOUR_OF_ROWS);
  const sums = new Map<Provider, Count>();
  for (const { provider, calls, failures } of rows) {
    const sum = sums.get(provider) ?? { provider, calls: 0, failures: 0 };
    sums.set(provider, { provider, calls: sum.calls + calls, failures: sum.failures + failures });
  }
  return [...sums.values()];
}
