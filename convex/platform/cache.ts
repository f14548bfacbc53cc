import type { FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery, type MutationCtx } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { log } from "../lib/log";
import { MINUTE, SECOND } from "../lib/time";
import { claimRefresh, findAnswer, findRefresh, finishRefresh, vAnswer } from "./answers";
import { defineMutation } from "./changes";
import { refuseBeyond } from "./limits/budget";
import { getCallerClass, toBillingSubject, vBillingSubject, type Caller } from "./limits/callers";
import { charge } from "./limits/charges";
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

/**
 * Cached answers: each key has one refresh at a time. The first caller's mutation claims the key and opens the work, which
 * outlives the caller; concurrent callers wait for the same work (single-flight). Callers within the cooldown of a failure
 * get its error; callers of a slow refresh get the last good answer.
 *
 * Usage: a room's `begin` mutation calls `beginRefresh` with an action made by `defineRefresh`; an HTTP handler reads with
 * `readThrough` (both in `platform/refreshes`). The rows are in `platform/answers`.
 */

/** How long callers get a failure's error before the work may begin again. */
const REST_MS = 15 * SECOND;
/** After this long in the queue no caller can still be waiting for the work. */
const QUEUE_MS = 2 * MINUTE;
/** Longer than the queue waits for its own lost work: the queue decides that an attempt is over. */
const LEASE_MS = 15 * MINUTE;

/** The arguments of a refresh action besides its own and its job. */
export const vRefresh = { key: v.string(), billTo: vBillingSubject, until: v.number() };

/** Claims a key for work that an action does itself, as `claimRefresh`. */
export const claimForAction = internalMutation({
  args: { key: v.string(), leaseMs: v.number() },
  returns: v.boolean(),
  handler: (ctx, { key, leaseMs }) => claimRefresh(ctx, key, leaseMs),
});

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

/** The last good answer at a key, however old. */
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

export type RefreshOutcome = Infer<typeof vOutcome> | null;

/** How the work at each key has ended, with its failure if it failed; `null` while it runs. */
export const listRefreshOutcomes = internalQuery({
  args: { keys: v.array(v.string()) },
  returns: v.array(v.union(vOutcome, v.null())),
  handler: (ctx, { keys }): Promise<RefreshOutcome[]> =>
    Promise.all(
      keys.map(async (key) => {
        const row = await findRefresh(ctx, key);
        return row === null || row.leaseUntil !== undefined ? null : (row.failure ?? {});
      }),
    ),
});
