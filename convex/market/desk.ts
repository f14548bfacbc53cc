import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { beginGathering, gather } from "../evidence/desk";
import { keyOf, LISTS, QUOTES } from "../evidence/model";
import type { Fact, Kind, Wanted } from "../evidence/tables";
import type { Payer } from "../lib/budget/classes";
import { deadlines } from "../lib/outside/deadlines";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { vTurn } from "../lib/renewals";
import { SOURCE_NAMES } from "../lib/publicSources";
import { iso, MINUTE, roundedNow, SECOND, within } from "../lib/time";
import { worker } from "../lib/work/desk";
import { QUOTED, TICKERS } from "../providers/data/tickers";
import { completeStructured } from "../providers/models/structure";
import { answerProblems, provenPart } from "./sources/answers";
import {
  bareSymbol,
  coinAsked,
  figuresFrom,
  ground,
  groundToken,
  sourcesAlone,
  tokenProblem,
  type Observed,
  type QuoteSource,
} from "./sources/grounding";
import { describeMarket, describeObserved, describeSizes, signed } from "./model";
import { snapshotQuestion, tokenQuestion, type TokenAnswer } from "./prompts";
import type { TokenFigures } from "./shapes";
import type { MarketFigures, MarketSource } from "./tables";

/** Calls to sources and models: for the market, and for answers to questions about tokens. */

export type AskedMarket = {
  figures: MarketFigures;
  /** The sources that the figures were checked against; empty if none could be reached. */
  sources: MarketSource[];
  /** How many of the model's prices were replaced by a source's. */
  replaced: number;
  model: string;
  raw: string;
  tokensUsed: number;
};

/** Older lists do not show the live market: the model's rows are used then. */
const LISTS_GOOD_MS = 10 * MINUTE;

/**
 * Asks the LLM gateway for the market; every snapshot is made here. The prompt contains the sources' figures, and in
 * the answer they replace the model's.
 * @param focus Token symbol, or "" for the whole market.
 * @param lists The market's lists, if the caller collects them itself.
 * @throws AppError `upstream` if the gateway fails; without any source the answer is stored unchanged, marked as the
 * model's.
 */
export async function askForMarket(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
  lists?: Promise<Fact[] | null>,
): Promise<AskedMarket> {
  const observed = await observedSoon(ctx, lists);
  const question = snapshotQuestion(focus, iso(Date.now()), describeObserved(observed));
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const answer = await completeStructured(ctx, question, patience);
  // A list that arrived while the model was writing counts as well.
  const facts = observed.isWhole ? observed.facts : await listFacts(ctx);
  const grounded = ground(answer.value, { ...observed, facts });
  if (grounded.replaced > 0) log.warn("market.prices replaced", { focus, replaced: grounded.replaced });
  return { ...grounded, model: answer.model, raw: answer.text, tokensUsed: answer.tokensUsed };
}

/** The `model` of a snapshot that was made from the sources alone. */
export const NO_MODEL = "none";

/** The market from the sources alone, without a model; `null` if they do not cover all of it. */
async function marketOfSources(
  ctx: ActionCtx,
  focus: string,
): Promise<Pick<AskedMarket, "figures" | "sources" | "replaced" | "model"> | null> {
  const alone = sourcesAlone(await observedSoon(ctx), focus);
  return alone === null ? null : { ...alone, replaced: 0, model: NO_MODEL };
}

/**
 * The sources' figures so far: quotes and lists are requested in parallel, both with the deadline.
 * @returns With `isWhole`, all lists have arrived.
 */
async function observedSoon(
  ctx: ActionCtx,
  lists?: Promise<Fact[] | null>,
): Promise<Observed & { isWhole: boolean }> {
  const wait = { freshMs: MINUTE, waitMs: deadlines.grounding };
  const [quoted, own, missing] = await Promise.all([
    freshQuotes(ctx),
    lists === undefined ? null : within(AbortSignal.timeout(deadlines.grounding), lists),
    lists === undefined ? gather(ctx, LISTS, wait) : null,
  ]);
  if (own !== null) return { quoted, facts: own, isWhole: true };
  return { quoted, facts: await listFacts(ctx), isWhole: missing?.length === 0 };
}

async function listFacts(ctx: ActionCtx): Promise<Fact[]> {
  return factsOf(ctx, [...LISTS], LISTS_GOOD_MS);
}

async function factsOf(ctx: ActionCtx, wanted: Wanted[], withinMs: number): Promise<Fact[]> {
  const query = { wanted, withinMs, at: roundedNow() };
  return (await ctx.runQuery(internal.evidence.collections.latest, query)).facts;
}

/** How long another caller's quotes are waited for in addition to the sources' own deadline. */
const MARGIN_MS = 2 * SECOND;

/** The quotes of all reachable sources, at most a minute old, most trusted first; none if none can be reached. */
async function freshQuotes(ctx: ActionCtx): Promise<QuoteSource[]> {
  const end = AbortSignal.timeout(deadlines.grounding + MARGIN_MS);
  const { own, missing } = await beginGathering(ctx, [QUOTES], { freshMs: MINUTE });
  await within(end, missing);
  const collected = await own.get(keyOf(QUOTES))?.facts;
  const facts = collected ?? (await factsOf(ctx, [QUOTES], MINUTE + MARGIN_MS));
  return (["chainlink", ...TICKERS] as const).flatMap((name) => {
    const figures = facts.filter(({ source }) => source === SOURCE_NAMES[name]);
    const quotes = QUOTED.flatMap((symbol) => {
      const of = (kind: Kind) => figures.find((fact) => fact.subject === symbol && fact.kind === kind);
      const [price, change] = [of("price"), of("change24h")];
      if (price === undefined) return [];
      const change24h = change === undefined ? null : Number(change.value);
      return [{ symbol, usd: Number(price.value), change24h, observedAt: price.observedAt }];
    });
    return quotes.length === 0 ? [] : [{ name, quotes }];
  });
}

/** Two calls of a minute (the second is the repair turn) and a margin. */
const LEASE_MS = 2.5 * MINUTE;

/**
 * Asks the gateway and stores its answer, checked against the price sources. While only the gateway fails, the sources'
 * own rows are the snapshot.
 */
export const writeSnapshot = worker(
  { focus: v.string(), ...vTurn },
  async (ctx, { focus, key, attempt, payer, job }) => {
    const taken = { key, attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return "over";
    const { figures, sources, replaced, model } = await marketOf(ctx, focus, payer);
    const snapshot = { focus, model, figures, sources, replaced };
    await ctx.runMutation(internal.market.snapshots.store, { of: { key, attempt, job }, snapshot });
  },
);

async function marketOf(ctx: ActionCtx, focus: string, payer: Payer) {
  try {
    return await askForMarket(ctx, focus, payer);
  } catch (error) {
    const alone = failureOf(error)?.code === "upstream" ? await marketOfSources(ctx, focus) : null;
    if (alone === null) throw error;
    log.warn("market.without a model", { focus, reason: messageOf(error) });
    return alone;
  }
}

/** An older market says nothing about a token's present. */
const MARKET_USABLE_MS = 15 * MINUTE;

/** Asks the gateway, with the live prices and a recent snapshot of the market; its figures are checked against the sources. */
export const writeAnswer = worker(
  { hash: v.string(), question: v.string(), ...vTurn },
  async (ctx, { hash, question, key, attempt, payer, job }) => {
    const taken = { key, attempt, leaseMs: LEASE_MS };
    if (!(await ctx.runMutation(internal.lib.refreshes.take, taken))) return "over";
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
    await ctx.runMutation(internal.market.tokens.store, { of: { key, attempt, job }, hash, result });
  },
);

/** The answer with the sources' figures, and the age of the price; a token that no source knows keeps the model's own. */
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

/**
 * What is wrong with the token that the figures belong to: the question decides; `null` if it is the coin that the
 * question names.
 */
function otherToken(question: string, { token }: TokenAnswer, observed: Observed): string | null {
  const coin = coinAsked(question, observed);
  if (coin !== null) {
    return token?.symbol === coin
      ? null
      : `the question names ${coin}: "token" and the answer must be about it`;
  }
  const bare = bareSymbol(question);
  if (bare === null || token === null || [token.symbol, token.name.toUpperCase()].includes(bare)) return null;
  return `the question names ${bare}: "token" must be null unless ${bare} trades`;
}

/** Removes sentences with figures that the model insists on, or about another token. */
function mended(question: string, given: TokenAnswer, observed: Observed, now: number): TokenAnswer {
  if (otherToken(question, given, observed) !== null) {
    const coin = coinAsked(question, observed);
    const token = coin === null ? null : figuresFrom(coin, observed);
    if (token === null) return { token: null, answer: NOTHING_PROVEN };
    return { token, answer: sentenceOf(groundToken(token, observed).token) };
  }
  const proven = provenPart(given, observed, now);
  if (given.token === null) return { token: null, answer: proven ?? NOTHING_PROVEN };
  const { token } = groundToken(given.token, observed);
  return { token, answer: proven ?? sentenceOf(token) };
}

const NOTHING_PROVEN = "No source has the figures that would answer this.";

function sentenceOf({ name, symbol, price, change24h, source }: TokenFigures): string {
  const change = change24h === 0 ? "unchanged" : `${signed(change24h)} %`;
  return `${name} (${symbol}) trades at ${price} USD by ${source}, ${change} over 24 hours.`;
}
