import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { iso } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import type { Observation } from "./tables";
import { plain, tellOwner } from "./telling";
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
