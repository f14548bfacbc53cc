import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { failureOf } from "../lib/errors";
import type { Fact, Kind } from "../lib/facts";
import {
  citableLine,
  citedOf,
  counted as numbered,
  ledgerOf,
  sourceOfFact,
  sourceOfWords,
  type CitedSource,
  type Ledger,
  type Source,
} from "../lib/figures/ledger";
import { settle } from "../lib/figures/settle";
import { payerOf, type Caller } from "../lib/limits/callers";
import { purseOf } from "../lib/limits/costs";
import { namesOf } from "../lib/money/names";
import { MAJORS } from "../lib/money/tokens";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/providerCalls";
import { ownWords } from "../lib/text/prose";
import { iso, MINUTE, roundedNow } from "../lib/time";
import { worker } from "../lib/work/desk";
import { renewMarket } from "../market/actions";
import { gather } from "../market/collectors";
import { coinsNamed } from "../market/facts";
import { complete } from "../providers/models/gateway";
import { memoryOf } from "../providers/models/structure";
import { ANSWER_TOKENS, isAgent, systemPrompt } from "./agents";
import { portfolioOf, type Context } from "./context";
import { vTurn, type Turn } from "./memory";

/**
 * Answers questions with live context. What an answer may state are numbered facts and this service's own data; every
 * other figure is marked as the model's.
 */

/** Chat uses market figures of this age; older ones are refreshed while the caller waits a moment. */
const MARKET_FRESH_MS = 5 * MINUTE;
const NEWS_FRESH_MS = 15 * MINUTE;

export type Question = {
  agentId: string;
  question: string;
  /** Earlier turns, oldest first. */
  messages: readonly Turn[];
  caller: Caller;
  /** Whether the answer may use the user's own research: the caller counts as that user. */
  personal: boolean;
  /** Whether it may also use their wallet's holdings: the caller has proved to be that user. */
  proven: boolean;
};

type Grounded = {
  answer: string;
  sources: CitedSource[];
  checked: { figures: number; cited: number; unproven: number };
};
export type Reply = Grounded & { model: string; tokensUsed: number };

/** Answers one question of a conversation. For actions. */
export const answer = counted(
  async (ctx, { agentId, question, messages, caller, personal, proven }: Question): Promise<Reply> => {
    if (!isAgent(agentId)) throw new Error("There is no agent with this id");
    const startedAt = performance.now();
    const own = caller.userId ?? null;
    const [context, portfolio] = await Promise.all([
      contextOf(ctx, personal ? own : null, agentId === "news-default"),
      proven && own !== null ? portfolioOf(ctx, own) : null,
    ]);
    const sources = citable(question, context, portfolio);
    const told = { market: context.market?.told ?? null, facts: sources.map(citableLine) };
    const completion = await complete({
      messages: [
        { role: "system", content: systemPrompt(agentId, iso(Date.now()), told) },
        ...messages,
        { role: "user", content: question },
      ],
      maxTokens: ANSWER_TOKENS,
      // The time for the context is taken off the model's: the caller has one deadline.
      timeoutMs: Math.max(1, deadlines.llmInteractive - Math.round(performance.now() - startedAt)),
      attempts: 1,
      purse: purseOf(payerOf(caller)),
      memory: memoryOf(ctx),
    });
    const { text, model, tokensUsed } = completion;
    // Other people's words in the prompt do not make a link trustworthy, for example a headline's.
    const given = [question, ...messages.map(({ content }) => content), portfolio ?? ""].join("\n");
    const ledger = ledgerOf(sources, Date.now(), { names: namesOf(context.facts), question });
    return { ...groundAnswer(ownWords(text, given).trim(), ledger), model, tokensUsed };
  },
);

/** Answers a run that a user has paid for. */
export const answerRun = worker(
  {
    runId: v.id("agentRuns"),
    userId: v.string(),
    agentId: v.string(),
    question: v.string(),
    messages: v.array(vTurn),
  },
  async (ctx, { runId, job, userId, ...turn }) => {
    const caller = { userId, address: null, signedIn: true };
    const answered = await answer(ctx, { ...turn, caller, personal: true, proven: true });
    const reply = pick(answered, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.finish, { runId, job, reply });
  },
);

/** What is stored; an old market, or for news old headlines, are renewed first, if that finishes within the wait. */
async function contextOf(ctx: ActionCtx, userId: string | null, isNews: boolean): Promise<Context> {
  const read = () => ctx.runQuery(internal.chat.context.stored, { userId, now: roundedNow() });
  const waitMs = deadlines.chatContext;
  const [stored] = await Promise.all([
    read(),
    isNews ? gather(ctx, [{ collector: "news", subject: "" }], { freshMs: NEWS_FRESH_MS, waitMs }) : null,
  ]);
  const isOld = stored.market === null || Date.now() - stored.market.fetchedAt > MARKET_FRESH_MS;
  if (isOld) {
    try {
      // The service pays: the cost is bounded by the clock, not by the number of callers.
      await renewMarket(ctx, waitMs);
    } catch (error) {
      if (failureOf(error) === null) throw error;
    }
  }
  return isOld || isNews ? read() : stored;
}

const KINDS: readonly Kind[] = [
  "price",
  "lastTrade",
  "change24h",
  "marketCap",
  "volume24h",
  "rank",
  "funding",
  "openInterest",
];
const SEARCHED = 5;
const HEADLINES = 5;
/** How many coins of a question are covered, besides the majors. */
const NAMED = 4;

/** The facts that an answer to this question may cite, and the rest of its context, line by line. */
function citable(question: string, context: Context, portfolio: string | null): Source[] {
  const { facts, signals, whales, research } = context;
  const coins = [...new Set([...coinsNamed(question, facts).slice(0, NAMED), ...MAJORS])];
  const of = (subject: string): Fact[] =>
    KINDS.flatMap((kind) => facts.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const observed = [
    ...coins.flatMap(of),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
  ].map((fact) => sourceOfFact(fact));
  const observedAt = Date.now();
  const own = (name: string, lines: readonly string[]) =>
    lines.map((says) => sourceOfWords({ says, observedAt, name }));
  return numbered([
    ...observed,
    ...own("this service's trading signals", signals),
    ...own("movements this service was told of", whales),
    ...own("this user's research with this service", research),
    ...own("this user's own wallet, read on chain", portfolio === null ? [] : [portfolio]),
  ]);
}

/** The answer with its figures printed from facts and its sources named; a figure that is in no fact is marked `[model]`. */
function groundAnswer(text: string, ledger: Ledger): Grounded {
  const kept: number[] = [];
  const { text: words, figures, leftovers } = settle(text, ledger, { kept, left: "mark" });
  const sources = citedOf(kept, ledger);
  const named = sources.map(({ id, name }) => `[${id}] ${name}`).join(", ");
  const answered = [words, ...(named === "" ? [] : [`Sources: ${named}`])].join("\n\n");
  const unproven = leftovers.length;
  return {
    answer: answered,
    sources,
    checked: { figures: figures + unproven, cited: sources.length, unproven },
  };
}
