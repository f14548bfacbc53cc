import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { Kind } from "../lib/facts";
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
import { namesOf } from "../lib/money/names";
import { MAJORS } from "../lib/money/tokens";
import { deadlines } from "../lib/outside/deadlines";
import { counted } from "../lib/outside/providerCalls";
import { ownWords } from "../lib/text/prose";
import { iso, roundedNow } from "../lib/time";
import { worker } from "../lib/work/desk";
import { gather } from "../market/collectors";
import { coinsNamed, LISTS } from "../market/facts";
import type { Wanted } from "../market/tables";
import { complete } from "../providers/models/gateway";
import { ANSWER_TOKENS, isAgent, systemPrompt } from "./agents";
import { FRESH_MS, portfolioOf, type Context } from "./context";
import { vTurn, type Turn } from "./runs";

/**
 * Answers questions with live context. What an answer may state are numbered facts and this service's own data; every
 * other figure is marked as the model's.
 */

export type Question = {
  agentId: string;
  question: string;
  /** Earlier turns, oldest first. */
  messages: readonly Turn[];
  caller: Caller;
  /** Whether the answer may use the user's own research and holdings: the caller counts as that user. */
  personal: boolean;
};

export type Reply = { answer: string; sources: CitedSource[]; model: string; tokensUsed: number };

/** Answers one question of a conversation. For actions. */
export const answer = counted(
  async (ctx, { agentId, question, messages, caller, personal }: Question): Promise<Reply> => {
    if (!isAgent(agentId)) throw new Error("There is no agent with this id");
    const startedAt = performance.now();
    const own = personal ? (caller.userId ?? null) : null;
    const [context, portfolio] = await Promise.all([
      contextOf(ctx, own, agentId === "news-default"),
      own === null ? null : portfolioOf(ctx, own),
    ]);
    const sources = citable(question, context, portfolio);
    const completion = await complete(ctx, {
      messages: [
        { role: "system", content: systemPrompt(agentId, iso(Date.now()), sources.map(citableLine)) },
        ...messages,
        { role: "user", content: question },
      ],
      maxTokens: ANSWER_TOKENS,
      // The time for the context is taken off the model's: the caller has one deadline.
      timeoutMs: Math.max(1, deadlines.llmInteractive - Math.round(performance.now() - startedAt)),
      attempts: 1,
      payer: payerOf(caller),
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
    const answered = await answer(ctx, { ...turn, caller, personal: true });
    const reply = pick(answered, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.finish, { runId, job, reply });
  },
);

/** What is stored; old lists of coins, and for news old headlines, are renewed first, as far as that ends within the wait. */
async function contextOf(ctx: ActionCtx, userId: string | null, isNews: boolean): Promise<Context> {
  const wanted: Wanted[] = [...LISTS, ...(isNews ? [{ collector: "news" as const, subject: "" }] : [])];
  const read = () => ctx.runQuery(internal.chat.context.stored, { userId, wanted, now: roundedNow() });
  const stored = await read();
  if (stored.old.length === 0) return stored;
  await gather(ctx, stored.old, { freshMs: FRESH_MS, waitMs: deadlines.chatContext });
  return read();
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
/** How many coins of a question are covered, besides the majors; of the largest there are price and change. */
const NAMED = 4;
const LARGEST = 10;

/** The facts that an answer to this question may cite, and the rest of its context, line by line. */
function citable(question: string, { facts, own }: Context, portfolio: string | null): Source[] {
  const coins = [...new Set([...coinsNamed(question, facts).slice(0, NAMED), ...MAJORS])];
  const largest = facts.flatMap(({ subject, kind, value }) =>
    kind === "rank" && Number(value) <= LARGEST && !coins.includes(subject) ? [subject] : [],
  );
  const of = (kinds: readonly Kind[]) => (subject: string) =>
    kinds.flatMap((kind) => facts.find((fact) => fact.subject === subject && fact.kind === kind) ?? []);
  const observed = [
    ...coins.flatMap(of(KINDS)),
    ...facts.filter(({ kind, value }) => kind === "trendingPlace" && Number(value) <= SEARCHED),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, HEADLINES),
    ...largest.flatMap(of(["price", "change24h"])),
  ].map((fact) => sourceOfFact(fact));
  const wallet = { name: "this user's own wallet, read on chain", says: portfolio ?? "" };
  const told = [...own, ...(portfolio === null ? [] : [wallet])];
  const observedAt = Date.now();
  return numbered([...observed, ...told.map((one) => sourceOfWords({ ...one, observedAt }))]);
}

/** The answer with its figures printed from facts and its sources named; a figure that is in no fact is marked `[model]`. */
function groundAnswer(text: string, ledger: Ledger): Pick<Reply, "answer" | "sources"> {
  const kept: number[] = [];
  const { text: words } = settle(text, ledger, { kept, left: "mark" });
  const sources = citedOf(kept, ledger);
  const named = sources.map(({ id, name }) => `[${id}] ${name}`).join(", ");
  return { answer: named === "" ? words : `${words}\n\nSources: ${named}`, sources };
}
