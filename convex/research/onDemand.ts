import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { Id } from "../_generated/dataModel";
import {
  internalAction,
  internalMutation,
  internalQuery,
  type ActionCtx,
  type QueryCtx,
} from "../_generated/server";
import { deadlines } from "../lib/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { vCaller } from "../lib/limits";
import { beginRefresh, finishRefresh, vTicket, type Ticket } from "../lib/refreshes";
import { iso, MINUTE, sleep } from "../lib/time";
import { describeEvidence, gatherEvidence } from "./evidence";
import { shareObservation } from "./observations";
import { synthesisMessages } from "./prompts";
import { vResult, vSourceStates, type Sources, type SourceStates } from "./tables";
import { writeResult } from "./writing";

/** The sources' longest wait, the writing with its repair turn, and a margin. */
const LEASE_MS = 5 * MINUTE;

const refreshKey = (focus: string) => `research:${focus}`;

/** The stored result of a focus, however old. */
export const current = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ fetchedAt: v.number(), result: vResult, sources: vSourceStates }), v.null()),
  handler: async (ctx, { focus }) => {
    const row = await find(ctx, focus);
    return row === null ? null : { fetchedAt: row.generatedAt, result: row.result, sources: row.sources };
  },
});

/** Starts the research of a focus, or joins the one under way. */
export const begin = internalMutation({
  args: { focus: v.string(), caller: vCaller },
  returns: vTicket,
  handler: async (ctx, { focus, caller }): Promise<Ticket> =>
    beginRefresh(ctx, { key: refreshKey(focus), leaseMs: LEASE_MS, caller }, async (attempt) => {
      const observationId = await shareObservation(ctx, focus, { urgent: true });
      const work = { focus, attempt, observationId };
      await ctx.scheduler.runAfter(0, internal.research.onDemand.write, work);
    }),
});

/**
 * Writes the result from what the sources have said by the deadline. One that is slower does not hold it back: its last
 * stored reading stands in, and its collection goes on behind.
 */
export const write = internalAction({
  args: { focus: v.string(), attempt: v.number(), observationId: v.id("observations") },
  returns: v.null(),
  handler: async (ctx, { focus, attempt, observationId }) => {
    try {
      await awaitSources(ctx, observationId);
      const readings = await ctx.runQuery(internal.research.observations.readings, { observationId });
      const { sources, states } = fillIn(readings.current, readings.earlier);
      const failure = nothingToWriteFrom(sources);
      if (failure !== null) throw new AppError("upstream", failure);
      const written = await writeResult(
        synthesisMessages({
          occasion: "On-demand research snapshot",
          focus,
          nowIso: iso(Date.now()),
          evidence: describeEvidence(gatherEvidence([sources])),
        }),
        deadlines.llmScheduled,
      );
      const { result, model } = written;
      const stored = { focus, attempt, model, result, sources: states };
      await ctx.runMutation(internal.research.onDemand.store, stored);
    } catch (error) {
      await ctx.runMutation(internal.lib.refreshes.fail, {
        key: refreshKey(focus),
        attempt,
        failure: messageOf(error),
      });
    }
    return null;
  },
});

export const store = internalMutation({
  args: {
    focus: v.string(),
    attempt: v.number(),
    model: v.string(),
    result: vResult,
    sources: vSourceStates,
  },
  returns: v.null(),
  handler: async (ctx, { focus, attempt, model, result, sources }) => {
    if (!(await finishRefresh(ctx, refreshKey(focus), attempt, null))) return null;
    const stored = { focus, generatedAt: Date.now(), model, result, sources };
    const row = await find(ctx, focus);
    if (row === null) await ctx.db.insert("researchResults", stored);
    else await ctx.db.replace("researchResults", row._id, stored);
    return null;
  },
});

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

async function find(ctx: QueryCtx, focus: string) {
  return ctx.db
    .query("researchResults")
    .withIndex("by_focus", (q) => q.eq("focus", focus))
    .unique();
}
