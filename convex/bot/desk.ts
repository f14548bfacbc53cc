import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { SAID } from "../alerts/grammar";
import { optional, required } from "../lib/env";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { reasonOf } from "../lib/text/failures";
import { withoutTrailing } from "../lib/text/strings";
import { SECOND, sleep } from "../lib/time";
import { worker } from "../lib/work/desk";
import { chatUser } from "../messenger/model";
import { botUsername, showTyping } from "../providers/messenger";
import { CODE_SHOWN, FAILED, FORWARDED, needsAccount, PRIVATE_ONLY, requestOf } from "./cards";
import { commandNamed, help, reply, type Command, type Outcome, type Request } from "./commands";
import { parseCommand, parseMention, pastedStart, showsCode } from "./grammar";
import { priceOutcome } from "./prices";
import { vMessage, type Message, type Sender } from "./tables";
import { answerTo, plainWords, WORKS, type Worked } from "./works";

/** One message to its answer. The text is data, no matter who wrote it; a tapped button stands for its command. */
export const answer = worker(vMessage.fields, async (ctx, { job, ...message }) => {
  const { sender } = message;
  const { userId } = await ctx.runQuery(internal.bot.reads.account, { messengerId: sender.messengerId });
  const asked = askedIn(message);
  // Before a group sees the bot type, it has to be known that the words are for this bot.
  if (asked.to !== null && !sender.alone && !(await isMe(asked.to))) return "over";
  const worked = await whileTyping(
    sender,
    outcomeOf(ctx, message, asked.text, userId).catch((error: unknown) => afterFailure(error, asked.text)),
  );
  if (worked === "wait") await ctx.runMutation(internal.bot.updates.wait, { ...message, job });
  else if ("bind" in worked) {
    const { bind: name, argument, owner } = worked;
    await ctx.runMutation(internal.bot.bindings.bind, { ...message, job, name, argument, userId: owner });
  } else {
    const { answer, buttons, picture } = worked;
    const outcome = {
      answer: answer.map((paragraph) => [...paragraph]),
      ...(buttons === undefined ? {} : { buttons: buttons.map((row) => [...row]) }),
      ...(picture === undefined ? {} : { picture }),
    };
    await ctx.runMutation(internal.bot.updates.settle, { ...message, job, userId, outcome });
  }
});

/** The words that are meant, and the bot that they name (lower case, without the @), if they name one. */
function askedIn({ sender, text, tapped }: Message): { text: string; to: string | null } {
  const start = sender.alone ? pastedStart(text) : null;
  if (start !== null) return { text: `/start ${start}`, to: null };
  const command = parseCommand(text);
  if (command !== null || sender.alone || tapped !== undefined) return { text, to: command?.to ?? null };
  const mention = parseMention(text);
  return { text: mention?.words ?? text, to: mention?.to ?? null };
}

async function isMe(name: string): Promise<boolean> {
  return (await botUsername(required("MESSENGER_BOT_TOKEN")))?.toLowerCase() === name;
}

async function outcomeOf(
  ctx: ActionCtx,
  { updateId, sender, forwarded, tapped }: Message,
  text: string,
  userId: string | null,
): Promise<Worked> {
  if (text === "") return { answer: help() };
  if (asksForKey(text)) return reply(SECURITY_MESSAGE);
  const parsed = parseCommand(text);
  const argument = parsed?.argument ?? text.trim();
  const isTap = tapped !== undefined;
  const request: Request = { updateId, sender, userId: userId ?? "", argument, isTap, now: Date.now() };
  if (parsed === null) {
    // The name of a coin asks only for its price, which needs no model.
    const price = await priceOutcome(ctx, withoutTrailing(argument, "? "));
    if (price !== null) return price;
    return sender.alone ? plainWords(ctx, request, forwarded) : answerTo(ctx, request);
  }
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  const { name, access, traits } = command;
  if (forwarded && traits.includes("binds")) return reply(FORWARDED);
  if (access !== "anywhere" && !sender.alone) return reply(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "");
  const owner = ownerFor(command, sender, userId);
  if (owner === null) return needsAccount(requestOf(name, argument));
  const work = WORKS[name];
  return work === undefined ? { bind: name, argument, owner } : work(ctx, { ...request, userId: owner });
}

/** Whose the command is; `null` if it needs a user and there is none. */
function ownerFor({ access }: Command, sender: Sender, userId: string | null): string | null {
  if (userId !== null) return userId;
  if (access === "own") return chatUser(sender.messengerId);
  return access === "linked" ? null : "";
}

/** What is said of a failure, and what still works for somebody who has asked a question. */
function afterFailure(error: unknown, text: string): Outcome {
  const failure = failureOf(error);
  if (failure === null) {
    log.error("bot.unexpected", { message: messageOf(error) });
    return reply(FAILED);
  }
  const name = parseCommand(text)?.name;
  const isModels = failure.code === "upstream" || failure.code === "not_configured";
  if (!isModels || (name !== undefined && name !== "ask")) return reply(reasonOf(failure));
  const rest = "Questions have to wait. A price needs no model: send a coin's name.";
  return { answer: [[SAID.unread], [rest]] };
}

/** The messenger shows it for five seconds. */
const TYPING_MS = 4 * SECOND;
/** Longer than any answer takes. */
const MOST_TYPING = 15;

/** Shows the chat that the bot is working while it is. A failure is ignored, because this is no message. */
async function whileTyping<Result>(sender: Sender, work: Promise<Result>): Promise<Result> {
  const botToken = optional("MESSENGER_BOT_TOKEN");
  const done = work.then(() => true);
  for (let shown = 0; botToken !== undefined && shown < MOST_TYPING; shown++) {
    await showTyping(botToken, sender);
    if (await Promise.race([done, sleep(TYPING_MS).then(() => false)])) break;
  }
  return work;
}
