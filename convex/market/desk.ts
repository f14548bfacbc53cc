import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { gather } from "../evidence/desk";
import { LISTS } from "../evidence/model";
import type { Fact } from "../evidence/tables";
import type { Payer } from "../lib/budget/ledger";
import { deadlines } from "../lib/outside/deadlines";
import { failureOf, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { awaitRefresh } from "../lib/refreshes";
import { vTurn } from "../lib/renewals";
import { iso, MINUTE, roundedNow, within } from "../lib/time";
import { worker } from "../lib/work/desk";
import { freshQuotes } from "../prices/desk";
import { completeStructured } from "../providers/models/structure";
import { answerProblems, provenPart } from "./answers";
import {
  bareSymbol,
  coinAsked,
  figuresFrom,
  ground,
  groundToken,
  sourcesAlone,
  tokenProblem,
  type Observed,
} from "./grounding";
import { describeMarket, describeObserved, describeSizes, signed } from "./model";
import { snapshotQuestion, tokenQuestion, type TokenAnswer } from "./prompts";
import type { TokenFigures } from "./shapes";
import type { MarketFigures, MarketSource } from "./tables";
import type { readBack } from "./bodies";

/** Where sources and models are asked: for the market, and for answers to questions about tokens. */

/**
 * The whole market's snapshot, however old; one older than `freshMs` is made anew first, and waited for `waitMs` at most.
 * For actions.
 * @param forService Whether it is made at the service's own cost.
 * @throws AppError `upstream` when the gateway was asked and failed; `rate_limited` when too much is being asked for.
 */
export async function recentMarket(
  ctx: ActionCtx,
  { freshMs, waitMs, forService }: { freshMs: number; waitMs: number; forService: boolean },
): Promise<ReturnType<typeof readBack> | null> {
  const read = () => ctx.runQuery(internal.market.snapshots.current, { focus: "" });
  const stored = await read();
  if (stored !== null && Date.now() - stored.fetchedAt <= freshMs) return stored;
  const begun = { focus: "", caller: { address: null }, forService };
  const ticket = await ctx.runMutation(internal.market.snapshots.begin, begun);
  await awaitRefresh(ctx, ticket, AbortSignal.timeout(waitMs));
  return read();
}

export type AskedMarket = {
  figures: MarketFigures;
  /** The sources the figures were held against; empty when none was within reach. */
  sources: MarketSource[];
  /** How many of the model's prices were replaced by a source's. */
  replaced: number;
  model: string;
  /** The gateway's answer as it came. */
  raw: string;
  tokensUsed: number;
};

/** Lists as old as this are no live market: rows fall back on the model. */
const LISTS_GOOD_MS = 10 * MINUTE;

/**
 * Asks the LLM gateway for the market: the one place where a snapshot is made. The model is told what the sources say,
 * and what they cover is theirs in the answer.
 * @param focus Token symbol, or "" for the whole market.
 * @param lists The market's lists, where the caller collects them itself.
 * @throws AppError `upstream` when the gateway fails; without any source the answer stands as it came, marked as the model's.
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
  // A list that came while the model was writing counts as well.
  const facts = observed.isWhole ? observed.facts : await listFacts(ctx);
  const grounded = ground(answer.value, { ...observed, facts });
  if (grounded.replaced > 0) log.warn("market.prices replaced", { focus, replaced: grounded.replaced });
  return { ...grounded, model: answer.model, raw: answer.text, tokensUsed: answer.tokensUsed };
}

/** The `model` of a snapshot that its sources made alone. */
export const NO_MODEL = "none";

/** The market as its sources tell it, without asking a model; `null` where they do not tell all of it. */
async function marketOfSources(
  ctx: ActionCtx,
  focus: string,
): Promise<Pick<AskedMarket, "figures" | "sources" | "replaced" | "model"> | null> {
  const told = sourcesAlone(await observedSoon(ctx), focus);
  return told === null ? null : { ...told, replaced: 0, model: NO_MODEL };
}

/**
 * What the sources say by now: quotes and lists are asked together, and neither is waited for longer than the deadline.
 * @returns With `isWhole`, no list is still to come.
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
  const wanted = { wanted: [...LISTS], withinMs: LISTS_GOOD_MS, at: roundedNow() };
  return (await ctx.runQuery(internal.evidence.collections.latest, wanted)).facts;
}

/** Two calls of a minute (the second is the repair turn) and a margin. */
const LEASE_MS = 2.5 * MINUTE;

/**
 * Asks the gateway and stores what it said, held against the sources of prices. While the gateway alone fails, the
 * sources' own rows are the snapshot.
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
    const told = failureOf(error)?.code === "upstream" ? await marketOfSources(ctx, focus) : null;
    if (told === null) throw error;
    log.warn("market.without a model", { focus, reason: messageOf(error) });
    return told;
  }
}

/** A market older than this says nothing about a token's present. */
const MARKET_USABLE_MS = 15 * MINUTE;

/** Asks the gateway, with the live prices and a young snapshot of the market; its figures are held against the sources. */
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

/** What is wrong with whose figures they are: the question decides; `null` where they belong to the coin it names. */
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
