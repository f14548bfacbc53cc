import type { ActionCtx } from "../_generated/server";
import { v } from "convex/values";
import { pick } from "convex-helpers";
import { internal } from "../_generated/api";
import { getUnit, type CitedSource, type Fact, type FactKind, type Source } from "../figures/facts";
import {
  listCited,
  numberSources,
  buildCitationIndex,
  toSource,
  toStatementSource,
} from "../figures/citations";
import { resolveFigures } from "../figures/placeholders";
import { toBillingSubject, type Caller } from "../platform/limits/callers";
import { findCoins, indexNames } from "../figures/mentions";
import { deadlines } from "../platform/outside/deadlines";
import { removeForeignLinks } from "../lib/text/markup";
import { MINUTE, getRoundedNow } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { collectFacts } from "../market/collectors";
import { LISTS, withoutRepeats } from "../market/facts";
import type { CollectionRequest } from "../market/tables";
import { answerCaller, complete } from "../providers/models/gateway";
import { groupBy } from "../lib/objects";
import { findAgent, ANSWER_TOKENS, buildConversation, PROPOSAL } from "./agents";
import { dropClaims } from "./claims";
import { OWN_RESEARCH, readHoldings, type Context } from "./context";
import { vChatTurn, type ChatTurn } from "./runs";

/**
 * Answers questions with live context. An answer may state numbered facts and this service's own data; every other
 * figure is marked as the model's.
 */

/** The collections of every answer: collected again if older than `FRESH_MS`, while the caller waits a moment. */
const COLLECTED: readonly CollectionRequest[] = [...LISTS, { collector: "news", subject: "" }];
const FRESH_MS = 5 * MINUTE;

export type ChatQuestion = {
  agentId: string;
  question: string;
  /** Earlier turns, oldest first. */
  messages: readonly ChatTurn[];
  caller: Caller;
  /** Whether the answer may use the user's own research and holdings; true only for an authorized caller. */
  personal: boolean;
  /** The functions of the bot in which it is asked, a line for each. */
  functions?: string;
};

/** `proposed`: a function of the bot with its words, as the model wrote it, unchecked. */
export type ChatReply = {
  answer: string;
  sources: CitedSource[];
  model: string;
  tokensUsed: number;
  proposed: string | null;
};

/** The answer in place of one that only claimed to have acted. */
export const NOTHING_DONE = "Nothing was done: words alone set, change and move nothing here.";

/**
 * Answers one question of a conversation. For actions.
 * @throws AppError `invalid_request` if the model's provider refuses this question; `upstream`.
 */
export async function answerChat(
  ctx: ActionCtx,
  { agentId, question, messages, caller, personal, functions }: ChatQuestion,
): Promise<ChatReply> {
  const startedAt = performance.now();
  const userId = personal ? (caller.userId ?? null) : null;
  const [held] = await Promise.all([
    userId === null ? [] : readHoldings(ctx, userId),
    collectFacts(ctx, COLLECTED, { freshMs: FRESH_MS, waitMs: deadlines.chatContext }),
  ]);
  const stored = await ctx.runQuery(internal.chat.context.readContext, { userId, now: getRoundedNow() });
  const sources = listCitableSources(question, { ...stored, statements: [...stored.statements, ...held] });
  const conversation = { question, turns: messages, sources, now: Date.now(), functions };
  const completion = complete(ctx, {
    messages: buildConversation(findAgent(agentId), conversation),
    maxTokens: ANSWER_TOKENS,
    // The caller has one deadline: subtract the time spent on the context.
    timeoutMs: Math.max(1, deadlines.llmInteractive - Math.round(performance.now() - startedAt)),
    attempts: 1,
    billTo: toBillingSubject(caller),
  });
  const { text, model, tokensUsed } = await answerCaller(completion);
  // Only links that the caller has sent are trusted, not those in other texts of the prompt, such as headlines.
  const given = [question, ...messages.map(({ content }) => content)].join("\n");
  const index = buildCitationIndex(sources, Date.now(), { names: indexNames(stored.facts), question });
  const kept: number[] = [];
  const lines = text.trim().split("\n");
  const [, proposed = null] =
    functions === undefined ? [] : (PROPOSAL.exec(lines.at(-1)?.trim() ?? "") ?? []);
  const said = lines.filter((line) => functions === undefined || !PROPOSAL.test(line.trim())).join("\n");
  const research = sources.filter(({ fact }) => fact.source === OWN_RESEARCH).map(({ id }) => `f${id}`);
  const isProven = (sentence: string) =>
    /\b(?:research|shift|report)/i.test(sentence) &&
    (sentence.match(/\bf\d+\b/g) ?? []).some((id) => research.includes(id));
  const honest = dropClaims(removeForeignLinks(said, given), isProven);
  const { text: resolved } = resolveFigures(honest, index, { kept, left: "mark" });
  const cited = listCited(kept, index);
  const byName = groupBy(cited, ({ name }) => name);
  const sourceNames = Array.from(
    byName,
    ([name, of]) => `${of.map(({ id }) => `[${id}]`).join(" ")} ${name}`,
  );
  const honestText = resolved === "" && text.trim() !== "" ? NOTHING_DONE : resolved;
  const answer = cited.length === 0 ? honestText : `${honestText}\n\nSources: ${sourceNames.join(", ")}`;
  return { answer, sources: cited, model, tokensUsed, proposed };
}

/** Answers a run that a user has paid for. */
export const answerRun = defineWorker(
  {
    runId: v.id("agentRuns"),
    userId: v.string(),
    agentId: v.string(),
    question: v.string(),
    messages: v.array(vChatTurn),
  },
  async (ctx, { runId, job, userId, ...turn }) => {
    const caller = { userId, address: null, signedIn: true };
    const answered = await answerChat(ctx, { ...turn, caller, personal: true });
    const reply = pick(answered, ["answer", "model", "tokensUsed"]);
    await ctx.runMutation(internal.chat.runs.finishRun, { runId, job, reply });
  },
);

/** How many coins of a question are covered, by all their figures. */
const NAMED = 4;
/** How many of the largest coins are covered, by their first figures; fewer beside coins that the question names. */
const LARGEST = 10;
const LARGEST_BESIDE = 3;
const FIRST: readonly FactKind[] = ["price", "change24h", "marketCap"];
/** The number of trending coins, and of headlines. */
const LISTED = 5;

/** The facts that an answer to this question may cite, and the rest of its context. */
function listCitableSources(question: string, { facts: stored, statements }: Context): Source[] {
  const facts = withoutRepeats(stored);
  const coins = findCoins(question, indexNames(facts)).slice(0, NAMED);
  const isAmong = (fact: Fact, kind: FactKind, most: number) =>
    fact.kind === kind && Number(fact.value) <= most;
  const most = coins.length === 0 ? LARGEST : LARGEST_BESIDE;
  const pegged = facts.flatMap((one) => (isPegged(one) ? [one.subject] : []));
  const largest = facts
    .filter((one) => isAmong(one, "rank", most) && !pegged.includes(one.subject))
    .map(({ subject }) => subject);
  const chosen = new Set([
    ...facts.filter(({ subject, kind }) => largest.includes(subject) && FIRST.includes(kind)),
    ...facts.filter(({ subject, kind }) => coins.includes(subject) && getUnit(kind) !== "text"),
    ...facts.filter((one) => isAmong(one, "trendingPlace", LISTED)),
    ...facts.filter(({ kind }) => kind === "headline").slice(0, LISTED),
  ]);
  const observed = Array.from(chosen, (fact) => toSource(fact));
  const observedAt = Date.now();
  return numberSources([...observed, ...statements.map((one) => toStatementSource({ ...one, observedAt }))]);
}

/** Whether a price is a stablecoin's, which an answer leaves out unless the question names it. */
function isPegged({ kind, value }: Fact): boolean {
  return kind === "price" && Math.abs(Number(value) - 1) < 0.005;
}
