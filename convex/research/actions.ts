import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/limits/callers";
import { AppError } from "../lib/errors";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted } from "../lib/outside/notes";
import { vRefresh } from "../lib/cache";
import { createPauses, iso, MINUTE } from "../lib/time";
import { worker } from "../lib/work/desk";
import { askSources } from "./sources";
import type { Result } from "./tables";
import { gatherBrief } from "./writing/brief";
import { writeResult as write } from "./writing/writer";

/** Calls to the sources and to the writer: collections, reports of shifts, results on demand. */

export const collect = worker(
  { observationId: v.id("observations") },
  async (ctx, { observationId, job }) => {
    const work = await ctx.runMutation(internal.research.observations.begin, { observationId });
    if (work === null) return "over";
    const answers = await askSources(ctx, work);
    const stored = { observationId, job, answers, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.store, stored);
  },
);

const OCCASIONS = {
  interim1: "Interim report 1 of an 8-hour research shift, 2.5 hours in",
  interim2: "Interim report 2 of an 8-hour research shift, 5 hours in",
  final: "Final report of an 8-hour research shift",
};

/** Writes the report of a shift from its observations. */
export const writeReport = worker({ reportId: v.id("reports") }, async (ctx, { reportId, job }) => {
  const task = await ctx.runQuery(internal.research.reports.task, { reportId });
  if (task === null) return "over";
  const { kind, ...material } = task;
  const brief = await gatherBrief(ctx, material);
  if (brief.sources.length === 0) throw new AppError("upstream", "No source could be collected");
  const report = { occasion: OCCASIONS[kind], nowIso: iso(Date.now()), brief };
  const written = await write(ctx, report, "shift");
  const stored = { reportId, job, ...written, noted: takeNoted() };
  await ctx.runMutation(internal.research.reports.store, stored);
});

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

/** Writes an on-demand result and stores it. */
export const writeResult = worker(
  { focus: v.string(), question: v.optional(v.string()), ...vRefresh },
  async (ctx, { job, key, attempt, payer, focus, question }) => {
    if (!(await ctx.runMutation(internal.lib.cache.take, { key, attempt, leaseMs: LEASE_MS }))) return "over";
    const occasion = "On-demand research snapshot";
    const written = await research(ctx, { focus, question, occasion, wanted: "soon", payer });
    const { result, model } = written;
    const of = { key, attempt, job };
    const stored = { of, focus, ...(question === undefined ? {} : { question }), model, result };
    await ctx.runMutation(internal.research.results.store, stored);
  },
);

/**
 * Researches a focus and writes a result.
 * @param wanted `soon`: a caller waits, and what the sources have not said in time is missing. `whole`: every source
 * has its whole time, and nothing is written without an observed price.
 * @throws AppError `upstream`
 */
export async function research(
  ctx: ActionCtx,
  { focus, question, occasion, wanted, payer }: Research,
): Promise<{ result: Result; model: string }> {
  const claimed = { focus, payer, wanted };
  const { observationId, isMine } = await ctx.runMutation(internal.research.observations.claim, claimed);
  const waitMs = wanted === "soon" ? deadlines.researchSources : undefined;
  if (isMine) {
    const answers = await askSources(ctx, { focus, payer, waitMs });
    const stored = { observationId, answers, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.store, stored);
  } else {
    const end = AbortSignal.timeout(waitMs ?? deadlines.sentiment);
    const pause = createPauses(100);
    while (!(await ctx.runQuery(internal.research.observations.isDone, { observationId }))) {
      if (end.aborted) break;
      await pause();
    }
  }
  const brief = await gatherBrief(ctx, { focus, observationIds: [observationId], startedAt: null });
  const [missing] = brief.missing;
  if (wanted === "whole" ? !brief.isPriced : brief.sources.length === 0)
    throw new AppError("upstream", missing?.reason ?? "The market data did not come in time");
  return write(ctx, { occasion, question, nowIso: iso(Date.now()), brief }, payer);
}

type Research = {
  focus: string;
  question?: string | undefined;
  occasion: string;
  wanted: "soon" | "whole";
  payer: Payer;
};
