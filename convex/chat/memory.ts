import { v, type Infer } from "convex/values";
import { internalQuery, type QueryCtx } from "../_generated/server";
import { change } from "../lib/changes";
import { SECURITY_MESSAGE } from "../lib/security/keyRequests";
import { DAY } from "../lib/time";
import { exchangesOf, recordRun, startedWith } from "../runs/model";

/** The earlier turns of a conversation: those a client sends, and the exchanges of the last day, stored as the user's runs. */

export const vTurn = v.object({
  role: v.union(v.literal("user"), v.literal("assistant")),
  content: v.string(),
});
export type Turn = Infer<typeof vTurn>;

/** How much of a conversation is passed on, in characters. */
const HISTORY_CHARS = 24_000;

/** The last turns that fit, oldest first; if a single turn is too long, its end. */
export function lastTurns(turns: readonly Turn[], limit = HISTORY_CHARS): Turn[] {
  let room = limit;
  const kept: Turn[] = [];
  for (const { role, content } of turns.toReversed()) {
    if (content.trim() === "") continue;
    if (content.length > room) {
      if (kept.length === 0) kept.push({ role, content: `…${endOf(content, room - 1)}` });
      break;
    }
    room -= content.length;
    kept.unshift({ role, content });
  }
  return kept;
}

/** The last characters of a text, without cutting one. */
function endOf(text: string, length: number): string {
  return text.slice(-length).replace(/^\p{Surrogate}/u, "");
}

const REMEMBERED_MS = DAY;
const EXCHANGES = 6;
/** It is part of the price of every run, so it is shorter than the history that a client may send. */
const REMEMBERED_CHARS = 8_000;
const TITLE_LENGTH = 80;

/** The turns that an agent continues from, oldest first, without refusals to show a key. */
export async function rememberedTurns(
  ctx: QueryCtx,
  userId: string,
  agentId: string,
  now: number,
): Promise<Turn[]> {
  const since = now - REMEMBERED_MS;
  const exchanges = await exchangesOf(ctx, { userId, agentId, since, limit: EXCHANGES });
  const turns = exchanges
    .filter(({ answer }) => answer !== SECURITY_MESSAGE)
    .flatMap(({ question, answer }): Turn[] => [
      { role: "user", content: question },
      { role: "assistant", content: answer },
    ]);
  return lastTurns(turns, REMEMBERED_CHARS);
}

export const turns = internalQuery({
  args: { userId: v.string(), agentId: v.string(), now: v.number() },
  returns: v.array(vTurn),
  handler: (ctx, { userId, agentId, now }) => rememberedTurns(ctx, userId, agentId, now),
});

/** Stores an exchange outside the web application, once per key; it cost no credits. */
export const keep = change(
  {
    userId: v.string(),
    agentId: v.string(),
    question: v.string(),
    reply: v.object({ answer: v.string(), model: v.string(), tokensUsed: v.number() }),
    key: v.string(),
  },
  async (ctx, { userId, agentId, question, reply, key }) => {
    if ((await startedWith(ctx, userId, key)) !== null) return;
    const now = Date.now();
    await recordRun(ctx, {
      userId,
      agentId,
      title: titleOf(question),
      status: "completed",
      startedAt: now,
      finishedAt: now,
      question,
      ...reply,
      credits: 0,
      idempotencyKey: key,
    });
  },
);

/** The beginning of a question, without cutting a character. */
export function titleOf(question: string): string {
  if (question.length <= TITLE_LENGTH) return question;
  return `${question.slice(0, TITLE_LENGTH - 1).replace(/\p{Surrogate}$/u, "")}…`;
}
