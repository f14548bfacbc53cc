import type { WithoutSystemFields } from "convex/server";
import type { Doc, Id } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { dayOf, iso } from "../../lib/time";
import { calibrated, type Outcomes } from "../statistics/calibration";
import { armsIn } from "../statistics/days";
import { addClosed, emptyTotals, type Totals } from "../statistics/totals";
import { dayStart } from "../trade/calendar";
import { coinFlip, type Comparison } from "../trade/controls";
import type { Outcome } from "../trade/path";
import {
  chanceOf,
  delivered,
  leastExcess,
  LIFETIME_MS,
  positionOf,
  TOKENS,
  type LabToken,
  type Levels,
  type Token,
} from "../trade/rules";
import { anchoredBefore } from "./anchors";
import { append, GENESIS, headOf, newestOf } from "./chain";
import { closingEntry, comparisonEntry, issueEntry, missEntry } from "./entries";
import { DAILY, type AnySignal, type Course, type Missed, type Signal, type Slot } from "./tables";

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
  // Before the coin, which the chain's head flips.
  if (issue.desk === "daily") await noteChange(ctx, issue);
  const begun = { ...issue, ...beginningOf(issue, await totalsOf(ctx, issue.record, "ALL")) };
  const isCompared = issue.desk === "daily" && positionOf(issue) !== null;
  const signal: AnySignal = isCompared
    ? { ...begun, coin: await coinFor(ctx, issue), momentum }
    : { ...begun, coin: null, momentum: null };
  const entry = issueEntry(signal, { missingHours, refusedDays: await refusedDays(ctx, signal) });
  const { sequence } = await append(ctx, entry);
  await ctx.db.insert("signals", { ...signal, event: sequence });
}

/** Tells, before a signal, that it is another's than the last one was. Who was promoted has been told of. */
async function noteChange(
  ctx: MutationCtx,
  { model, promptVersion, costBps }: Pick<AnySignal, "model" | "promptVersion" | "costBps">,
): Promise<void> {
  const [last] = await newestOf(ctx, "issued", 1);
  const [promoted] = await newestOf(ctx, "promoted", 1);
  if (last === undefined) return;
  const before = last.content;
  const isAnnounced = promoted !== undefined && promoted.sequence > last.sequence;
  const isOther = model !== before.model || promptVersion !== before.promptVersion;
  if (costBps === before.costBps && (!isOther || isAnnounced)) return;
  const content = { model, promptVersion, costBps, at: iso(Date.now()) };
  await append(ctx, { desk: "daily", statement: { kind: "changed", content } });
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

/** How many of an arm's slots of a token have had no signal so far. */
async function refusedDays(ctx: QueryCtx, { arm, token }: Pick<Slot, "arm" | "token">): Promise<number> {
  return (await totalsOf(ctx, arm, token)).refused;
}

/** Ends a pending signal: status, event and totals at once. */
export async function closeSignal(ctx: MutationCtx, row: Doc<"signals">, outcome: Outcome): Promise<void> {
  const ended = { ...outcome, walkedUntil: outcome.closedAt, open: hasControls(row) };
  await ctx.db.patch("signals", row._id, ended);
  await append(ctx, closingEntry(row, outcome, await refusedDays(ctx, row)));
  const { token, signal, costBps, confidence } = row;
  const position = positionOf(row);
  const excess = position === null ? 0 : leastExcess(position, outcome);
  const stated = { confidence, calibratedConfidence: row.calibrated.confidence };
  const isAnchored = row.desk === "daily" && (await anchoredBefore(ctx, row.event, outcome.closedAt));
  const closed = { signal, costBps, excess, isAnchored, ...stated, ...outcome };
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
  await append(ctx, comparisonEntry(row, compared, await refusedDays(ctx, row)));
}

/** Counts a slot without a signal, with an event. */
export async function keepMissed(
  ctx: MutationCtx,
  slot: Slot & { promptVersion: string | null },
  reason: Missed,
): Promise<void> {
  await changeTotals(ctx, slot, (totals) => ({ ...totals, refused: totals.refused + 1 }));
  await append(ctx, missEntry(slot, reason, await refusedDays(ctx, slot)));
}

export async function findRun(
  ctx: QueryCtx,
  { arm, slot, token }: Pick<Slot, "arm" | "slot" | "token">,
): Promise<Doc<"signalRuns"> | null> {
  return ctx.db
    .query("signalRuns")
    .withIndex("by_slot", (q) => q.eq("arm", arm).eq("slot", slot).eq("token", token))
    .unique();
}

/** A run that is under way; `null` for one that has ended. */
export async function findOpenRun(ctx: QueryCtx, runId: Id<"signalRuns">): Promise<Doc<"signalRuns"> | null> {
  const run = await ctx.db.get("signalRuns", runId);
  return run?.state === "writing" ? run : null;
}

export type Scope = Doc<"signalTotals">["scope"];

export async function totalsOf(ctx: QueryCtx, arm: string, scope: Scope): Promise<Totals> {
  return (await totalsRow(ctx, arm, scope)).totals;
}

/** Changes an arm's totals of a token and those of all. */
async function changeTotals(
  ctx: MutationCtx,
  { arm, token }: { arm: string; token: LabToken },
  change: (totals: Totals) => Totals,
): Promise<void> {
  for (const scope of [token, "ALL"] as const) await changeScope(ctx, { arm, scope }, change);
}

export async function changeScope(
  ctx: MutationCtx,
  { arm, scope }: { arm: string; scope: Scope },
  change: (totals: Totals) => Totals,
): Promise<void> {
  const { _id, totals } = await totalsRow(ctx, arm, scope);
  const after: WithoutSystemFields<Doc<"signalTotals">> = { arm, scope, ...change(totals) };
  if (_id === null) await ctx.db.insert("signalTotals", after);
  else await ctx.db.replace("signalTotals", _id, after);
}

async function totalsRow(ctx: QueryCtx, arm: string, scope: Scope) {
  const row = await ctx.db
    .query("signalTotals")
    .withIndex("by_arm", (q) => q.eq("arm", arm).eq("scope", scope))
    .unique();
  if (row === null) return { _id: null, totals: emptyTotals() };
  const { _id, _creationTime, arm: _arm, scope: _scope, arms, anchored = 0, ...sums } = row;
  return { _id, totals: { ...sums, anchored, arms: armsIn(arms) } };
}
