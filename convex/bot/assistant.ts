import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { DEFAULT_AGENT } from "../chat/agents";
import { answerChat, NOTHING_DONE } from "../chat/replies";
import type { ChatTurn } from "../chat/runs";
import { sha256Hex } from "../lib/crypto";
import { getRequired } from "../lib/env";
import { AppError } from "../lib/errors";
import { getRoundedNow } from "../lib/time";
import { toParagraphs } from "../messenger/format";
import { isChatUser } from "../messenger/model";
import { refuseBeyond } from "../platform/limits/budget";
import { toBillingSubject, type Caller } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { HELP_BUTTONS } from "./help";
import type { CommandOutcome, CommandRequest } from "./outcomes";
import { checkProposal, FUNCTIONS } from "./proposals";

/** Questions that a model answers. In a private chat it may propose what the bot can do. For actions. */

/** The caller of a command: the linked user, or the messenger's account alone. */
export function toCaller({ sender, userId }: CommandRequest): Caller {
  return userId === "" || isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** The model's answer to a question. */
export async function answerByModel(ctx: ActionCtx, request: CommandRequest): Promise<CommandOutcome> {
  const { updateId, sender, userId, argument: question } = request;
  const caller = toCaller(request);
  await charge(ctx, "question", caller);
  await refuseBeyond(ctx, toBillingSubject(caller));
  getRequired("LLM_GATEWAY_API_KEY");
  // A private chat is the user's own. A group gets nothing personal, and its conversation is not stored.
  const personal = sender.alone && userId !== "" ? { userId, agentId: DEFAULT_AGENT } : null;
  const args = personal === null ? null : { ...personal, now: getRoundedNow() };
  const { messengerId, alone: isPrivate } = sender;
  const messages: ChatTurn[] =
    args !== null
      ? await ctx.runQuery(internal.chat.runs.readTurns, args)
      : isPrivate
        ? await ctx.runQuery(internal.bot.questions.readOpen, { messengerId, now: Date.now() })
        : [];
  const response = await answerChat(ctx, {
    ...{ agentId: DEFAULT_AGENT, question, messages, caller, personal: isPrivate },
    ...(isPrivate ? { functions: FUNCTIONS } : {}),
  });
  if (personal !== null) {
    const reply = pick(response, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.storeExchange, {
      ...personal,
      question,
      reply,
      key: `update:${updateId}`,
    });
  }
  const { answer: written, proposed } = response;
  // Of a chat without a user nothing is stored but a question of the bot's, for some minutes.
  if (personal === null && isPrivate)
    await ctx.runMutation(internal.bot.questions.keepOpen, { messengerId, question, answer: written });
  const answer = toParagraphs(written, response.sources);
  // What the person said last, and what the bot asked about.
  const words = [...messages.slice(-2).filter(({ role }) => role === "user"), { content: question }];
  const text = words.map(({ content }) => content).join("\n");
  const button = proposed === null ? null : checkProposal(proposed, text);
  if (button !== null)
    return { answer: written === NOTHING_DONE ? [["Tap to do that:"]] : answer, buttons: [[button]] };
  if (isPrivate && (proposed !== null || written === NOTHING_DONE))
    return {
      answer: [...answer, ["What I do is behind these, and begins with your tap:"]],
      buttons: HELP_BUTTONS,
    };
  if (answer.length === 0) throw new AppError("upstream", "The model's answer had no words: ask again");
  return { answer };
}
