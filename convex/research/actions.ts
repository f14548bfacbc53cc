import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { readAnswer } from "../lib/answers";
import { AppError, messageOf } from "../lib/errors";
import type { Payer } from "../lib/limits/callers";
import { log } from "../lib/log";
import { renewal } from "../lib/cache";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted } from "../lib/outside/calls";
import { vPayer } from "../lib/tables";
import { cut } from "../lib/text/strings";
import { iso, roundedNow, unlessLate } from "../lib/time";
import { worker } from "../lib/worker";
import { askForMarket } from "../market/actions";
import { gather } from "../market/collectors";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import { namesIn } from "../lib/records";
import { LATE, SHARED_FOR_MS } from "./model";
import { MODELS, type Answers, type Missing, type Model } from "./tables";
import { vMaterial, wantedFor, type Material } from "./writing/brief";
import { onchainQuestion, SENTIMENT_SYSTEM, sentimentQuestion, sentimentShape } from "./writing/prompts";
import { writeResult as write, type Written } from "./writing/writer";

/** Calls to the sources and to the writer: collections, reports of shifts, results on demand. */

export const collect = worker(
  { observationId: v.id("observations"), focus: v.string(), payer: vPayer },
  async (ctx, { observationId, job, focus, payer }) => {
    const { answers } = await askSources(ctx, focus, payer, { models: namesIn(MODELS) });
    const stored = { observationId, job, answers, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.store, stored);
  },
);

/** Writes the report of a shift from its observations. */
export const writeReport = worker(
  { reportId: v.id("reports"), occasion: v.string(), ...vMaterial },
  async (ctx, { reportId, job, occasion, ...material }) => {
    const written = await writeFrom(ctx, occasion, material, "service");
    const stored = { reportId, job, ...written, noted: takeNoted() };
    await ctx.runMutation(internal.research.reports.store, stored);
  },
);

/** Writes an on-demand result. */
export const writeResult = renewal({ focus: v.string() }, async (ctx, { focus, payer }) => {
  const { result, keepLate } = await research(ctx, focus, payer);
  return { body: JSON.stringify(result), finish: keepLate };
});

/**
 * Researches a focus and writes a result. Where a caller waits, what the sources have not said in time is missing; for a
 * paid one, every source has its whole time. Models whose answers still serve are not asked.
 * @returns The result, and `keepLate`, which stores what the sentiment model says after its time, for the next result.
 * @throws AppError `upstream`
 */
export async function research(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
): Promise<Written & { keepLate: () => Promise<void> }> {
  const found = { focus, at: roundedNow() };
  const { observationIds, unanswered } = await ctx.runQuery(internal.research.observations.serving, found);
  let keepLate = async () => {};
  if (unanswered.length > 0) {
    const end = payer === "paid" ? undefined : AbortSignal.timeout(deadlines.researchSources);
    const { answers, late } = await askSources(ctx, focus, payer, { models: unanswered, end });
    const stored = { focus, answers, noted: takeNoted() };
    const observationId = await ctx.runMutation(internal.research.observations.add, stored);
    observationIds.push(observationId);
    if (late !== null) keepLate = () => storeLate(ctx, observationId, late);
  }
  const written = await writeFrom(ctx, "Research on demand", { focus, observationIds }, payer);
  return { ...written, keepLate };
}

/** Nobody waits for it any more: a failure is only logged. */
async function storeLate(
  ctx: ActionCtx,
  observationId: Id<"observations">,
  late: Promise<Said<"sentiment">>,
): Promise<void> {
  try {
    const stored = { observationId, sentiment: await late, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.addLate, stored);
  } catch (error) {
    log.warn("research.late source failed", { observationId, error: messageOf(error) });
  }
}

async function writeFrom(
  ctx: ActionCtx,
  occasion: string,
  material: Material,
  payer: Payer,
): Promise<Written> {
  const found = { ...material, at: roundedNow() };
  const brief = await ctx.runQuery(internal.research.writing.brief.gather, found);
  // Nobody pays for a report without an observed price.
  if (payer === "paid" ? !brief.isPriced : brief.sources.length === 0)
    throw new AppError("upstream", brief.missing[0]?.reason ?? "The market data did not come in time");
  return write(ctx, occasion, brief, payer);
}

const RAW_LIMIT = 60_000;
const MOVERS = 8;

/**
 * Asks the fact collectors and the models, all at the same time. None throws.
 * @param terms.models Those that are asked.
 * @param terms.end What has not come by then is missing: somebody waits. Absent: each source has its own deadline.
 * @returns The answers, and the sentiment model's if it is late.
 */
async function askSources(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
  { models, end }: { models: readonly Model[]; end?: AbortSignal | undefined },
): Promise<{ answers: Answers; late: Promise<Said<"sentiment">> | null }> {
  const missing: Missing[] = [];
  const ask = async <Answer extends object>(collector: string, work: Promise<Answer> | null) => {
    try {
      if (work === null) return undefined;
      return end === undefined
        ? await work
        : await unlessLate(work, end, () => new AppError("upstream", LATE));
    } catch (error) {
      const reason = messageOf(error);
      log.warn("research.source failed", { focus, collector, error: reason });
      missing.push({ collector, subject: "", reason });
      return undefined;
    }
  };
  const asked = <Answer>(model: Model, begin: () => Promise<Answer>) =>
    models.includes(model) ? begin() : null;
  const saying = asked("sentiment", () => sentimentOf(focus, payer));
  const [market, sentiment, onchain, uncollected = []] = await Promise.all([
    ask(
      "market",
      asked("market", () => marketOf(ctx, focus, payer)),
    ),
    ask("sentiment", saying),
    ask(
      "onchain",
      asked("onchain", () => onchainOf(ctx, focus, payer)),
    ),
    // They have rows of their own: what is late there shows when the report is written.
    ask("facts", gather(ctx, wantedFor(focus), { freshMs: SHARED_FOR_MS })),
  ]);
  const isLate = missing.some(({ collector, reason }) => collector === "sentiment" && reason === LATE);
  return {
    answers: {
      ...(market === undefined ? {} : { market }),
      ...(sentiment === undefined ? {} : { sentiment }),
      ...(onchain === undefined ? {} : { onchain }),
      missing: [...missing, ...uncollected],
    },
    late: isLate ? saying : null,
  };
}

/** What a model has answered. */
type Said<Model extends keyof typeof MODELS> = NonNullable<Answers[Model]>;

async function marketOf(ctx: ActionCtx, focus: string, payer: Payer): Promise<Said<"market">> {
  const { trending, top20, raw } = await askForMarket(ctx, focus, payer);
  const movers = top20
    .map(({ symbol, price, change24h, source }) => ({ symbol, price, change24h, source }))
    .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
    .slice(0, MOVERS);
  return { trending, movers, marketDataRaw: cut(raw, RAW_LIMIT) };
}

async function sentimentOf(focus: string, payer: Payer): Promise<Said<"sentiment">> {
  const now = Date.now();
  const question = sentimentQuestion(focus, iso(now));
  const { text, citations, degraded } = await askSentiment(payer, SENTIMENT_SYSTEM, question, now);
  const read = readAnswer(sentimentShape, text, citations.join("\n"));
  if ("problem" in read)
    throw new AppError("upstream", `The sentiment model sent an unusable answer: ${read.problem}`);
  return { ...read.value, degraded, citations };
}

async function onchainOf(ctx: ActionCtx, focus: string, payer: Payer): Promise<Said<"onchain">> {
  const patience = { timeoutMs: deadlines.llmScheduled, attempts: 2, payer };
  return (await completeStructured(ctx, onchainQuestion(focus, iso(Date.now())), patience)).value;
}
