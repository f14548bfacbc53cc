import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { readChatAccount } from "../accounts/chats";
import { freezeAccount, unfreezeAccount } from "../accounts/freeze";
import { replaceAccountId } from "../accounts/profile";
import { addToRecipients, removeFromRecipients } from "../accounts/keys";
import { findAccount, listRecipients } from "../identity/model";
import { buildListCard, describeAlert } from "../alerts/cards";
import { listLiving } from "../alerts/model";
import { listAlertsWithValues } from "../alerts/proposals";
import { isStandingOrder } from "../alerts/terms";
import { getSiteUrl } from "../lib/env";
import { toBillingSubject } from "../platform/limits/callers";
import { isSymbol } from "../lib/money/coins";
import { formatDateTime, HOUR } from "../lib/time";
import { completeWork, vJob } from "../platform/work";
import { findListedSymbol } from "../market/facts";
import type { Button } from "../messenger/format";
import { FREEZE } from "../messenger/notices";
import { findConfig, findLinkOfMessenger, parsePlace } from "../messenger/model";
import { dropLink, isLogin, findUserToFreeze } from "../messenger/linking";
import { buildFullTextCard, buildStopButton } from "../research/cards";
import { listActiveShifts, getFocusName, toPublicShift, getStoredResult } from "../research/model";
import { getPublishedHead } from "../signals/chain";
import { buildSignalsCard } from "../signals/cards";
import { listLatestSignals, getRecord } from "../signals/model";
import { SIGNAL_TOKENS } from "../signals/rules";
import { findWallet } from "../wallets/model";
import { buildDecidedCard } from "../wallets/orders/cards";
import { answerQuestion } from "../wallets/orders/questions";
import { listNewestOrders, listOpenQuestions } from "../wallets/orders/summaries";
import { buildAlertCard } from "../whales/cards";
import { hasObserved, listLatestAlerts, toPublicWhaleAlert } from "../whales/model";
import { answerAi, answerDelete, answerExport, answerLimits, answerMe, answerOwn } from "./account";
import {
  explainMissingAccount,
  ONLY_LOGIN_REFUSAL,
  buildOrdersCard,
  buildRecipientsCard,
  buildRecordCard,
  buildStatusCard,
} from "./cards";
import type { ActionCommand } from "./actionHandlers";
import { parseFocus, vMessage, type CommandName } from "./commands";
import {
  answerOrReason,
  enqueueAnswerCard,
  reply,
  askWhichToken,
  buildHelp,
  buildQuestion,
  type CommandOutcome,
  type CommandRequest,
} from "./outcomes";

/**
 * Handlers of commands that need no provider. One transaction carries out the command and queues its answer, once an
 * update.
 */
type Handler = (ctx: MutationCtx, request: CommandRequest) => CommandOutcome | Promise<CommandOutcome>;

/** The focus of research in an argument: a token, "" for the whole market, `null` for words that name no token. */
async function resolveFocusName(ctx: QueryCtx, argument: string, now: number): Promise<string | null> {
  const name = parseFocus(argument) ?? "?";
  if (name === "") return "";
  // An exchange may list a symbol that no list of coins has. It lists no names.
  const focus = (await findListedSymbol(ctx, name, now)) ?? name;
  return isSymbol(focus) ? focus : null;
}

const SIGNALS: readonly Button[] = [
  { text: "BTC", command: "signals BTC" },
  { text: "ETH", command: "signals ETH" },
  { text: "Record", command: "record" },
];

const GET_NEWS: readonly Button[] = [{ text: "🔔 Get them as they come", command: "subscribe" }];

/** The default window of /whales, and the most alerts that it shows. */
const [SHOWN_HOURS, MOST_SHOWN] = [6, 10];

/** The last orders that /orders shows. */
const SHOWN_ORDERS = 8;

export const runCommand = internalMutation({
  args: { ...vMessage.fields, job: vJob, name: v.string(), userId: v.string(), argument: v.string() },
  returns: v.null(),
  handler: async (ctx, { job, name, userId, argument, ...message }) => {
    if (!(await completeWork(ctx, job))) return null;
    const { updateId, sender, tapped } = message;
    const request = { updateId, sender, userId, argument, isTap: tapped !== undefined, now: Date.now() };
    if (!isMutationCommand(name)) throw new Error(`No mutation answers /${name}`);
    await enqueueAnswerCard(ctx, message, await answerOrReason(() => HANDLERS[name](ctx, request)));
    return null;
  },
});

type MutationCommand = Exclude<CommandName, ActionCommand>;

function isMutationCommand(name: string): name is MutationCommand {
  return Object.hasOwn(HANDLERS, name);
}

const HANDLERS: Readonly<Record<MutationCommand, Handler>> = {
  help: (_ctx, { argument }) => buildHelp(argument),
  alerts: async (ctx, { userId, now }) => buildListCard(await listAlertsWithValues(ctx, userId), now),
  signals: async (ctx, { argument }) => {
    const name = parseFocus(argument);
    const token = SIGNAL_TOKENS.find((one) => one === name);
    if (name !== "" && token === undefined)
      return reply("There are signals for BTC and ETH only, such as ", { command: "signals" }, " BTC.");
    const signals = await listLatestSignals(ctx, token === undefined ? SIGNAL_TOKENS : [token]);
    if (signals.length === 0) return reply("No signal has been issued yet: they come at 08:00 UTC.");
    return {
      answer: buildSignalsCard("Latest signals", signals, await getPublishedHead(ctx)),
      buttons: [SIGNALS, GET_NEWS],
    };
  },
  record: async (ctx) => {
    const whole = await getRecord(ctx, "ALL");
    const answer = buildRecordCard(whole, await getPublishedHead(ctx), getSiteUrl());
    return { answer, buttons: [SIGNALS.slice(0, 2)] };
  },
  whales: async (ctx, { argument, now }) => {
    const hours = argument === "" ? SHOWN_HOURS : Number(argument);
    if (!(hours >= 1 && hours <= 168))
      return reply("Say how many hours to look back, 1 to 168: ", { command: "whales" }, " 24");
    const alerts = (await listLatestAlerts(ctx, now - hours * HOUR)).map(toPublicWhaleAlert);
    if (alerts.length === 0 && !(await hasObserved(ctx)))
      return reply(
        "I have not looked for whales yet: I read Base every five minutes and ask an agent every hour.",
      );
    const card = buildAlertCard({ hours, at: now, alerts, most: MOST_SHOWN });
    const all = { words: "All of them, with their transactions", href: `${getSiteUrl()}/whales` };
    return { answer: [...card, [all]], buttons: [GET_NEWS] };
  },

  report: async (ctx, { argument, now }) => {
    const focus = await resolveFocusName(ctx, argument, now);
    if (focus === null) return askWhichToken("report");
    // A result belongs to everybody, whoever requested it.
    const found = await getStoredResult(ctx, focus);
    if (found !== null) return { answer: buildFullTextCard(focus, found.result) };
    const of = focus === "" ? "" : ` ${focus}`;
    return reply(
      `There is no research on ${getFocusName(focus)} yet: `,
      { command: "research" },
      `${of} writes it.`,
    );
  },
  status: async (ctx, { userId, now }) => {
    const active = await listActiveShifts(ctx, userId);
    const none =
      active.length === 0 ? { buttons: [[{ text: "Follow the market for 8 h", command: "follow" }]] } : {};
    return {
      ...none,
      answer: buildStatusCard(await Promise.all(active.map((one) => toPublicShift(ctx, one))), now),
    };
  },

  follow: async (ctx, { sender, userId, argument, now }) => {
    const focus = await resolveFocusName(ctx, argument, now);
    if (focus === null) return askWhichToken("follow");
    const config = await findConfig(ctx, userId);
    const set = parsePlace(config?.chatId ?? sender.chatId).chatId;
    // Whether the shift's cards come from this bot to this chat.
    const stoppable = config?.sealedBotToken === undefined && set === sender.chatId;
    const { jobId } = await ctx.runMutation(internal.research.shifts.startShift, {
      userId,
      token: focus,
      stoppable,
      paidBy: toBillingSubject({ userId, signedIn: true, address: null }),
    });
    // The shift's own first card is the answer, if it comes to this chat.
    if (stoppable) return { answer: [] };
    return {
      ...reply(
        `I am following ${getFocusName(focus)} for eight hours: reports come to the chat that you have set.`,
      ),
      buttons: [[buildStopButton(jobId, focus)]],
    };
  },
  stop: async (ctx, { userId, argument }) => {
    const active = await listActiveShifts(ctx, userId);
    if (active.length === 0) return reply("You have no research shift running.");
    const token = parseFocus(argument);
    const meant = active.filter((one) => argument === "" || one._id === argument || one.token === token);
    if (meant.length === 0) return reply("That shift has already ended.");
    for (const { _id: jobId } of meant)
      await ctx.runMutation(internal.research.shifts.stop, { userId, jobId });
    return {
      ...reply(`I no longer follow ${meant.map((one) => getFocusName(one.token)).join(" and ")}.`),
      buttons: meant.map((one) => [
        { text: `Follow ${getFocusName(one.token)} again`, command: `follow ${one.token}`.trim() },
      ]),
    };
  },

  unlink: async (ctx, { sender }) => {
    const link = await findLinkOfMessenger(ctx, sender.messengerId);
    if (link === null) return reply("This account is not linked.");
    if (await isLogin(ctx, link.userId, sender.messengerId)) return reply(...ONLY_LOGIN_REFUSAL);
    await dropLink(ctx, link, "account");
    return reply("Unlinked. This chat gets no more of your reports or alerts.");
  },
  // Beside Approve a slip of the finger must not freeze; alarms have a button that does it at once.
  pause: () => ({
    ...reply("Freeze your account? Nothing moves any more, from anywhere, until you end it."),
    buttons: FREEZE,
  }),
  freeze: async (ctx, { sender, now }) => {
    const userId = await findUserToFreeze(ctx, sender.messengerId, now);
    if (userId === null) return explainMissingAccount(await readChatAccount(ctx, sender.messengerId));
    await freezeAccount(ctx, userId, "chat");
    return { answer: [] };
  },
  unfreeze: async (ctx, { userId, sender }) => {
    if (!(await isLogin(ctx, userId, sender.messengerId)))
      return reply("Sign in to the web application to end a freeze.");
    const from = await unfreezeAccount(ctx, userId);
    return reply(`The freeze ends at ${formatDateTime(from)}, unless the account is frozen again before.`);
  },
  newid: async (ctx, { userId, argument, isTap }) => {
    if (!isTap || argument !== "yes")
      return buildQuestion(
        "🔁 A new account id?",
        [
          "The old one stops working at once: give the new one to every program and assistant that uses it. Orders that wait for your approval become void. Wallets, settings and keys stay.",
        ],
        { text: "🔁 Replace", command: "newid yes" },
      );
    await replaceAccountId(ctx, userId);
    return reply("Your account has a new id: ", { command: "ai" }, " shows it.");
  },
  recipients: async (ctx, { userId, argument }) => {
    const [, what = "", address = ""] = /^(add|off)\s+(\S{1,64})$/i.exec(argument) ?? [];
    // Every channel of the account is notified already: no card of its own is needed.
    if (what.toLowerCase() === "add") await addToRecipients(ctx, userId, address);
    if (what.toLowerCase() === "off") await removeFromRecipients(ctx, userId, address);
    return buildRecipientsCard(await listRecipients(ctx, userId), Date.now());
  },
  orders: async (ctx, { userId, now }) => {
    const wallet = await findWallet(ctx, userId, "custody");
    const account = (await findAccount(ctx, userId)) ?? { userId };
    const questions = wallet === null ? [] : await listOpenQuestions(ctx, wallet.walletId, now);
    const active = (await listLiving(ctx, userId)).filter(({ state }) => state === "active");
    const standing = active.filter(isStandingOrder).map(describeAlert);
    const last = await listNewestOrders(ctx, account, SHOWN_ORDERS);
    return {
      answer: buildOrdersCard(questions, standing, last),
      buttons: standing.length === 0 ? [] : [[{ text: "Stop or skip one", command: "alerts" }]],
    };
  },
  own: answerOwn,
  me: answerMe,
  limits: answerLimits,
  ai: answerAi,
  export: answerExport,
  delete: answerDelete,
  approve: (ctx, request) => decideQuestion(ctx, request, "yes"),
  refuse: (ctx, request) => decideQuestion(ctx, request, "no"),
};

/** Decides a question to the owner, by a tap. */
async function decideQuestion(
  ctx: MutationCtx,
  { sender, argument }: CommandRequest,
  word: "yes" | "no",
): Promise<CommandOutcome> {
  const order = await answerQuestion(ctx, argument, word, sender.messengerId);
  if (order === null) return reply("That question was for somebody else.");
  const { paragraphs, buttons } = buildDecidedCard(order);
  return { answer: paragraphs, buttons };
}
