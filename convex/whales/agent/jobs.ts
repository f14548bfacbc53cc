import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation } from "../../_generated/server";
import { purseOf } from "../../lib/budget";
import { failureOf, messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { providerAction } from "../../lib/providerCalls";
import { MINUTE, SECOND } from "../../lib/time";
import { sendPrompt, readJob, cancelJob } from "../../providers/agentApi";
import { vReported } from "../tables";
import { tell } from "../telling";
import { scheduleDueChecks } from "./checks";
import { LEASE_MS, schedulePoll, end, claimed, storeAlerts } from "./model";
import { PROMPT, readAnswer, WINDOW_HOURS } from "./prompts";

/** The agent's jobs: the one prompt an hour, and the polls that follow it. */

/** A job that runs longer is cancelled; half a minute to two minutes is usual. */
const GIVE_UP_MS = 5 * MINUTE;
const FIRST_POLL_MS = 2 * SECOND;
const SLOWEST_POLL_MS = 20 * SECOND;

/** Sends the hour's prompt, once. */
export const prompt = providerAction({
  args: { watchId: v.id("whaleWatches") },
  returns: v.null(),
  handler: async (ctx, { watchId }) => {
    if (!(await ctx.runMutation(internal.whales.agent.jobs.takePrompt, { watchId }))) return null;
    const now = Date.now();
    try {
      const jobId = await sendPrompt(purseOf(ctx, "service"), PROMPT, now);
      await ctx.runMutation(internal.whales.agent.jobs.accepted, { watchId, jobId });
    } catch (error) {
      const wait = failureOf(error)?.retryAfterMs;
      await ctx.runMutation(internal.whales.agent.jobs.refused, {
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
    const open = { state: "polling" as const, note: undefined, endedAt: undefined };
    await ctx.db.patch("whaleWatches", watchId, { ...open, jobId, acceptedAt: Date.now() });
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
    const taken = await ctx.runMutation(internal.whales.agent.jobs.takePoll, { watchId, number });
    if (taken === null) return null;
    const { jobId, isTooOld, attempt } = taken;
    const fail = (note: string) =>
      ctx.runMutation(internal.whales.agent.jobs.fail, { watchId, attempt, note });
    try {
      const job = await readJob(jobId, Date.now());
      if (job.state === "completed") {
        const answer = readAnswer(job.response);
        await ctx.runMutation(internal.whales.agent.jobs.finish, { watchId, attempt, ...answer });
      } else if (job.state !== "working") {
        await fail(FAILURES[job.state]);
      } else if (isTooOld) {
        await cancelJob(jobId, Date.now());
        await fail("The agent's job did not end in time and was cancelled");
      } else {
        await ctx.runMutation(internal.whales.agent.jobs.askAgain, { watchId, attempt });
      }
    } catch (error) {
      const failure = failureOf(error);
      if (failure === null) log.error("whales.poll failed", { watchId, reason: messageOf(error) });
      if (isTooOld) {
        const reason = failure?.message ?? "Its answer could not be stored";
        await fail(`The agent's job did not end in time. ${reason}`);
      } else {
        const waitMs = failure?.retryAfterMs ?? 0;
        await ctx.runMutation(internal.whales.agent.jobs.askAgain, { watchId, attempt, waitMs });
      }
    }
    return null;
  },
});

const FAILURES = {
  failed: "The agent's job failed",
  cancelled: "The agent's job was cancelled",
  unknown: "The agent API no longer knows the job",
};

/** Takes the poll with this number; `null` when another was faster or the watch has ended. */
export const takePoll = internalMutation({
  args: { watchId: v.id("whaleWatches"), number: v.number() },
  returns: v.union(v.object({ jobId: v.string(), isTooOld: v.boolean(), attempt: v.number() }), v.null()),
  handler: async (ctx, { watchId, number }) => {
    const row = await claimed(ctx, watchId, number);
    if (row?.jobId === undefined || row.acceptedAt === undefined) return null;
    const now = Date.now();
    const attempt = number + 1;
    await ctx.db.patch("whaleWatches", watchId, { polls: attempt, leaseUntil: now + LEASE_MS });
    return { jobId: row.jobId, isTooOld: now >= row.acceptedAt + GIVE_UP_MS, attempt };
  },
});

export const askAgain = internalMutation({
  args: { watchId: v.id("whaleWatches"), attempt: v.number(), waitMs: v.optional(v.number()) },
  returns: v.null(),
  handler: async (ctx, { watchId, attempt, waitMs = 0 }) => {
    const row = await claimed(ctx, watchId, attempt);
    if (row?.acceptedAt === undefined) return null;
    const slower = Math.min(FIRST_POLL_MS * 1.5 ** attempt, SLOWEST_POLL_MS);
    const left = Math.max(0, row.acceptedAt + GIVE_UP_MS - Date.now());
    await schedulePoll(ctx, watchId, attempt, Math.min(Math.max(slower, waitMs), left));
    return null;
  },
});

export const fail = internalMutation({
  args: { watchId: v.id("whaleWatches"), attempt: v.number(), note: v.string() },
  returns: v.null(),
  handler: async (ctx, { watchId, attempt, note }) => {
    if ((await claimed(ctx, watchId, attempt)) !== null) await end(ctx, watchId, { state: "failed", note });
    return null;
  },
});

/** Ends a watch with its alerts: stored, put on a card, and their transactions looked for, in one transaction. */
export const finish = internalMutation({
  args: {
    watchId: v.id("whaleWatches"),
    attempt: v.number(),
    alerts: v.array(vReported),
    dropped: v.number(),
    note: v.union(v.string(), v.null()),
  },
  returns: v.null(),
  handler: async (ctx, { watchId, attempt, alerts, dropped, note }) => {
    if ((await claimed(ctx, watchId, attempt)) === null) return null;
    const now = Date.now();
    const { stored, merged } = await storeAlerts(ctx, watchId, alerts, now);
    const counts = { stored: stored.length, merged, dropped };
    await end(ctx, watchId, { state: "done", counts, ...(note === null ? {} : { note }) });
    if (dropped > 0) log.warn("whales.dropped", { watchId, dropped });
    await tell(ctx, stored, { hours: WINDOW_HOURS, subject: watchId });
    await scheduleDueChecks(ctx, now);
    return null;
  },
});
