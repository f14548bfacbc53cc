import { defineTable } from "convex/server";
import { v } from "convex/values";
import { indexOlderThan, type RecordsOf } from "../platform/records";

/** A question to the assistant and its answer, to be stored with the answer's card. */
export const vExchange = v.object({
  question: v.string(),
  answer: v.string(),
  model: v.string(),
  tokensUsed: v.number(),
});

export const botTables = {
  /**
   * Updates that the bot has received: the messenger may deliver one again within a day. Written by `bot/updates`; deleted
   * after two days.
   */
  botUpdates: defineTable({ updateId: v.number(), receivedAt: v.number() })
    .index("by_updateId", ["updateId"])
    .index("by_receivedAt", ["receivedAt"]),

  /** The last question of the bot to a chat without a user. Written by `bot/questions`; read for ten minutes. */
  botQuestions: defineTable({
    messengerId: v.string(),
    question: v.string(),
    answer: v.string(),
    askedAt: v.number(),
  })
    .index("by_messengerId", ["messengerId"])
    .index("by_askedAt", ["askedAt"]),
};

export const botRecords: RecordsOf<typeof botTables> = {
  botUpdates: {
    keep: { days: 2, why: "the messenger repeats an update for a day", aged: indexOlderThan("receivedAt") },
  },
  botQuestions: {
    keep: {
      days: 1,
      why: "it is answered within ten minutes or not at all",
      aged: indexOlderThan("askedAt"),
    },
  },
};
