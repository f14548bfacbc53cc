import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import { spanText, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/notices";
import { tellOwner } from "../messenger/webhooks/events";
import { firedButtons } from "./cards";
import type { Observation } from "./tables";
import { describe } from "./words";

/**
 * Fires an alert for an observation, once, in one transaction: a row, a card for the user's own chat, and a row for each
 * webhook.
 */
export async function fire(
  ctx: MutationCtx,
  alert: Doc<"alerts">,
  observation: Observation,
  paragraphs: readonly Paragraph[],
): Promise<void> {
  const { _id: alertId, userId, condition } = alert;
  const { observedAt } = observation;
  const known = await ctx.db
    .query("alertFirings")
    .withIndex("by_alertId_and_observedAt", (q) => q.eq("alertId", alertId).eq("observedAt", observedAt))
    .unique();
  if (known !== null) return;
  const text = paragraphs.map((spans) => spans.map(spanText).join("")).join("\n");
  const firingId = await ctx.db.insert("alertFirings", { alertId, userId, observation, text, observedAt });
  const end = alert.once === true ? ({ state: "off", endedAt: Date.now() } as const) : {};
  await ctx.db.patch("alerts", alertId, { fired: alert.fired + 1, lastFiredAt: Date.now(), ...end });
  const handle =
    condition.kind === "digest" ? null : await createFunctionHandle(internal.pictures.desk.alert);
  await enqueueOwnCard(ctx, {
    userId,
    kind: "alert",
    topic: `alert:${alertId}`,
    paragraphs,
    buttons: firedButtons(alert),
    picture: handle === null ? undefined : { handle, subject: alertId },
  });
  await tellOwner(ctx, userId, "alert.fired", () => {
    const seen = { ...observation, at: iso(observation.at), observedAt: iso(observedAt) };
    return { firingId, observation: seen, alertId, condition, words: describe(condition), text };
  });
}
