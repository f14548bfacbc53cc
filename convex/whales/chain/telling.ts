import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalMutation, type MutationCtx } from "../../_generated/server";
import { enqueueServiceCard } from "../../messenger/notices";
import { alertCard } from "../cards";
import { publicAlert } from "../views";

/** The hourly card of what was measured. */

/** Alerts of a card that are looked at; more wait for the next one. */
const MOST = 200;

/** Queues a card of the measured alerts that none has told yet; none when there are none. */
export async function tellMeasured(ctx: MutationCtx, hour: number): Promise<void> {
  const rows = await ctx.db
    .query("whaleAlerts")
    .withIndex("by_cardHour", (q) => q.eq("cardHour", 0))
    .take(MOST);
  for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { cardHour: hour });
  const alerts = rows.filter(({ withdrawnAt }) => withdrawnAt === undefined);
  if (alerts.length === 0) return;
  const handle: string = await createFunctionHandle(internal.whales.chain.telling.delivered);
  await enqueueServiceCard(ctx, {
    kind: "whale alerts",
    paragraphs: alertCard({ hours: 1, at: Date.now(), alerts: alerts.map(publicAlert) }),
    onSettled: { handle, subject: String(hour) },
  });
}

/** The outbox's word about an hour's card. */
export const delivered = internalMutation({
  args: { subject: v.string(), sent: v.boolean(), error: v.optional(v.string()) },
  returns: v.null(),
  handler: async (ctx, { subject, sent }) => {
    const rows = await ctx.db
      .query("whaleAlerts")
      .withIndex("by_cardHour", (q) => q.eq("cardHour", Number(subject)))
      .take(MOST);
    for (const { _id } of rows) await ctx.db.patch("whaleAlerts", _id, { messengerSent: sent });
    return null;
  },
});
