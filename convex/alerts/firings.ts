import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import { spanText, type Button, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/notices";
import { sinksOf } from "./webhooks/rows";
import type { Observation } from "./tables";
import { describe, observed } from "./words";

/** Tells an alert's user, when it fires and otherwise: by a card to the user's own chat, and by a post to each webhook. */

/**
 * Posts that wait for one webhook: one that has long been silent gets no more than these. Twenty alerts, each for a few
 * hours.
 */
const MOST_WAITING = 50;

type Message = {
  paragraphs: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[];
  /** What webhooks are told; `text` is the card without its marks. */
  post: (text: string) => { type: string; data: Record<string, unknown> };
  /** The firing that this tells of. */
  firingId?: Id<"alertFirings">;
};

export async function tellOwner(
  ctx: MutationCtx,
  { _id: alertId, userId }: Doc<"alerts">,
  { paragraphs, buttons, post, firingId }: Message,
): Promise<void> {
  const card = { userId, kind: "alert", topic: `alert:${alertId}`, paragraphs, buttons };
  await enqueueOwnCard(ctx, card);
  const sinks = await sinksOf(ctx, userId);
  if (sinks.length === 0) return;
  const dueAt = Date.now();
  const { type, data } = post(plain(paragraphs));
  const body = JSON.stringify({ type, timestamp: iso(dueAt), data });
  for (const { _id: sinkId } of sinks) {
    await makeRoom(ctx, sinkId);
    await ctx.db.insert("alertDeliveries", {
      ...{ userId, sinkId, body, state: "due", tries: 0, dueAt },
      ...(firingId === undefined ? {} : { firingId }),
    });
  }
}

/** The oldest post gives way: what has just happened is worth more than what happened days ago. */
async function makeRoom(ctx: MutationCtx, sinkId: Id<"alertSinks">): Promise<void> {
  const waiting = await ctx.db
    .query("alertDeliveries")
    .withIndex("by_sinkId_and_state", (q) => q.eq("sinkId", sinkId).eq("state", "due"))
    .take(MOST_WAITING);
  const [oldest] = waiting;
  if (oldest === undefined || waiting.length < MOST_WAITING) return;
  const outcome = `It gave way to newer ones: ${MOST_WAITING} may wait for a webhook`;
  await ctx.db.patch("alertDeliveries", oldest._id, { state: "failed", outcome });
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
  const { _id: alertId, userId, condition } = alert;
  const firing = { alertId, userId, observation, text: plain(paragraphs) };
  const firingId = await ctx.db.insert("alertFirings", { ...firing, observedAt });
  await ctx.db.patch("alerts", alertId, { fired: alert.fired + 1, lastFiredAt: Date.now() });
  await tellOwner(ctx, alert, {
    ...{ paragraphs, firingId },
    post: (text) => ({
      type: "alert.fired",
      data: {
        firingId,
        alertId,
        condition,
        words: describe(condition),
        observation: { ...observation, at: iso(observation.at), observedAt: iso(observedAt) },
        text,
      },
    }),
  });
  return true;
}
