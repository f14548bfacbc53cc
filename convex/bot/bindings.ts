import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Doc } from "../_generated/dataModel";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { confirmedCard, endedCard, listCard } from "../alerts/cards";
import { alertsOf, confirm as confirmAlert, findAlert, switchOff } from "../alerts/model";
import { payerOf } from "../lib/limits/callers";
import { dateTime } from "../lib/time";
import { end, vJob } from "../lib/work/jobs";
import { configOf, linkOfAccount, placeIn } from "../messenger/model";
import { dropLink, isLogin, userInSay } from "../messenger/owners";
import { activeShiftsOf } from "../research/model";
import { stopButton } from "../research/cards";
import { freeze, thaw } from "../accounts/model";
import { replaceId } from "../accounts/profile";
import { addRecipient, allListed, removeRecipient } from "../accounts/recipients";
import { decidedCard } from "../wallets/orders/cards";
import { answer } from "../wallets/orders/questions";
import { needsAccount, notice, ONLY_LOGIN, recipientsCard } from "./cards";
import { focusIn } from "./grammar";
import { orReason, putAnswer, reply, type Outcome, type Request } from "./commands";
import { focusNamed, nameOf, READS } from "./reads";
import { vMessage } from "./tables";

/**
 * Commands that need no provider: each is done, and its answer queued, in one transaction, for one update once. They read
 * or they change something.
 */

type Binding = (ctx: MutationCtx, request: Request) => Outcome | Promise<Outcome>;

export const bind = internalMutation({
  args: { ...vMessage.fields, job: vJob, name: v.string(), userId: v.string(), argument: v.string() },
  returns: v.null(),
  handler: async (ctx, { job, name, userId, argument, ...message }) => {
    if (!(await end(ctx, job))) return null;
    const { updateId, sender, tapped } = message;
    const request = { updateId, sender, userId, argument, isTap: tapped !== undefined, now: Date.now() };
    const binding = BINDINGS[name];
    if (binding !== undefined) await putAnswer(ctx, message, await orReason(() => binding(ctx, request)));
    return null;
  },
});

const BINDINGS: Readonly<Record<string, Binding>> = {
  ...READS,

  /** A tap on an alert's button: `set ID`. */
  alert: async (ctx, { userId, argument, isTap }) => {
    const [what = "", which = ""] = argument.split(" ");
    const change = ALERT_TAPS[what];
    if (!isTap || change === undefined) return listCard(await alertsOf(ctx, userId));
    const row = await findAlert(ctx, userId, which);
    return row === null ? GONE : change(ctx, row);
  },

  follow: async (ctx, { sender, userId, argument, now }) => {
    const focus = await focusNamed(ctx, argument, now);
    if (focus === null)
      return reply("Name one token by its symbol, such as ", { command: "follow" }, " BTC.");
    const config = await configOf(ctx, userId);
    const set = placeIn(config?.chatId ?? sender.chatId).chatId;
    // Whether the shift's cards come from this bot to this chat.
    const stoppable = config?.sealedBotToken === undefined && set === sender.chatId;
    const { jobId } = await ctx.runMutation(internal.research.shifts.start, {
      userId,
      signedIn: true,
      stoppable,
      paidBy: payerOf({ userId, signedIn: true, address: null }),
      ...(focus === "" ? {} : { token: focus }),
    });
    // The card at the start of a shift says everything, if it is sent to this chat.
    if (stoppable) return { answer: [] };
    return {
      answer: notice(
        `I am following ${nameOf(focus)} for eight hours: reports come to the chat that you have set.`,
      ),
      buttons: [[stopButton(jobId, focus === "" ? null : focus)]],
    };
  },
  stop: async (ctx, { userId, argument }) => {
    const active = await activeShiftsOf(ctx, userId);
    if (active.length === 0) return reply("You have no research shift running.");
    const token = focusIn(argument);
    const meant = active.filter((one) => argument === "" || one._id === argument || one.focus === token);
    if (meant.length === 0)
      return {
        answer: notice("That shift has ended already. These are running:"),
        buttons: active.map(({ _id, token: of }) => [stopButton(_id, of ?? null)]),
      };
    for (const { _id: jobId } of meant)
      await ctx.runMutation(internal.research.shifts.stop, { userId, jobId });
    return {
      answer: notice(`I no longer follow ${meant.map(({ focus }) => nameOf(focus)).join(" and ")}.`),
      buttons: meant.map(({ focus }) => [
        { text: `Follow ${nameOf(focus)} again`, command: `follow ${focus}`.trim() },
      ]),
    };
  },

  unlink: async (ctx, { sender }) => {
    const link = await linkOfAccount(ctx, sender.messengerId);
    if (link === null) return reply("This account is not linked.");
    if (await isLogin(ctx, link.userId, sender.messengerId)) return reply(...ONLY_LOGIN);
    await dropLink(ctx, link, "account");
    return reply("Unlinked. This chat gets no more of your reports or alerts.");
  },
  freeze: async (ctx, { sender, now }) => {
    const userId = await userInSay(ctx, sender.messengerId, now);
    if (userId === null) return needsAccount("freeze");
    await freeze(ctx, userId, "chat");
    return { answer: [] };
  },
  unfreeze: async (ctx, { userId, sender }) => {
    if (!(await isLogin(ctx, userId, sender.messengerId)))
      return reply("Sign in to the web application to end a freeze.");
    const from = await thaw(ctx, userId, "chat");
    return reply(
      `From ${dateTime(from)} on your account is not frozen any more, unless somebody freezes it again.`,
    );
  },
  newid: async (ctx, { userId, argument, isTap }) => {
    if (!isTap || argument !== "yes")
      return {
        answer: [
          [{ bold: "🔁 A new account id?" }],
          [
            "From then on the old one belongs to nobody: programs and assistants that use it need the new one. Orders that wait for your approval are void. Wallets, settings and keys stay.",
          ],
        ],
        buttons: [[{ text: "🔁 Replace", command: "newid yes" }]],
      };
    const replaced = await replaceId(ctx, userId);
    return reply("Your account id is now ", { bold: replaced.userId });
  },
  recipients: async (ctx, { userId, argument }) => {
    const [, what = "", address = ""] = /^(add|off)\s+(\S{1,64})$/i.exec(argument) ?? [];
    // Every channel of the account hears of it, so that this needs no card of its own.
    if (what.toLowerCase() === "add") await addRecipient(ctx, userId, address);
    if (what.toLowerCase() === "off") await removeRecipient(ctx, userId, address);
    return recipientsCard(await allListed(ctx, userId), Date.now());
  },
  approve: (ctx, request) => decided(ctx, request, "yes"),
  refuse: (ctx, request) => decided(ctx, request, "no"),
};

/** A tap on a question to the owner. */
async function decided(
  ctx: MutationCtx,
  { sender, argument }: Request,
  word: "yes" | "no",
): Promise<Outcome> {
  const decision = await answer(ctx, argument, word, sender.messengerId);
  if (decision === null) return reply("You were not asked that.");
  return { answer: decidedCard(decision.order, decision.standing) };
}

/** What a tap does with an alert. */
const ALERT_TAPS: Readonly<Record<string, (ctx: MutationCtx, row: Doc<"alerts">) => Promise<Outcome>>> = {
  set: async (ctx, row) => confirmedCard(await confirmAlert(ctx, row)),
  once: async (ctx, row) => confirmedCard(await confirmAlert(ctx, row, true)),
  off: async (ctx, row) => endedCard(await switchOff(ctx, row)),
};

/** The answer to a button of an alert that no longer exists. */
const GONE: Outcome = {
  answer: notice("This button no longer works: a proposal is forgotten after a day. Ask again."),
  buttons: [[{ text: "My alerts", command: "alerts" }]],
};
