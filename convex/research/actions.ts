import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { readAnswer } from "../lib/answers/reader";
import { AppError, messageOf } from "../lib/errors";
import type { Payer } from "../lib/limits/callers";
import { purseOf } from "../lib/limits/costs";
import { log } from "../lib/log";
import { renewal } from "../lib/renewal";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted } from "../lib/outside/notes";
import { vPayer } from "../lib/tables";
import { cut } from "../lib/text/strings";
import { iso, MINUTE, roundedNow, unlessLate, within } from "../lib/time";
import { worker } from "../lib/work/desk";
import { askForMarket } from "../market/actions";
import { gather } from "../market/collectors";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import {
  vReportKind,
  vShiftMaterial,
  type Answers,
  type Missing,
  type ReportKind,
  type Result,
} from "./tables";
import { SHARED_FOR_MS } from "./timing";
import { wantedFor } from "./writing/brief";
import { onchainQuestion, SENTIMENT_SYSTEM, sentimentQuestion, sentimentShape } from "./writing/prompts";
import { writeResult as write } from "./writing/writer";

/** Calls to the sources and to the writer: collections, reports of shifts, results on demand. */

export const collect = worker(
  { observationId: v.id("observations"), focus: v.string(), payer: vPayer },
  async (ctx, { observationId, job, ...wish }) => {
    const answers = await askSources(ctx, wish);
    const stored = { observationId, job, answers, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.store, stored);
  },
);

const OCCASIONS: Record<ReportKind, string> = {
  interim1: "Interim report 1 of an 8-hour research shift, 2.5 hours in",
  interim2: "Interim report 2 of an 8-hour research shift, 5 hours in",
  final: "Final report of an 8-hour research shift",
};

/** Writes the report of a shift from its observations. */
export const writeReport = worker(
  { reportId: v.id("reports"), kind: vReportKind, ...vShiftMaterial },
  async (ctx, { reportId, job, kind, ...material }) => {
    const brief = await ctx.runQuery(internal.research.writing.brief.gather, {
      ...material,
      at: roundedNow(),
    });
    if (brief.sources.length === 0) throw new AppError("upstream", "No source could be collected");
    const report = { occasion: OCCASIONS[kind], nowIso: iso(Date.now()), brief };
    const written = await write(ctx, report, "shift");
    const stored = { reportId, job, ...written, noted: takeNoted() };
    await ctx.runMutation(internal.research.reports.store, stored);
  },
);

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

/** Writes an on-demand result. */
export const writeResult = renewal({ focus: v.string() }, LEASE_MS, async (ctx, wish): Promise<string> => {
  const occasion = "On-demand research snapshot";
  const { result } = await research(ctx, { ...wish, occasion, wanted: "soon" });
  return JSON.stringify(result);
});

type Research = {
  focus: string;
  occasion: string;
  /**
   * `soon`: a caller waits, and what the sources have not said in time is missing. `whole`: every source has its whole
   * time, and nothing is written without an observed price.
   */
  wanted: "soon" | "whole";
  payer: Payer;
};

/**
 * Researches a focus and writes a result.
 * @throws AppError `upstream`
 */
export async function research(
  ctx: ActionCtx,
  { focus, occasion, wanted, payer }: Research,
): Promise<{ result: Result; model: string }> {
  const isWhole = wanted === "whole";
  let observationId = await ctx.runQuery(internal.research.observations.fresh, { focus, wholly: isWhole });
  if (observationId === null) {
    const answers = await askSources(ctx, {
      focus,
      payer,
      waitMs: isWhole ? undefined : deadlines.researchSources,
    });
    const stored = { focus, answers, noted: takeNoted() };
    observationId = await ctx.runMutation(internal.research.observations.add, stored);
  }
  const material = { focus, observationIds: [observationId], at: roundedNow() };
  const brief = await ctx.runQuery(internal.research.writing.brief.gather, material);
  if (isWhole ? !brief.isPriced : brief.sources.length === 0)
    throw new AppError("upstream", brief.missing[0]?.reason ?? "The market data did not come in time");
  return write(ctx, { occasion, nowIso: iso(Date.now()), brief }, payer);
}

const RAW_LIMIT = 60_000;
const STORED_MOVERS = 10;

/**
 * Asks the fact collectors and three models, all at the same time. None throws.
 * @param waitMs What has not come by then is missing: somebody waits. Absent: each source has its own deadline.
 */
async function askSources(
  ctx: ActionCtx,
  { focus, payer, waitMs }: { focus: string; payer: Payer; waitMs?: number | undefined },
): Promise<Answers> {
  const end = waitMs === undefined ? null : AbortSignal.timeout(waitMs);
  const late = () => new AppError("upstream", "It did not come in time");
  const missing: Missing[] = [];
  const ask = async <Answer extends object>(collector: string, work: Promise<Answer>) => {
    try {
      return end === null ? await work : await unlessLate(work, end, late);
    } catch (error) {
      const reason = messageOf(error);
      log.warn("research.source failed", { focus, collector, error: reason });
      missing.push({ collector, subject: "", reason });
      return undefined;
    }
  };
  const facts = gather(ctx, wantedFor(focus), { freshMs: SHARED_FOR_MS });
  const [market, sentiment, onchain, uncollected] = await Promise.all([
    ask("market", marketOf(ctx, focus, payer)),
    ask("sentiment", sentimentOf(focus, payer)),
    ask("onchain", onchainOf(ctx, focus, payer)),
    // Facts have rows of their own: what is late there shows when the report is written.
    end === null ? facts : within(end, facts),
  ]);
  return {
    ...(market === undefined ? {} : { market }),
    ...(sentiment === undefined ? {} : { sentiment }),
    ...(onchain === undefined ? {} : { onchain }),
    missing: [...missing, ...(uncollected ?? [])],
  };
}

async function marketOf(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
): Promise<NonNullable<Answers["market"]>> {
  const { trending, top20, raw } = await askForMarket(ctx, focus, payer);
  const movers = top20
    .map(({ symbol, price, change24h, source }) => ({ symbol, price, change24h, source }))
    .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
    .slice(0, STORED_MOVERS);
  return { trending, movers, marketDataRaw: cut(raw, RAW_LIMIT) };
}

async function sentimentOf(focus: string, payer: Payer): Promise<NonNullable<Answers["sentiment"]>> {
  const now = Date.now();
  const question = sentimentQuestion(focus, iso(now));
  const { text, citations, degraded } = await askSentiment(purseOf(payer), SENTIMENT_SYSTEM, question, now);
  const read = readAnswer(sentimentShape, text, citations.join("\n"));
  if ("problem" in read)
    throw new AppError("upstream", `The sentiment model sent an unusable answer: ${read.problem}`);
  return { ...read.value, degraded, citations };
}

async function onchainOf(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
): Promise<NonNullable<Answers["onchain"]>> {
  const patience = { timeoutMs: deadlines.llmScheduled, attempts: 2, payer };
  return (await completeStructured(ctx, onchainQuestion(focus, iso(Date.now())), patience)).value;
}
