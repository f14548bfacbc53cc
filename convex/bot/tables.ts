import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { vButton, vSpan, messengerTables, vPicture } from "../messenger/tables";
import { vSymbol } from "../wallets/tables";
import { older, type RecordsOf } from "../lib/records/records";

/** Who wrote to the bot, and where. */
export const vSender = v.object({
  chatId: v.string(),
  /** A chat of the sender with the bot alone. */
  alone: v.boolean(),
  /** The messenger's id of the account. */
  messengerId: v.string(),
  messengerUsername: v.optional(v.string()),
});
export type Sender = Infer<typeof vSender>;

/** The message below which a button was tapped. */
export const vTapped = v.object({
  messageId: v.number(),
  /** Whether it is a text, which another text can replace; otherwise it is a picture. */
  isText: v.boolean(),
});
export type Tapped = Infer<typeof vTapped>;

/** What somebody orders in their chat; the amount in digits of the smallest unit. */
const vOrder = v.union(
  v.object({ kind: v.literal("send"), token: vSymbol, toAddress: v.string(), amount: v.string() }),
  v.object({ kind: v.literal("swap"), fromToken: vSymbol, toToken: vSymbol, amount: v.string() }),
);
export type Order = Infer<typeof vOrder>;

/** The work of a command after its notice. */
const vWork = v.union(
  /** A command in a group that names a bot: it is answered when the bot is this one. */
  v.object({ kind: v.literal("addressed"), to: v.string(), text: v.string() }),
  /** `then` is the command for which it was made; empty or absent without one. */
  v.object({ kind: v.literal("connect"), codeHash: v.string(), then: v.optional(v.string()) }),
  v.object({ kind: v.literal("portfolio"), userId: v.string() }),
  /** `focus` is "" for the whole market. */
  v.object({ kind: v.literal("research"), focus: v.string() }),
  /** `isPlain`: it came without a command, so it may also ask for an alert. */
  v.object({ kind: v.literal("ask"), question: v.string(), isPlain: v.optional(v.boolean()) }),
  /** Why an alert has fired. */
  v.object({ kind: v.literal("why"), userId: v.string(), alertId: v.string() }),
  v.object({ kind: v.literal("order"), userId: v.string(), order: vOrder }),
  /** Prices that are not stored yet are fetched, and `text` is answered then. */
  v.object({ kind: v.literal("prices"), tokens: v.array(v.string()), text: v.string() }),
  /** `text` is the wish for an alert, in the user's words. */
  v.object({ kind: v.literal("alert"), userId: v.string(), text: v.string() }),
);
export type Work = Infer<typeof vWork>;

/** An answer in progress: the input of its work. */
export const vBotJob = v.object({
  sender: vSender,
  /** The linked user who asked; absent if the account was not linked. */
  userId: v.optional(v.string()),
  work: vWork,
  /** The card with its notice, which the answer replaces. */
  notice: v.optional(v.id("messages")),
  /** If there is none, the message with the button that was tapped. */
  replaces: messengerTables.messages.validator.fields.replaces,
});
export type BotJob = Infer<typeof vBotJob>;

/** The outcome of a step. */
export const vStep = v.union(
  v.object({
    kind: v.literal("answer"),
    paragraphs: v.array(v.array(vSpan)),
    buttons: v.optional(v.array(v.array(vButton))),
    picture: v.optional(vPicture),
  }),
  /** The research is under way. */
  v.object({ kind: v.literal("wait") }),
  /** A command for this bot, which is answered as if it came now. */
  v.object({ kind: v.literal("respond"), text: v.string() }),
  v.object({ kind: v.literal("drop") }),
);
export type Step = Infer<typeof vStep>;

export const botTables = {
  /**
   * Updates that the bot has received, so that a repeated one changes nothing. Written by `bot/updates`; deleted after
   * two days, since the messenger repeats an update for one.
   */
  botUpdates: defineTable({ updateId: v.number(), receivedAt: v.number() })
    .index("by_updateId", ["updateId"])
    .index("by_receivedAt", ["receivedAt"]),
};

export const botRecords: RecordsOf<typeof botTables> = {
  botUpdates: {
    keep: { days: 2, why: "the messenger repeats an update for a day", aged: older("receivedAt") },
  },
};
