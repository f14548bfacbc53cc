import { v, type Infer, type ObjectType } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation } from "../../_generated/server";
import { change } from "../../lib/changes";
import { log } from "../../lib/log";
import { HOUR, MINUTE, SECOND } from "../../lib/time";
import { end as endWork, open, rest, underWay, vJob } from "../../lib/work/jobs";
import { vReported } from "../tables";
import { tell } from "../news";
import { check } from "./checks";
import { end, storeAlerts } from "./model";

/** An hour's question, step by step: its one prompt, and the polls of its job. */

/** A job that runs longer is cancelled; half a minute to two minutes is usual. */
const GIVE_UP_MS = 5 * MINUTE;
const FIRST_POLL_MS = 2 * SECOND;
const SLOWEST_POLL_MS = 20 * SECOND;

const vLook = { watchId: v.id("whaleWatches"), job: vJob };
export type Look = ObjectType<typeof vLook>;

const vPoll = v.object({ kind: v.literal("poll"), jobId: v.string(), isTooOld: v.boolean() });
export type Poll = Infer<typeof vPoll>;

/**
 * Begins a step; `null` if there is none, or the watch has ended. A prompt with an unknown outcome may have become a
 * job: it is given up, and never sent again.
 */
export const begin = internalMutation({
  args: vLook,
  returns: v.union(v.object({ kind: v.literal("prompt") }), vPoll, v.null()),
  handler: async (ctx, { watchId, job }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row === null || (await underWay(ctx, job)) === null) return null;
    const { state, jobId, acceptedAt, polls } = row;
    const now = Date.now();
    if (state === "polling" && jobId !== undefined && acceptedAt !== undefined) {
      await ctx.db.patch("whaleWatches", watchId, { polls: polls + 1 });
      return { kind: "poll" as const, jobId, isTooOld: now >= acceptedAt + GIVE_UP_MS };
    }
    if (state === "claimed" && now < row.hour + HOUR) {
      await ctx.db.patch("whaleWatches", watchId, { state: "prompting" });
      return { kind: "prompt" as const };
    }
    await endWork(ctx, job);
    const note =
      state === "claimed"
        ? "The prompt was not sent within its hour"
        : "It is not known whether the agent API accepted the prompt: it is not sent again";
    if (state === "claimed" || state === "prompting") await end(ctx, watchId, { state: "failed", note });
    return null;
  },
});

export const accepted = change({ ...vLook, jobId: v.string() }, async (ctx, { watchId, job, jobId }) => {
  const row = await ctx.db.get("whaleWatches", watchId);
  // A watch that was given up meanwhile is resumed: its job exists after all.
  if (row === null || row.jobId !== undefined) return;
  const polling = { state: "polling" as const, note: undefined, endedAt: undefined };
  await ctx.db.patch("whaleWatches", watchId, { ...polling, jobId, acceptedAt: Date.now() });
  if (await rest(ctx, job, FIRST_POLL_MS)) return;
  const terms = { subject: watchId, delayMs: FIRST_POLL_MS };
  await open(ctx, internal.whales.agent.desk.look, { watchId }, terms);
});

export const refused = change(
  { ...vLook, note: v.string(), pausedUntil: v.optional(v.number()) },
  async (ctx, { watchId, job, note, pausedUntil }) => {
    if (!(await endWork(ctx, job))) return;
    await end(ctx, watchId, { state: "failed", note, ...(pausedUntil === undefined ? {} : { pausedUntil }) });
  },
);

export const askAgain = change(
  { ...vLook, waitMs: v.optional(v.number()) },
  async (ctx, { watchId, job, waitMs = 0 }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row?.acceptedAt === undefined) return;
    const slower = Math.min(FIRST_POLL_MS * 1.5 ** row.polls, SLOWEST_POLL_MS);
    const left = Math.max(0, row.acceptedAt + GIVE_UP_MS - Date.now());
    await rest(ctx, job, Math.min(Math.max(slower, waitMs), left));
  },
);

export const fail = change({ ...vLook, note: v.string() }, async (ctx, { watchId, job, note }) => {
  if (await endWork(ctx, job)) await end(ctx, watchId, { state: "failed", note });
});

/** Ends a watch with its alerts: stores them, queues a card, and schedules the checks of their transactions, in one transaction. */
export const finish = change(
  {
    ...vLook,
    alerts: v.array(vReported),
    dropped: v.number(),
    note: v.union(v.string(), v.null()),
  },
  async (ctx, { watchId, job, alerts, dropped, note }) => {
    if (!(await endWork(ctx, job))) return;
    const now = Date.now();
    const { stored, merged, named } = await storeAlerts(ctx, watchId, alerts, now);
    const counts = { stored: stored.length, merged, dropped };
    await end(ctx, watchId, { state: "done", counts, ...(note === null ? {} : { note }) });
    if (dropped > 0) log.warn("whales.dropped", { watchId, dropped });
    await tell(ctx, stored, watchId);
    await check(ctx, named);
  },
);
