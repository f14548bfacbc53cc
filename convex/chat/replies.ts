import type { Infer } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { purseOf } from "../lib/limits/costs";
import { payerOf, type Caller } from "../lib/limits/callers";
import { gather } from "../market/collectors";
import { citableLine, ledgerOf } from "../evidence/text/sources";
import { wantedFor } from "../research/writing/material";
import { namesOf } from "../lib/money/names";
import { deadlines } from "../lib/outside/deadlines";
import { failureOf } from "../lib/errors";
import { ownWords } from "../lib/text/prose";
import { counted } from "../lib/outside/providerCalls";
import { HOUR, iso, MINUTE, roundedNow } from "../lib/time";
import { recentMarket } from "../market/actions";
import { complete, type Message } from "../providers/models/gateway";
import { memoryOf } from "../providers/models/structure";
import { ANSWER_TOKENS, isAgent, systemPrompt } from "./agents";
import { portfolioOf, type Context } from "./context";
import { citable, groundAnswer, type Grounded } from "./grounding";
import type { vTurn } from "./turns";

/** Chat uses market figures of this age; older ones are refreshed while the caller waits a moment. */
const MARKET_FRESH_MS = 5 * MINUTE;
const NEWS_FRESH_MS = 15 * MINUTE;
/** Older facts say nothing about the present. */
const FACTS_GOOD_MS = 2 * HOUR;

export type Question = {
  agentId: string;
  question: string;
  /** Earlier turns, oldest first. */
  messages: readonly Infer<typeof vTurn>[];
  caller: Caller;
  /** Whether the answer may use the user's own research: the caller counts as that user. */
  personal: boolean;
  /** Whether it may also use their wallet's holdings: the caller has proved to be that user. */
  proven: boolean;
};
export type Reply = Grounded & { model: string; tokensUsed: number };

/** Answers one question of a conversation with live context. For actions. */
export const answer = counted(
  async (ctx, { agentId, question, messages, caller, personal, proven }: Question): Promise<Reply> => {
    if (!isAgent(agentId)) throw new Error("There is no agent with this id");
    const startedAt = performance.now();
    const own = caller.userId ?? null;
    const [portfolio] = await Promise.all([
      proven && own !== null ? portfolioOf(ctx, own) : null,
      freshenMarket(ctx),
      agentId === "news-default" ? freshenNews(ctx) : null,
    ]);
    const context: Omit<Context, "portfolio"> = await ctx.runQuery(internal.chat.context.stored, {
      userId: personal ? own : null,
      now: roundedNow(),
    });
    const wanted = { wanted: wantedFor(""), withinMs: FACTS_GOOD_MS, at: roundedNow() };
    const { facts } = await ctx.runQuery(internal.market.collections.latest, wanted);
    const sources = citable(question, facts, { ...context, portfolio }, Date.now());
    const system = systemPrompt(agentId, iso(Date.now()), {
      market: context.market,
      facts: sources.map(citableLine),
    });
    const turns: Message[] = [
      { role: "system", content: system },
      ...messages,
      { role: "user", content: question },
    ];
    // The time for the context is taken off the model's: the caller has one deadline.
    const taken = Math.round(performance.now() - startedAt);
    const timeoutMs = Math.max(1, deadlines.llmInteractive - taken);
    const purse = purseOf(payerOf(caller));
    const prompt = {
      messages: turns,
      maxTokens: ANSWER_TOKENS,
      timeoutMs,
      attempts: 1,
      purse,
      memory: memoryOf(ctx),
    };
    const completion = await complete(prompt);
    const { text, model, tokensUsed } = completion;
    // Other people's words in the prompt do not make a link trustworthy, for example a headline's.
    const given = [question, ...messages.map(({ content }) => content), portfolio ?? ""].join("\n");
    const ledger = ledgerOf(sources, Date.now(), { names: namesOf(facts), question });
    const grounded = groundAnswer(ownWords(text, given).trim(), ledger);
    return { ...grounded, model, tokensUsed };
  },
);

/** Refreshes headlines to at most a quarter of an hour, if that finishes within the wait. */
async function freshenNews(ctx: ActionCtx): Promise<void> {
  const wait = { freshMs: NEWS_FRESH_MS, waitMs: deadlines.chatContext };
  await gather(ctx, [{ collector: "news", subject: "" }], wait);
}

/** Refreshes the market if it is old, and waits a moment. Chat continues without it, whatever happens. */
async function freshenMarket(ctx: ActionCtx): Promise<void> {
  try {
    // The service pays: the cost is bounded by the clock, not by the number of callers.
    const wait = { freshMs: MARKET_FRESH_MS, waitMs: deadlines.chatContext, forService: true };
    await recentMarket(ctx, wait);
  } catch (error) {
    if (failureOf(error) === null) throw error;
  }
}
