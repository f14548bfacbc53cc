import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import type { Payer } from "../lib/budget/classes";
import { deadlines } from "../lib/outside/deadlines";
import { takeNoted } from "../lib/outside/notes";
import { together } from "../lib/outside/batches";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { failRefresh } from "../lib/refreshes";
import { vTurn } from "../lib/renewals";
import { iso, within } from "../lib/time";
import { worker } from "../lib/work/desk";
import type { Job } from "../lib/work/jobs";
import { gatherBrief } from "./writing/material";
import type { Subject } from "./model";
import { SOURCES } from "./observations";
import type { ReportKind, Settled } from "./shapes";
import { writeSnapshot } from "./writing/snapshot";
import { beginFacts, collectSource } from "./sources";
import { writeOwedResult } from "./writing/writer";

/** Calls to the sources and the model: collections, reports of shifts, results on demand. */

const OCCASIONS: Record<ReportKind, string> = {
  interim1: "Interim report 1 of an 8-hour research shift, 2.5 hours in",
  interim2: "Interim report 2 of an 8-hour research shift, 5 hours in",
  final: "Final report of an 8-hour research shift",
};

export const collect = worker(
  { observationId: v.id("observations") },
  async (ctx, { observationId, job }) => {
    const collected = await collectNow(ctx, { observationId, collects: job });
    return collected ? undefined : "over";
  },
);

/** Answers within this time of one another are stored together. */
const SETTLED_TOGETHER_MS = 100;

/**
 * Asks all sources that have not answered yet, at the same time; each answer is stored as soon as it arrives. For
 * actions.
 * @returns Whether there was anything to collect.
 */
export async function collectNow(
  ctx: ActionCtx,
  { observationId, collects: job }: { observationId: Id<"observations">; collects: Job | null },
): Promise<boolean> {
  if (job === null) return false;
  const work = await ctx.runQuery(internal.research.observations.task, { observationId, job });
  if (work === null) return false;
  const { focus, payer } = work;
  const pending = SOURCES.filter((source) => work.sources[source].state === "pending");
  const facts = pending.includes("facts") ? beginFacts(ctx, focus) : null;
  const settle = together(async (settled: Settled[]) => {
    const stored = { observationId, job, settled, noted: takeNoted() };
    await ctx.runMutation(internal.research.observations.settle, stored);
    return settled;
  }, SETTLED_TOGETHER_MS);
  const ask = async (source: (typeof SOURCES)[number]): Promise<Settled> => {
    const settled = await collectSource(ctx, source, { focus, payer, facts });
    if (settled.reading.state === "failed") {
      log.warn("research.source failed", { observationId, source, error: settled.reading.error });
    }
    return settled;
  };
  const models = pending.filter((source) => source !== "facts").map(ask);
  const settling = models.map(async (answer) => settle(await answer));
  // The facts have their own rows; that they are complete is stored together with the next model's answer.
  if (facts !== null) {
    const soon = AbortSignal.timeout(Math.floor(deadlines.researchSources * 0.95));
    const settled = await ask("facts");
    await within(soon, Promise.race(models));
    await settle(settled);
  }
  await Promise.all(settling);
  return true;
}

/** Writes the report of a shift from its evidence. */
export const writeReport = worker({ synthesisId: v.id("syntheses") }, async (ctx, { synthesisId, job }) => {
  const task = await ctx.runQuery(internal.research.reports.syntheses.task, { synthesisId });
  if (task === null) return "over";
  const { kind, focus, readings, startedAt } = task;
  const brief = await gatherBrief(ctx, { focus, readings, startedAt });
  if (brief.sources.length === 0) throw new AppError("upstream", "No source could be collected");
  const report = { occasion: OCCASIONS[kind], focus, nowIso: iso(Date.now()), brief };
  const written = await writeOwedResult(ctx, report, { turnMs: deadlines.llmScheduled, payer: "shift" });
  const stored = { synthesisId, job, ...written, noted: takeNoted() };
  await ctx.runMutation(internal.research.reports.syntheses.store, stored);
});

/** Writes an on-demand result and stores it, or why there is none. A slower source is collected to its end afterwards. */
export const writeResult = worker(
  { focus: v.string(), question: v.optional(v.string()), ...vTurn },
  async (ctx, work) => {
    const shared = await ctx.runMutation(internal.research.results.take, work);
    if (shared !== null)
      await Promise.all([collectNow(ctx, shared), writeFrom(ctx, shared.observationId, work)]);
    return "over";
  },
);

async function writeFrom(
  ctx: ActionCtx,
  observationId: Id<"observations">,
  { key, attempt, payer, focus, question }: Subject & { key: string; attempt: number; payer: Payer },
): Promise<void> {
  const subject = { focus, ...(question === undefined ? {} : { question }) };
  try {
    const occasion = "On-demand research snapshot";
    const { result, model, sources } = await writeSnapshot(ctx, {
      ...subject,
      observationId,
      occasion,
      wanted: "soon",
      payer,
    });
    const stored = { ...subject, key, attempt, model, result, sources };
    await ctx.runMutation(internal.research.results.store, stored);
  } catch (error) {
    await failRefresh(ctx, key, attempt, error);
  }
}
