import { getFunctionName, makeFunctionReference, type FunctionReference } from "convex/server";
import { v, type Infer, type ObjectType, type Value } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { sha256Hex } from "../security/digests";
import { messageOf } from "../errors";
import { log } from "../log";
import { MINUTE } from "../time";
import { admit, fill, LEASE_MS, valuesOf, type Opened, type Place } from "./lanes";

/**
 * One machine for every piece of leased work. A room opens it in the mutation that decides it, names the action that
 * does it, and ends it in the mutation that stores the result: stored work is never done again. An action that throws
 * or is lost with its server is tried again by one rule, and the room's mutation learns of it.
 */

/** One attempt at a piece of work; its action receives it, and ends it. */
export const vJob = v.object({ workId: v.id("work"), attempt: v.number() });
export type Job = Infer<typeof vJob>;

/** What a mutation learns of a failed attempt, in addition to its own arguments. */
export const vFailure = {
  error: v.string(),
  /** As in `lib/errors`; absent for unexpected errors, whose message is for the operator alone. */
  code: v.optional(v.string()),
  /** No further attempt follows. */
  isLast: v.boolean(),
  /** Epoch ms until which it was refused, for example by the day's budget. */
  limitedUntil: v.optional(v.number()),
};
export type Failure = ObjectType<typeof vFailure>;

/** How a piece of work is done, besides its action. */
export type Terms = {
  /** The lane in which it waits for a place; absent: it begins immediately. */
  place?: Place;
  /** How often it may fail: it is tried again after 1, 4, 9 … minutes, or immediately if it was lost. Absent: its room ends it. */
  attempts?: number;
  /** Epoch ms: no further attempt begins after this. */
  until?: number;
  /** The mutation that learns of every failed attempt, in the transaction that decides whether another follows. */
  onFailure?: NonNullable<Doc<"work">["told"]>;
  /** The subject by which its room finds it. */
  subject?: string;
  /** Delay before it begins, in ms. */
  delayMs?: number;
};

/** The longest rest after a failure. */
const LONGEST_REST_MS = 30 * MINUTE;

/** Names the mutation to tell, and its arguments. */
export function failureHandler<Args extends Record<string, Value>>(
  mutation: FunctionReference<"mutation", "internal", Args & Failure>,
  args: Args,
): NonNullable<Terms["onFailure"]> {
  return named(mutation, args);
}

function named(reference: FunctionReference<"action" | "mutation", "internal">, args: Record<string, Value>) {
  return { run: getFunctionName(reference), args: JSON.stringify(args) };
}

/** Terms as a row keeps them. */
function stored({ onFailure, ...terms }: Omit<Terms, "place" | "delayMs">) {
  return { ...terms, ...(onFailure === undefined ? {} : { told: onFailure }) };
}

/** Schedules an action to run as soon as possible. */
export async function open<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  action: FunctionReference<"action", "internal", Args & { job: Job }>,
  args: Args,
  { place, delayMs = 0, ...terms }: Terms = {},
): Promise<void> {
  const waits = place === undefined ? { owner: "" } : { lane: place.lane, owner: sha256Hex(place.owner) };
  const begun = { turn: 0, state: "resting" as const, attempt: 0, failures: 0 };
  const at = Date.now() + delayMs;
  const fields = { ...named(action, args), ...stored(terms), ...waits, ...begun, at };
  const _id = await ctx.db.insert("work", fields);
  await goOn(ctx, { ...fields, _id }, delayMs);
}

/**
 * Opens work that an action does beside its own, in the same place: it is lost when that action is.
 * @param by The action's own attempt.
 */
export async function openBeside<Args extends Record<string, Value>>(
  ctx: MutationCtx,
  by: Job,
  action: FunctionReference<"action", "internal", Args & { job: Job }>,
  args: Args,
  terms: Omit<Terms, "place" | "delayMs"> = {},
): Promise<Job> {
  const opened = { ...named(action, args), ...stored(terms), owner: "", turn: 0, attempt: 0, failures: 0 };
  const workId = await ctx.db.insert("work", { ...opened, state: "waiting", at: Date.now() });
  return takeBeside(ctx, by, workId);
}

/** Takes waiting work out of turn, to do it beside an action's own. `null` if it does not wait. */
export async function takeWaiting(ctx: MutationCtx, by: Job, subject: string): Promise<Job | null> {
  const row = await workOn(ctx, subject);
  return row?.state === "waiting" ? takeBeside(ctx, by, row._id, row.attempt) : null;
}

async function takeBeside(ctx: MutationCtx, by: Job, workId: Id<"work">, earlier = 0): Promise<Job> {
  const scheduled = (await underWay(ctx, by))?.scheduled;
  const attempt = earlier + 1;
  const at = Date.now() + LEASE_MS;
  await ctx.db.patch("work", workId, { state: "running", attempt, at, scheduled, lane: undefined });
  return { workId, attempt };
}

/** The work about a subject that its room has opened, or `null`. */
export async function workOn(ctx: QueryCtx, subject: string): Promise<Doc<"work"> | null> {
  return getOneFrom(ctx.db, "work", "by_subject", subject);
}

/** The work of the current attempt; messages from any other attempt are dropped. */
export async function underWay(ctx: QueryCtx, { workId, attempt }: Job): Promise<Doc<"work"> | null> {
  const row = await ctx.db.get("work", workId);
  return row?.state === "running" && row.attempt === attempt ? row : null;
}

/**
 * Ends the work of an attempt, in the mutation that stores the result.
 * @returns Whether the attempt was current; if not, the result is dropped.
 */
export async function end(ctx: MutationCtx, job: Job): Promise<boolean> {
  const row = await underWay(ctx, job);
  if (row !== null) await close(ctx, row);
  return row !== null;
}

/** Ends the work about a subject, if there is any; the result of a running attempt is dropped. */
export async function cancel(ctx: MutationCtx, subject: string): Promise<void> {
  const row = await workOn(ctx, subject);
  if (row !== null) await close(ctx, row);
}

/** Puts work off: it continues after this long. @returns Whether the attempt was current. */
export async function rest(ctx: MutationCtx, job: Job, ms: number): Promise<boolean> {
  const row = await underWay(ctx, job);
  if (row !== null) await restFor(ctx, row, ms);
  return row !== null;
}

/** Begins work that has rested. */
export async function wake(ctx: MutationCtx, { workId, attempt }: Job): Promise<void> {
  const row = await ctx.db.get("work", workId);
  if (row?.state === "resting" && row.attempt === attempt) await admit(ctx, row);
}

/** Applies the one rule after an attempt that threw or was lost. */
export async function failed(
  ctx: MutationCtx,
  row: Doc<"work">,
  failure: Omit<Failure, "isLast">,
  how: "failed" | "lost",
): Promise<void> {
  const failures = row.failures + 1;
  const { run, attempts, until, told } = row;
  log.warn(`work.${how}`, { run, failures, error: failure.error });
  const pause = how === "lost" ? 0 : Math.min(failures * failures * MINUTE, LONGEST_REST_MS);
  const isLast =
    (attempts !== undefined && failures >= attempts) || (until !== undefined && Date.now() + pause >= until);
  if (isLast) await close(ctx, row);
  else {
    await ctx.db.patch("work", row._id, { failures, trouble: failure.error });
    await restFor(ctx, row, pause);
  }
  if (told !== undefined) await callHandler(ctx, told, { ...failure, isLast });
}

async function close(ctx: MutationCtx, { _id, lane, state }: Doc<"work">): Promise<void> {
  await ctx.db.delete("work", _id);
  if (lane !== undefined && state === "running") await fill(ctx, lane);
}

async function restFor(ctx: MutationCtx, { _id, lane }: Doc<"work">, ms: number): Promise<void> {
  await ctx.db.patch("work", _id, { state: "resting", at: Date.now() + ms, scheduled: undefined });
  if (lane !== undefined) await fill(ctx, lane);
  const row = await ctx.db.get("work", _id);
  if (row !== null) await goOn(ctx, row, ms);
}

async function goOn(ctx: MutationCtx, row: Opened, ms: number): Promise<void> {
  if (ms === 0) return admit(ctx, row);
  const job = { workId: row._id, attempt: row.attempt };
  await ctx.scheduler.runAfter(ms, internal.lib.work.turns.goOn, { job });
}

async function callHandler(
  ctx: MutationCtx,
  { run, args }: NonNullable<Doc<"work">["told"]>,
  failure: Failure,
) {
  try {
    const mutation = makeFunctionReference<"mutation", Record<string, Value>>(run);
    await ctx.runMutation(mutation, { ...valuesOf(args), ...failure });
  } catch (thrown) {
    // Only its own changes are undone: the place of an ended job goes to the next in any case.
    log.error("work.handlerFailed", { run, error: messageOf(thrown) });
  }
}
