import { createFunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { openCard, proposalCard, whyCard } from "../../alerts/answerCards";
import type { AlertCard } from "../../alerts/cards";
import { answerWords, reasonsFor, type Answered } from "../../alerts/desk";
import { sampleCoins } from "../../alerts/history/coins";
import { charge } from "../../lib/limits/charges";
import type { Caller } from "../../lib/limits/callers";
import { sha256Hex } from "../../lib/security/digests";
import { isChatUser } from "../../messenger/model";
import { notice } from "../cards";
import type { Step } from "../tables";
import { answerOf, type Workers } from "./work";

/** The bot's work on alerts. */

export const alertWorkers: Workers<"alert" | "why" | "prices"> = {
  prices: async (ctx, { work: { tokens, text } }) => {
    await sampleCoins(ctx, tokens);
    return { kind: "respond", text };
  },
  /** The same words make the same proposal, so an interrupted attempt does no harm. */
  alert: async (ctx, { work: { userId, text } }) => {
    const caller = callerOf(userId);
    await charge(ctx, "alert", caller);
    return shown(await answerWords(ctx, { caller, userId, text }));
  },
  why: async (ctx, { work: { userId, alertId } }) =>
    answerOf(whyCard(await reasonsFor(ctx, { userId, alertId }))),
};

function callerOf(userId: string): Caller {
  return isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${userId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** Any words may ask for an alert; `null` if they do not, and so are a question. */
export async function alertIn(ctx: ActionCtx, userId: string, text: string): Promise<Step | null> {
  const answered = await answerWords(ctx, {
    caller: { userId, address: null, signedIn: true },
    userId,
    text,
  });
  return answered.kind === "none" || answered.kind === "unread" ? null : shown(answered);
}

async function shown(answered: Answered): Promise<Extract<Step, { kind: "answer" }>> {
  if (answered.kind === "open") return withButtons(openCard(answered));
  if (answered.kind !== "proposed") return answerOf(notice(answered.say));
  const { proposed } = answered;
  const card = withButtons(proposalCard(proposed));
  if (proposed.alert.condition.kind === "digest") return card;
  const handle = await createFunctionHandle(internal.pictures.desk.alert);
  return { ...card, picture: { handle, subject: proposed.alert.alertId } };
}

function withButtons({ answer: paragraphs, buttons }: AlertCard) {
  return { ...answerOf(paragraphs), buttons };
}
