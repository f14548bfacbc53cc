import type { FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
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
import { refuseBeyond } from "./limits/budget";
import { change } from "./changes";
import { AppError } from "./errors";
import { type Caller, classOf, payerOf } from "./limits/callers";
import { charge } from "./limits/charges";
import { waitingAs } from "./limits/slots";
import { log } from "./log";
import { deadlines } from "./outside/deadlines";
import { sha256Hex } from "./security/crypto";
import { vPayer, vTicket, type Ticket } from "./tables";
import { MINUTE, SECOND, sleep } from "./time";
import { end, failureHandler, open, vFailure, vJob, type Job } from "./work/jobs";

/**
 * Cached answers: each key has one refresh at a time. The first caller's mutation claims the key and opens the work,
 * which outlives the caller; others who ask meanwhile wait for the same attempt. A failed one is told to all who ask
 * within its rest, a slow one leaves its callers the last good answer.
 *
 * Usage: a room's `begin` mutation calls `beginRefresh`; its action takes the attempt (`take`), does the work and ends
 * with `keep`, or in a mutation of its own that calls `finishRefresh`; an HTTP handler reads with `readThrough`.
 */

/** When a waiting caller looks for the result: 12 times in 28 s at most. */
const FIRST_LOOK_MS = 100;
const LATER_LOOKS = 1.6;
const LONGEST_LOOK_MS = 5 * SECOND;
/** How long callers get a failed attempt's error before a new attempt may begin. */
const REST_MS = 15 * SECOND;
/** After this long in the queue, nobody can be waiting for the attempt any more. */
const QUEUE_MS = 2 * MINUTE;

/** What a refreshing action gets besides its own arguments and its job. */
export const vRefresh = { key: v.string(), attempt: v.number(), payer: vPayer };

/**
 * Claims the key for work that its caller does itself, or joins the running attempt (no `isNew`).
 * @param claim.leaseMs After this long a silent attempt counts as lost and the next caller begins another.
 * @param claim.restMs For this long after a failure no new attempt begins: callers get the failed one's error.
 * @param claim.found The key's row, if it has been read already.
 * @throws AppError `rate_limited`
 */
export async function claimRefresh(
  ctx: MutationCtx,
  {
    key,
    leaseMs,
    restMs = REST_MS,
    caller,
    found,
  }: { key: string; leaseMs: number; restMs?: number; caller: Caller; found?: Doc<"answers"> | null },
): Promise<Ticket> {
  const now = Date.now();
  const row = found === undefined ? await findRefresh(ctx, key) : found;
  if (row !== null && (leaseOf(row) > now || now < (row.failedAt ?? -Infinity) + restMs))
    return { key, attempt: row.attempt };
  await charge(ctx, "question", caller);
  const attempt = (row?.attempt ?? 0) + 1;
  const begun = { attempt, beganAt: now, leaseUntil: now + leaseMs, restMs };
  if (row === null) await ctx.db.insert("answers", { key, ...begun });
  else await ctx.db.patch("answers", row._id, { ...begun, ...NO_FAILURE });
  log.info("refresh.begun", { key, attempt, requestId: caller.requestId });
  return { key, attempt, isNew: true };
}

/** What a running attempt does not have. */
const NO_FAILURE = { failure: undefined, failedAt: undefined, limitedUntil: undefined };

/**
 * Begins a refresh by a model in the queue, or joins the running one. The action takes the attempt, and may throw.
 * @throws AppError `rate_limited`, also when the day's budget is used up.
 */
export async function beginRefresh<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  { rank, ...claim }: { key: string; restMs?: number; caller: Caller; rank?: "service" },
  action: FunctionReference<"action", "internal", Args & ObjectType<typeof vRefresh> & { job: Job }>,
  args: Args,
): Promise<Ticket> {
  const { key, caller } = claim;
  const ticket = await claimRefresh(ctx, { ...claim, leaseMs: QUEUE_MS });
  if (ticket.isNew !== true) return ticket;
  const { attempt } = ticket;
  const payer = rank ?? payerOf(caller);
  await refuseBeyond(ctx, payer);
  const onFailure = failureHandler(internal.lib.cache.failed, { key, attempt });
  const terms = { queue: "models" as const, rank: rank ?? classOf(caller), attempts: 1, onFailure };
  await open(ctx, action, { ...args, key, attempt, payer }, terms);
  return ticket;
}

/**
 * Begins the work of an attempt that had to wait for its place, unless it was overtaken or nobody can be waiting any
 * more.
 * @returns Whether the attempt is still wanted; its lease is then `leaseMs` from now.
 */
export const take = internalMutation({
  args: { key: v.string(), attempt: v.number(), leaseMs: v.number() },
  returns: v.boolean(),
  handler: async (ctx, { key, attempt, leaseMs }) => {
    const now = Date.now();
    const row = await findRefresh(ctx, key);
    if (row === null || row.attempt !== attempt || leaseOf(row) <= now) return false;
    await ctx.db.patch("answers", row._id, { leaseUntil: now + leaseMs });
    return true;
  },
});

/**
 * Ends an attempt, and its job. Call it in the mutation that stores the result, and store nothing if it returns `false`:
 * a later attempt has overtaken this one.
 * @param failure Why there is no result; `null` if there is one.
 */
export async function finishRefresh(
  ctx: MutationCtx,
  { key, attempt, job }: Ticket & { job?: Job },
  failure: string | null = null,
  limitedUntil?: number,
): Promise<boolean> {
  if (job !== undefined) await end(ctx, job);
  const row = await findRefresh(ctx, key);
  if (row === null || row.attempt !== attempt || leaseOf(row) === 0) return false;
  const now = Date.now();
  const ended = failure === null ? { doneAt: now } : { failure, failedAt: now, limitedUntil };
  await ctx.db.patch("answers", row._id, { leaseUntil: undefined, ...ended });
  if (failure === null) log.info("refresh.done", { key, attempt });
  else log.warn("refresh.failed", { key, attempt, error: failure });
  return true;
}

/** The last good answer at a key, however old. */
export async function answerAt(ctx: QueryCtx, key: string): Promise<Infer<typeof vAnswer> | null> {
  const { body, doneAt } = (await findRefresh(ctx, key)) ?? {};
  return body === undefined || doneAt === undefined ? null : { fetchedAt: doneAt, body };
}

const vAnswer = v.object({ fetchedAt: v.number(), body: v.string() });

/** The same for actions. */
export const answer = internalQuery({
  args: { key: v.string() },
  returns: v.union(vAnswer, v.null()),
  handler: (ctx, { key }) => answerAt(ctx, key),
});

/** Stores an answer and ends the attempt that it is of; one that was overtaken stores nothing. */
export const keep = change(
  { key: v.string(), body: v.string(), of: v.optional(v.object({ attempt: v.number(), job: vJob })) },
  async (ctx, { key, body, of }) => {
    if (of !== undefined && !(await finishRefresh(ctx, { key, ...of }))) return;
    const row = await findRefresh(ctx, key);
    const doneAt = Date.now();
    if (row !== null) await ctx.db.patch("answers", row._id, { body, doneAt });
    else await ctx.db.insert("answers", { key, body, doneAt, beganAt: doneAt, attempt: 0 });
  },
);

/** The part of a key that stands for a question; those that differ only in case and spacing are the same. */
export const questionKey = (question: string): string =>
  sha256Hex(question.toLowerCase().replace(/\s+/g, " "));

/** The attempt has failed, or was lost with its server. */
export const failed = change(
  { key: v.string(), attempt: v.number(), ...vFailure },
  async (ctx, { key, attempt, error, limitedUntil }) => {
    await finishRefresh(ctx, { key, attempt }, error, limitedUntil);
  },
);

const vOutcome = v.union(
  v.object({ state: v.union(v.literal("running"), v.literal("done")) }),
  v.object({
    state: v.literal("failed"),
    failure: v.string(),
    /** Epoch ms until which no new attempt begins. */
    restsUntil: v.number(),
    limitedUntil: v.optional(v.number()),
  }),
);

/** The state of an attempt at a key; the end of a later attempt counts too. */
export const outcome = internalQuery({
  args: vTicket,
  returns: vOutcome,
  handler: async (ctx, { key, attempt }): Promise<Infer<typeof vOutcome>> => {
    const row = await findRefresh(ctx, key);
    if (row === null || leaseOf(row) !== 0 || row.attempt < attempt) return { state: "running" };
    const { failure, failedAt = 0, restMs = REST_MS, limitedUntil } = row;
    if (failure === undefined) return { state: "done" };
    const limited = limitedUntil === undefined ? {} : { limitedUntil };
    return { state: "failed", failure, restsUntil: failedAt + restMs, ...limited };
  },
});

/** Epoch ms; 0 if no attempt runs. */
function leaseOf({ leaseUntil = 0 }: Doc<"answers">): number {
  return leaseUntil;
}

/** The key's row. Its `doneAt` says when the latest result was stored; the result itself is not read. */
export async function findRefresh(ctx: QueryCtx, key: string) {
  return getOneFrom(ctx.db, "answers", "by_key", key);
}

/**
 * Whether an attempt has ended. For actions.
 * @throws AppError `upstream` if it failed, with the end of its rest as `retryAfterMs`; `rate_limited` if the day's
 * budget was used up.
 */
export async function hasEnded(ctx: ActionCtx, { key, attempt }: Ticket): Promise<boolean> {
  const ended = await ctx.runQuery(internal.lib.cache.outcome, { key, attempt });
  if (ended.state !== "failed") return ended.state === "done";
  const { failure, restsUntil, limitedUntil } = ended;
  throw new AppError(limitedUntil === undefined ? "upstream" : "rate_limited", failure, {
    retryAfterMs: Math.max(0, (limitedUntil ?? restsUntil) - Date.now()),
  });
}

/**
 * Waits until the attempt has ended, at most until the deadline.
 * @returns `done`, or `late` if the deadline came first (the work continues).
 * @throws AppError as `hasEnded`
 */
export async function awaitRefresh(
  ctx: ActionCtx,
  ticket: Ticket,
  signal: AbortSignal,
): Promise<"done" | "late"> {
  let pause = FIRST_LOOK_MS;
  while (!signal.aborted) {
    if (await hasEnded(ctx, ticket)) return "done";
    await sleep(pause);
    pause = Math.min(pause * LATER_LOOKS, LONGEST_LOOK_MS);
  }
  return "late";
}

/** `awaitRefresh` for a caller, who holds a slot meanwhile. @throws AppError `rate_limited` without one. */
export async function awaitAs(
  ctx: ActionCtx,
  caller: Caller,
  ticket: Ticket,
  patienceMs: number,
): Promise<void> {
  const wait = () => awaitRefresh(ctx, ticket, AbortSignal.timeout(patienceMs));
  await waitingAs(ctx, caller, wait, { heldMs: patienceMs });
}

/**
 * Reads the answer at a key, and renews it when it is old. For actions.
 * @param steps.upstream The name of the source, for callers.
 * @param steps.freshMs Up to this age the stored answer is returned, and nothing is written.
 * @returns The fresh answer; if the refresh takes longer than a caller waits, the last one, however old.
 * @throws AppError `upstream` if the refresh failed, or took too long and there is no earlier answer.
 */
export async function readThrough(
  ctx: ActionCtx,
  steps: {
    upstream: string;
    freshMs: (body: string) => number;
    caller: Caller;
    key: string;
    begin: () => Promise<Ticket>;
  },
): Promise<{ fetchedAt: number; body: string }> {
  const read = () => ctx.runQuery(internal.lib.cache.answer, { key: steps.key });
  const stored = await read();
  if (stored !== null && Date.now() - stored.fetchedAt < steps.freshMs(stored.body)) return stored;
  const ticket = await steps.begin();
  await awaitAs(ctx, steps.caller, ticket, deadlines.caller);
  const renewed = await read();
  if (renewed === null)
    throw new AppError("upstream", `${steps.upstream} did not answer in time: ask again shortly`);
  return renewed;
}
