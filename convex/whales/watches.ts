import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc, Id } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { purseOf } from "../lib/budget";
import { recordCronRun } from "../lib/cronRuns";
import { optional } from "../lib/env";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { DAY, HOUR, iso, MINUTE, NEVER, SECOND } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { cancelJob, readJob, sendPrompt } from "../providers/agentApi";
import { alertCard } from "./cards";
import { scheduleDueChecks } from "./checks";
import { storeAlerts } from "./model";
import { MAX_ALERTS, PROMPT, readAnswer, WINDOW_HOURS } from "./prompts";
import { reportedFields } from "./tables";
import { tellMeasured } from "./telling";
import { publicAlert } from "./views";

/**
 * The hourly look for whales. A row claims the hour, an action sends the one prompt the hour ever gets, scheduled polls
 * follow its job. Whatever is lost on the way is taken up by `resume`, except a prompt whose fate is unknown: it may
 * have become a job, so it is given up.
 */

/** How long a step may be silent before it counts as lost: longer than any request's deadline. */
const LEASE_MS = MINUTE;
/** A job that runs longer is cancelled; half a minute to two minutes is usual. */
const GIVE_UP_MS = 5 * MINUTE;
const FIRST_POLL_MS = 2 * SECOND;
const SLOWEST_POLL_MS = 20 * SECOND;
/** A pause ends after a day at the latest, whatever the agent API said. */
const MAX_PAUSE_MS = DAY;
/** Lost steps per run of `resume`: there is one watch an hour. */
const BATCH = 10;

const OPEN = ["claimed", "prompting", "polling"] as const;

/**
 * Puts what was measured in the last hour on a card, claims the present hour and schedules its prompt. For the cron;
 * nothing happens when the hour is taken.
 */
export const begin = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "look for whales");
    const now = Date.now();
    const hour = Math.floor(now / HOUR) * HOUR;
    const latest = await ctx.db.query("whaleWatches").withIndex("by_hour").order("desc").first();
    if (latest !== null && latest.hour >= hour) return null;
    await tellMeasured(ctx, hour);
    if (optional("LLM_GATEWAY_API_KEY") === undefined) {
      log.warn("whales.skipped", { reason: "LLM_GATEWAY_API_KEY is not configured" });
      return null;
    }
    const watchId = await ctx.db.insert("whaleWatches", {
      hour,
      state: "claimed",
      startedAt: now,
      leaseUntil: now + LEASE_MS,
      polls: 0,
    });
    const pausedUntil = Math.min(latest?.pausedUntil ?? 0, now + MAX_PAUSE_MS);
    if (pausedUntil > now) {
      const note = `The agent API takes no prompts until ${iso(pausedUntil)}`;
      await end(ctx, watchId, { state: "failed", note, pausedUntil });
      return null;
    }
    await ctx.scheduler.runAfter(0, internal.whales.watches.prompt, { watchId });
    return null;
  },
});

/** Sends the hour's prompt, once. */
export const prompt = providerAction({
  args: { watchId: v.id("whaleWatches") },
  returns: v.null(),
  handler: async (ctx, { watchId }) => {
    if (!(await ctx.runMutation(internal.whales.watches.takePrompt, { watchId }))) return null;
    const now = Date.now();
    try {
      const jobId = await sendPrompt(purseOf(ctx, "service"), PROMPT, now);
      await ctx.runMutation(internal.whales.watches.accepted, { watchId, jobId });
    } catch (error) {
      const wait = failureOf(error)?.retryAfterMs;
      await ctx.runMutation(internal.whales.watches.refused, {
        watchId,
        note: messageOf(error),
        ...(wait === undefined ? {} : { pausedUntil: now + wait }),
      });
    }
    return null;
  },
});

/** Whoever gets `true` sends the prompt; nobody gets it again. */
export const takePrompt = internalMutation({
  args: { watchId: v.id("whaleWatches") },
  returns: v.boolean(),
  handler: async (ctx, { watchId }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row?.state !== "claimed") return false;
    await ctx.db.patch("whaleWatches", watchId, { state: "prompting", leaseUntil: Date.now() + LEASE_MS });
    return true;
  },
});

export const accepted = internalMutation({
  args: { watchId: v.id("whaleWatches"), jobId: v.string() },
  returns: v.null(),
  handler: async (ctx, { watchId, jobId }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    // One that was given up meanwhile is taken up again: its job exists after all.
    if (row === null || row.jobId !== undefined) return null;
    const { note: _note, endedAt: _endedAt, ...rest } = fieldsOf(row);
    const now = Date.now();
    await ctx.db.replace("whaleWatches", watchId, { ...rest, state: "polling", jobId, acceptedAt: now });
    await schedulePoll(ctx, watchId, 0, FIRST_POLL_MS);
    return null;
  },
});

export const refused = internalMutation({
  args: { watchId: v.id("whaleWatches"), note: v.string(), pausedUntil: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { watchId, note, pausedUntil }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row === null || row.jobId !== undefined) return null;
    await end(ctx, watchId, { state: "failed", note, ...(pausedUntil === undefined ? {} : { pausedUntil }) });
    return null;
  },
});

/** Asks after a job once, and goes by what it says. */
export const poll = providerAction({
  args: { watchId: v.id("whaleWatches"), number: v.number() },
  returns: v.null(),
  handler: async (ctx, { watchId, number }) => {
    const taken = await ctx.runMutation(internal.whales.watches.takePoll, { watchId, number });
    if (taken === null) return null;
    const { jobId, isTooOld, claim } = taken;
    const fail = (note: string) => ctx.runMutation(internal.whales.watches.fail, { watchId, claim, note });
    try {
      const job = await readJob(jobId, Date.now());
      if (job.state === "completed") {
        const answer = readAnswer(job.response);
        await ctx.runMutation(internal.whales.watches.finish, { watchId, claim, ...answer });
      } else if (job.state !== "working") {
        await fail(FAILURES[job.state]);
      } else if (isTooOld) {
        await cancelJob(jobId, Date.now());
        await fail("The agent's job did not end in time and was cancelled");
      } else {
        await ctx.runMutation(internal.whales.watches.askAgain, { watchId, claim });
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) log.error("whales.poll failed", { watchId, reason: messageOf(error) });
      if (isTooOld) {
        const reason = failure?.message ?? "Its answer could not be stored";
        await fail(`The agent's job did not end in time. ${reason}`);
      } else {
        const waitMs = failure?.retryAfterMs ?? 0;
        await ctx.runMutation(internal.whales.watches.askAgain, { watchId, claim, waitMs });
      }
    }
    return null;
  },
});

const FAILURES = {
  failed: "The agent's job failed",
  cancelled: "The agent's job was cancelled",
  unknown: "The agent API does not know the job any more",
};

/** Takes the poll with this number; `null` when another was faster or the watch has ended. */
export const takePoll = internalMutation({
  args: { watchId: v.id("whaleWatches"), number: v.number() },
  returns: v.union(v.object({ jobId: v.string(), isTooOld: v.boolean(), claim: v.number() }), v.null()),
  handler: async (ctx, { watchId, number }) => {
    const row = await claimed(ctx, watchId, number);
    if (row?.jobId === undefined || row.acceptedAt === undefined) return null;
    const now = Date.now();
    const claim = number + 1;
    await ctx.db.patch("whaleWatches", watchId, { polls: claim, leaseUntil: now + LEASE_MS });
    return { jobId: row.jobId, isTooOld: now >= row.acceptedAt + GIVE_UP_MS, claim };
  },
});

export const askAgain = internalMutation({
  args: { watchId: v.id("whaleWatches"), claim: v.number(), waitMs: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { watchId, claim, waitMs = 0 }) => {
    const row = await claimed(ctx, watchId, claim);
    if (row?.acceptedAt === undefined) return null;
    const slower = Math.min(FIRST_POLL_MS * 1.5 ** claim, SLOWEST_POLL_MS);
    const left = Math.max(0, row.acceptedAt + GIVE_UP_MS - Date.now());
    await schedulePoll(ctx, watchId, claim, Math.min(Math.max(slower, waitMs), left));
    return null;
  },
});

export const fail = internalMutation({
  args: { watchId: v.id("whaleWatches"), claim: v.number(), note: v.string() },
  returns: v.null(),
  handler: async (ctx, { watchId, claim, note }) => {
    if ((await claimed(ctx, watchId, claim)) !== null) await end(ctx, watchId, { state: "failed", note });
    return null;
  },
});

/** Ends a watch with its alerts: stored, put on a card, and their transactions looked for, in one transaction. */
export const finish = internalMutation({
  args: {
    watchId: v.id("whaleWatches"),
    claim: v.number(),
    alerts: v.array(v.object(reportedFields)),
    dropped: v.number(),
    note: v.union(v.string(), v.null()),
  },
  returns: v.null(),
  handler: async (ctx, { watchId, claim, alerts, dropped, note }) => {
    if ((await claimed(ctx, watchId, claim)) === null) return null;
    const now = Date.now();
    const { stored, merged } = await storeAlerts(ctx, watchId, alerts, now);
    const counts = { stored: stored.length, merged, dropped };
    await end(ctx, watchId, { state: "done", counts, ...(note === null ? {} : { note }) });
    if (dropped > 0) log.warn("whales.dropped", { watchId, dropped });
    if (stored.length > 0) {
      const handle: string = await createFunctionHandle(internal.whales.watches.delivered);
      await enqueueServiceCard(ctx, {
        kind: "whale alerts",
        paragraphs: alertCard({ hours: WINDOW_HOURS, at: now, alerts: stored.map(publicAlert) }),
        onSettled: { handle, subject: watchId },
      });
    }
    await scheduleDueChecks(ctx, now);
    return null;
  },
});

/** The outbox's word about a watch's card. */
export const delivered = internalMutation({
  args: { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { subject, sent }) => {
    const watchId = ctx.db.normalizeId("whaleWatches", subject);
    if (watchId === null) return null;
    const alerts = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_watchId", (q) => q.eq("watchId", watchId))
      .take(MAX_ALERTS);
    for (const { _id } of alerts) await ctx.db.patch("whaleAlerts", _id, { messengerSent: sent });
    return null;
  },
});

/** Takes up what was lost with a server: unsent prompts, polls, checks of transactions. For the cron. */
export const resume = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await recordCronRun(ctx, "resume lost looks for whales");
    const now = Date.now();
    for (const state of OPEN) {
      const lost = await ctx.db
        .query("whaleWatches")
        .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", state).lt("leaseUntil", now))
        .take(BATCH);
      for (const row of lost) await takeUp(ctx, row, now);
    }
    await scheduleDueChecks(ctx, now);
    return null;
  },
});

async function takeUp(
  ctx: MutationCtx,
  { _id: watchId, state, hour, polls }: Doc<"whaleWatches">,
  now: number,
) {
  if (state === "polling") await schedulePoll(ctx, watchId, polls, 0);
  else if (state === "prompting") {
    const note = "Whether the agent API took the prompt is unknown: it is not sent again";
    await end(ctx, watchId, { state: "failed", note });
  } else if (now >= hour + HOUR) {
    await end(ctx, watchId, { state: "failed", note: "The prompt was not sent within its hour" });
  } else {
    await ctx.db.patch("whaleWatches", watchId, { leaseUntil: now + LEASE_MS });
    await ctx.scheduler.runAfter(0, internal.whales.watches.prompt, { watchId });
  }
}

async function schedulePoll(ctx: MutationCtx, watchId: Id<"whaleWatches">, number: number, delayMs: number) {
  await ctx.db.patch("whaleWatches", watchId, { leaseUntil: Date.now() + delayMs + LEASE_MS });
  await ctx.scheduler.runAfter(delayMs, internal.whales.watches.poll, { watchId, number });
}

async function claimed(ctx: MutationCtx, watchId: Id<"whaleWatches">, claim: number) {
  const row = await ctx.db.get("whaleWatches", watchId);
  return row?.state === "polling" && row.polls === claim ? row : null;
}

type Ending = Pick<Doc<"whaleWatches">, "note" | "counts" | "pausedUntil"> & { state: "done" | "failed" };

async function end(ctx: MutationCtx, watchId: Id<"whaleWatches">, ending: Ending): Promise<void> {
  if (ending.note !== undefined) log.warn("whales.note", { watchId, note: ending.note });
  await ctx.db.patch("whaleWatches", watchId, { ...ending, endedAt: Date.now(), leaseUntil: NEVER });
}

function fieldsOf({ _id, _creationTime, ...fields }: Doc<"whaleWatches">) {
  return fields;
}
