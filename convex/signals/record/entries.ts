import { dayOf, iso } from "../../lib/time";
import type { Comparison, Outcome } from "../trade/rows";
import { delivered } from "../trade/rules";
import type { ChainEntry } from "./chain";
import type { Signal, Missed, Slot } from "./rows";

/**
 * The contents of events about signals: daily signals with their day and its circumstances, people's signals also with
 * their arm, shadows with their arm and hour. Pure. `refusedDays`: days without a signal of this token so far.
 */

export function issueEntry(
  signal: Signal,
  { missingHours, refusedDays }: { missingHours: number; refusedDays: number },
): ChainEntry {
  const { desk, arm, promptVersion } = signal;
  if (desk === "lab") {
    const content = { ...shadowOf(signal), ...issuedFacts(signal), promptVersion };
    return { desk, statement: { kind: "issued", content } };
  }
  const content = issuedContent(signal, { refusedDays, gapMinutes: 60 * missingHours });
  return desk === "daily"
    ? { desk, statement: { kind: "issued", content } }
    : { desk, statement: { kind: "issued", content: { ...content, arm } } };
}

type Circumstances = { refusedDays: number; gapMinutes: number };

export function issuedContent(signal: Signal, circumstances: Circumstances) {
  const { model, coin, momentum, reasoning, volatility = null } = signal;
  const about = circumstancesOf({ ...signal, ...circumstances });
  const details = { model, timeframe: "1h" as const, coin, momentum, reasoning, volatility };
  return { ...about, ...issuedFacts(signal), ...details };
}

function issuedFacts({ signal, ...details }: Signal) {
  const { entry, tp1, tp2, sl, confidence, costBps, model, price } = details;
  return {
    ...{ model, signal, entry, tp1, tp2, sl, confidence, costBps },
    calibratedConfidence: details.calibrated.confidence,
    calibrationMethod: details.calibrated.method,
    calibrationOutcomes: details.calibrated.n,
    generatedAt: iso(details.generatedAt),
    expiresAt: iso(details.expiresAt),
    priceSource: price.source,
    priceObservedAt: iso(price.observedAt),
  };
}

export function closingEntry(signal: Signal, outcome: Outcome, refusedDays: number): ChainEntry {
  const { desk, arm } = signal;
  const { gapMinutes, ...ending } = outcome;
  const end = { ...ending, closedAt: iso(outcome.closedAt) };
  if (desk === "lab") {
    const content = { ...shadowOf(signal), ...end, gapMinutes };
    return { desk, statement: { kind: "closed", content } };
  }
  const content = { ...circumstancesOf({ ...signal, refusedDays, gapMinutes }), ...end };
  return desk === "daily"
    ? { desk, statement: { kind: "closed", content } }
    : { desk, statement: { kind: "closed", content: { ...content, arm } } };
}

export function comparisonEntry(
  signal: Signal,
  { mirrorGapMinutes: gapMinutes, ...ends }: Comparison,
  refusedDays: number,
): ChainEntry {
  const { desk, arm } = signal;
  const content = { ...circumstancesOf({ ...signal, refusedDays, gapMinutes }), ...ends };
  return desk === "people"
    ? { desk, statement: { kind: "compared", content: { ...content, arm } } }
    : { desk: "daily", statement: { kind: "compared", content } };
}

/** @param slot With the prompt that it was asked with; `null` for a shadow, whose arm names it. */
export function missEntry(
  { promptVersion, ...slot }: Slot & { promptVersion: string | null },
  reason: Missed,
  refusedDays: number,
): ChainEntry {
  const at = iso(Date.now());
  if (promptVersion === null || reason === "budget") {
    return { desk: "lab", statement: { kind: "missed", content: { ...shadowOf(slot), reason, at } } };
  }
  const about = circumstancesOf({ ...slot, promptVersion, model: null, refusedDays, gapMinutes: 0 });
  return { desk: "daily", statement: { kind: "refused", content: { ...about, reason, at } } };
}

function shadowOf({ arm, token, slot }: Slot) {
  return { arm, token, hour: iso(slot) };
}

function circumstancesOf({
  token,
  slot,
  ...circumstances
}: Pick<Slot, "token" | "slot"> & { model: string | null; promptVersion: string } & Circumstances) {
  const { model, promptVersion, refusedDays, gapMinutes } = circumstances;
  return { token: delivered(token), day: dayOf(slot), model, promptVersion, refusedDays, gapMinutes };
}
