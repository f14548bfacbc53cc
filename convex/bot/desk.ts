import { createFunctionHandle } from "convex/server";
import { v } from "convex/values";
import { pick } from "convex-helpers";
import { parse } from "convex-helpers/validators";
import { internal } from "../_generated/api";
import { internalAction, type ActionCtx } from "../_generated/server";
import { confirmedCard, endedCard, openCard, proposalCard } from "../alerts/cards";
import { answerWords, type Answered } from "../alerts/desk";
import { HOW_TO_SAY, UNREAD } from "../alerts/grammar";
import { DEFAULT_AGENT } from "../chat/agents";
import { answer as answerQuestion } from "../chat/replies";
import { hasEnded } from "../lib/cache";
import { optional, required, siteUrl } from "../lib/env";
import { AppError, failureOf, messageOf, reasonOf } from "../lib/errors";
import { refuseBeyond } from "../lib/limits/budget";
import { payerOf, type Caller } from "../lib/limits/callers";
import { charge } from "../lib/limits/charges";
import { log } from "../lib/log";
import { counted } from "../lib/outside/calls";
import { sha256Hex } from "../lib/security/crypto";
import { asksForKey, SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { MINUTE, roundedNow, SECOND, sleep } from "../lib/time";
import { worker } from "../lib/worker";
import { focusOf } from "../market/listing";
import { chatUser, isChatUser } from "../messenger/model";
import { wordsAsParagraphs } from "../messenger/format";
import { botUsername, register as registerAt, showTyping } from "../providers/messenger";
import { snapshotCard } from "../research/cards";
import { storedResult } from "../research/model";
import { CODE_SHOWN, FAILED, FORWARDED, needsAccount, notice, PRIVATE_ONLY } from "./cards";
import { commandNamed, help, menu, reply, whichToken, type Outcome, type Request } from "./commands";
import { focusIn, parseCommand, showsCode } from "./commands";
import { vMessage, vOutcome, type Message, type Sender } from "./commands";
import { ordered, priceOutcome, works } from "./works";

/** One message to its answer. The text is data, no matter who wrote it; a tapped button stands for its command. */
export const answer = worker(vMessage.fields, async (ctx, { job, ...message }) => {
  const { sender } = message;
  const link = await ctx.runQuery(internal.messenger.linking.find, { messengerId: sender.messengerId });
  const userId = link?.confirmed === true ? link.userId : null;
  // Before a group sees the bot type, it has to be known that the words are for this bot.
  const to = parseCommand(message.text)?.to ?? message.to ?? "";
  if (to !== "" && !sender.alone && !(await isMe(to))) return "over";
  const worked = await whileTyping(
    sender,
    outcomeOf(ctx, message, userId).catch((error: unknown) => afterFailure(error, message.text)),
  );
  if (worked === "wait") await ctx.runMutation(internal.bot.updates.wait, { ...message, job });
  else if ("bind" in worked) {
    const { bind: name, argument, owner } = worked;
    await ctx.runMutation(internal.bot.bindings.bind, { ...message, job, name, argument, userId: owner });
  } else {
    const outcome = parse(vOutcome, worked);
    await ctx.runMutation(internal.bot.updates.settle, { ...message, job, userId, outcome });
  }
});

async function isMe(name: string): Promise<boolean> {
  return (await botUsername(required("MESSENGER_BOT_TOKEN")))?.toLowerCase() === name;
}

async function outcomeOf(
  ctx: ActionCtx,
  { updateId, sender, text, forwarded, tapped }: Message,
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
    const isName = argument.split(/\s+/).length <= 3;
    const price = isName ? await priceOutcome(ctx, argument) : null;
    if (price !== null) return price;
    return sender.alone ? plainWords(ctx, request, forwarded) : answerTo(ctx, request);
  }
  const command = commandNamed(parsed.name);
  if (command === null) return { answer: help(`I do not know /${parsed.name}.`) };
  const { name, access, traits } = command;
  if (forwarded && traits.includes("binds")) return reply(FORWARDED);
  if (access !== "anywhere" && !sender.alone) return reply(PRIVATE_ONLY, showsCode(parsed) ? CODE_SHOWN : "");
  // An account that is linked to nobody has alerts all the same.
  const owner = userId ?? (access === "own" ? chatUser(sender.messengerId) : "");
  if (owner === "" && access === "linked") return needsAccount(ctx, sender.messengerId);
  const work = WORKS[name];
  return work === undefined ? { bind: name, argument, owner } : work(ctx, { ...request, userId: owner });
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
  return { answer: [[UNREAD], [rest]] };
}

/** The messenger shows for five seconds that somebody types; no answer takes so many times four. */
const [TYPING_MS, MOST_TYPING] = [4 * SECOND, 15];

/** Shows the chat that the bot is working while it is. Nobody waits for that, and a failure is ignored: it is no message. */
async function whileTyping<Result>(sender: Sender, work: Promise<Result>): Promise<Result> {
  const botToken = optional("MESSENGER_BOT_TOKEN");
  const done = work.then(() => true);
  for (let shown = 0; botToken !== undefined && shown < MOST_TYPING; shown++) {
    void showTyping(botToken, sender);
    if (await Promise.race([done, sleep(TYPING_MS).then(() => false)])) break;
  }
  return work;
}

/** `wait`: research is under way. `bind`: the command is done by a transaction (`bindings`) after all. */
type Worked = Outcome | "wait" | { bind: string; argument: string; owner: string };
type Work = (ctx: ActionCtx, request: Request) => Promise<Worked>;

/** On-demand results are fresh for this long. */
const FRESH_MS = 15 * MINUTE;

const WORKS: Readonly<Record<string, Work>> = {
  ...works,

  /** Words make a proposal, and taps on its buttons (`set ID`, `once ID`, `off ID`) set or end it. Twice is as once. */
  alert: async (ctx, request) => {
    const { userId, argument, isTap } = request;
    if (argument === "") return reply(HOW_TO_SAY);
    const [, what, alertId] = /^(set|once|off) +(\S{1,40})$/.exec(argument) ?? [];
    const { accept, end } = internal.alerts.model;
    if (alertId === undefined) {
      const caller = callerOf(request);
      await charge(ctx, "alert", caller);
      return shown(await answerWords(ctx, caller, { userId }, argument));
    }
    if (!isTap) return { bind: "alerts", argument, owner: userId };
    if (what === "off") return endedCard(await ctx.runMutation(end, { userId, alertId }));
    return confirmedCard(await ctx.runMutation(accept, { userId, alertId, once: what === "once" }));
  },

  /** The stored result while it is fresh; otherwise it is made, and each further look joins the work under way. */
  research: async (ctx, request) => {
    const caller = callerOf(request);
    const named = focusIn(request.argument);
    if (named === null) return whichToken("research");
    const focus = await focusOf(ctx, named === "" ? undefined : named, caller);
    const stored = await storedResult(ctx, focus);
    if (stored !== null && Date.now() - stored.fetchedAt < FRESH_MS) {
      const button = (text: string, command: string) => ({ text, command: `${command} ${focus}`.trim() });
      return {
        answer: snapshotCard(focus, stored, siteUrl()),
        buttons: [[button("Full text", "report"), button("Follow for 8 h", "follow")]],
      };
    }
    required("LLM_GATEWAY_API_KEY");
    const key: string = await ctx.runMutation(internal.research.reports.begin, { focus, caller });
    await hasEnded(ctx, key);
    return "wait";
  },

  ask: async (ctx, request) =>
    request.argument === ""
      ? reply("Put your question after the command: ", { command: "ask" }, " How is Ethereum doing?")
      : answerTo(ctx, request),
};

/** Who asks: the user, or the account alone, which is nobody's. */
function callerOf({ sender, userId }: Request): Caller {
  return userId === "" || isChatUser(userId)
    ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
    : { userId, address: null, signedIn: true };
}

/** Plain words in a chat with the bot alone: an order, the wish for an alert, or a question. */
async function plainWords(ctx: ActionCtx, request: Request, forwarded: boolean): Promise<Outcome> {
  const { sender, userId, argument: text } = request;
  const order = forwarded || userId === "" ? null : await ordered(ctx, request, text);
  if (order !== null) return order;
  const whose = userId === "" ? chatUser(sender.messengerId) : userId;
  const alert = await answerWords(ctx, callerOf(request), { userId: whose }, text);
  return alert.kind === "none" || alert.kind === "unread" ? answerTo(ctx, request) : shown(alert);
}

/** The model's answer to a question. */
async function answerTo(ctx: ActionCtx, request: Request): Promise<Outcome> {
  const { updateId, sender, userId, argument: question } = request;
  const caller = callerOf(request);
  await charge(ctx, "question", caller);
  await refuseBeyond(ctx, payerOf(caller));
  required("LLM_GATEWAY_API_KEY");
  // The account is the user's own. A group gets nothing that belongs to one person, and its conversation is not kept.
  const own = sender.alone && userId !== "" ? { userId, agentId: DEFAULT_AGENT } : null;
  const args = own === null ? null : { ...own, now: roundedNow() };
  const response = await answerQuestion(ctx, {
    agentId: DEFAULT_AGENT,
    question,
    messages: args === null ? [] : await ctx.runQuery(internal.chat.runs.turns, args),
    caller,
    personal: sender.alone,
  });
  if (own !== null) {
    const reply = pick(response, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.keep, { ...own, question, reply, key: `update:${updateId}` });
  }
  const answer = wordsAsParagraphs(response.answer, response.sources);
  if (answer.length === 0) throw new AppError("upstream", "The model's answer had no words. Ask again.");
  return { answer };
}

async function shown(answered: Answered): Promise<Outcome> {
  if (answered.kind === "open") return openCard(answered);
  if (answered.kind !== "proposed") return { answer: notice(answered.say) };
  const { alert, present } = answered.proposed;
  const card = proposalCard(alert, present);
  if (alert.condition.kind === "digest") return card;
  const handle = await createFunctionHandle(internal.pages.pictures.alert);
  return { ...card, picture: { handle, subject: alert._id } };
}

/**
 * `npx convex run --prod bot/desk:register`: tells the messenger where this deployment's bot gets its messages, and
 * which commands it has. Safe to run twice.
 * @returns The bot's name and the address, never the token or the secret.
 */
export const register = internalAction({
  args: {},
  returns: v.object({ bot: v.string(), webhook: v.string(), commands: v.number() }),
  handler: counted(async () => {
    const token = required("MESSENGER_BOT_TOKEN");
    const bot = await botUsername(token);
    if (bot === null) throw new AppError("not_configured", "The messenger does not know MESSENGER_BOT_TOKEN");
    const webhook = `${siteUrl()}/messenger/webhook`;
    await registerAt(token, {
      webhook,
      secret: required("MESSENGER_WEBHOOK_SECRET"),
      menu: menu.map(({ name, summary }) => ({ command: name, description: summary })),
    });
    return { bot: `@${bot}`, webhook, commands: menu.length };
  }),
});
