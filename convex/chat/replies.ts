import type { ActionCtx } from "../_generated/server";
import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import { unitOf, type Fact, type Kind } from "../lib/facts";
import {
  citableLine,
  citedOf,
  counted as numbered,
  ledgerOf,
  sourceOfFact,
  sourceOfWords,
  type CitedSource,
  type Source,
} from "../lib/figures/ledger";
import { settle } from "../lib/figures/settle";
import { payerOf, type Caller } from "../lib/limits/callers";
import { namesOf } from "../lib/money/coins";
import { deadlines } from "../lib/outside/deadlines";
import { ownWords } from "../lib/text/strings";
import { iso, MINUTE, roundedNow } from "../lib/time";
import { worker } from "../lib/worker";
import { gather } from "../market/collectors";
import { coinsNamed, LISTS } from "../market/facts";
import type { Wanted } from "../market/tables";
import { complete } from "../providers/models/gateway";
import { agentNamed, ANSWER_TOKENS, systemPrompt } from "./agents";
import { holdingsOf, type Context } from "./context";
import { vTurn, type Turn } from "./runs";

/**
 * Answers questions with live context. What an answer may state are numbered facts and this service's own data; every
 * other figure is marked as the model's.
 */

/** What is collected again if it is older, while the caller waits a moment. */
const WANTED: readonly Wanted[] = [...LISTS, { collector: "news", subject: "" }];
const FRESH_MS = 5 * MINUTE;

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
export async function answer(
  ctx: ActionCtx,
  { agentId, question, messages, caller, personal }: Question,
): Promise<Reply> {
  const startedAt = performance.now();
  const userId = personal ? (caller.userId ?? null) : null;
  const [held] = await Promise.all([
    userId === null ? [] : holdingsOf(ctx, userId),
    gather(ctx, WANTED, { freshMs: FRESH_MS, waitMs: deadlines.chatContext }),
  ]);
  const stored = await ctx.runQuery(internal.chat.context.stored, { userId, now: roundedNow() });
  const sources = citable(question, { ...stored, own: [...stored.own, ...held] });
  const system = systemPrompt(agentNamed(agentId), iso(Date.now()), sources.map(citableLine));
  const { text, model, tokensUsed } = await complete(ctx, {
    messages: [{ role: "system", content: system }, ...messages, { role: "user", content: question }],
    maxTokens: ANSWER_TOKENS,
    // The time for the context is taken off the model's: the caller has one deadline.
    timeoutMs: Math.max(1, deadlines.llmInteractive - Math.round(performance.now() - startedAt)),
    attempts: 1,
    payer: payerOf(caller),
  });
  // Other people's words in the prompt do not make a link trustworthy, for example a headline's.
  const given = [question, ...messages.map(({ content }) => content)].join("\n");
  const ledger = ledgerOf(sources, Date.now(), { names: namesOf(stored.facts), question });
  const kept: number[] = [];
  const { text: words } = settle(ownWords(text, given).trim(), ledger, { kept, left: "mark" });
  const cited = citedOf(kept, ledger);
  const named = cited.map(({ id, name }) => `[${id}] ${name}`).join(", ");
  const shown = named === "" ? words : `${words}\n\nSources: ${named}`;
  return { answer: shown, sources: cited, model, tokensUsed };
}

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

/** How many coins of a question are covered, by all their figures; of so many of the largest there are the first ones. */
const NAMED = 4;
const LARGEST = 10;
const FIRST: readonly Kind[] = ["price", "change24h", "marketCap"];
/** How many of the most searched coins, and of the headlines. */
const LISTED = 5;

/** The facts that an answer to this question may cite, and the rest of its context, line by line. */
function citable(question: string, { facts, own }: Context): Source[] {
  const named = coinsNamed(question, namesOf(facts)).slice(0, NAMED);
  const isAmong = (fact: Fact, kind: Kind, most: number) => fact.kind === kind && Number(fact.value) <= most;
  const largest = facts.filter((one) => isAmong(one, "rank", LARGEST)).map(({ subject }) => subject);
  const figures = facts.filter(
    (one) =>
      (named.includes(one.subject) && unitOf(one.kind) !== "text") ||
      (largest.includes(one.subject) && FIRST.includes(one.kind)) ||
      isAmong(one, "trendingPlace", LISTED),
  );
  const headlines = facts.filter(({ kind }) => kind === "headline").slice(0, LISTED);
  const observed = [...figures, ...headlines].map((fact) => sourceOfFact(fact));
  const observedAt = Date.now();
  return numbered([...observed, ...own.map((one) => sourceOfWords({ ...one, observedAt }))]);
}
