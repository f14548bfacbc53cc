import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError, getErrorData } from "../lib/errors";
import { resolveSymbol } from "../lib/money/coins";
import { formatDateTime } from "../lib/time";
import type { Caller } from "../platform/limits/callers";
import { buildConfirmedCard, buildEditCard, buildEndedCard, buildListCard, type AlertCard } from "./cards";
import { HOW_TO_SAY, isTimed } from "./grammar";
import { toTemplate } from "./phrases";
import { readLine } from "./reading";
import type { Secret } from "../messenger/tables";
import { answerStandingTap, isStandingTap } from "./standingChat";
import { answerWords, type Answered, type Kept } from "./service";
import type { Alert } from "./tables";

/** Alerts in a chat: its words, which may answer the bot's last question, and its taps. */

/** “Set it to 112k instead”, “change my btc alert to 90k”. */
const EDIT =
  /^(?:please )?(?:set|change|move|make|edit|raise|lower)(?: (?:it|that|this|the|my|(?!(?:it|that|this|the|my|alert)\b)(\w+)(?= alert)|alert))+ (?:to |at )?([$\d][\d.,]*\s?[km%]?)(?: instead)?(?: please)?[.!]?$/i;

/** The words of a chat, which may answer its last question; a question of the answer is kept in turn. */
export async function answerChatWords(
  ctx: ActionCtx,
  caller: Caller,
  userId: string,
  text: string,
): Promise<Answered> {
  const [, token = "", level] = EDIT.exec(text.trim()) ?? [];
  let kept: Kept | null = await ctx.runQuery(internal.alerts.model.getQuestion, { userId, at: Date.now() });
  if (level !== undefined) {
    const alerts: Alert[] = await ctx.runQuery(internal.alerts.model.listAlerts, { userId });
    const isMeant = ({ state, condition }: Alert) =>
      state !== "off" &&
      !isTimed(condition) &&
      condition.kind !== "call" &&
      (token === "" || condition.token === resolveSymbol(token));
    const [last] = alerts.filter(isMeant).sort((a, b) => b._creationTime - a._creationTime);
    if (last === undefined) return { kind: "open", say: "You have no such alert." };
    kept = { template: toTemplate(last.condition), alertId: last._id };
  }
  const answered = await answerWords(ctx, caller, { userId }, level ?? text, kept);
  if (answered.kind === "open" && answered.template !== undefined)
    await ctx.runMutation(internal.alerts.model.keepQuestion, { userId, template: answered.template });
  return answered;
}

/** What a button does to an alert, by the word before its id (before its lines for `on` and `only`). */
export const TAPPED =
  /^(?:(set|once|off|mute|unmute|edit|stand|stop|skip|rotate|again) +(\S{1,40})(?: (\w{1,10}))?|(on|only) +(.{1,100}))$/;

/**
 * The card that follows a tap. The list says why nothing more can be set.
 * @param messengerId The account that taps.
 * @returns Also the token in a new address, which the card shows once.
 */
export async function answerTap(
  ctx: ActionCtx,
  userId: string,
  argument: string,
  messengerId: string,
): Promise<AlertCard & { secret?: Secret }> {
  const [, change, alertId = "", detail = "", what = change ?? "on", lines = ""] =
    TAPPED.exec(argument) ?? [];
  const own = { userId, alertId };
  const list = async (say?: string): Promise<AlertCard> =>
    buildListCard(await ctx.runQuery(internal.alerts.model.listForCard, { userId }), Date.now(), say);
  try {
    if (isStandingTap(what))
      return await answerStandingTap(ctx, what, { userId, standingId: alertId, messengerId }, detail);
    if (what === "off") return buildEndedCard(await ctx.runMutation(internal.alerts.model.endAlert, own));
    if (what === "mute" || what === "unmute") {
      const isOver = what === "unmute";
      const { readyAt }: Alert = await ctx.runMutation(internal.alerts.model.mute, { ...own, isOver });
      return await list(isOver ? "No longer quiet." : `Quiet until ${formatDateTime(readyAt)}.`);
    }
    if (what === "edit") {
      const alerts: Alert[] = await ctx.runQuery(internal.alerts.model.listAlerts, { userId });
      const alert = alerts.find(({ _id }) => _id === alertId);
      if (alert === undefined) return await list("There is no such alert.");
      const template = toTemplate(alert.condition);
      await ctx.runMutation(internal.alerts.model.keepQuestion, { userId, template, alertId: alert._id });
      return buildEditCard(alert);
    }
    if (what !== "on" && what !== "only")
      return buildConfirmedCard(
        await ctx.runMutation(internal.alerts.model.accept, { ...own, once: what === "once" }),
      );
    const set: Alert[] = [];
    for (const line of lines.split(";")) {
      const condition = readLine(line);
      if (condition === null) throw new AppError("invalid_request", HOW_TO_SAY);
      const { _id }: Alert = await ctx.runMutation(internal.alerts.model.storeProposal, {
        userId,
        condition,
      });
      const accepted = { userId, alertId: _id, once: what === "only" };
      set.push(await ctx.runMutation(internal.alerts.model.accept, accepted));
    }
    const [only] = set;
    return only !== undefined && set.length === 1 ? buildConfirmedCard(only) : await list("Set.");
  } catch (error) {
    const failure = getErrorData(error);
    if (failure?.code !== "conflict") throw error;
    return await list(`${failure.message}.`);
  }
}
