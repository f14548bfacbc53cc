import { v, type Infer } from "convex/values";

/** The earlier turns of a conversation that a model gets. Pure. */

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
