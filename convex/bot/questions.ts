import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internalQuery } from "../_generated/server";
import { vChatTurn, type ChatTurn } from "../chat/runs";
import { MINUTE } from "../lib/time";
import { defineMutation } from "../platform/changes";
import { botTables } from "./tables";

/** The bot's own question to a chat without a user, whose exchanges are stored nowhere else. */

const ANSWERED_WITHIN_MS = 10 * MINUTE;

/** Keeps an exchange whose answer asks something; any other one ends what was open. */
export const keepOpen = defineMutation(
  botTables.botQuestions.validator.omit("askedAt").fields,
  async (ctx, exchange) => {
    const { messengerId, answer } = exchange;
    const former = await getOneFrom(ctx.db, "botQuestions", "by_messengerId", messengerId);
    if (former !== null) await ctx.db.delete("botQuestions", former._id);
    if (/[?？؟]/.test(answer)) await ctx.db.insert("botQuestions", { ...exchange, askedAt: Date.now() });
  },
);

/** The turns of a question that is not older than ten minutes. @param args.now Epoch ms. */
export const readOpen = internalQuery({
  args: { messengerId: v.string(), now: v.number() },
  returns: v.array(vChatTurn),
  handler: async (ctx, { messengerId, now }): Promise<ChatTurn[]> => {
    const row = await getOneFrom(ctx.db, "botQuestions", "by_messengerId", messengerId);
    if (row === null || row.askedAt < now - ANSWERED_WITHIN_MS) return [];
    return [
      { role: "user", content: row.question },
      { role: "assistant", content: row.answer },
    ];
  },
});
