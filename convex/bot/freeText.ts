import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { buildClarificationCard, buildProposalCard } from "../alerts/cards";
import { answerStandingWords, answerTap, TAP_COMMAND } from "../alerts/chat";
import { ALERT_EXAMPLES, isMeasured } from "../alerts/conditions";
import { answerAlertWords, type AlertAnswer } from "../alerts/service";
import { parseStandingOrder } from "../alerts/standingWords";
import { isChatUser, toChatUser } from "../messenger/model";
import { charge } from "../platform/limits/charges";
import { answerByModel, toCaller } from "./assistant";
import { ALERT_ONLY_NOTE, explainMissingAccount } from "./cards";
import { explainOrderSyntax, looksLikeOrder, parseOrder, proposeOrder, WAITING_WORDS } from "./orders";
import {
  reply,
  type ActionRequest,
  type CommandOutcome,
  type CommandRequest,
  type MessageAnswer,
} from "./outcomes";

/** Answers to free text: what it asks for decides, an order, an alert or a question. For actions. */

/** Free text in a private chat. */
export async function answerFreeText(
  ctx: ActionCtx,
  request: ActionRequest,
  forwarded: boolean,
): Promise<CommandOutcome> {
  const { userId, argument: text } = request;
  const order = forwarded ? null : parseOrder(text);
  const isNear = !forwarded && order === null && looksLikeOrder(text);
  if (order !== null && userId === "") return explainMissingAccount(request.chatAccount);
  if (order !== null) return proposeOrder(ctx, request, order);
  const standingOrder = forwarded ? null : parseStandingOrder(text);
  if (standingOrder !== null) return proposeStanding(ctx, request, standingOrder);
  if (isNear && !WAITING_WORDS.test(text)) return explainOrderSyntax(text);
  const alert = await answerAlertWords(ctx, toCaller(request), toOwner(request), text);
  if (alert.kind === "none") return isNear ? explainOrderSyntax(text) : answerByModel(ctx, request);
  const outcome = await toAlertOutcome(alert);
  return isNear ? { ...outcome, answer: [...outcome.answer, ALERT_ONLY_NOTE] } : outcome;
}

/**
 * The answer to /alert. Words make a proposal; taps on buttons (`set ID`, `off ID` …) change it, and the same words typed
 * show the list. Idempotent.
 */
export async function answerAlertCommand(ctx: ActionCtx, request: ActionRequest): Promise<MessageAnswer> {
  const { userId, argument, isTap } = request;
  if (argument === "") return reply(ALERT_EXAMPLES);
  if (TAP_COMMAND.test(argument))
    return isTap
      ? answerTap(ctx, userId, argument, request.sender.messengerId)
      : { command: "alerts", argument, owner: userId };
  const standingOrder = parseStandingOrder(argument);
  if (standingOrder !== null) return proposeStanding(ctx, request, standingOrder);
  await charge(ctx, "alert", toCaller(request));
  return answerAlertRequest(ctx, request, argument);
}

/** The answer to words that may ask for an alert. */
export async function answerAlertRequest(
  ctx: ActionCtx,
  request: CommandRequest,
  words: string,
): Promise<CommandOutcome> {
  return toAlertOutcome(await answerAlertWords(ctx, toCaller(request), toOwner(request), words));
}

/** The owner of a chat's alerts: the linked user, or else the chat itself. */
const toOwner = ({ userId, sender }: CommandRequest) => ({
  userId: userId === "" ? toChatUser(sender.messengerId) : userId,
});

/** The card of a standing order that a chat asked for in words. */
async function proposeStanding(
  ctx: ActionCtx,
  request: ActionRequest,
  standingOrder: NonNullable<ReturnType<typeof parseStandingOrder>>,
): Promise<CommandOutcome> {
  const { sender, userId, chatAccount } = request;
  if (userId === "" || isChatUser(userId)) return explainMissingAccount(chatAccount);
  await charge(ctx, "alert", toCaller(request));
  return answerStandingWords(ctx, { userId, messengerId: sender.messengerId }, standingOrder);
}

async function toAlertOutcome(answered: AlertAnswer): Promise<CommandOutcome> {
  if (answered.kind === "open") return buildClarificationCard(answered);
  if (answered.kind !== "proposed") return reply(answered.advice);
  const { alert, present } = answered.proposed;
  const card = buildProposalCard(alert, present);
  if (!isMeasured(alert.condition)) return card;
  const handle = await createFunctionHandle(internal.pictures.drawings.alert);
  return { ...card, picture: { handle, subject: JSON.stringify(alert.condition) } };
}
