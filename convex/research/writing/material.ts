import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type ActionCtx } from "../../_generated/server";
import type { Fact, Missing, Wanted } from "../../evidence/tables";
import { withoutCitations } from "../../lib/text/strings";
import { HOUR, iso } from "../../lib/time";
import { briefOf, type Brief } from "./brief";
import { resultOn } from "../model";
import { readingsOf } from "./readings";
import type { Sources } from "../shapes";
import { wantedFor } from "./collections";

/** Brings together what a report is written from. */

/** Older facts say nothing of the present. */
const FACTS_GOOD_MS = 2 * HOUR;

/** What is compared with earlier times. */
const COMPARED: readonly Wanted[] = [
  { collector: "markets", subject: "" },
  { collector: "perpetuals", subject: "" },
  { collector: "stablecoins", subject: "" },
];

/**
 * The brief of a report on a focus.
 * @param observations What the research desk's sources said, oldest first.
 * @param startedAt When its shift began, in epoch ms; `null` without a shift.
 */
export async function gatherBrief(
  ctx: ActionCtx,
  {
    focus,
    observations,
    startedAt,
  }: { focus: string; observations: readonly Sources[]; startedAt: number | null },
): Promise<Brief> {
  const withinMs = FACTS_GOOD_MS;
  const then = async (at: number | null): Promise<Fact[]> => {
    if (at === null) return [];
    const stood = { wanted: [...COMPARED], withinMs, at };
    return (await ctx.runQuery(internal.evidence.collections.latest, stood)).facts;
  };
  const [{ facts, absent }, previous] = await Promise.all([
    ctx.runQuery(internal.evidence.collections.latest, { wanted: wantedFor(focus), withinMs }),
    ctx.runQuery(internal.research.writing.material.previous, { focus }),
  ]);
  return briefOf({
    focus,
    facts,
    atStart: await then(startedAt),
    atReport: await then(previous?.generatedAt ?? null),
    readings: readingsOf(observations),
    previous: previous?.line ?? null,
    missing: missingOf(observations.at(-1), absent),
  });
}

/** What the latest round of the collectors could not bring, and what has not come yet. */
function missingOf(latest: Sources | undefined, absent: readonly Wanted[]): Missing[] {
  const told = latest?.facts.state === "ok" ? latest.facts.missing : [];
  const failed = latest?.facts.state === "failed" ? latest.facts.error : null;
  const isTold = (one: Wanted) =>
    told.some(({ collector, subject }) => collector === one.collector && subject === one.subject);
  const untold = absent.filter((one) => !isTold(one));
  return [...told, ...untold.map((one) => ({ ...one, reason: failed ?? "It has not come yet" }))];
}

/** The last report or on-demand result on a focus, in a line. */
export const previous = internalQuery({
  args: { focus: v.string() },
  returns: v.union(v.object({ generatedAt: v.number(), line: v.string() }), v.null()),
  handler: async (ctx, { focus }) => {
    const report = await ctx.db
      .query("reports")
      .withIndex("by_jobToken", (q) => q.eq("jobToken", focus))
      .order("desc")
      .first();
    const snapshot = await resultOn(ctx, { focus });
    const [latest] = [report, snapshot]
      .flatMap((row) => (row === null ? [] : [row]))
      .sort((a, b) => b.generatedAt - a.generatedAt);
    if (latest === undefined) return null;
    const { generatedAt, result } = latest;
    // Its figures were another time's: they are not to be taken over.
    const summary = withoutCitations(result.shortSummary);
    return { generatedAt, line: `${iso(generatedAt)}, ${result.marketOutlook}: ${summary}` };
  },
});
