import type { FunctionReference, RegisteredAction } from "convex/server";
import { v, type Infer, type ObjectType, type PropertyValidators, type Value } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import {
  internalMutation,
  internalQuery,
  type ActionCtx,
  type MutationCtx,
  type QueryCtx,
} from "../_generated/server";
import { defineMutation } from "./changes";
import { AppError, getErrorData } from "../lib/errors";
import { refuseBeyond } from "./limits/budget";
import { type Caller, getCallerClass, toBillingSubject, type BillingSubject } from "./limits/callers";
import { charge } from "./limits/charges";
import { holdSlot } from "./limits/slots";
import { log } from "../lib/log";
import { deadlines } from "./outside/deadlines";
import { sha256Hex } from "../lib/crypto";
import { vBillingSubject } from "./tables";
import { createPauses, MINUTE, SECOND } from "../lib/time";
import {
  completeWork,
  buildFailureHandler,
  enqueueWork,
  refuseLate,
  vFailure,
  vJob,
  type Job,
  type Terms,
} from "./work";
import { defineWorker } from "./worker";

/**
 * Cached answers: each key has one refresh at a time. The first caller's mutation claims the key and opens the work, which
 * outlives the caller; concurrent callers wait for the same work (single-flight). Callers within the cooldown of a failure
 * get its error; callers of a slow refresh get the last good answer.
 *
 * Usage: a room's `begin` mutation calls `beginRefresh` with an action made by `defineRefresh`; an HTTP handler reads with
 * `readThrough`.
 */

/** The polling schedule of a waiting caller: at most 12 reads in 28 s. */
const FIRST_LOOK_MS = 100;
const LATER_LOOKS = 1.6;
const LONGEST_LOOK_MS = 5 * SECOND;
/** How long callers get a failure's error before the work may begin again. */
const REST_MS = 15 * SECOND;
/** After this long in the queue no caller can still be waiting for the work. */
const QUEUE_MS = 2 * MINUTE;
/** Longer than the queue waits for its own lost work: the queue decides that an attempt is over. */
const LEASE_MS = 15 * MINUTE;

/** The arguments of a refresh action besides its own and its job. */
const vRefresh = { key: v.string(), billTo: vBillingSubject, until: v.number() };

/** The key's row. Its `doneAt` says when the latest result was stored; the result itself is not read. */
export async function findRefresh(ctx: QueryCtx, key: string): Promise<Doc<"answers"> | null> {
  return getOneFrom(ctx.db, "answers", "by_key", key);
}

/**
 * Claims the key for work that the caller does in its own action.
 * @param leaseMs After this long without an end the work counts as lost, and the next caller begins it again.
 * @returns `false` while another claim is running, and during the cooldown of a failure.
 */
export async function claimRefresh(ctx: MutationCtx, key: string, leaseMs: number): Promise<boolean> {
  const now = Date.now();
  const row = await findRefresh(ctx, key);
  if (Math.max(row?.leaseUntil ?? 0, row?.failure?.restsUntil ?? 0) > now) return false;
  const begun = { beganAt: now, leaseUntil: now + leaseMs };
  if (row === null) await ctx.db.insert("answers", { key, ...begun });
  else await ctx.db.patch("answers", row._id, { ...begun, failure: undefined });
  return true;
}

/** The same for actions. */
export const claimForAction = internalMutation({
  args: { key: v.string(), leaseMs: v.number() },
  returns: v.boolean(),
  handler: (ctx, { key, leaseMs }) => claimRefresh(ctx, key, leaseMs),
});

/** Ends the work at a key. @param failure Why there is no result; `null` if there is one. @param body The new answer. */
export async function finishRefresh(
  ctx: MutationCtx,
  key: string,
  failure: { error: string; restMs: number; isQuestions?: true } | null = null,
  body?: string,
): Promise<void> {
  const now = Date.now();
  const row = await findRefresh(ctx, key);
  const rowId = row?._id ?? (await ctx.db.insert("answers", { key, beganAt: now }));
  if (failure === null) {
    const answered = body === undefined ? {} : { body };
    const ended = { leaseUntil: undefined, failure: undefined, isOutdated: undefined };
    await ctx.db.patch("answers", rowId, { ...ended, doneAt: now, ...answered });
    log.info("refresh.done", { key });
    return;
  }
  const { restMs, ...why } = failure;
  const { error } = why;
  await ctx.db.patch("answers", rowId, {
    leaseUntil: undefined,
    failure: { ...why, restsUntil: now + restMs },
  });
  log.warn("refresh.failed", { key, error });
}

/** Marks the answer at a key as outdated: its next reader renews it. */
export async function markOutdated(ctx: MutationCtx, key: string): Promise<void> {
  const row = await findRefresh(ctx, key);
  if (row?.body !== undefined) await ctx.db.patch("answers", row._id, { isOutdated: true });
}

type RefreshTerms = Pick<Terms, "queue"> & { key: string; caller: Caller; restMs?: number };

/**
 * Begins a refresh of a cached answer, or joins the running one; callers wait for it with `awaitRefreshAs`.
 * @example await beginRefresh(ctx, { key: "market:", caller }, renewMarket, {});
 * @param terms.queue Where it waits for a place; absent: it begins at once.
 * @param terms.restMs For this long after a failure no new attempt begins: callers get the failed one's error.
 * @returns The key, to wait at.
 * @throws AppError `rate_limited`, also when the day's budget is used up, or so much waits that the answer would be late.
 */
export async function beginRefresh<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  { key, caller, restMs = REST_MS, ...place }: RefreshTerms,
  action: FunctionReference<"action", "internal", Args & ObjectType<typeof vRefresh> & { job: Job }>,
  args: Args,
): Promise<string> {
  if (!(await claimRefresh(ctx, key, LEASE_MS))) return key;
  if (place.queue !== undefined) await refuseLate(ctx, getCallerClass(caller));
  await charge(ctx, "question", caller);
  const billTo = toBillingSubject(caller);
  await refuseBeyond(ctx, billTo);
  const onFailure = buildFailureHandler(internal.platform.cache.recordFailure, { key, restMs });
  const terms = { ...place, rank: getCallerClass(caller), attempts: 1, onFailure };
  await enqueueWork(ctx, action, { ...args, key, billTo, until: Date.now() + QUEUE_MS }, terms);
  log.info("refresh.begun", { key, requestId: caller.requestId });
  return key;
}

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

/** Stores an answer. @param job The attempt that it completes; the answer of an attempt that is over is dropped. */
export const storeAnswer = defineMutation(
  { key: v.string(), body: v.string(), job: v.optional(vJob) },
  async (ctx, { key, body, job }) => {
    if (job === undefined || (await completeWork(ctx, job))) await finishRefresh(ctx, key, null, body);
  },
);

/** Records that a refresh has failed, or was lost with its server. */
export const recordFailure = defineMutation(
  { key: v.string(), restMs: v.number(), ...vFailure },
  (ctx, { key, restMs, error, code }) => {
    const why = code === "invalid_request" ? { isQuestions: true as const } : {};
    return finishRefresh(ctx, key, { error, restMs, ...why });
  },
);

const vAnswer = v.object({
  fetchedAt: v.number(),
  body: v.string(),
  isOutdated: v.boolean(),
  /** Epoch ms until which running work renews it; 0 if none runs. */
  renewingUntil: v.number(),
});

/** The last good answer at a key, however old. */
export async function findAnswer(ctx: QueryCtx, key: string): Promise<Infer<typeof vAnswer> | null> {
  const row = await findRefresh(ctx, key);
  const { body, doneAt, isOutdated = false, leaseUntil = 0 } = row ?? {};
  if (body === undefined || doneAt === undefined) return null;
  return { fetchedAt: doneAt, body, isOutdated, renewingUntil: leaseUntil };
}

/** The same for actions. */
export const readAnswerAt = internalQuery({
  args: { key: v.string() },
  returns: v.union(vAnswer, v.null()),
  handler: (ctx, { key }) => findAnswer(ctx, key),
});

/** The part of a key that stands for a question; those that differ only in case and spacing are the same. */
export const hashQuestion = (question: string): string =>
  sha256Hex(question.toLowerCase().replace(/\s+/g, " "));

const vOutcome = v.object({
  error: v.optional(v.string()),
  isQuestions: v.optional(v.literal(true)),
  restsUntil: v.optional(v.number()),
});

/** How the work at each key has ended, with its failure if it failed; `null` while it runs. */
export const listRefreshOutcomes = internalQuery({
  args: { keys: v.array(v.string()) },
  returns: v.array(v.union(vOutcome, v.null())),
  handler: (ctx, { keys }): Promise<(Infer<typeof vOutcome> | null)[]> =>
    Promise.all(
      keys.map(async (key) => {
        const row = await findRefresh(ctx, key);
        return row === null || row.leaseUntil !== undefined ? null : (row.failure ?? {});
      }),
    ),
});

type RefreshOutcome = Infer<typeof vOutcome> | null;

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
