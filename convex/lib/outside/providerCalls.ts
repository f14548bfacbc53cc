import type { RegisteredAction } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction, internalQuery, type ActionCtx } from "../../_generated/server";
import { change } from "../changes";
import { messageOf } from "../errors";
import { log } from "../log";
import {
  keepNoted,
  partsRefused,
  vNoted,
  type Noted,
  type Outcome,
  type Provider,
  type Refusal,
  type Spending,
} from "./tallies";

/**
 * How an action's calls to outside services went, for the operator, and what they cost, for the day's budget. `providers/`
 * notes every call and its price; the action stores its notes once, at its end or with the mutation that stores
 * its result. Without notes nothing is written.
 */

/** Noted and not stored yet. The platform gives every action its own module state. */
const noted = new Map<Provider, Outcome>();
const spent = new Map<string, Spending>();
const refused: Refusal[] = [];
/** Known to work. */
const working = new Set<Provider>();

/** Notes one call to a provider. It failed if there was no answer, an unreadable one, or a refusal ("not now", "not you"). */
export function noteCall(provider: Provider, failed: boolean): void {
  const { worked, failures } = noted.get(provider) ?? { worked: false, failures: 0 };
  noted.set(
    provider,
    failed ? { provider, worked, failures: failures + 1 } : { provider, worked: true, failures: 0 },
  );
}

/** Says that a provider is known to work: its success is no news to an action that runs every minute. */
export function noteWorking(provider: Provider): void {
  working.add(provider);
}

export function noteSpent({ micros, ...of }: Spending): void {
  const key = Object.values(of).join(" ");
  spent.set(key, { ...of, micros: micros + (spent.get(key)?.micros ?? 0) });
}

/** Notes that a gateway refused a part of a request, and answered without it. */
export function noteRefused(gateway: string, part: string): void {
  refused.push({ gateway, part });
}

/** The parts of a request that a gateway has refused within a day, those included that this action has noted. */
export async function refusedBy(ctx: ActionCtx | null, gateway: string): Promise<Set<string>> {
  const own = refused.flatMap((one) => (one.gateway === gateway ? [one.part] : []));
  if (ctx === null) return new Set(own);
  const given = { gateway, now: Date.now() };
  return new Set([...own, ...(await ctx.runQuery(internal.lib.outside.providerCalls.refusedParts, given))]);
}

/** The notes, for a mutation that stores them together with its other changes. */
export function takeNoted(): Noted {
  const news = [...noted.values()].filter(({ provider, failures }) => failures > 0 || !working.has(provider));
  const taken = { outcomes: news, spent: [...spent.values()], refused: refused.splice(0) };
  working.clear();
  noted.clear();
  spent.clear();
  return taken;
}

/** Work of an action or an HTTP handler, whose notes are stored after it, also when it throws. */
export function counted<Given extends unknown[], Value>(
  work: (ctx: ActionCtx, ...given: Given) => Value | Promise<Value>,
): (ctx: ActionCtx, ...given: Given) => Promise<Value> {
  return async (ctx, ...given) => {
    try {
      return await work(ctx, ...given);
    } finally {
      const taken = takeNoted();
      if (Object.values(taken).some((notes) => notes.length > 0))
        await afterwards(() => ctx.runMutation(internal.lib.outside.providerCalls.record, taken));
    }
  };
}

/** Bookkeeping after the work: its failure is the operator's matter, and changes no answer. */
export async function afterwards(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    log.error("bookkeeping.failed", { message: messageOf(error) });
  }
}

/** An internal action that calls a provider, counted. It returns nothing: its mutations store the results. */
export function providerAction<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: ActionCtx, given: ObjectType<Args>) => Promise<void>,
): RegisteredAction<"internal", ObjectType<Args>, Promise<null>>;
export function providerAction(
  args: PropertyValidators,
  work: (ctx: ActionCtx, given: Record<string, unknown>) => Promise<void>,
) {
  const handler = counted(async (ctx, given: Record<string, unknown>): Promise<null> => {
    await work(ctx, given);
    return null;
  });
  return internalAction({ args, returns: v.null(), handler });
}

export const record = change(vNoted.fields, async (ctx, taken) => {
  await keepNoted(ctx, taken);
});

/** The parts of a request that a gateway refuses, learnt within a day. */
export const refusedParts = internalQuery({
  args: { gateway: v.string(), now: v.number() },
  returns: v.array(v.string()),
  handler: (ctx, { gateway, now }) => partsRefused(ctx, gateway, now),
});
