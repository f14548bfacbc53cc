import { v } from "convex/values";
import { omit } from "convex-helpers";
import { getOneFrom } from "convex-helpers/server/relationships";
import { internal } from "../_generated/api";
import { internalMutation, internalQuery } from "../_generated/server";
import { sha256Hex } from "../lib/crypto";
import { deadlines } from "../lib/deadlines";
import { vCaller } from "../lib/limits";
import { providerAction } from "../lib/providerCalls";
import { finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { beginInLane, vTurn } from "../lib/renewals";
import { iso, MINUTE } from "../lib/time";
import { completeStructured } from "../providers/structured";
import { answerProblems, provenPart } from "./answers";
import { bareSymbol, coinAsked, figuresFrom, groundToken, tokenProblem, type Observed } from "./grounding";
import { describeMarket, describeObserved, describeSizes, observedSoon, signed } from "./model";
import { tokenQuestion, type TokenAnswer } from "./prompts";
import type { TokenFigures } from "./shapes";
import { vTokenFigures, vRowSource } from "./stored";

const LEASE_MS = 2.5 * MINUTE;
/** A market older than this says nothing about how a token does now. */
const MARKET_USABLE_MS = 15 * MINUTE;

const vAnswer = v.object({
  token: v.union(vTokenFigures, v.null()),
  answer: v.string(),
  model: v.string(),
  priceSource: v.union(vRowSource, v.null()),
  /** Epoch ms. */
  figuresAt: v.number(),
});

/** Questions that differ in case and spacing alone are one. */
const hashOf = (question: string) => sha256Hex(question.toLowerCase().replace(/\s+/g, " "));
const refreshKey = (hash: string) => `token:${hash}`;

/** The stored answer to a question, however old. */
export const current = internalQuery({
  args: { question: v.string() },
  returns: v.union(v.object({ ...vAnswer.fields, fetchedAt: v.number() }), v.null()),
  handler: async (ctx, { question }) => {
    const row = await getOneFrom(ctx.db, "tokenAnswers", "by_questionHash", hashOf(question));
    return row === null ? null : omit(row, ["_id", "_creationTime", "questionHash"]);
  },
});

/** Starts answering a question, or joins the answer being made. @throws AppError `rate_limited` */
export const begin = internalMutation({
  args: { question: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { question, caller }): Promise<Ticket> => {
    const hash = hashOf(question);
    const refresh = { key: refreshKey(hash), caller };
    return beginInLane(ctx, refresh, internal.market.tokens.refresh, { hash, question });
  },
});

/** Asks the gateway, with the live prices and a young snapshot of the market; its figures are held against the sources. */
export const refresh = providerAction({
  args: { hash: v.string(), question: v.string(), ...vTurn },
  returns: v.null(),
  handler: async (ctx, { hash, question, attempt, payer }) => {
    const taken = { key: refreshKey(hash), attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return null;
    const observed = await observedSoon(ctx);
    const now = Date.now();
    const market = await ctx.runQuery(internal.market.snapshots.current, { focus: "" });
    const young = market !== null && now - market.fetchedAt <= MARKET_USABLE_MS ? market : null;
    const answer = await completeStructured(
      ctx,
      tokenQuestion(
        {
          question,
          nowIso: iso(now),
          live: describeObserved(observed),
          sizes: describeSizes(question, observed),
          market: young === null ? null : describeMarket(young),
        },
        (given) => problemOf(question, given, observed, now),
        (given) => mended(question, given, observed, now),
      ),
      { turnMs: deadlines.llmScheduled, attempts: 2, payer },
    );
    const result = { ...grounded(answer.value, observed, now), model: answer.model };
    await ctx.runMutation(internal.market.tokens.store, { hash, attempt, result });
    return null;
  },
});

/** The answer with the sources' figures, and how old the price is; a token that no source knows has the model's own. */
function grounded({ token, answer }: TokenAnswer, observed: Observed, now: number) {
  if (token === null) return { token, answer, priceSource: null, figuresAt: now };
  const { token: figures, observedAt } = groundToken(token, observed);
  return { token: figures, answer, priceSource: figures.source, figuresAt: observedAt ?? now };
}

function problemOf(question: string, given: TokenAnswer, observed: Observed, now: number): string | null {
  const price = given.token === null ? null : tokenProblem(given.token, observed);
  const problems = [
    otherToken(question, given, observed),
    price,
    answerProblems(given, observed, now),
  ].filter((problem) => problem !== null);
  return problems.length === 0 ? null : problems.join("; ");
}

/** What is wrong with whose figures they are: the question decides; `null` where they are of whom it names. */
function otherToken(question: string, { token }: TokenAnswer, observed: Observed): string | null {
  const asked = coinAsked(question, observed);
  if (asked !== null) {
    return token?.symbol === asked
      ? null
      : `the question names ${asked}: "token" and the answer are about it`;
  }
  const bare = bareSymbol(question);
  if (bare === null || token === null || [token.symbol, token.name.toUpperCase()].includes(bare)) return null;
  return `the question names ${bare}: "token" is null unless that trades`;
}

/** What a model that insists on figures of its own, or on another token, said with them is left out. */
function mended(question: string, given: TokenAnswer, observed: Observed, now: number): TokenAnswer {
  if (otherToken(question, given, observed) !== null) {
    const asked = coinAsked(question, observed);
    const token = asked === null ? null : figuresFrom(asked, observed);
    if (token === null) return { token: null, answer: NOTHING_PROVEN };
    return { token, answer: sentenceOf(groundToken(token, observed).token) };
  }
  const proven = provenPart(given, observed, now);
  if (given.token === null) return { token: null, answer: proven ?? NOTHING_PROVEN };
  const { token } = groundToken(given.token, observed);
  return { token, answer: proven ?? sentenceOf(token) };
}

const NOTHING_PROVEN = "No source tells the figures that would answer this.";

function sentenceOf({ name, symbol, price, change24h, source }: TokenFigures): string {
  const change = change24h === 0 ? "unchanged" : `${signed(change24h)} %`;
  return `${name} (${symbol}) trades at ${price} USD by ${source}, ${change} over 24 hours.`;
}

export const store = internalMutation({
  args: { hash: v.string(), attempt: v.number(), result: vAnswer },
  returns: v.null(),
  handler: async (ctx, { hash, attempt, result }) => {
    if (!(await finishRefresh(ctx, refreshKey(hash), attempt, null))) return null;
    const answer = { questionHash: hash, fetchedAt: Date.now(), ...result };
    const row = await getOneFrom(ctx.db, "tokenAnswers", "by_questionHash", hash);
    if (row === null) await ctx.db.insert("tokenAnswers", answer);
    else await ctx.db.replace("tokenAnswers", row._id, answer);
    return null;
  },
});
