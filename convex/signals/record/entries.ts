import type { QueryCtx } from "../../_generated/server";
import { dayOf, iso } from "../../lib/time";
import type { Comparison } from "../trade/controls";
import type { Outcome } from "../trade/path";
import { delivered } from "../trade/rules";
import type { ChainEntry } from "./chains";
import type { AnySignal, Missed, Slot } from "./tables";
import { totalsOf } from "./totals";

/** What the events say of signals: of the daily ones their day and its circumstances, of shadows their arm and hour. */

export async function issueEntry(
  ctx: QueryCtx,
  signal: AnySignal,
  missingHours: number,
): Promise<ChainEntry> {
  const facts = issuedFacts(signal);
  if (signal.desk === "lab") {
    const { promptVersion } = signal;
    const content = { ...shadowOf(signal), ...facts, promptVersion };
    return { desk: "lab", statement: { kind: "issued", content } };
  }
  const { coin, momentum, reasoning } = signal;
  const circumstances = await circumstancesOf(ctx, signal, 60 * missingHours);
  const content = { ...circumstances, ...facts, timeframe: "1h" as const, coin, momentum, reasoning };
  return { desk: "daily", statement: { kind: "issued", content } };
}

function issuedFacts({ signal, ...held }: AnySignal) {
  const { entry, tp1, tp2, sl, confidence, costBps, model, price } = held;
  return {
    ...{ model, signal, entry, tp1, tp2, sl, confidence, costBps },
    calibratedConfidence: held.calibrated.confidence,
    calibrationMethod: held.calibrated.method,
    calibrationOutcomes: held.calibrated.n,
    generatedAt: iso(held.generatedAt),
    expiresAt: iso(held.expiresAt),
    priceSource: price.source,
    priceObservedAt: iso(price.observedAt),
  };
}

export async function closingEntry(ctx: QueryCtx, signal: AnySignal, outcome: Outcome): Promise<ChainEntry> {
  const { status, exitPrice, pnlPercent, decidedBy, gapMinutes } = outcome;
  const end = { status, closedAt: iso(outcome.closedAt), exitPrice, pnlPercent, decidedBy };
  if (signal.desk === "lab") {
    const content = { ...shadowOf(signal), ...end, gapMinutes };
    return { desk: "lab", statement: { kind: "closed", content } };
  }
  const content = { ...(await circumstancesOf(ctx, signal, gapMinutes)), ...end };
  return { desk: "daily", statement: { kind: "closed", content } };
}

export async function comparisonEntry(
  ctx: QueryCtx,
  signal: AnySignal,
  { mirrorGapMinutes, ...ends }: Comparison,
): Promise<ChainEntry> {
  const content = { ...(await circumstancesOf(ctx, signal, mirrorGapMinutes)), ...ends };
  return { desk: "daily", statement: { kind: "compared", content } };
}

/** @param slot With the prompt that it was asked with; `null` for a shadow, whose arm names it. */
export async function missEntry(
  ctx: QueryCtx,
  { promptVersion, ...slot }: Slot & { promptVersion: string | null },
  reason: Missed,
): Promise<ChainEntry> {
  const at = iso(Date.now());
  if (promptVersion === null || reason === "budget") {
    return { desk: "lab", statement: { kind: "missed", content: { ...shadowOf(slot), reason, at } } };
  }
  const asked = { ...slot, promptVersion, model: null };
  const content = { ...(await circumstancesOf(ctx, asked, 0)), reason, at };
  return { desk: "daily", statement: { kind: "refused", content } };
}

function shadowOf({ arm, token, slot }: Slot) {
  return { arm, token, hour: iso(slot) };
}

async function circumstancesOf(
  ctx: QueryCtx,
  { arm, token, slot, model, promptVersion }: Slot & { model: string | null; promptVersion: string },
  gapMinutes: number,
) {
  const { refused } = await totalsOf(ctx, arm, token);
  return {
    token: delivered(token),
    day: dayOf(slot),
    ...{ model, promptVersion, refusedDays: refused, gapMinutes },
  };
}
