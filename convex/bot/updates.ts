import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { isSet } from "../lib/env";
import { hasLeft } from "../platform/limits/charges";
import { buildFailureHandler, enqueueWork, completeWork, vFailure, vJob } from "../platform/work";
import { moveChat } from "../messenger/outbox";
import { recordAcceptance } from "../messenger/subscriptions";
import { findCodeByHash, hashCode, findUserOfMessenger } from "../messenger/model";
import { EXPOSED_CODE_WARNING, INTERNAL_FAILURE, PRIVATE_ONLY } from "./cards";
import {
  findCommand,
  parseCommand,
  hasCode,
  parsePrivateLink,
  type ParsedCommand,
  vMessage,
  type BotMessage,
} from "./commands";
import { enqueueAnswerCard, reply, vCommandOutcome } from "./outcomes";
import { saveExchange } from "./questions";

/** Messages to the bot, from their receipt to their answer. */

/** The most attempts at an answer. */
const ATTEMPTS = 3;
/** Accepts one message, once: it becomes one job. */
export const receiveMessage = internalMutation({
  args: vMessage.fields,
  returns: v.null(),
  handler: async (ctx, message) => {
    const { updateId, sender, text } = message;
    const earlierUpdate = await getOneFrom(ctx.db, "botUpdates", "by_updateId", updateId);
    if (earlierUpdate !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    await recordAcceptance(ctx, sender.chatId, true);
    const command = parseCommand(text);
    if (!sender.alone && command !== null && (await withdrawShownCode(ctx, command))) {
      await enqueueAnswerCard(ctx, message, reply(PRIVATE_ONLY, EXPOSED_CODE_WARNING));
      return null;
    }
    if (!isForBot(message, command)) return null;
    // Any reader of a channel may tap its buttons, so each reader has a limit apart from the administrators'.
    const isReader = message.tapped !== undefined && !sender.alone;
    const chat = `chat:${sender.chatId}${isReader ? `:${sender.messengerId}` : ""}`;
    // A message without words gets the help, once an hour.
    if (text === "" && !(await hasLeft(ctx, "botHelp", chat))) return null;
    if (await hasLeft(ctx, "botChat", chat)) await enqueueAnswer(ctx, message, command);
    // A flood gets one notice; one of taps on a group's buttons none.
    else if (!isReader && (await hasLeft(ctx, "botNotice", chat)))
      await enqueueAnswerCard(
        ctx,
        message,
        reply("That was more than 20 messages in a minute: I answer again in a minute."),
      );
    return null;
  },
});

/** Whether a message may be for this bot. In a group: a mention of a bot, a reply, a tap, or a command of everybody. */
function isForBot({ sender, to, tapped }: BotMessage, command: ParsedCommand | null): boolean {
  if (sender.alone || tapped !== undefined || to !== undefined) return true;
  if (command === null) return false;
  return command.to !== null || findCommand(command.name)?.access === "anywhere";
}

async function enqueueAnswer(
  ctx: MutationCtx,
  message: BotMessage,
  command: ParsedCommand | null,
): Promise<void> {
  const { sender } = message;
  const userId = await findUserOfMessenger(ctx, sender.messengerId);
  // Words may need the model, so they wait for a place, and commands do not; a single word is a coin's name.
  const needsModel = command === null ? /\s/.test(message.text.trim()) : /^(?:ask|alert)$/.test(command.name);
  const text = message.tapped === undefined ? hideCode(message.text, command) : message.text;
  const stored = { ...message, text };
  await enqueueWork(ctx, internal.bot.service.answerMessage, stored, {
    ...(needsModel ? { queue: "models" as const } : {}),
    rank: userId === null ? "anonymous" : "signedIn",
    attempts: ATTEMPTS,
    onFailure: buildFailureHandler(internal.bot.updates.storeBotFailure, stored),
  });
}

/**
 * The message that the payload of a link to the bot stands for, or `null`. Pages, groups' buttons and `connect` make
 * such links.
 */
function readPayload(payload: string): string | null {
  if (/^(?:signals|whales)$/.test(payload)) return "/subscribe";
  if (payload === "help") return "/help";
  const [, coin] = /^price_([A-Z0-9-]{1,20})$/.exec(payload) ?? [];
  const [, code] = /^own_([0-9a-f]{24})$/.exec(payload) ?? [];
  const command = code === undefined ? parsePrivateLink(payload) : `own ${code}`;
  return coin ?? (command === null ? null : `/${command}`);
}

/**
 * A message's text as it is stored: the hash of a link code stands in the code's place, as in buttons, and what a link to the
 * bot stands for in the link's. Any other payload of a link is dropped. Without a key no code is valid.
 */
function hideCode(text: string, command: ParsedCommand | null): string {
  if (command === null) return text;
  const { name, argument, to } = command;
  if (hasCode(command)) return isSet("WALLET_ENCRYPTION_KEY") ? `/${name} ${hashCode(argument)}` : text;
  if (name !== "start") return text;
  const said = readPayload(argument) ?? "/start";
  return to === null || !said.startsWith("/") ? said : said.replace(/^\S+/, `$&@${to}`);
}

/** Invalidates a code that a whole group could read, whichever bot it was meant for. @returns Whether it was valid. */
async function withdrawShownCode(ctx: MutationCtx, command: ParsedCommand): Promise<boolean> {
  // Without a key no code is valid.
  if (!hasCode(command) || !isSet("WALLET_ENCRYPTION_KEY")) return false;
  const codeHash = hashCode(command.argument);
  const code =
    (await findCodeByHash(ctx, "link", codeHash)) ?? (await findCodeByHash(ctx, "login", codeHash));
  if (code !== null) await ctx.db.delete("codes", code._id);
  return code !== null;
}

/** Stores an answer, with the end of its job. */
export const storeBotAnswer = defineMutation(
  {
    ...vMessage.fields,
    job: vJob,
    /** The user whose data the answer contains; `null` without such data. */
    userId: v.union(v.string(), v.null()),
    outcome: vCommandOutcome,
    usage: vProviderUsage,
  },
  async (ctx, { job, userId, outcome, usage, ...message }) => {
    await flushUsage(ctx, usage);
    if (!(await completeWork(ctx, job))) return;
    const { messengerId } = message.sender;
    // A chat that was unlinked meanwhile gets none of the user's data.
    if (userId !== null && userId !== (await findUserOfMessenger(ctx, messengerId))) return;
    if (outcome.exchange !== undefined)
      await saveExchange(
        ctx,
        { userId: userId ?? "", messengerId },
        outcome.exchange,
        `update:${message.updateId}`,
      );
    await enqueueAnswerCard(ctx, message, outcome);
  },
);

/** Apologises after the last attempt. */
export const storeBotFailure = defineMutation(
  { ...vMessage.fields, ...vFailure },
  async (ctx, { isLast, ...given }) => {
    const { updateId, sender, text, forwarded } = given;
    if (isLast) await enqueueAnswerCard(ctx, { updateId, sender, text, forwarded }, reply(INTERNAL_FAILURE));
  },
);

/** Moves the chat of a group that has become a supergroup, with a new id. */
export const moveGroup = defineMutation({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  await moveChat(ctx, from, to);
});
