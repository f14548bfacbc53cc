import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { SAID } from "../alerts/words";
import { optional, required } from "../lib/env";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { reasonOf } from "../lib/text/failures";
import { withoutTrailing } from "../lib/text/strings";
import { SECOND, sleep } from "../lib/time";
import { worker } from "../lib/work/desk";
import type { Job } from "../lib/work/jobs";
import { chatUser } from "../messenger/model";
import { botUsername, showTyping } from "../providers/messenger";
import { CODE_SHOWN, FAILED, FORWARDED, needsAccount, PRIVATE_ONLY, requestOf } from "./cards";
import { parseCommand, parseMention, pastedStart, showsCode } from "./grammar";
import { commandNamed, help, type Command } from "./list";
import { passed, reply, type Outcome, type Request } from "./model";
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
  const stop = startTyping(sender);
  let worked: Worked | "done";
  try {
    worked = await outcomeOf(ctx, message, asked.text, { userId, job });
  } catch (error) {
    worked = afterFailure(error, asked.text);
  } finally {
    await stop();
  }
  if (worked === "done") return;
  if (worked === "wait") await ctx.runMutation(internal.bot.updates.wait, { ...message, job });
  else if ("bind" in worked) {
    const { bind: name, argument } = worked;
    const owner = userId ?? chatUser(sender.messengerId);
    await ctx.runMutation(internal.bot.bindings.bind, { ...message, job, name, argument, userId: owner });
  } else
    await ctx.runMutation(internal.bot.updates.settle, { ...message, job, userId, outcome: passed(worked) });
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

type Asker = { userId: string | null; job: Job };

async function outcomeOf(
  ctx: ActionCtx,
  message: Message,
  text: string,
  { userId, job }: Asker,
): Promise<Worked | "done"> {
  const { updateId, sender, forwarded, tapped } = message;
  if (text === "") return { answer: help() };
  if (asksForKey(text)) return reply(SECURITY_MESSAGE);
  const parsed = parseCommand(text);
  const request: Request = {
    updateId,
    sender,
    userId: userId ?? "",
    argument: parsed?.argument ?? text.trim(),
    isTap: tapped !== undefined,
    now: Date.now(),
  };
  if (parsed === null) {
    // The name of a coin asks only for its price, which needs no model.
    const price = await priceOutcome(ctx, withoutTrailing(request.argument, "? "));
    if (price !== null) return price;
    return sender.alone ? plainWords(ctx, request, forwarded) : answerTo(ctx, request);
  }
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  if (forwarded && command.binds === true) return reply(FORWARDED);
  if (command.access !== "anywhere" && !sender.alone)
    return reply(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "");
  const owner = ownerFor(command, sender, userId);
  if (owner === null) return needsAccount(requestOf(command.name, parsed.argument));
  return run(ctx, message, command, { ...request, userId: owner }, job);
}

/** Whose the command is; `null` if it needs a user and there is none. */
function ownerFor({ access }: Command, sender: Sender, userId: string | null): string | null {
  if (userId !== null) return userId;
  if (access === "own") return chatUser(sender.messengerId);
  return access === "linked" ? null : "";
}

async function run(
  ctx: ActionCtx,
  message: Message,
  { name, by }: Command,
  request: Request,
  job: Job,
): Promise<Worked | "done"> {
  if (by === "read") return ctx.runQuery(internal.bot.reads.read, { name, ...request });
  const work = WORKS[name];
  if (by === "work" && work !== undefined) return work(ctx, request);
  const { userId, argument } = request;
  await ctx.runMutation(internal.bot.bindings.bind, { ...message, job, name, userId, argument });
  return "done";
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
const LONGEST_TYPING_MS = 60 * SECOND;

/** Shows the chat that the bot is working, until it is stopped. A failure is ignored, because this is no message. */
function startTyping(sender: Sender): () => Promise<void> {
  const botToken = optional("MESSENGER_BOT_TOKEN");
  if (botToken === undefined) return () => Promise.resolve();
  let stop: () => void = () => undefined;
  const stopped = new Promise<"stopped">((resolve) => (stop = () => resolve("stopped")));
  const shown = (async () => {
    for (let passed = 0; passed < LONGEST_TYPING_MS; passed += TYPING_MS) {
      await showTyping(botToken, sender);
      if ((await Promise.race([stopped, sleep(TYPING_MS)])) === "stopped") return;
    }
  })();
  return async () => {
    stop();
    await shown;
  };
}
