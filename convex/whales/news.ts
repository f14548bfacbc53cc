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
import { alertCard, digestOf, LINES, newSince } from "./cards";
import { publicAlert } from "./model";

/** The hourly card. */

/** How many alerts of a card are read; more wait for the next one. */
const MOST = 200;

/** Whether an alert is large enough for the service's chat: all are stored, and `/alerts` has each user's own level. */
function isNews({ amount }: Doc<"whaleAlerts">): boolean {
  return amount >= Number(setting("WHALE_CARD_USD"));
}

/** Queues the hour's card: the alerts that were in none yet, the measured ones first. @param now Epoch ms. */
export async function tellNews(ctx: MutationCtx, now: number): Promise<void> {
  const rows = await rowsBy(ctx.db.query("whaleAlerts"), "cardHour", 0).take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: now });
  const news = rows.filter(isNews);
  if (news.length === 0) return;
  const since = Math.min(now - HOUR, ...news.map(({ detectedAt }) => detectedAt));
  const handle: string = await createFunctionHandle(internal.whales.news.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({
      window: newSince(since),
      at: now,
      alerts: digestOf(news.map(publicAlert)),
      unlisted: Math.max(0, news.length - LINES),
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
