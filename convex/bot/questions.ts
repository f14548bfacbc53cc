import { v, type Infer } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internalMutation, type MutationCtx, type QueryCtx } from "../_generated/server";
import { DEFAULT_AGENT } from "../chat/agents";
import { listRememberedTurns, storeExchange, vChatTurn, type ChatTurn } from "../chat/runs";
import { MINUTE } from "../lib/time";
import { refuseBeyond } from "../platform/limits/budget";
import { toBillingSubject, vCaller } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import type { vExchange } from "./tables";

/**
 * Questions to the assistant in private chats: a user's are stored as their runs; of a chat without a user nothing is stored
 * but the bot's own question to it, for some minutes.
 */

const ANSWERED_WITHIN_MS = 10 * MINUTE;

/** The private chat, and its linked user; "" for none. */
const vAsker = v.object({ messengerId: v.string(), userId: v.string() });
type Asker = Infer<typeof vAsker>;

/**
 * Counts a question before a model is asked.
 * @param args.asker `null` for a group, which gets nothing personal, and whose conversation is not stored.
 * @returns The earlier turns of the conversation.
 * @throws AppError `rate_limited`
 */
export const beginQuestion = internalMutation({
  args: { caller: vCaller, asker: v.union(vAsker, v.null()) },
  returns: v.array(vChatTurn),
  handler: async (ctx, { caller, asker }) => {
    await charge(ctx, "question", caller);
    await refuseBeyond(ctx, toBillingSubject(caller));
    if (asker === null) return [];
    const now = Date.now();
    const { userId, messengerId } = asker;
    return userId === ""
      ? readOpenQuestion(ctx, messengerId, now)
      : listRememberedTurns(ctx, userId, DEFAULT_AGENT, now);
  },
});

/** The turns of a question that is not older than ten minutes. @param now Epoch ms. */
async function readOpenQuestion(ctx: QueryCtx, messengerId: string, now: number): Promise<ChatTurn[]> {
  const row = await getOneFrom(ctx.db, "botQuestions", "by_messengerId", messengerId);
  if (row === null || row.askedAt < now - ANSWERED_WITHIN_MS) return [];
  return [
    { role: "user", content: row.question },
    { role: "assistant", content: row.answer },
  ];
}

/** Stores an exchange, once per key; of a chat without a user only one whose answer asks something. */
export async function saveExchange(
  ctx: MutationCtx,
  { userId, messengerId }: Asker,
  { question, ...reply }: Infer<typeof vExchange>,
  key: string,
): Promise<void> {
  if (userId !== "") return storeExchange(ctx, { userId, agentId: DEFAULT_AGENT, question, reply, key });
  const former = await getOneFrom(ctx.db, "botQuestions", "by_messengerId", messengerId);
  if (former !== null) await ctx.db.delete("botQuestions", former._id);
  const { answer } = reply;
  if (/[?？؟]/.test(answer))
    await ctx.db.insert("botQuestions", { messengerId, question, answer, askedAt: Date.now() });
}
