import { flushUsage, vProviderUsage } from "../platform/outside/calls";
import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { defineMutation } from "../platform/changes";
import { isSet } from "../lib/env";
import { hasLeft } from "../platform/limits/charges";
import { derivePseudonym } from "../lib/crypto";
import { formatDateTime, SECOND, MINUTE } from "../lib/time";
import {
  buildFailureHandler,
  enqueueWork,
  snoozeWork,
  getRunningWork,
  completeWork,
  vFailure,
  vJob,
} from "../platform/work";
import { OWNED } from "../accounts/claims";
import { moveChat } from "../messenger/outbox";
import { noteTaken } from "../messenger/subscriptions";
import { findCodeByHash, hashCode, findUserOfMessenger } from "../messenger/model";
import { findWallet } from "../wallets/model";
import { CODE_SHOWN, FAILED, FLOOD, TAKES_TOO_LONG, PRIVATE_ONLY } from "./cards";
import {
  findCommand,
  parseCommand,
  hasCode,
  parsePrivateLink,
  type ParsedCommand,
  vMessage,
  type BotMessage,
} from "./commands";
import { answerOrReason, putAnswer, reply, type CommandOutcome, vCommandOutcome } from "./outcomes";

/** Messages to the bot, from their receipt to their answer. */

/** The most attempts at an answer. */
const ATTEMPTS = 3;
/** The time between two polls of research that is under way. */
const POLL_MS = 3 * SECOND;
/** Longer than any research takes: then the answer is given up. */
const PATIENCE_MS = 8 * MINUTE;

/** Accepts one message, once: it becomes one job. */
export const receiveMessage = internalMutation({
  args: vMessage.fields,
  returns: v.null(),
  handler: async (ctx, message) => {
    const { updateId, sender, text } = message;
    const earlierUpdate = await getOneFrom(ctx.db, "botUpdates", "by_updateId", updateId);
    if (earlierUpdate !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    await noteTaken(ctx, sender.chatId, true);
    const command = parseCommand(text);
    if (!sender.alone && command !== null && (await withdrawShownCode(ctx, command))) {
      await putAnswer(ctx, message, reply(PRIVATE_ONLY, CODE_SHOWN));
      return null;
    }
    if (!isMeant(message, command)) return null;
    // Everybody who reads a channel may tap its buttons: none of them uses up what its administrators need.
    const isReader = message.tapped !== undefined && !sender.alone;
    const chat = `chat:${sender.chatId}${isReader ? `:${sender.messengerId}` : ""}`;
    // A message without words gets the help, once an hour.
    if (text === "" && !(await hasLeft(ctx, "botHelp", chat))) return null;
    if (await hasLeft(ctx, "botChat", chat)) await openAnswer(ctx, message, command);
    // A flood gets one notice; one of taps on a group's buttons none.
    else if (!isReader && (await hasLeft(ctx, "botNotice", chat)))
      await putAnswer(ctx, message, reply(FLOOD));
    return null;
  },
});

/** Whether a message may be for this bot. In a group: a mention of a bot, a reply, a tap, or a command of everybody. */
function isMeant({ sender, to, tapped }: BotMessage, command: ParsedCommand | null): boolean {
  if (sender.alone || tapped !== undefined || to !== undefined) return true;
  if (command === null) return false;
  return command.to !== null || findCommand(command.name)?.access === "anywhere";
}

async function openAnswer(
  ctx: MutationCtx,
  message: BotMessage,
  command: ParsedCommand | null,
): Promise<void> {
  const { sender } = message;
  const owners = await answerOwner(ctx, message);
  if (owners !== null) return putAnswer(ctx, message, owners);
  const userId = await findUserOfMessenger(ctx, sender.messengerId);
  // Words may need the model, so they wait for a place, and commands do not; a single word is a coin's name.
  const needsModel = command === null ? /\s/.test(message.text.trim()) : /^(?:ask|alert)$/.test(command.name);
  const text = message.tapped === undefined ? hideCode(message.text, command) : message.text;
  const kept = { ...message, text };
  await enqueueWork(ctx, internal.bot.service.answerMessage, kept, {
    ...(needsModel ? { queue: "models" as const } : {}),
    rank: userId === null ? "anonymous" : "signedIn",
    attempts: ATTEMPTS,
    onFailure: buildFailureHandler(internal.bot.updates.storeBotFailure, kept),
  });
}

/**
 * A message's text as it is stored: the hash of a link code stands in the code's place, as in buttons, and any other
 * payload of a link to the bot is dropped, but for those of our pages, which lead to the subscriptions and to a coin's price.
 * Without a key no code is valid.
 */
function hideCode(text: string, command: ParsedCommand | null): string {
  if (command?.name === "start" && /^(?:signals|whales)$/.test(command.argument))
    return command.to === null ? "/subscribe" : `/subscribe@${command.to}`;
  const [, coin] = /^price_([A-Z0-9-]{1,20})$/.exec(command?.name === "start" ? command.argument : "") ?? [];
  if (coin !== undefined) return coin;
  const linked = command?.name === "start" ? parsePrivateLink(command.argument) : null;
  if (linked !== null) return `/${linked}`;
  if (command?.name === "start" && command.argument === "help") return "/help";
  if (command?.name === "start" && !hasCode(command)) return "/start";
  if (command === null || !hasCode(command) || !isSet("WALLET_ENCRYPTION_KEY")) return text;
  return `/${command.name} ${hashCode(command.argument)}`;
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

/** The payload of a link for an owner: the code follows the prefix. */
const OWNER_LINK = /^own_([0-9a-f]{24})$/;

/**
 * The answer to a link for an owner, or to the tap on Own; `null` for any other message. The receiving transaction makes
 * it, so that no job stores the code.
 */
async function answerOwner(ctx: MutationCtx, message: BotMessage): Promise<CommandOutcome | null> {
  const { sender, text, forwarded } = message;
  if (!sender.alone || forwarded) return null;
  const command = parseCommand(text);
  const [, offered] = OWNER_LINK.exec(command?.name === "start" ? command.argument : "") ?? [];
  if (offered !== undefined) return answerOrReason(() => offerWallet(ctx, offered, sender.messengerId));
  if (command?.name !== "own") return null;
  return answerOrReason(() => claimByCode(ctx, command.argument, sender.messengerId));
}

async function claimByCode(ctx: MutationCtx, code: string, messengerId: string): Promise<CommandOutcome> {
  const { waits } = await ctx.runMutation(internal.accounts.claims.claimByLink, {
    code,
    messengerId,
    isTap: true,
  });
  if (waits === null) return { answer: [[{ bold: "🔐 Owned" }], [OWNED]] };
  const later = `${waits.why}, so it is yours from ${formatDateTime(waits.until)}, unless somebody who knows its id ends your claim before. You are told here then; until then everything stays as it is.`;
  return { answer: [[{ bold: "🔐 Not yours yet" }], [later]] };
}

async function offerWallet(ctx: MutationCtx, code: string, messengerId: string): Promise<CommandOutcome> {
  const link = { code, messengerId, isTap: false };
  const { userId, waits } = await ctx.runMutation(internal.accounts.claims.claimByLink, link);
  const wallet = await findWallet(ctx, userId, "custody");
  return {
    answer: [
      [{ bold: "🔐 Is this your wallet?" }],
      [wallet === null ? "There is no wallet yet." : { code: wallet.address }],
      [`Its account is called ${derivePseudonym(userId)}.`],
      [
        "If you tap Own, this chat decides: orders with only the account id wait for your tap, and nobody else can own it. Tap it only for a wallet that you, or a tool of yours, have made.",
      ],
      ...(waits !== null ? [[`${waits.why}, so it is yours 48 hours after your tap.`]] : []),
    ],
    buttons: [[{ text: "🔐 Own", command: `own ${code}` }]],
  };
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
    // A chat that was unlinked meanwhile gets none of the user's data.
    if (userId === null || userId === (await findUserOfMessenger(ctx, message.sender.messengerId)))
      await putAnswer(ctx, message, outcome);
  },
);

/** Polls again later, for an answer that waits for research, until the patience ends. */
export const wait = defineMutation({ ...vMessage.fields, job: vJob }, async (ctx, { job, ...message }) => {
  const row = await getRunningWork(ctx, job);
  if (row === null) return;
  if (Date.now() - row._creationTime < PATIENCE_MS) {
    await snoozeWork(ctx, job, POLL_MS);
    return;
  }
  await completeWork(ctx, job);
  await putAnswer(ctx, message, reply(TAKES_TOO_LONG));
});

/** Apologises after the last attempt. */
export const storeBotFailure = defineMutation(
  { ...vMessage.fields, ...vFailure },
  async (ctx, { isLast, ...given }) => {
    const { updateId, sender, text, forwarded } = given;
    if (isLast) await putAnswer(ctx, { updateId, sender, text, forwarded }, reply(FAILED));
  },
);

/** Moves the chat of a group that has become a supergroup, with a new id. */
export const moveGroup = defineMutation({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  await moveChat(ctx, from, to);
});
