import type { RegisteredAction } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction, type ActionCtx } from "../../_generated/server";
import { change } from "../changes";
import { messageOf } from "../errors";
import { log } from "../log";
import { takeNoted } from "./notes";
import { keepNoted, vNoted } from "./tallies";

/**
 * How the outside services answer, for the operator, and what those cost that nobody is refused for. `providers/` notes every
 * exchange and the purse its price; `counted` work stores what was noted in one mutation at its end, and work that asked nobody writes nothing.
 */

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

/** An internal action that asks a provider, counted, and answers nothing: its mutations keep what comes of it. */
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

export const record = change(vNoted.fields, async (ctx, taken) => {
  await keepNoted(ctx, taken);
});
