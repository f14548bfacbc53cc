import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import type { ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { AppError } from "../lib/errors";
import { iso, sleep } from "../lib/time";
import { describeEvidence, gatherEvidence } from "./evidence";
import type { Result, Sources, SourceStates } from "./tables";
import { writeResult } from "./writing";

/** A result written for somebody who waits, from what the sources have said by now. For actions. */

/**
 * Writes a result from an observation. A source that is slower than the deadline does not hold it back: its last stored
 * reading stands in, and its collection goes on behind.
 * @param occasion What the model is told it writes.
 * @throws AppError `upstream`
 */
export async function writeSnapshot(
  ctx: ActionCtx,
  { focus, observationId, occasion }: { focus: string; observationId: Id<"observations">; occasion: string },
): Promise<{ result: Result; model: string; sources: SourceStates }> {
  await awaitSources(ctx, observationId);
  const readings = await ctx.runQuery(internal.research.observations.readings, { observationId });
  const { sources, states } = fillIn(readings.current, readings.earlier);
  const failure = nothingToWriteFrom(sources);
  if (failure !== null) throw new AppError("upstream", failure);
  const evidence = describeEvidence(gatherEvidence([sources]));
  const task = { occasion, focus, nowIso: iso(Date.now()), evidence };
  const { result, model } = await writeResult(ctx, task, deadlines.llmScheduled);
  return { result, model, sources: states };
}

/** Until all sources have settled, or the deadline has passed and at least one has a reading. */
async function awaitSources(ctx: ActionCtx, observationId: Id<"observations">): Promise<void> {
  const enough = AbortSignal.timeout(deadlines.researchSources);
  const hopeless = AbortSignal.timeout(deadlines.sentiment);
  let pause = 100;
  while (!hopeless.aborted) {
    const progress = await ctx.runQuery(internal.research.observations.progress, { observationId });
    if (progress.settled || (enough.aborted && progress.anyOk)) return;
    await sleep(pause);
    pause = Math.min(pause * 1.5, 500);
  }
}

/** Each source's own reading, else its latest stored one, else nothing; and which of these it is. */
function fillIn(current: Sources, earlier: readonly Sources[]): { sources: Sources; states: SourceStates } {
  const market = pick(
    current.market,
    earlier.map((one) => one.market),
  );
  const sentiment = pick(
    current.sentiment,
    earlier.map((one) => one.sentiment),
  );
  const onchain = pick(
    current.onchain,
    earlier.map((one) => one.onchain),
  );
  return {
    sources: { market: market.reading, sentiment: sentiment.reading, onchain: onchain.reading },
    states: { market: market.state, sentiment: sentiment.state, onchain: onchain.state },
  };
}

type Any = { state: "pending" } | { state: "failed"; at: number } | { state: "ok"; at: number };

function pick<Reading extends Any>(
  current: Reading,
  earlier: readonly Reading[],
): { reading: Reading; state: SourceStates["market"] } {
  if (current.state === "ok") return { reading: current, state: { state: "live", asOf: current.at } };
  for (const reading of earlier) {
    if (reading.state === "ok") return { reading, state: { state: "earlier", asOf: reading.at } };
  }
  return { reading: current, state: { state: "missing", asOf: null } };
}

/** Why there is nothing to write from, or `null` when there is something. */
function nothingToWriteFrom(sources: Sources): string | null {
  const all = [sources.market, sources.sentiment, sources.onchain];
  if (all.some(({ state }) => state === "ok")) return null;
  const failed = all.find((source) => source.state === "failed");
  return failed?.state === "failed" ? failed.error : "The research sources did not answer in time";
}
