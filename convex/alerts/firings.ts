import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import { spanText, type Button, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/notices";
import { tellOwner } from "../messenger/webhooks/events";
import type { Observation } from "./tables";
import { describe, observed } from "./words";

/** Tells an alert's user, when it fires and otherwise: by a card to the user's own chat, and by a post to each webhook. */

type Message = {
  paragraphs: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[];
  type: "alert.fired" | "alert.ending";
  /** What webhooks are told beside the alert and the card's words. */
  data: Readonly<Record<string, unknown>>;
};

export async function tellOf(
  ctx: MutationCtx,
  { _id: alertId, userId, condition }: Doc<"alerts">,
  { paragraphs, buttons, type, data }: Message,
): Promise<void> {
  const card = { userId, kind: "alert", topic: `alert:${alertId}`, paragraphs, buttons };
  await enqueueOwnCard(ctx, card);
  await tellOwner(ctx, userId, type, () => {
    return { ...data, alertId, condition, words: describe(condition), text: plain(paragraphs) };
  });
}

/** A card's words without its marks. */
function plain(paragraphs: readonly Paragraph[]): string {
  return paragraphs.map((spans) => spans.map(spanText).join("")).join("\n");
}

/** The card that a firing is; its first paragraph says what has happened. */
export function firingCard({ number, condition }: Doc<"alerts">, observation: Observation): Paragraph[] {
  return [
    [{ bold: `🔔 ${describe(condition)}` }],
    [`${observed(condition, observation)}.`],
    [
      `Again at the earliest in an hour, once this was over. Alert ${number}: `,
      { command: "alerts" },
      ` off ${number}`,
    ],
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
  const { _id: alertId, userId } = alert;
  const firing = { alertId, userId, observation, text: plain(paragraphs) };
  const firingId = await ctx.db.insert("alertFirings", { ...firing, observedAt });
  await ctx.db.patch("alerts", alertId, { fired: alert.fired + 1, lastFiredAt: Date.now() });
  const seen = { ...observation, at: iso(observation.at), observedAt: iso(observedAt) };
  await tellOf(ctx, alert, { paragraphs, type: "alert.fired", data: { firingId, observation: seen } });
  return true;
}
