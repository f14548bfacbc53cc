import type { RegisteredAction } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { internal } from "../../_generated/api";
import { internalAction, type ActionCtx } from "../../_generated/server";
import { change } from "../changes";
import { messageOf } from "../errors";
import { log } from "../log";
import { beginCounting, endCounting, takeNoted, type Noted } from "./notes";
import { keepNoted, vNoted } from "./tallies";

/**
 * Statistics of the outside services for the operator, and costs of calls that are never refused. `providers/` notes
 * every call and the purse its price; `counted` work stores the notes in one mutation at its end. Work without calls
 * writes nothing.
 */

/**
 * Counts the provider calls of some work, also when it throws, for an action or an HTTP handler. A handler calls this
 * as a plain function: an action of its own would need a second place in the deployment while its caller holds the
 * first.
 */
export function counted<Given extends unknown[], Value>(
  work: (ctx: ActionCtx, ...given: Given) => Value | Promise<Value>,
): (ctx: ActionCtx, ...given: Given) => Promise<Value> {
  return async (ctx, ...given) => {
    const isFirst = beginCounting(ctx);
    try {
      return await work(ctx, ...given);
    } finally {
      const isLast = endCounting(ctx);
      // Work inside others leaves its notes to them; work beside them may end after the first.
      if (isFirst || isLast) await store(ctx, takeNoted());
    }
  };
}

/** Counts the provider calls of some work in a mutation that its end needs anyhow. */
export async function countedBy<Value>(
  ctx: ActionCtx,
  work: () => Promise<Value>,
  end: (noted: Noted) => Promise<unknown>,
): Promise<Value> {
  beginCounting(ctx);
  try {
    return await work();
  } finally {
    endCounting(ctx);
    await afterwards(() => end(takeNoted()));
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

async function store(ctx: ActionCtx, noted: Noted): Promise<void> {
  if (noted.outcomes.length + noted.spent.length === 0) return;
  await afterwards(() => ctx.runMutation(internal.lib.outside.providerCalls.record, noted));
}

/** Bookkeeping after the work: its failure is the operator's matter, and changes no answer. */
async function afterwards(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    log.error("bookkeeping.failed", { message: messageOf(error) });
  }
}

export const record = change(vNoted.fields, async (ctx, taken) => {
  await keepNoted(ctx, taken);
});
