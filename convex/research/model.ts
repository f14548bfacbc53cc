import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { completionCost, usualSentiment } from "../lib/costs";
import type { Lane } from "../lib/lanes";
import { iso } from "../lib/time";
import { COLLECTION_INTERVAL_MS, dueAfterMs, SHIFT_MS } from "./checkpoints";

const RECENT_REPORTS = 3;

/** What a shift's calls come to, in millionths of a USD: usual answers of usual models, 17 times three and three reports. */
export function shiftCosts(): { llm: number; sentiment: number } {
  const collections = SHIFT_MS / COLLECTION_INTERVAL_MS + 1;
  const answer = completionCost({ input: 2_000, output: 1_500 });
  const report = completionCost({ input: 8_000, output: 1_500 });
  return {
    llm: collections * 2 * answer + Object.keys(dueAfterMs).length * report,
    sentiment: collections * usualSentiment(),
  };
}

/** Where the work of a shift waits, which may have gone meanwhile. */
export function placeOfShift(shift: Doc<"shifts"> | null): { lane: Lane; owner: string } {
  return { lane: shift?.signedIn === true ? "signedIn" : "anonymous", owner: shift?.userId ?? "nobody" };
}

/** What a shift's cards belong to. */
export const shiftTopic = (shiftId: Id<"shifts">) => `shift:${shiftId}`;

/** A user's latest reports, newest first. */
export async function latestReportsOf(ctx: QueryCtx, userId: string): Promise<Doc<"reports">[]> {
  return ctx.db
    .query("reports")
    .withIndex("by_userId", (q) => q.eq("userId", userId))
    .order("desc")
    .take(RECENT_REPORTS);
}

/** So many shifts may a user run at once. */
export const MAX_ACTIVE = 10;

/** All of a user's active shifts, newest first. */
export async function activeShiftsOf(ctx: QueryCtx, userId: string): Promise<Doc<"shifts">[]> {
  return ctx.db
    .query("shifts")
    .withIndex("by_userId_and_status", (q) => q.eq("userId", userId).eq("status", "active"))
    .order("desc")
    .take(MAX_ACTIVE);
}

export type Collection = {
  /** Epoch ms. */
  at: number;
  /** The sources that gave nothing, and why. */
  failed: { source: string; error: string }[];
};

/** What a shift's latest collection that has come to an end brought; `null` while there is none. */
export async function lastCollectionOf(ctx: QueryCtx, shiftId: Id<"shifts">): Promise<Collection | null> {
  const latest = await ctx.db
    .query("dataPoints")
    .withIndex("by_shiftId", (q) => q.eq("shiftId", shiftId))
    .order("desc")
    .take(2);
  for (const { observationId } of latest) {
    const observation = await ctx.db.get("observations", observationId);
    if (observation?.state !== "settled") continue;
    const failed = Object.entries(observation.sources).flatMap(([source, reading]) =>
      reading.state === "failed" ? [{ source, error: reading.error }] : [],
    );
    return { at: observation.collectedAt ?? observation.requestedAt, failed };
  }
  return null;
}

/** What chat tells the model about a user's research: the running shift and the last reports, in a few lines. */
export async function describeResearch(ctx: QueryCtx, userId: string): Promise<string | null> {
  const [newest] = await activeShiftsOf(ctx, userId);
  const reports = await latestReportsOf(ctx, userId);
  const lines = [...(newest === undefined ? [] : [describeShift(newest)]), ...reports.map(describeReport)];
  return lines.length === 0 ? null : lines.join("\n");
}

function describeShift({ token, startedAt, stopsAt, interimReportsCount }: Doc<"shifts">): string {
  const subject = token === undefined ? "the whole market" : token;
  return (
    `Running research shift on ${subject}, ${iso(startedAt)} to ` +
    `${iso(stopsAt)}, interim reports so far: ${interimReportsCount}.`
  );
}

function describeReport({ type, jobToken, generatedAt, result }: Doc<"reports">): string {
  const subject = jobToken === "" ? "the whole market" : jobToken;
  return `${type} report on ${subject}, ${iso(generatedAt)}: ${result.shortSummary}`;
}
