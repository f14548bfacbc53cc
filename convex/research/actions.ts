import { v } from "convex/values";
import { deflateSync, strToU8 } from "fflate";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { parseAnswer } from "../figures/answers";
import { defined } from "../lib/objects";
import { AppError, getErrorMessage } from "../lib/errors";
import { vBillingSubject, type BillingSubject } from "../platform/limits/callers";
import { log } from "../lib/log";
import { defineRefresh } from "../platform/refreshes";
import { deadlines } from "../platform/outside/deadlines";
import { takeUsage } from "../platform/outside/calls";
import { cut } from "../lib/text/strings";
import { toIso, getRoundedNow, rejectWhenLate } from "../lib/time";
import { defineWorker } from "../platform/worker";
import { askForMarket, listMarketRequests } from "../market/actions";
import { collectFacts } from "../market/collectors";
import type { CollectionRequest } from "../market/tables";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import { listKeys } from "../lib/objects";
import { LATE_SOURCE, SHARED_FOR_MS } from "./model";
import { MODELS, type Answers, type MissingSource, type Model } from "./tables";
import { vMaterial, listCollectionsFor, type Material } from "./writing/brief";
import {
  buildOnchainQuestion,
  SENTIMENT_SYSTEM,
  buildSentimentQuestion,
  sentimentShape,
} from "./writing/prompts";
import { writeResearchResult as write, type Written } from "./writing/writer";

/** Calls to the sources and to the writer: collections, reports of shifts, results on demand. */
export const collect = defineWorker(
  { observationId: v.id("observations"), focus: v.string(), billTo: vBillingSubject },
  async (ctx, { observationId, job, focus, billTo }) => {
    const { answers } = await askSources(ctx, focus, billTo, { models: listKeys(MODELS), isDataPoint: true });
    const stored = { observationId, job, answers, usage: takeUsage() };
    await ctx.runMutation(internal.research.observations.storeObservation, stored);
  },
);

/** Writes the report of a shift from its observations. */
export const writeReport = defineWorker(
  { reportId: v.id("reports"), occasion: v.string(), ...vMaterial },
  async (ctx, { reportId, job, occasion, ...material }) => {
    const written = await writeFromBrief(ctx, occasion, material, "service");
    const stored = { reportId, job, ...written, usage: takeUsage() };
    await ctx.runMutation(internal.research.reports.storeReport, stored);
  },
);

/** Writes an on-demand result. */
export const writeOnDemandResult = defineRefresh({ focus: v.string() }, async (ctx, { focus, billTo }) => {
  const { result, keepLate } = await researchFocus(ctx, focus, billTo);
  return { body: JSON.stringify(result), finish: keepLate };
});

/**
 * Researches a focus and writes a result. While a caller waits, late sources count as missing; a paid result gives
 * every source its whole time. Models whose recent answers are still usable are not asked.
 * @returns The result, and `keepLate`, which stores a late sentiment answer for the next result.
 * @throws AppError `upstream`
 */
export async function researchFocus(
  ctx: ActionCtx,
  focus: string,
  billTo: BillingSubject,
): Promise<Written & { keepLate: () => Promise<void> }> {
  const found = { focus, at: getRoundedNow() };
  const { observationIds, unanswered, standsIn } = await ctx.runQuery(
    internal.research.observations.findServingObservations,
    found,
  );
  let keepLate = async () => {};
  if (unanswered.length > 0) {
    const end = billTo === "paid" ? undefined : AbortSignal.timeout(deadlines.researchSources);
    const { answers, late } = await askSources(ctx, focus, billTo, {
      models: unanswered,
      isDataPoint: false,
      end,
    });
    const stored = { focus, answers, usage: takeUsage() };
    const observationId = await ctx.runMutation(
      internal.research.observations.storeOnDemandObservation,
      stored,
    );
    observationIds.push(observationId);
    if (late !== null) keepLate = () => storeLate(ctx, { observationId, outdates: !standsIn }, late);
  }
  const written = await writeFromBrief(ctx, "Research on demand", { focus, observationIds }, billTo);
  return { ...written, keepLate };
}

/** Stores a late answer. No caller waits for it, so a failure is only logged. */
async function storeLate(
  ctx: ActionCtx,
  to: { observationId: Id<"observations">; outdates: boolean },
  late: Promise<Said<"sentiment">>,
): Promise<void> {
  try {
    const stored = { ...to, sentiment: await late, usage: takeUsage() };
    await ctx.runMutation(internal.research.observations.storeLateAnswer, stored);
  } catch (error) {
    log.warn("research.late source failed", {
      observationId: to.observationId,
      error: getErrorMessage(error),
    });
  }
}

async function writeFromBrief(
  ctx: ActionCtx,
  occasion: string,
  material: Material,
  billTo: BillingSubject,
): Promise<Written> {
  const found = { ...material, at: getRoundedNow() };
  const brief = await ctx.runQuery(internal.research.writing.brief.readBrief, found);
  // A paid report needs an observed price.
  if (billTo === "paid" ? !brief.isPriced : brief.sources.length === 0)
    throw new AppError("upstream", brief.missing[0]?.reason ?? "The market data did not come in time");
  return write(ctx, occasion, brief, billTo);
}

const RAW_LIMIT = 60_000;
const MOVERS = 8;

/**
 * Asks the fact collectors and the models, all concurrently. None of them throws.
 * @param terms.models The models to ask.
 * @param terms.isDataPoint Whether it is for a shift, whose data points have the gateway's list.
 * @param terms.end The deadline of a waiting caller: later answers count as missing. Absent: each source has its own deadline.
 * @returns The answers, and the sentiment model's if it is late.
 */
async function askSources(
  ctx: ActionCtx,
  focus: string,
  billTo: BillingSubject,
  {
    models,
    isDataPoint,
    end,
  }: { models: readonly Model[]; isDataPoint: boolean; end?: AbortSignal | undefined },
): Promise<{ answers: Answers; late: Promise<Said<"sentiment">> | null }> {
  const missing: MissingSource[] = [];
  const ask = async <Answer extends object>(collector: string, work: Promise<Answer> | null) => {
    try {
      if (work === null) return undefined;
      return end === undefined
        ? await work
        : await rejectWhenLate(work, end, () => new AppError("upstream", LATE_SOURCE));
    } catch (error) {
      const reason = getErrorMessage(error);
      log.warn("research.source failed", { focus, collector, error: reason });
      missing.push({ collector, subject: "", reason });
      return undefined;
    }
  };
  const askIfMissing = <Answer>(model: Model, begin: () => Promise<Answer>) =>
    models.includes(model) ? begin() : null;
  // Facts have rows of their own: the report shows which are late when it is written. The market's are gathered with them.
  const own = listCollectionsFor(focus);
  const marketRequests = models.includes("market") ? listMarketRequests(focus) : [];
  const isMarketRequest = createFilter(marketRequests);
  const collecting = collectFacts(ctx, [...marketRequests, ...own.filter((one) => !isMarketRequest(one))], {
    freshMs: SHARED_FOR_MS,
  });
  const sentimentRequest = askIfMissing("sentiment", () => askSentimentOn(ctx, focus, billTo));
  const [market, sentiment, onchain, uncollected = []] = await Promise.all([
    ask(
      "market",
      askIfMissing("market", () => askMarket(ctx, { focus, needsList: isDataPoint }, billTo, collecting)),
    ),
    ask("sentiment", sentimentRequest),
    ask(
      "onchain",
      askIfMissing("onchain", () => askOnchain(ctx, focus, billTo)),
    ),
    ask("facts", collecting),
  ]);
  const isLate = missing.some(({ collector, reason }) => collector === "sentiment" && reason === LATE_SOURCE);
  return {
    answers: {
      ...defined({ market, sentiment, onchain }),
      missing: [...missing, ...uncollected.filter(createFilter(own))],
    },
    late: isLate ? sentimentRequest : null,
  };
}

/** The answer of a model. */
type Said<Model extends keyof typeof MODELS> = NonNullable<Answers[Model]>;

/** Whether a collection is among these. */
const createFilter = (among: readonly CollectionRequest[]) => (one: CollectionRequest) =>
  among.some(({ collector, subject }) => collector === one.collector && subject === one.subject);

async function askMarket(
  ctx: ActionCtx,
  terms: { focus: string; needsList: boolean },
  billTo: BillingSubject,
  collecting: Promise<unknown>,
): Promise<Said<"market">> {
  const { trending, top20, raw } = await askForMarket(ctx, terms, billTo, collecting);
  const movers = top20
    .map(({ symbol, price, change24h, source }) => ({ symbol, price, change24h, source }))
    .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
    .slice(0, MOVERS);
  const stored =
    raw === "" ? {} : { marketDataRaw: deflateSync(strToU8(cut(raw, RAW_LIMIT))).slice().buffer };
  return { trending, movers, ...stored };
}

async function askSentimentOn(
  ctx: ActionCtx,
  focus: string,
  billTo: BillingSubject,
): Promise<Said<"sentiment">> {
  const now = Date.now();
  const question = buildSentimentQuestion(focus, toIso(now));
  const { text, citations, degraded } = await askSentiment(ctx, { billTo }, SENTIMENT_SYSTEM, question, now);
  const read = parseAnswer(sentimentShape, text, citations.join("\n"));
  if ("problem" in read)
    throw new AppError("upstream", `The sentiment model sent an unusable answer: ${read.problem}`);
  return { ...read.value, degraded, citations };
}

async function askOnchain(ctx: ActionCtx, focus: string, billTo: BillingSubject): Promise<Said<"onchain">> {
  const options = { timeoutMs: deadlines.llmScheduled, attempts: 2, billTo };
  return (await completeStructured(ctx, buildOnchainQuestion(focus, toIso(Date.now())), options)).value;
}
