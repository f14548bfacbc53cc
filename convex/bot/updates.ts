import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, type MutationCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { isSet } from "../lib/env";
import { hasLeft } from "../lib/limits/charges";
import { pseudonymOf } from "../lib/security/crypto";
import { dateTime, SECOND, MINUTE } from "../lib/time";
import { failureHandler, open, rest, underWay, end, vFailure, vJob } from "../lib/work";
import { moveChat } from "../messenger/outbox";
import { codeByHash, codeHash, userOfAccount } from "../messenger/model";
import { walletOf } from "../wallets/model";
import { CODE_SHOWN, FAILED, FLOOD, LATE, notice, PRIVATE_ONLY } from "./cards";
import { commandNamed, orReason, putAnswer, type Outcome } from "./commands";
import { parseCommand, showsCode, type ParsedCommand } from "./commands";
import { vMessage, vOutcome, type Message } from "./commands";

/** Messages to the bot, each from its receipt to its answer. */

/** How often an answer may be interrupted. */
const ATTEMPTS = 3;
/** The time between two looks at research that is under way. */
const POLL_MS = 3 * SECOND;
/** Longer than any research takes; what is not done by then is given up. */
const PATIENCE_MS = 8 * MINUTE;

/** Accepts one message, once: it becomes one job. */
export const receive = internalMutation({
  args: vMessage.fields,
  returns: v.null(),
  handler: async (ctx, message) => {
    const { updateId, sender, text } = message;
    const known = await getOneFrom(ctx.db, "botUpdates", "by_updateId", updateId);
    if (known !== null) return null;
    await ctx.db.insert("botUpdates", { updateId, receivedAt: Date.now() });
    const command = parseCommand(text);
    if (!sender.alone && command !== null && (await withdrawShownCode(ctx, command))) {
      await putAnswer(ctx, message, { answer: notice(PRIVATE_ONLY, CODE_SHOWN) });
      return null;
    }
    if (!isMeant(message, command)) return null;
    const chat = `chat:${sender.chatId}`;
    // A picture says nothing; how to say something is told once an hour.
    if (text === "" && !(await hasLeft(ctx, "botHelp", chat))) return null;
    if (await hasLeft(ctx, "botChat", chat)) await openAnswer(ctx, message, command);
    // A flood is answered once, in a chat of its own.
    else if (sender.alone && (await hasLeft(ctx, "botNotice", chat)))
      await putAnswer(ctx, message, { answer: notice(FLOOD) });
    return null;
  },
});

/** Whether a message can be meant for this bot: in a group, what is said to a bot, or what anybody may ask. */
function isMeant({ sender, to, tapped }: Message, command: ParsedCommand | null): boolean {
  if (sender.alone || tapped !== undefined || to !== undefined) return true;
  if (command === null) return false;
  return command.to !== null || commandNamed(command.name)?.access === "anywhere";
}

async function openAnswer(ctx: MutationCtx, message: Message, command: ParsedCommand | null): Promise<void> {
  const { sender } = message;
  const owners = await ownerAnswer(ctx, message);
  if (owners !== null) return putAnswer(ctx, message, owners);
  const userId = await userOfAccount(ctx, sender.messengerId);
  // Words may need the model, so they do not wait where commands do; a single one is a coin's name.
  const needsModel = command === null ? /\s/.test(message.text.trim()) : /^(?:ask|alert)$/.test(command.name);
  const text = message.tapped === undefined ? withoutCode(message.text, command) : message.text;
  const kept = { ...message, text };
  await open(ctx, internal.bot.desk.answer, kept, {
    queue: needsModel ? "models" : "messages",
    rank: userId === null ? "anonymous" : "signedIn",
    attempts: ATTEMPTS,
    onFailure: failureHandler(internal.bot.updates.failed, kept),
  });
}

/**
 * The words with the hash of a link code in its place, as buttons have it: a code is written down nowhere. Without a key
 * none is valid. What else a link to the bot says is left out.
 */
function withoutCode(text: string, command: ParsedCommand | null): string {
  if (command?.name === "start" && !showsCode(command)) return "/start";
  if (command === null || !showsCode(command) || !isSet("WALLET_ENCRYPTION_KEY")) return text;
  return `/${command.name} ${codeHash(command.argument)}`;
}

/** A code that a whole group has read is invalidated, no matter which bot it was meant for. */
async function withdrawShownCode(ctx: MutationCtx, command: ParsedCommand): Promise<boolean> {
  // Without a key no code is valid.
  if (!showsCode(command) || !isSet("WALLET_ENCRYPTION_KEY")) return false;
  const shown = await codeByHash(ctx, "link", codeHash(command.argument));
  if (shown !== null) await ctx.db.delete("codes", shown._id);
  return shown !== null;
}

/** How a link for an owner starts the bot; the code follows. */
const OWNER_LINK = /^own_([0-9a-f]{24})$/;

/**
 * The answer to a link for an owner, or to the tap that owns; `null` for any other message. It is given at once, so that no
 * job keeps the code.
 */
async function ownerAnswer(ctx: MutationCtx, message: Message): Promise<Outcome | null> {
  const { sender, text, forwarded } = message;
  if (!sender.alone || forwarded) return null;
  const command = parseCommand(text);
  const [, offered] = OWNER_LINK.exec(command?.name === "start" ? command.argument : "") ?? [];
  if (offered !== undefined) return orReason(() => offer(ctx, offered, sender.messengerId));
  if (command?.name === "own") return orReason(() => own(ctx, command.argument, sender.messengerId));
  return null;
}

async function own(ctx: MutationCtx, code: string, messengerId: string): Promise<Outcome> {
  const { from } = await ctx.runMutation(internal.accounts.claims.own, { code, messengerId, isTap: true });
  if (from === null) return { answer: [[{ bold: "🔐 Owned" }], [OWNED]] };
  const later = `The account has a wallet, so it is yours from ${dateTime(from)}, unless somebody who knows its id ends your claim before. Until then everything stays as it is.`;
  return { answer: [[{ bold: "🔐 Not yours yet" }], [later]] };
}

const OWNED =
  "It is yours. From now on, whoever only knows the account id moves none of its money, and changes nothing about where its cards go, without your tap here.";

async function offer(ctx: MutationCtx, code: string, messengerId: string): Promise<Outcome> {
  const link = { code, messengerId, isTap: false };
  const { userId, from } = await ctx.runMutation(internal.accounts.claims.own, link);
  const wallet = await walletOf(ctx, userId, "custody");
  return {
    answer: [
      [{ bold: "🔐 Is this your wallet?" }],
      [wallet === null ? "There is no wallet yet." : { code: wallet.address }],
      [`Its account is called ${pseudonymOf(userId)}.`],
      [
        "If you tap Own, this chat decides: orders with only the account id wait for your tap, and nobody else can own it. Tap it only for a wallet that you, or a tool of yours, have made.",
      ],
      ...(from !== null ? [["It is yours 48 hours after your tap."]] : []),
    ],
    buttons: [[{ text: "🔐 Own", command: `own ${code}` }]],
  };
}

/** Stores an answer, with the end of its job. */
export const settle = change(
  {
    ...vMessage.fields,
    job: vJob,
    /** Whose data is in the answer; `null` for nobody's. */
    userId: v.union(v.string(), v.null()),
    outcome: vOutcome,
  },
  async (ctx, { job, userId, outcome, ...message }) => {
    if (!(await end(ctx, job))) return;
    // An account that has been unlinked since then gets nothing about the user any more.
    if (userId === null || userId === (await userOfAccount(ctx, message.sender.messengerId)))
      await putAnswer(ctx, message, outcome);
  },
);

/** Looks again later, for an answer that waits for research; in the end it is given up. */
export const wait = change({ ...vMessage.fields, job: vJob }, async (ctx, { job, ...message }) => {
  const row = await underWay(ctx, job);
  if (row === null) return;
  if (Date.now() - row._creationTime < PATIENCE_MS) {
    await rest(ctx, job, POLL_MS);
    return;
  }
  await end(ctx, job);
  await putAnswer(ctx, message, { answer: notice(LATE) });
});

/** An answer was cut off. */
export const failed = change({ ...vMessage.fields, ...vFailure }, async (ctx, { isLast, ...given }) => {
  const { updateId, sender, text, forwarded } = given;
  if (isLast) await putAnswer(ctx, { updateId, sender, text, forwarded }, { answer: notice(FAILED) });
});

/** A group has become a supergroup, under another id. */
export const moved = change({ from: v.string(), to: v.string() }, async (ctx, { from, to }) => {
  await moveChat(ctx, from, to);
});
