import { v, type Infer } from "convex/values";
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
import { AppError, failureOf, messageOf } from "./errors";
import { charge } from "./limits/charges";
import type { Caller } from "./limits/callers";
import { log } from "./log";
import { vTicket, type Ticket } from "./tables";
import { MINUTE, SECOND, sleep } from "./time";

/**
 * Each cached thing has one refresh at a time. The first caller's mutation claims the key and schedules the work, which
 * outlives the caller; others who ask meanwhile wait for the same attempt.
 *
 * Usage: a domain's `begin` mutation calls `beginRefresh`, its action does the work and ends in a mutation that calls
 * `finishRefresh`; an HTTP handler waits with `awaitRefresh`.
 */

/** When a waiting caller looks for the result: 12 times in 28 s at most. */
const FIRST_LOOK_MS = 100;
const LATER_LOOKS = 1.6;
const LONGEST_LOOK_MS = 5 * SECOND;
/** How long callers get a failed attempt's error before a new attempt may begin. */
const REST_MS = 15 * SECOND;
/** After this long in the queue, nobody can be waiting for the attempt any more. */
export const QUEUE_MS = 2 * MINUTE;

/**
 * Claims the key, or joins the running attempt. Only the caller who begins an attempt is charged for it.
 * @param leaseMs After this long a silent attempt counts as lost and the next caller begins another.
 * @param restMs For this long after a failure no new attempt begins: callers get the failed one's error.
 * @param start Schedules the work; called inside this transaction only when a new attempt begins.
 * @throws AppError `rate_limited`
 */
export async function beginRefresh(
  ctx: MutationCtx,
  {
    key,
    leaseMs,
    restMs = REST_MS,
    caller,
    found,
  }: {
    key: string;
    leaseMs: number;
    restMs?: number;
    caller: Caller;
    /** The key's row, if it has been read already. */
    found?: Doc<"refreshes"> | null;
  },
  start: (attempt: number) => Promise<unknown>,
): Promise<Ticket> {
  const now = Date.now();
  const row = found === undefined ? await findRefresh(ctx, key) : found;
  if (row !== null && leaseOf(row) > now) return { key, attempt: row.attempt };
  if (row?.failedAt !== undefined && now < row.failedAt + restMs) return { key, attempt: row.attempt };
  await charge(ctx, "refresh", caller);
  const attempt = (row?.attempt ?? 0) + 1;
  const begun = { attempt, beganAt: now, leaseUntil: now + leaseMs, restMs };
  if (row === null) await ctx.db.insert("refreshes", { key, ...begun });
  else await ctx.db.patch("refreshes", row._id, { ...begun, ...NO_FAILURE });
  await start(attempt);
  log.info("refresh.begun", { key, attempt, requestId: caller.requestId });
  return { key, attempt, isNew: true };
}

/**
 * Begins the work of an attempt that had to wait for its place, unless it was overtaken or nobody can be waiting any
 * more.
 * @returns Whether the attempt is still wanted; its lease is then `leaseMs` from now.
 */
export async function takeRefresh(
  ctx: MutationCtx,
  { key, attempt }: Ticket,
  leaseMs: number,
): Promise<boolean> {
  const now = Date.now();
  const row = await findRefresh(ctx, key);
  if (row === null || row.attempt !== attempt || leaseOf(row) <= now) return false;
  await ctx.db.patch("refreshes", row._id, { leaseUntil: now + leaseMs });
  return true;
}

/** `takeRefresh` for actions. */
export const take = internalMutation({
  args: { key: v.string(), attempt: v.number(), leaseMs: v.number() },
  returns: v.boolean(),
  handler: (ctx, { leaseMs, ...ticket }) => takeRefresh(ctx, ticket, leaseMs),
});

/**
 * Ends an attempt. Call it in the mutation that stores the result, and store nothing if it returns `null`: a later
 * attempt has overtaken this one.
 * @param failure Why there is no result; `null` if there is one.
 * @returns The row as it was before.
 */
export async function finishRefresh(
  ctx: MutationCtx,
  { key, attempt }: Ticket,
  failure: string | null,
  limitedUntil?: number,
): Promise<Doc<"refreshes"> | null> {
  const row = await findRefresh(ctx, key);
  if (row === null || row.attempt !== attempt || leaseOf(row) === 0) return null;
  const now = Date.now();
  const ended = failure === null ? { doneAt: now } : { failure, failedAt: now, limitedUntil };
  await ctx.db.patch("refreshes", row._id, { leaseUntil: undefined, ...ended });
  if (failure === null) log.info("refresh.done", { key, attempt });
  else log.warn("refresh.failed", { key, attempt, error: failure });
  return row;
}

/** What a running attempt does not have. */
const NO_FAILURE = { failure: undefined, failedAt: undefined, limitedUntil: undefined };

/** Epoch ms; 0 if no attempt runs. */
function leaseOf({ leaseUntil = 0 }: Doc<"refreshes">): number {
  return leaseUntil;
}

/**
 * Waits until the attempt has ended, at most until the caller's deadline.
 * @returns `done`, or `late` if the deadline came first (the work continues).
 * @throws AppError `upstream` if the attempt failed, with the end of its rest as `retryAfterMs`; `rate_limited` if the
 * day's budget was used up.
 */
export async function awaitRefresh(
  ctx: ActionCtx,
  { key, attempt }: Ticket,
  signal: AbortSignal,
): Promise<"done" | "late"> {
  let pause = FIRST_LOOK_MS;
  while (!signal.aborted) {
    const outcome = await ctx.runQuery(internal.lib.refreshes.outcome, { key, attempt });
    if (outcome.state === "done") return "done";
    if (outcome.state === "failed") throw failureOfAttempt(outcome);
    await sleep(pause);
    pause = Math.min(pause * LATER_LOOKS, LONGEST_LOOK_MS);
  }
  return "late";
}

/** Ends an attempt with the error that its work threw, and tells waiting callers why. For actions. */
export async function failRefresh(ctx: ActionCtx, key: string, attempt: number, error: unknown) {
  const failure = failureOf(error);
  const waitMs = failure?.code === "rate_limited" ? failure.retryAfterMs : undefined;
  await ctx.runMutation(internal.lib.renewals.failed, {
    ...{ key, attempt, error: messageOf(error), isLast: true },
    ...(waitMs === undefined ? {} : { limitedUntil: Date.now() + waitMs }),
  });
}

/** The error for callers who waited for a failed attempt. */
export function failureOfAttempt({
  failure,
  restsUntil,
  limitedUntil,
}: Omit<Infer<typeof vFailed>, "state">): AppError {
  const code = limitedUntil === undefined ? "upstream" : "rate_limited";
  return new AppError(code, failure, {
    retryAfterMs: Math.max(0, (limitedUntil ?? restsUntil) - Date.now()),
  });
}

const vFailed = v.object({
  state: v.literal("failed"),
  failure: v.string(),
  /** Epoch ms until which no new attempt begins. */
  restsUntil: v.number(),
  limitedUntil: v.optional(v.number()),
});
const vOutcome = v.union(
  v.object({ state: v.literal("running") }),
  v.object({ state: v.literal("done") }),
  vFailed,
);
type Outcome = Infer<typeof vOutcome>;

/** The state of an attempt at a key; the end of a later attempt counts too. */
export const outcome = internalQuery({
  args: vTicket,
  returns: vOutcome,
  handler: outcomeOf,
});

async function outcomeOf(ctx: QueryCtx, { key, attempt }: Ticket): Promise<Outcome> {
  const row = await findRefresh(ctx, key);
  if (row === null || leaseOf(row) !== 0 || row.attempt < attempt) return { state: "running" };
  const { failure, failedAt = 0, restMs = REST_MS, limitedUntil } = row;
  if (failure === undefined) return { state: "done" };
  const limited = limitedUntil === undefined ? {} : { limitedUntil };
  return { state: "failed", failure, restsUntil: failedAt + restMs, ...limited };
}

/** The key's row. Its `doneAt` says when the latest result was stored; the result itself is not read. */
export async function findRefresh(ctx: QueryCtx, key: string) {
  return getOneFrom(ctx.db, "refreshes", "by_key", key);
}
