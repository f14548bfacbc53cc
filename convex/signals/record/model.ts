import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { calibrated, type Outcomes } from "../statistics/calibration";
import { addClosed } from "../statistics/totals";
import { dayOf } from "../../lib/time";
import { dayStart } from "../trade/calendar";
import { coinFlip, type Comparison } from "../trade/controls";
import { chanceOf, excessOf } from "../trade/edge";
import type { Outcome } from "../trade/path";
import { delivered, LIFETIME_MS, positionOf, TOKENS, type Levels, type Token } from "../trade/rules";
import { GENESIS } from "./chain";
import { append, headOf } from "./chains";
import { closingEntry, comparisonEntry, issueEntry, missEntry } from "./entries";
import { DAILY, type AnySignal, type Course, type Missed, type Signal, type Slot } from "./tables";
import { changeTotals, totalsOf } from "./totals";

/** Signals with their events and totals: what is written together is written here. */

export async function findSlot(
  ctx: QueryCtx,
  { arm, slot, token }: Pick<Slot, "arm" | "slot" | "token">,
): Promise<Doc<"signals"> | null> {
  return ctx.db
    .query("signals")
    .withIndex("by_slot", (q) => q.eq("arm", arm).eq("slot", slot).eq("token", token))
    .unique();
}

/** The daily signals of a UTC day, `2026-11-20`, in the order of `TOKENS`. */
export async function signalsOfDay(ctx: QueryCtx, day: string): Promise<Signal[]> {
  const slot = dayStart(day);
  const rows = await Promise.all(TOKENS.map((token) => findSlot(ctx, { arm: DAILY, slot, token })));
  return rows.flatMap((row) => (row === null ? [] : [dailySignal(row)]));
}

/** The newest daily signal of each of the tokens that has one, whatever became of it, in the order of `TOKENS`. */
export async function latestSignals(ctx: QueryCtx, tokens: readonly Token[]): Promise<Signal[]> {
  const wanted = TOKENS.filter((token) => tokens.includes(token));
  const newest = (token: Token) =>
    ctx.db
      .query("signals")
      .withIndex("by_token", (q) => q.eq("arm", DAILY).eq("token", token))
      .order("desc")
      .first();
  const rows = await Promise.all(wanted.map(newest));
  return rows.flatMap((row) => (row === null ? [] : [dailySignal(row)]));
}

/** A stored daily signal without what the platform adds to a row, and what all of them have in common. */
export function dailySignal(row: Doc<"signals">): Signal {
  const { _id, _creationTime, desk: _desk, arm: _arm, token, ...signal } = row;
  return { ...signal, token: delivered(token) };
}

/** The moment at which an arm's signal is issued now: later than every other's, since callers page by it. */
export async function nextIssueTime(ctx: QueryCtx, arm: string, now: number): Promise<number> {
  const newest = await ctx.db
    .query("signals")
    .withIndex("by_arm", (q) => q.eq("arm", arm))
    .order("desc")
    .first();
  return Math.max(now, (newest?.generatedAt ?? 0) + 1);
}

/** What is issued: the proposal entered at its price, and what was known then. */
type Issue = Omit<AnySignal, Course> & {
  momentum: AnySignal["momentum"];
  /** Hours of the prompt's candles that were not to be had. */
  missingHours: number;
};

/** Stores a new signal with its event: its calibration from its record so far, its coin from the chain's head. */
export async function issueSignal(
  ctx: MutationCtx,
  { missingHours, momentum, ...issue }: Issue,
): Promise<void> {
  const begun = { ...issue, ...beginningOf(issue, await totalsOf(ctx, issue.record, "ALL")) };
  const isCompared = issue.desk === "daily" && positionOf(issue) !== null;
  const signal: AnySignal = isCompared
    ? { ...begun, coin: await coinFor(ctx, issue), momentum }
    : { ...begun, coin: null, momentum: null };
  await ctx.db.insert("signals", signal);
  await append(ctx, await issueEntry(ctx, signal, missingHours));
}

/** @param outcomes What its confidence is calibrated by. */
function beginningOf(issue: Levels & Pick<AnySignal, "confidence" | "generatedAt">, outcomes: Outcomes) {
  const { confidence, generatedAt } = issue;
  const position = positionOf(issue);
  // A HOLD risks nothing and gains nothing.
  const chance = position === null ? 0.5 : chanceOf(position);
  return {
    status: "PENDING" as const,
    open: true,
    expiresAt: generatedAt + LIFETIME_MS,
    calibrated: calibrated(outcomes, confidence, chance),
    walkedUntil: generatedAt,
    gapMinutes: 0,
  };
}

async function coinFor(ctx: QueryCtx, { desk, token, slot }: Slot) {
  return coinFlip((await headOf(ctx, desk))?.hash ?? GENESIS, token, dayOf(slot));
}

/** Ends a pending signal: status, event and totals at once. */
export async function closeSignal(ctx: MutationCtx, row: Doc<"signals">, outcome: Outcome): Promise<void> {
  const ended = { ...outcome, walkedUntil: outcome.closedAt, open: hasControls(row) };
  await ctx.db.patch("signals", row._id, ended);
  await append(ctx, await closingEntry(ctx, row, outcome));
  const { token, signal, costBps, confidence } = row;
  const position = positionOf(row);
  const excess = position === null ? 0 : excessOf(position, outcome);
  const stated = { confidence, calibratedConfidence: row.calibrated.confidence };
  const closed = { signal, costBps, excess, ...stated, ...outcome };
  for (const arm of new Set([row.arm, row.record])) {
    await changeTotals(ctx, { arm, token }, (totals) => addClosed(totals, closed));
  }
}

/** Whether a signal is to be compared with control arms: a HOLD and a shadow have none. */
export function hasControls({ coin }: Pick<AnySignal, "coin">): boolean {
  return coin !== null;
}

/** Keeps how the control arms of a closed signal ended, with an event. */
export async function keepComparison(
  ctx: MutationCtx,
  row: Doc<"signals">,
  compared: Comparison,
): Promise<void> {
  await ctx.db.patch("signals", row._id, { compared, open: false });
  await append(ctx, await comparisonEntry(ctx, row, compared));
}

/** Counts a slot without a signal, with an event. */
export async function keepMissed(
  ctx: MutationCtx,
  slot: Slot & { promptVersion: string | null },
  reason: Missed,
): Promise<void> {
  await changeTotals(ctx, slot, (totals) => ({ ...totals, refused: totals.refused + 1 }));
  await append(ctx, await missEntry(ctx, slot, reason));
}
