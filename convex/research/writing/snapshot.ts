import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import type { Payer } from "../../lib/budget/classes";
import { deadlines } from "../../lib/outside/deadlines";
import { AppError } from "../../lib/errors";
import { HOUR, iso, sleep } from "../../lib/time";
import type { Brief } from "./brief";
import { gatherBrief } from "./material";
import type { Result, SourceStates } from "../shapes";
import { writeResult } from "./writer";

/** Writes a result from the sources' answers so far. For actions. */

/** An older reading says nothing about the present. */
const READING_GOOD_MS = 2 * HOUR;

export type SnapshotTask = {
  focus: string;
  question?: string | undefined;
  observationId: Id<"observations">;
  occasion: string;
  /**
   * `soon`: a caller waits, so the result does not wait for a source beyond the deadline: its last reading is used, and
   * its collection continues in the background. `whole`: waits for every source, and writes nothing without an observed
   * price.
   */
  wanted: "soon" | "whole";
  payer: Payer;
};

/**
 * Writes a result from an observation; for a source without an answer, an earlier reading of at most two hours is used.
 * @throws AppError `upstream`
 */
export async function writeSnapshot(
  ctx: ActionCtx,
  { focus, question, observationId, occasion, wanted, payer }: SnapshotTask,
): Promise<{ result: Result; model: string; sources: SourceStates }> {
  await awaitSources(ctx, observationId, wanted);
  const args = { observationId, since: Date.now() - READING_GOOD_MS };
  const { readings, states, error } = await ctx.runQuery(internal.research.observations.readings, args);
  const brief = await gatherBrief(ctx, { focus, readings, startedAt: null });
  const failure = wanted === "whole" ? noMarketFacts(brief) : nothingToWriteFrom(brief, error);
  if (failure !== null) throw new AppError("upstream", failure);
  const task = { occasion, focus, question, nowIso: iso(Date.now()), brief };
  const { result, model } = await writeResult(ctx, task, { turnMs: deadlines.llmScheduled, payer });
  return { result, model, sources: states };
}

/** Waits until all sources have settled; with `soon`, until the deadline has passed and at least one has a reading. */
async function awaitSources(
  ctx: ActionCtx,
  observationId: Id<"observations">,
  wanted: SnapshotTask["wanted"],
): Promise<void> {
  const enough = AbortSignal.timeout(deadlines.researchSources);
  const hopeless = AbortSignal.timeout(deadlines.sentiment);
  let pause = 100;
  while (!hopeless.aborted) {
    const progress = await ctx.runQuery(internal.research.observations.progress, { observationId });
    if (progress.settled || (wanted === "soon" && enough.aborted && progress.anyOk)) return;
    await sleep(pause);
    pause = Math.min(pause * 1.5, 500);
  }
}

/** Why a whole result cannot be written, or `null` if it can: a paid report states observed prices. */
function noMarketFacts({ isPriced, missing }: Brief): string | null {
  if (isPriced) return null;
  const [first] = missing;
  return first === undefined ? "The market data did not come in time" : first.reason;
}

/** Why there is no material, or `null` if there is some. @param error Why one of the models has no answer. */
function nothingToWriteFrom({ sources }: Brief, error: string | null): string | null {
  return sources.length > 0 ? null : (error ?? "The research sources did not answer in time");
}
