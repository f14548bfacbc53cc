import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { rowsBy } from "../lib/records/rows";
import { enqueueServiceCard } from "../messenger/notices";
import { alertCard } from "./cards";
import { publicAlert } from "./model";

/** The hourly cards: of what was measured, and of what the agent tells. */

/** Alerts of a card that are looked at; more wait for the next one. */
const MOST = 200;

/**
 * Queues a card of alerts; none when there are none.
 * @param subject What the alerts are found by once it is delivered: their watch, or the hour of the card.
 */
export async function tell(
  ctx: MutationCtx,
  alerts: readonly Doc<"whaleAlerts">[],
  { hours, subject }: { hours: number; subject: string },
): Promise<void> {
  if (alerts.length === 0) return;
  const handle: string = await createFunctionHandle(internal.whales.news.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({ hours, at: Date.now(), alerts: alerts.map(publicAlert) }),
    onSettled: { handle, subject },
  });
}

/** Queues a card of the measured alerts that none has told yet. */
export async function tellMeasured(ctx: MutationCtx, hour: number): Promise<void> {
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: hour });
  const alerts = rows.filter(({ withdrawnAt }) => withdrawnAt === undefined);
  await tell(ctx, alerts, { hours: 1, subject: String(hour) });
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
    for (const { _id } of await told.take(MOST)) {
      await ctx.db.patch("whaleAlerts", _id, { messengerSent: sent });
    }
  },
);
