import { v } from "convex/values";
import { internal } from "../_generated/api";
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
import { SHARED_FOR_MS } from "./model";
import type { Answers, Missing, MODELS } from "./tables";
import { vMaterial, wantedFor, type Material } from "./writing/brief";
import { onchainQuestion, SENTIMENT_SYSTEM, sentimentQuestion, sentimentShape } from "./writing/prompts";
import { writeResult as write, type Written } from "./writing/writer";

/** Calls to the sources and to the writer: collections, reports of shifts, results on demand. */

export const collect = worker(
  { observationId: v.id("observations"), focus: v.string(), payer: vPayer },
  async (ctx, { observationId, job, focus, payer }) => {
    const answers = await askSources(ctx, focus, payer);
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
export const writeResult = renewal({ focus: v.string() }, async (ctx, wish): Promise<string> => {
  const { result } = await research(ctx, wish.focus, wish.payer);
  return JSON.stringify(result);
});

/**
 * Researches a focus and writes a result. Where a caller waits, what the sources have not said in time is missing; for a
 * paid one, every source has its whole time.
 * @throws AppError `upstream`
 */
export async function research(ctx: ActionCtx, focus: string, payer: Payer): Promise<Written> {
  let observationId = await ctx.runQuery(internal.research.observations.fresh, { focus });
  if (observationId === null) {
    const end = payer === "paid" ? undefined : AbortSignal.timeout(deadlines.researchSources);
    const stored = { focus, answers: await askSources(ctx, focus, payer, end), noted: takeNoted() };
    observationId = await ctx.runMutation(internal.research.observations.add, stored);
  }
  return writeFrom(ctx, "Research on demand", { focus, observationIds: [observationId] }, payer);
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
 * Asks the fact collectors and three models, all at the same time. None throws.
 * @param end What has not come by then is missing: somebody waits. Absent: each source has its own deadline.
 */
async function askSources(ctx: ActionCtx, focus: string, payer: Payer, end?: AbortSignal): Promise<Answers> {
  const late = () => new AppError("upstream", "It did not come in time");
  const missing: Missing[] = [];
  const ask = async <Answer extends object>(collector: string, work: Promise<Answer>) => {
    try {
      return end === undefined ? await work : await unlessLate(work, end, late);
    } catch (error) {
      const reason = messageOf(error);
      log.warn("research.source failed", { focus, collector, error: reason });
      missing.push({ collector, subject: "", reason });
      return undefined;
    }
  };
  const [market, sentiment, onchain, uncollected = []] = await Promise.all([
    ask("market", marketOf(ctx, focus, payer)),
    ask("sentiment", sentimentOf(focus, payer)),
    ask("onchain", onchainOf(ctx, focus, payer)),
    // They have rows of their own: what is late there shows when the report is written.
    ask("facts", gather(ctx, wantedFor(focus), { freshMs: SHARED_FOR_MS })),
  ]);
  return {
    ...(market === undefined ? {} : { market }),
    ...(sentiment === undefined ? {} : { sentiment }),
    ...(onchain === undefined ? {} : { onchain }),
    missing: [...missing, ...uncollected],
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
