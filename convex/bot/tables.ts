import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { older, type RecordsOf } from "../lib/records/records";
import { vButton, vPicture, vSpan } from "../messenger/tables";

/** Who wrote to the bot, and where. */
const vSender = v.object({
  chatId: v.string(),
  /** The topic in the chat. */
  threadId: v.optional(v.number()),
  /** A chat of the sender with the bot alone. */
  alone: v.boolean(),
  /** The messenger's id of the account; of the group where it speaks for itself (an anonymous admin). */
  messengerId: v.string(),
  messengerUsername: v.optional(v.string()),
});
export type Sender = Infer<typeof vSender>;

/** A message to the bot, or a tapped button as if its command had been typed. */
export const vMessage = v.object({
  updateId: v.number(),
  sender: vSender,
  /** "" for a picture or a recording without words. */
  text: v.string(),
  /** Forwarded words of somebody else. */
  forwarded: v.boolean(),
  /** The message below which a button was tapped. */
  tapped: v.optional(v.object({ messageId: v.number(), isPicture: v.boolean() })),
});
export type Message = Infer<typeof vMessage>;

/** What is answered: nothing, if there are no paragraphs. */
export const vOutcome = v.object({
  answer: v.array(v.array(vSpan)),
  buttons: v.optional(v.array(v.array(vButton))),
  picture: v.optional(vPicture),
});

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
