import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { cron } from "../lib/cronRuns";
import { optional } from "../lib/env";
import { log } from "../lib/log";
import { rowsBy } from "../lib/records/rows";
import { agentApiUrl } from "../lib/settings";
import { HOUR, iso } from "../lib/time";
import { enqueueServiceCard } from "../messenger/notices";
import { alertCard, newSince } from "./cards";
import { publicAlert, storeReported } from "./model";
import { vReported } from "./tables";

/** The hour: one question to the agent, asked by one action, and then one card with all that is new. */

const LOST = "The question was cut off: it is not known whether the agent API accepted the prompt";

/** Claims the present hour and schedules its question. For the cron; does nothing if the hour is taken. */
export const begin = cron("look for whales", async (ctx) => {
  const now = Date.now();
  const hour = Math.floor(now / HOUR) * HOUR;
  const latest = await ctx.db.query("whaleWatches").withIndex("by_hour").order("desc").first();
  if (latest !== null && latest.hour >= hour) return;
  if (latest?.state === "asking")
    await ctx.db.patch("whaleWatches", latest._id, { state: "failed", note: LOST });
  if (optional("LLM_GATEWAY_API_KEY") === undefined || agentApiUrl() === null) {
    log.info("whales.skipped", { reason: "the agent API is not configured" });
    return tellNews(ctx, now);
  }
  const pausedUntil = latest?.pausedUntil ?? 0;
  if (pausedUntil > now) {
    const note = `The agent API takes no prompts until ${iso(pausedUntil)}`;
    log.warn("whales.skipped", { reason: note });
    const ended = { hour, state: "failed", startedAt: now, note, pausedUntil } as const;
    await ctx.db.insert("whaleWatches", ended);
    return tellNews(ctx, now);
  }
  const watchId = await ctx.db.insert("whaleWatches", { hour, state: "asking", startedAt: now });
  await ctx.scheduler.runAfter(0, internal.whales.actions.ask, { watchId });
});

/** Ends an hour's question: stores its alerts and sends the hour's card. */
export const finish = change(
  {
    watchId: v.id("whaleWatches"),
    alerts: v.array(vReported.extend({ verified: v.boolean() })),
    /** Why there is no list of alerts; `null` if there is one. */
    note: v.union(v.string(), v.null()),
    isFailed: v.boolean(),
    pausedUntil: v.optional(v.number()),
  },
  async (ctx, { watchId, alerts, note, isFailed, pausedUntil }) => {
    const row = await ctx.db.get("whaleWatches", watchId);
    if (row?.state !== "asking") return;
    const now = Date.now();
    await storeReported(ctx, alerts, now);
    if (note !== null) log.warn("whales.note", { watchId, note });
    await ctx.db.patch("whaleWatches", watchId, {
      state: isFailed ? "failed" : "done",
      ...(note === null ? {} : { note }),
      ...(pausedUntil === undefined ? {} : { pausedUntil }),
    });
    await tellNews(ctx, now);
  },
);

/** How many alerts of a card are read; more wait for the next one. */
const MOST = 200;
/** The lines of the card. */
const LINES = 10;

const CARD_FROM_USD = 1_000_000;

/** Whether an alert is large enough for the service's chat: all are stored, and `/alert` has each user's own level. */
function isNews({ amount }: Doc<"whaleAlerts">): boolean {
  return amount >= CARD_FROM_USD;
}

/** Queues the hour's card: the alerts that were in none yet. @param now Epoch ms. */
async function tellNews(ctx: MutationCtx, now: number): Promise<void> {
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: now });
  const news = rows.filter(isNews);
  if (news.length === 0) return;
  const since = Math.min(now - HOUR, ...news.map(({ detectedAt }) => detectedAt));
  const handle: string = await createFunctionHandle(internal.whales.hour.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({
      window: newSince(since, now),
      at: now,
      alerts: news.map(publicAlert),
      most: LINES,
    }),
    onSettled: { handle, subject: String(now) },
  });
}

/** The outbox's result for a card. */
export const delivered = change(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent }) => {
    const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", Number(subject)).take(MOST);
    for (const row of rows)
      if (isNews(row)) await ctx.db.patch("whaleAlerts", row._id, { messengerSent: sent });
  },
);
