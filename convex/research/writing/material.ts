import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { internalQuery, type ActionCtx, type QueryCtx } from "../../_generated/server";
import { standing, vStanding } from "../../market/facts";
import { vFact, type Fact } from "../../lib/facts";
import { type Missing, type Wanted } from "../../market/tables";
import { withoutCitations } from "../../lib/text/strings";
import { HOUR, iso, roundedNow } from "../../lib/time";
import { rowsBy } from "../../lib/records/rows";
import { briefOf, type Brief } from "./brief";
import { resultOn } from "../model";
import type { Readings } from "../shapes";
import { wantedFor } from "./collections";

/** Older facts say nothing about the present. */
const FACTS_GOOD_MS = 2 * HOUR;

/** What is compared with earlier times. */
const COMPARED: readonly Wanted[] = [
  { collector: "markets", subject: "" },
  { collector: "perpetuals", subject: "" },
];

/**
 * The brief of a report on a focus.
 * @param readings The answers of the research desk's sources.
 * @param startedAt When its shift began, in epoch ms; `null` without a shift.
 */
export async function gatherBrief(
  ctx: ActionCtx,
  { focus, readings, startedAt }: { focus: string; readings: Readings; startedAt: number | null },
): Promise<Brief> {
  const args = { focus, startedAt, at: roundedNow() };
  const known = await ctx.runQuery(internal.research.writing.material.known, args);
  const { facts, absent, atStart, atReport, previous } = known;
  const missing = missingOf(readings.facts, absent);
  return briefOf({ focus, facts, atStart, atReport, readings, previous, missing });
}

/** The facts on a focus, now, when its shift began and at the last report, and that report in a line. */
export const known = internalQuery({
  args: { focus: v.string(), startedAt: v.union(v.number(), v.null()), at: v.number() },
  returns: vStanding.extend({
    atStart: v.array(vFact),
    atReport: v.array(vFact),
    previous: v.union(v.string(), v.null()),
  }),
  handler: async (ctx, { focus, startedAt, at: now }) => {
    const withinMs = FACTS_GOOD_MS;
    const then = async (at: number | null): Promise<Fact[]> =>
      at === null ? [] : (await standing(ctx, { wanted: COMPARED, withinMs, at })).facts;
    const previous = await previousOn(ctx, focus);
    return {
      ...(await standing(ctx, { wanted: wantedFor(focus), withinMs, at: now })),
      atStart: await then(startedAt),
      atReport: await then(previous?.generatedAt ?? null),
      previous: previous?.line ?? null,
    };
  },
});

/** What the collectors' latest round could not collect, and what is still missing. */
function missingOf(latest: Readings["facts"], absent: readonly Wanted[]): Missing[] {
  const named = latest?.state === "ok" ? latest.missing : [];
  const failed = latest?.state === "failed" ? latest.error : null;
  const isTold = (one: Wanted) =>
    named.some(({ collector, subject }) => collector === one.collector && subject === one.subject);
  const untold = absent.filter((one) => !isTold(one));
  return [...named, ...untold.map((one) => ({ ...one, reason: failed ?? "It has not come yet" }))];
}

/** The last report or on-demand result on a focus, in a line. */
async function previousOn(
  ctx: QueryCtx,
  focus: string,
): Promise<{ generatedAt: number; line: string } | null> {
  const report = await rowsBy(ctx.db.query("reports"), "jobToken", focus).order("desc").first();
  const snapshot = await resultOn(ctx, { focus });
  const [latest] = [report, snapshot]
    .flatMap((row) => (row === null ? [] : [row]))
    .sort((a, b) => b.generatedAt - a.generatedAt);
  if (latest === undefined) return null;
  const { generatedAt, result } = latest;
  // Its figures are from another time and must not be repeated.
  const summary = withoutCitations(result.shortSummary);
  return { generatedAt, line: `${iso(generatedAt)}, ${result.marketOutlook}: ${summary}` };
}
