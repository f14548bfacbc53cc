import { internal } from "../../_generated/api";
import { cron } from "../../lib/cronRuns";
import { optional } from "../../lib/env";
import { agentApiUrl } from "../../lib/settings";
import { log } from "../../lib/log";
import { HOUR, iso } from "../../lib/time";
import { open } from "../../lib/work/jobs";
import { tellMeasured } from "../news";
import { end } from "./model";

/**
 * The hourly question about whales. A row claims the hour; one piece of work sends the hour's only prompt, and polls
 * its job until that has ended.
 */

/**
 * Queues a card of the last hour's measured alerts, claims the present hour and schedules its prompt. For the cron;
 * does nothing if the hour is taken.
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
    polls: 0,
  });
  const pausedUntil = latest?.pausedUntil ?? 0;
  if (pausedUntil > now) {
    const note = `The agent API takes no prompts until ${iso(pausedUntil)}`;
    await end(ctx, watchId, { state: "failed", note, pausedUntil });
    return;
  }
  await open(ctx, internal.whales.agent.desk.look, { watchId }, { subject: watchId });
});
