import { pick } from "convex-helpers";
import { internal } from "../../_generated/api";
import { DEFAULT_AGENT } from "../../chat/agents";
import { answer as answerQuestion } from "../../chat/replies";
import { required } from "../../lib/env";
import { charge } from "../../lib/limits/charges";
import { sha256Hex } from "../../lib/security/digests";
import { roundedNow } from "../../lib/time";
import { linkedCitations } from "../../messenger/citations";
import { chatUser } from "../../messenger/model";
import { botUsername } from "../../providers/messenger";
import { alertIn } from "./alerts";
import { answerOf, type Worker, type Workers } from "./work";

/** The bot's work on plain words. */

const ask: Worker<"ask"> = async (ctx, { workId, sender, userId, work }) => {
  await charge(ctx, "chat", { userId: userId ?? `messenger:${sender.messengerId}`, address: null });
  const isAlert = work.isPlain === true && sender.alone;
  const whose = userId ?? chatUser(sender.messengerId);
  const alert = isAlert ? await alertIn(ctx, whose, work.question) : null;
  if (alert !== null) return alert;
  required("LLM_GATEWAY_API_KEY");
  // The account is the user's own. A group gets nothing that belongs to one person, and its conversation is not kept.
  const own = sender.alone && userId !== undefined ? { userId, agentId: DEFAULT_AGENT } : null;
  const args = own === null ? null : { ...own, now: roundedNow() };
  const response = await answerQuestion(ctx, {
    agentId: DEFAULT_AGENT,
    question: work.question,
    messages: args === null ? [] : await ctx.runQuery(internal.chat.memory.turns, args),
    caller:
      userId === undefined
        ? { identity: sha256Hex(`messenger:${sender.messengerId}`), address: null }
        : { userId, signedIn: true, address: null },
    personal: sender.alone,
    proven: own !== null,
  });
  if (own !== null) {
    const reply = pick(response, ["answer", "model", "tokensUsed"]);
    const exchange = { ...own, question: work.question, reply, key: `ask:${workId}` };
    await ctx.runMutation(internal.chat.memory.keep, exchange);
  }
  const paragraphs = response.answer.split(/\n\s*\n/);
  return answerOf(paragraphs.map((paragraph) => linkedCitations(paragraph, response.sources)));
};

export const questionWorkers: Workers<"ask" | "addressed"> = {
  ask,
  addressed: async (_ctx, { work: { to, text } }) => {
    const name = await botUsername(required("MESSENGER_BOT_TOKEN"));
    return name?.toLowerCase() === to ? { kind: "respond", text } : { kind: "drop" };
  },
};
