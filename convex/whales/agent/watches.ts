import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { change } from "../../lib/changes";
import { cron } from "../../lib/cronRuns";
import { optional } from "../../lib/env";
import { agentApiUrl } from "../../lib/settings";
import { log } from "../../lib/log";
import { HOUR, iso } from "../../lib/time";
import { tellNews } from "../news";
import { vReported } from "../tables";
import { storeAlerts } from "./model";

/** The hourly question about whales: a row claims the hour, and one action asks, waits, verifies and stores. */

const LOST = "The question was cut off: it is not known whether the agent API accepted the prompt";

/** Claims the present hour and schedules its question. For the cron; does nothing if the hour is taken. */
export const begin = cron("look for whales", async (ctx) => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR) * HOUR;
  const latest = await ctx.db.query("whaleWatches").withIndex("by_hour").order("desc").first();
  if (latest !== null && latest.hour >= hour) return;
  if (latest?.state === "asking")
    await ctx.db.patch("whaleWatches", latest._id, { state: "failed", note: LOST });
  const isOff = optional("LLM_GATEWAY_API_KEY") === undefined || agentApiUrl() === null;
  const pausedUntil = latest?.pausedUntil ?? 0;
  if (isOff || pausedUntil > now) {
    const reason = isOff
      ? "the agent API is not configured"
      : `it takes no prompts until ${iso(pausedUntil)}`;
    log.warn("whales.skipped", { reason });
    if (!isOff) {
      const note = `The agent API takes no prompts until ${iso(pausedUntil)}`;
      await ctx.db.insert("whaleWatches", {
        hour,
        state: "failed",
        startedAt: now,
        endedAt: now,
        note,
        pausedUntil,
      });
    }
    await tellNews(ctx, now);
    return;
  }
  const watchId = await ctx.db.insert("whaleWatches", { hour, state: "asking", startedAt: now });
  await ctx.scheduler.runAfter(0, internal.whales.agent.desk.ask, { watchId });
});

/** Ends an hour's question: stores its alerts and sends the hour's card, the measured movements in it. */
export const finish = change(
  {
    watchId: v.id("whaleWatches"),
    alerts: v.array(vReported.extend({ verified: v.boolean() })),
    dropped: v.number(),
    /** Why there is no list of alerts; `null` if there is one. */
    note: v.union(v.string(), v.null()),
    isFailed: v.boolean(),
    pausedUntil: v.optional(v.number()),
  },
  async (ctx, { watchId, alerts, dropped, note, isFailed, pausedUntil }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row?.state !== "asking") return;
    const now = Date.now();
    const { stored, merged } = await storeAlerts(ctx, alerts, now);
    if (note !== null) log.warn("whales.note", { watchId, note });
    await ctx.db.patch("whaleWatches", watchId, {
      state: isFailed ? "failed" : "done",
      endedAt: now,
      ...(isFailed ? {} : { counts: { stored, merged, dropped } }),
      ...(note === null ? {} : { note }),
      ...(pausedUntil === undefined ? {} : { pausedUntil }),
    });
    await tellNews(ctx, now);
  },
);
