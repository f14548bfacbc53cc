import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import type { Button, Paragraph } from "../messenger/format";
import { enqueueRequestedCard } from "../messenger/notices";
import { sinksOf } from "./sinkRows";

/** Tells an alert's user: by a card to the user's own chat, and by a post to each webhook. */

/**
 * Posts that wait for one webhook: one that has long been silent gets no more than these. Twenty alerts, each for a few
 * hours.
 */
const MOST_WAITING = 50;

export type Message = {
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
  await enqueueRequestedCard(ctx, card);
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
export function plain(paragraphs: readonly Paragraph[]): string {
  return paragraphs
    .map((spans) =>
      spans
        .map((span) => (typeof span === "string" ? span : "bold" in span ? span.bold : span.link))
        .join(""),
    )
    .join("\n");
}
