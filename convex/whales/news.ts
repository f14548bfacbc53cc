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

/** The hourly cards: of what was measured, and of what the agent tells. */

/** Alerts of a card that are looked at; more wait for the next one. */
const MOST = 200;

/** Whether an alert is large enough for the service's chat: all are stored, and `/alerts` has each user's own level. */
function isNews({ amount }: Doc<"whaleAlerts">): boolean {
  return amount >= Number(setting("WHALE_CARD_USD"));
}

/**
 * Queues a card of alerts; none when there are none.
 * @param subject What the alerts are found by once it is delivered: their watch, or the hour of the card.
 */
export async function tell(
  ctx: MutationCtx,
  alerts: readonly Doc<"whaleAlerts">[],
  subject: string,
): Promise<void> {
  const news = alerts.filter(isNews);
  if (news.length === 0) return;
  const now = Date.now();
  // Cards come hourly, and each tells what was not known to the one before.
  const since = Math.min(now - HOUR, ...news.map(({ detectedAt }) => detectedAt));
  const handle: string = await createFunctionHandle(internal.whales.news.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({ window: newSince(since), at: now, alerts: news.map(publicAlert) }),
    onSettled: { handle, subject },
  });
}

/** Queues a card of the measured alerts that none has told yet. */
export async function tellMeasured(ctx: MutationCtx, hour: number): Promise<void> {
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: hour });
  const alerts = rows.filter(({ withdrawnAt }) => withdrawnAt === undefined);
  await tell(ctx, alerts, String(hour));
}

/** The outbox's word about a card. */
export const delivered = change(
  { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  async (ctx, { subject, sent }) => {
    const watchId = ctx.db.normalizeId("whaleWatches", subject);
    const alerts = ctx.db.query("whaleAlerts");
    const told =
      watchId === null
        ? alerts.withIndex("by_cardHour", (q) => q.eq("cardHour", Number(subject)))
        : alerts.withIndex("by_watchId", (q) => q.eq("watchId", watchId));
    for (const row of await told.take(MOST))
      if (isNews(row)) await ctx.db.patch("whaleAlerts", row._id, { messengerSent: sent });
  },
);
