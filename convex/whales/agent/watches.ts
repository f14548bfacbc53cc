import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { cron, lostWork } from "../../lib/cronRuns";
import { agentApiUrl, optional } from "../../lib/env";
import { log } from "../../lib/log";
import { DAY, HOUR, iso } from "../../lib/time";
import { OPEN } from "../tables";
import { tellMeasured } from "../telling";
import { scheduleDueChecks } from "./checks";
import { LEASE_MS, end, schedulePoll } from "./model";

/**
 * The hourly look for whales. A row claims the hour, an action sends the one prompt the hour ever gets, scheduled polls
 * follow its job. Whatever is lost on the way is taken up by `resumeLost`, except a prompt whose fate is unknown: it may
 * have become a job, so it is given up.
 */

/** A pause ends after a day at the latest, whatever the agent API said. */
const MAX_PAUSE_MS = DAY;
/** Lost steps per run of `resumeLost`: there is one watch an hour. */
const BATCH = 10;

/**
 * Puts what was measured in the last hour on a card, claims the present hour and schedules its prompt. For the cron;
 * nothing happens when the hour is taken.
 */
export const begin = cron("look for whales", async (ctx) => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR) * HOUR;
  const latest = await ctx.db.query("whaleWatches").withIndex("by_hour").order("desc").first();
  if (latest !== null && latest.hour >= hour) return;
  await tellMeasured(ctx, hour);
  if (optional("LLM_GATEWAY_API_KEY") === undefined) {
    log.warn("whales.skipped", { reason: "LLM_GATEWAY_API_KEY is not configured" });
    return;
  }
  if (agentApiUrl() === null) {
    log.warn("whales.skipped", { reason: "AGENT_API_URL is not configured beside another LLM_ENDPOINT" });
    return;
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
    return;
  }
  await ctx.scheduler.runAfter(0, internal.whales.agent.jobs.prompt, { watchId });
});

/** Takes up what was lost with a server: unsent prompts, polls, checks of transactions. */
export const resumeLost = lostWork(async (ctx, now) => {
  for (const state of OPEN) {
    const lost = await ctx.db
      .query("whaleWatches")
      .withIndex("by_state_and_leaseUntil", (q) => q.eq("state", state).lt("leaseUntil", now))
      .take(BATCH);
    for (const row of lost) await takeUp(ctx, row, now);
  }
  await scheduleDueChecks(ctx, now);
});

async function takeUp(
  ctx: MutationCtx,
  { _id: watchId, state, hour, polls }: Doc<"whaleWatches">,
  now: number,
) {
  if (state === "polling") await schedulePoll(ctx, watchId, polls, 0);
  else if (state === "prompting") {
    const note = "It is not known whether the agent API took the prompt: it is not sent again";
    await end(ctx, watchId, { state: "failed", note });
  } else if (now >= hour + HOUR) {
    await end(ctx, watchId, { state: "failed", note: "The prompt was not sent within its hour" });
  } else {
    await ctx.db.patch("whaleWatches", watchId, { leaseUntil: now + LEASE_MS });
    await ctx.scheduler.runAfter(0, internal.whales.agent.jobs.prompt, { watchId });
  }
}
