import type { RegisteredAction } from "convex/server";
import type { ObjectType, PropertyValidators } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData } from "../lib/errors";
import { createPauses, SECOND } from "../lib/time";
import { vRefresh, type RefreshOutcome } from "./cache";
import type { BillingSubject, Caller } from "./limits/callers";
import { holdSlot } from "./limits/slots";
import { deadlines } from "./outside/deadlines";
import type { Job } from "./work";
import { defineWorker } from "./worker";

/** What actions do with cached answers (`platform/cache`): they renew them, wait for them, and read them. */

/** The polling schedule of a waiting caller: at most 12 reads in 28 s. */
const FIRST_LOOK_MS = 100;
const LATER_LOOKS = 1.6;
const LONGEST_LOOK_MS = 5 * SECOND;

/** An answer in JSON, and the action's further work once the answer is stored and its callers have it. */
type Renewed = { body: string; finish?: () => Promise<void> };

/** A worker that renews the answer at a key. @param work Returns the answer in JSON, and may throw. */
export function defineRefresh<Args extends PropertyValidators>(
  args: Args,
  work: (ctx: ActionCtx, given: ObjectType<Args> & { billTo: BillingSubject }) => Promise<string | Renewed>,
): RegisteredAction<"internal", ObjectType<Args & typeof vRefresh> & { job: Job }, Promise<null>>;
export function defineRefresh(
  args: PropertyValidators,
  work: (
    ctx: ActionCtx,
    given: Record<string, unknown> & { billTo: BillingSubject },
  ) => Promise<string | Renewed>,
) {
  return defineWorker({ ...args, ...vRefresh }, async (ctx, { job, key, until, ...given }) => {
    if (Date.now() > until)
      throw new AppError("upstream", "The request waited too long for its turn: ask again shortly");
    const renewed = await work(ctx, given);
    const { body, finish } = typeof renewed === "string" ? { body: renewed } : renewed;
    await ctx.runMutation(internal.platform.cache.storeAnswer, { key, body, job });
    await finish?.();
  });
}

/**
 * Whether work has ended.
 * @throws AppError `upstream` if it failed, with the end of its rest as `retryAfterMs`; `invalid_request` if the question
 * itself was refused.
 */
function requireSuccess(outcome: RefreshOutcome): boolean {
  if (outcome?.error === undefined) return outcome !== null;
  const { error, isQuestions, restsUntil = 0 } = outcome;
  if (isQuestions === true) throw new AppError("invalid_request", error);
  throw new AppError("upstream", error, { retryAfterMs: Math.max(0, restsUntil - Date.now()) });
}

/** Whether the work at a key has ended. For actions. @throws AppError `upstream`, `invalid_request` if it failed. */
export async function hasEnded(ctx: ActionCtx, key: string): Promise<boolean> {
  const [outcome = null] = await ctx.runQuery(internal.platform.cache.listRefreshOutcomes, { keys: [key] });
  return requireSuccess(outcome);
}

/** Waits until the work at all keys has ended, at most until the deadline. @returns How each has ended; `null` while it runs. */
export async function awaitRefreshes(
  ctx: ActionCtx,
  keys: string[],
  signal: AbortSignal,
): Promise<RefreshOutcome[]> {
  const pause = createPauses(FIRST_LOOK_MS, LATER_LOOKS, LONGEST_LOOK_MS);
  for (;;) {
    const outcomes: RefreshOutcome[] = await ctx.runQuery(internal.platform.cache.listRefreshOutcomes, {
      keys,
    });
    if (signal.aborted || !outcomes.includes(null)) return outcomes;
    await pause(signal);
  }
}

/**
 * Waits, as a caller who holds a concurrency slot meanwhile, until the work at a key has ended, or as long as callers wait
 * (the work continues).
 * @throws AppError `rate_limited` without a free slot; `upstream`, `invalid_request` if the work failed.
 */
export async function awaitRefreshAs(ctx: ActionCtx, caller: Caller, key: string): Promise<void> {
  await holdSlot(ctx, caller, async () => {
    const [outcome = null] = await awaitRefreshes(ctx, [key], AbortSignal.timeout(deadlines.caller));
    requireSuccess(outcome);
  });
}

/** The part of an answer's readers who renew it at the end of its time; it grows to all of them. */
const LEAST_RENEWERS = 0.01;

type Reading = {
  /** The name of the source, for callers. */
  upstream: string;
  /** Up to this age (ms) the stored answer is returned, and nothing is written. */
  freshMs: (body: string) => number;
  /** For this long (ms) after that it is still returned, and renewed behind its reader. */
  staleMs?: number;
  caller: Caller;
  key: string;
  begin: () => Promise<string>;
};

/**
 * Reads the answer at a key, and renews it when it is old. For actions. A reader who joins the work of another is not
 * refused where there is an earlier answer.
 * @returns The fresh answer; if the refresh takes longer than a caller waits, the last one, however old.
 * @example
 * const { body } = await readThrough(ctx, {
 *   key: MARKET_KEY,
 *   upstream: "The LLM gateway",
 *   freshMs: () => 60 * SECOND,
 *   caller,
 *   begin: () => ctx.runMutation(startSnapshotRefresh, { caller }),
 * });
 * @throws AppError `upstream` if the refresh failed, or took too long and there is no earlier answer.
 */
export async function readThrough(
  ctx: ActionCtx,
  { upstream, freshMs, staleMs = 0, caller, key, begin }: Reading,
): Promise<{ fetchedAt: number; body: string }> {
  const read = () => ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  const stored = await read();
  const isRenewing = stored !== null && stored.renewingUntil > Date.now();
  if (stored !== null && !stored.isOutdated) {
    const overdue = Date.now() - stored.fetchedAt - freshMs(stored.body);
    if (overdue < 0) return stored;
    if (overdue < staleMs) {
      // Many readers come at once: each that began it would conflict with the others.
      if (!isRenewing && Math.random() < LEAST_RENEWERS + (overdue / staleMs) ** 2)
        await orNullIfRefused(begin());
      return stored;
    }
  }
  const renewal = awaitRefreshAs(ctx, caller, isRenewing ? key : await begin());
  await (isRenewing ? orNullIfRefused(renewal) : renewal);
  const renewed = await read();
  if (renewed === null)
    throw new AppError("upstream", `${upstream} did not answer in time: ask again shortly`);
  return renewed;
}

/** `null` for work that a limit refuses. */
async function orNullIfRefused<Value>(work: Promise<Value>): Promise<Value | null> {
  try {
    return await work;
  } catch (error) {
    if (getErrorData(error)?.code !== "rate_limited") throw error;
    return null;
  }
}
