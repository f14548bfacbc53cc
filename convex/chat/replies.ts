import { v } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { failureOf } from "../lib/errors";
import type { Caller } from "../lib/limits";
import { counted } from "../lib/providerCalls";
import { awaitRefresh } from "../lib/refreshes";
import { iso, MINUTE } from "../lib/time";
import { describeMarket, latestSnapshot } from "../market/model";
import { vMarketFigures } from "../market/tables";
import { complete, type Message } from "../providers/llm";
import { describeResearch } from "../research/model";
import { ANSWER_TOKENS, isAgent, systemPrompt } from "./agents";

/** Chat takes figures this young as they are; older ones are refreshed while the caller waits a moment. */
const MARKET_FRESH_MS = 5 * MINUTE;

export type Question = {
  agentId: string;
  question: string;
  /** Earlier turns, oldest first. */
  messages: readonly { role: "user" | "assistant"; content: string }[];
  caller: Caller;
  /** Whether the user's own research may be told: the caller is that user. */
  personal: boolean;
};
export type Reply = { answer: string; model: string; tokensUsed: number };

/** Answers one question of a conversation with live context. For actions. */
export const answer = counted(
  async (ctx, { agentId, question, messages, caller, personal }: Question): Promise<Reply> => {
    if (!isAgent(agentId)) throw new Error("The caller checks the agent's id");
    const startedAt = performance.now();
    await freshenMarket(ctx, caller);
    const context = await ctx.runQuery(internal.chat.replies.context, {
      userId: personal ? (caller.userId ?? null) : null,
    });
    const system = systemPrompt(agentId, {
      nowIso: iso(Date.now()),
      market: context.market === null ? null : describeMarket(context.market),
      research: context.research,
    });
    const turns: Message[] = [
      { role: "system", content: system },
      ...messages,
      { role: "user", content: question },
    ];
    // What the context took is taken off the model's time: the caller's deadline is one.
    const taken = Math.round(performance.now() - startedAt);
    const timeoutMs = Math.max(1, deadlines.llmInteractive - taken);
    const completion = await complete({ messages: turns, maxTokens: ANSWER_TOKENS, timeoutMs, attempts: 1 });
    const { text, model, tokensUsed } = completion;
    return { answer: text.trim(), model, tokensUsed };
  },
);

/** What an answer is grounded in: the market as last stored, and the user's own research. */
export const context = internalQuery({
  args: { userId: v.union(v.string(), v.null()) },
  returns: v.object({
    market: v.union(v.object({ fetchedAt: v.number(), figures: vMarketFigures }), v.null()),
    research: v.union(v.string(), v.null()),
  }),
  handler: async (ctx, { userId }) => {
    const snapshot = await latestSnapshot(ctx, "");
    return {
      market: snapshot === null ? null : { fetchedAt: snapshot.fetchedAt, figures: snapshot.figures },
      research: userId === null ? null : await describeResearch(ctx, userId),
    };
  },
});

/** Refreshes the market when it has aged, and waits for it a moment. Chat goes on without it, whatever happens. */
async function freshenMarket(ctx: ActionCtx, caller: Caller): Promise<void> {
  const stored = await ctx.runQuery(internal.market.snapshots.current, { focus: "" });
  if (stored !== null && Date.now() - stored.fetchedAt < MARKET_FRESH_MS) return;
  try {
    const ticket = await ctx.runMutation(internal.market.snapshots.begin, { focus: "", caller });
    await awaitRefresh(ctx, ticket, AbortSignal.timeout(deadlines.chatContext));
  } catch (error) {
    if (failureOf(error) === null) throw error;
  }
}
