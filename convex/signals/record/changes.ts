import { getOneFrom } from "convex-helpers/server/relationships";
import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { dayOf, iso } from "../../lib/time";
import { calibrated, type Outcomes } from "../statistics/calibration";
import { addClosed, closedOf } from "../statistics/totals";
import { coinFlip } from "../trade/controls";
import type { Comparison, Outcome } from "../trade/rows";
import { chanceOf, LIFETIME_MS, positionOf, RECORD_FROM, type Levels } from "../trade/rules";
import { append, GENESIS, headOf, newestOf } from "./chain";
import { closingEntry, comparisonEntry, issueEntry, missEntry } from "./entries";
import { changeTotals, scopesOf, totalsOf } from "./model";
import type { Signal, Course, Missed, Slot } from "./rows";

/**
 * Changes to signals, each with its event and its totals. Reading is in `signals/record/model`, which others use as
 * well.
 */

/** The time of issue of an arm's new signal: later than that of every other signal, because callers page by it. */
export async function nextIssueTime(ctx: QueryCtx, arm: string, now: number): Promise<number> {
  const newest = await ctx.db
    .query("signals")
    .withIndex("by_arm", (q) => q.eq("arm", arm))
    .order("desc")
    .first();
  return Math.max(now, (newest?.generatedAt ?? 0) + 1);
}

/** A signal to issue: the proposal at its price, and what was known at that time. */
type Issue = Omit<Signal, Course> & {
  momentum: Signal["momentum"];
  /** How many hours of the prompt's candles were not available. */
  missingHours: number;
};

/** Stores a new signal with its event: its calibration from its record so far, its coin from the chain's head. */
export async function issueSignal(
  ctx: MutationCtx,
  { missingHours, momentum, ...issue }: Issue,
): Promise<void> {
  // This comes before the coin, which the chain's head flips.
  if (issue.desk === "daily") await noteChange(ctx, issue);
  const begun = { ...issue, ...beginningOf(issue, await totalsOf(ctx, issue.record, "ALL")) };
  const isCompared = issue.desk !== "lab" && positionOf(issue) !== null;
  const signal: Signal = isCompared
    ? { ...begun, coin: await coinFor(ctx, issue), momentum }
    : { ...begun, coin: null, momentum: null };
  const entry = issueEntry(signal, { missingHours, refusedDays: await refusedDays(ctx, signal) });
  const { sequence } = await append(ctx, entry);
  await ctx.db.insert("signals", { ...signal, event: sequence });
}

/**
 * Appends an event before a signal if its model, prompt or costs differ from those of the last one. After a promotion,
 * the event of the promotion says so already.
 */
async function noteChange(
  ctx: MutationCtx,
  { model, promptVersion, costBps }: Pick<Signal, "model" | "promptVersion" | "costBps">,
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

/** @param outcomes The outcomes by which its confidence is calibrated. */
function beginningOf(issue: Levels & Pick<Signal, "confidence" | "generatedAt">, outcomes: Outcomes) {
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

/** How many slots of an arm and token have had no signal so far. */
async function refusedDays(ctx: QueryCtx, { arm, token }: Pick<Slot, "arm" | "token">): Promise<number> {
  return (await totalsOf(ctx, arm, token)).refused;
}

/**
 * Ends a pending signal: status, event and totals at once.
 * @param isAnchored Whether an anchor held its issue before its outcome.
 */
export async function closeSignal(
  ctx: MutationCtx,
  row: Doc<"signals">,
  outcome: Outcome,
  isAnchored: boolean,
): Promise<void> {
  const ended = { ...outcome, walkedUntil: outcome.closedAt, open: hasControls(row) };
  await ctx.db.patch("signals", row._id, ended);
  await append(ctx, closingEntry(row, outcome, await refusedDays(ctx, row)));
  const closed = closedOf(row, outcome, isAnchored);
  for (const arm of new Set([row.arm, row.record])) {
    const scopes = arm === row.arm ? scopesOf(row) : ([row.token, "ALL"] as const);
    await changeTotals(ctx, { arm, scopes }, (totals) => addClosed(totals, closed));
  }
  if (row.desk === "people") await listOwnArm(ctx, row.arm);
}

/** Lists a person's arm once enough of its signals have ended. */
async function listOwnArm(ctx: MutationCtx, arm: string): Promise<void> {
  const row = await getOneFrom(ctx.db, "signalArms", "by_arm", arm);
  if (row === null || !("listed" in row) || row.listed) return;
  const { wins, losses, expired } = await totalsOf(ctx, arm, "ALL");
  if (wins + losses + expired >= RECORD_FROM) await ctx.db.patch("signalArms", row._id, { listed: true });
}

/** Whether a signal is to be compared with control arms: a HOLD and a shadow have none. */
export function hasControls({ coin }: Pick<Signal, "coin">): boolean {
  return coin !== null;
}

/** Stores how the control arms of a closed signal ended, with an event. */
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
  const { arm, token } = slot;
  await changeTotals(ctx, { arm, scopes: [token, "ALL"] }, (totals) => ({
    ...totals,
    refused: totals.refused + 1,
  }));
  await append(ctx, missEntry(slot, reason, await refusedDays(ctx, slot)));
}
