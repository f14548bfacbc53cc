import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import type { MutationCtx } from "../_generated/server";
import { sourceName } from "../lib/publicSources";
import { signed } from "../lib/text/numbers";
import { dollars } from "../lib/text/strings";
import { dateTime, iso } from "../lib/time";
import type { Picture } from "../messenger/tables";
import { spanText, type Button, type Paragraph } from "../messenger/format";
import { enqueueOwnCard } from "../messenger/notices";
import { tellOwner } from "../messenger/webhooks/events";
import type { Observation } from "./tables";
import { describe, observed } from "./language/sentences";

/** Notifies an alert's user: by a card to the user's own chat, and by a post to each webhook. */

type Message = {
  paragraphs: readonly Paragraph[];
  buttons?: readonly (readonly Button[])[];
  picture?: Picture | undefined;
  /** What webhooks get of a firing, in addition to the alert and the card's words; absent: only the chat is told. */
  data?: Readonly<Record<string, unknown>>;
};

export async function tellOf(
  ctx: MutationCtx,
  { _id: alertId, userId, condition }: Doc<"alerts">,
  { paragraphs, buttons, picture, data }: Message,
): Promise<void> {
  const card = { userId, kind: "alert", topic: `alert:${alertId}`, paragraphs, buttons, picture };
  await enqueueOwnCard(ctx, card);
  if (data === undefined) return;
  await tellOwner(ctx, userId, "alert.fired", () => {
    return { ...data, alertId, condition, words: describe(condition), text: plain(paragraphs) };
  });
}

/** A card's words without its marks. */
function plain(paragraphs: readonly Paragraph[]): string {
  return paragraphs.map((spans) => spans.map(spanText).join("")).join("\n");
}

/** What a price is, and what it was some time before. */
export type Move = { priceUsd: number; before: { priceUsd: number; span: string } | null };

/** The card of a firing: first the news, then the condition. */
export function firingCard(
  { condition }: Doc<"alerts">,
  observation: Observation,
  move: Move | null,
): Paragraph[] {
  const { observedAt, source } = observation;
  const wish = `Your alert: ${describe(condition)}.`;
  if (move === null || condition.kind === "digest")
    return [[{ bold: `🔔 ${observed(condition, observation)}` }], [wish]];
  const { priceUsd, before } = move;
  const now = dollars(priceUsd);
  const change = before === null ? 0 : (priceUsd / before.priceUsd - 1) * 100;
  const moved =
    before === null
      ? `🔔 ${condition.token}: ${now}`
      : `${change < 0 ? "🔴" : "🟢"} ${condition.token} ${signed(change)} in ${before.span}: ${now} (was ${dollars(before.priceUsd)})`;
  return [[{ bold: moved }], [`${wish}\n${dateTime(observedAt)} (${sourceName(source)})`]];
}

/** What can be done with an alert that has fired. */
function firedButtons({ _id, condition }: Doc<"alerts">): Button[][] {
  const off = { text: "Off", command: `alert off ${_id}` };
  const mute = { text: "Mute 24 h", command: `alert mute ${_id}` };
  return [condition.kind === "digest" ? [off] : [off, mute, { text: "Why", command: `why ${_id}` }]];
}

/**
 * Fires an alert for an observation, in one transaction: a row, a card for the user's own chat, and a row for each
 * webhook. An alert fires once for each observation.
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
  const isDrawn = alert.condition.kind !== "digest";
  const picture = isDrawn
    ? { handle: await createFunctionHandle(internal.pictures.desk.alert), subject: alertId }
    : undefined;
  const seen = { ...observation, at: iso(observation.at), observedAt: iso(observedAt) };
  await tellOf(ctx, alert, {
    paragraphs,
    picture,
    buttons: firedButtons(alert),
    data: { firingId, observation: seen },
  });
  return true;
}
