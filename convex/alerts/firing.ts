import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { configOf, enqueueCard, linkedChat } from "../messenger/model";
import { MAX_SINKS } from "./sinkRows";
import type { Observation } from "./tables";
import { describe, observed } from "./words";

/** What is told when an alert fires. */

/** The card that a firing is; its first paragraph says what has happened. */
export function firingCard({ number, condition }: Doc<"alerts">, observation: Observation): Paragraph[] {
  return [
    [{ bold: `🔔 ${describe(condition)}` }],
    [`${observed(condition, observation)}.`],
    [`Again at the earliest in an hour, once this was over. Alert ${number}: /alerts off ${number}`],
  ];
}

/**
 * Fires an alert by an observation, in the transaction that says so: a row, a card for the user's own chat, a row for each
 * webhook. What has fired by an observation does not fire by it again.
 * @returns Whether it fired now.
 */
export async function fire(
  ctx: MutationCtx,
  alert: Doc<"alerts">,
  observation: Observation,
  paragraphs: readonly Paragraph[],
): Promise<boolean> {
  const { observedAt } = observation;
  const known = await ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observedAt", (q) => q.eq("alertId", alert._id).eq("observedAt", observedAt))
    .unique();
  if (known !== null) return false;
  const { userId } = alert;
  const text = plain(paragraphs);
  const now = Date.now();
  const firing = { alertId: alert._id, userId, observation, text };
  const firingId = await ctx.db.insert("alertFirings", { ...firing, observedAt });
  await ctx.db.patch("alerts", alert._id, { fired: alert.fired + 1, lastFiredAt: now });
  // Without a chat of the user's own, a card would go to the service's.
  if ((await configOf(ctx, userId)) !== null || (await linkedChat(ctx, userId)) !== null)
    await enqueueCard(ctx, { userId, kind: "alert", topic: `alert:${alert._id}`, paragraphs });
  const sinks = await ctx.db
    .query("alertSinks")
    .withIndex("by_userId_and_state", (q) => q.eq("userId", userId).eq("state", "active"))
    .take(MAX_SINKS);
  if (sinks.length === 0) return true;
  const body = JSON.stringify({
    type: "alert.fired",
    timestamp: iso(now),
    data: {
      firingId,
      alertId: alert._id,
      condition: alert.condition,
      words: describe(alert.condition),
      observation: { ...observation, at: iso(observation.at), observedAt: iso(observedAt) },
      text,
    },
  });
  for (const { _id: sinkId } of sinks) {
    const delivery = { userId, sinkId, firingId, body, state: "due", tries: 0, dueAt: now } as const;
    await ctx.db.insert("alertDeliveries", delivery);
  }
  return true;
}

function plain(paragraphs: readonly Paragraph[]): string {
  return paragraphs
    .map((spans) =>
      spans
        .map((span) => (typeof span === "string" ? span : "bold" in span ? span.bold : span.link))
        .join(""),
    )
    .join("\n");
}
