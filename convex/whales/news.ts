import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { setting } from "../lib/env";
import { HOUR } from "../lib/time";
import { rowsBy } from "../lib/records/rows";
import { enqueueServiceCard } from "../messenger/notices";
import { alertCard, newSince } from "./cards";
import { publicAlert } from "./model";

/** The hourly cards: of measured alerts, and of the agent's. */

/** How many alerts of a card are read; more wait for the next one. */
const MOST = 200;

/** Whether an alert is large enough for the service's chat: all are stored, and `/alerts` has each user's own level. */
function isNews({ amount }: Doc<"whaleAlerts">): boolean {
  return amount >= Number(setting("WHALE_CARD_USD"));
}

/**
 * Queues a card of alerts, unless there are none.
 * @param subject Identifies the alerts after the delivery: their watch, or the hour of the card.
 */
export async function tell(
  ctx: MutationCtx,
  alerts: readonly Doc<"whaleAlerts">[],
  subject: string,
): Promise<void> {
  const news = alerts.filter(isNews);
  if (news.length === 0) return;
  const now = Date.now();
  // Cards come hourly, and each contains what was unknown to the one before.
  const since = Math.min(now - HOUR, ...news.map(({ detectedAt }) => detectedAt));
  const handle: string = await createFunctionHandle(internal.whales.news.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({ window: newSince(since), at: now, alerts: news.map(publicAlert) }),
    onSettled: { handle, subject },
  });
}

/** Queues a card of the measured alerts that were in no card yet. */
export async function tellMeasured(ctx: MutationCtx, hour: number): Promise<void> {
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: hour });
  const alerts = rows.filter(({ withdrawnAt }) => withdrawnAt === undefined);
  await tell(ctx, alerts, String(hour));
}

/** The outbox's result for a card. */
export const delivered = change(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent }) => {
    const watchId = ctx.db.normalizeId("whaleWatches", subject);
    const alerts = ctx.db.query("whaleAlerts");
    const rows =
      watchId === null
        ? alerts.withIndex("by_cardHour", (q) => q.eq("cardHour", Number(subject)))
        : alerts.withIndex("by_watchId", (q) => q.eq("watchId", watchId));
    for (const row of await rows.take(MOST))
      if (isNews(row)) await ctx.db.patch("whaleAlerts", row._id, { messengerSent: sent });
  },
);
