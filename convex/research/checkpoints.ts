import { HOUR, MINUTE, NEVER } from "../lib/time";
import type { ReportKind } from "./shapes";

/** The timing of a shift, in one place. All pure, all in epoch ms. */

export const SHIFT_MS = 8 * HOUR;
export const COLLECTION_INTERVAL_MS = 30 * MINUTE;

type Checkpoint = { kind: ReportKind; afterMs: number };

const INTERIM_1: Checkpoint = { kind: "interim1", afterMs: 2.5 * HOUR };
const INTERIM_2: Checkpoint = { kind: "interim2", afterMs: 5 * HOUR };
const FINAL: Checkpoint = { kind: "final", afterMs: SHIFT_MS };

export const FIRST_CHECKPOINT = INTERIM_1;

/** How far into a shift each report is due, in ms. */
export const dueAfterMs: Record<ReportKind, number> = {
  interim1: INTERIM_1.afterMs,
  interim2: INTERIM_2.afterMs,
  final: FINAL.afterMs,
};

/**
 * The report a shift owes at a moment. Normally the one it was waiting for; after an outage, interims whose successor
 * is due as well are skipped, and once 8 hours have passed only the final report remains.
 */
export function dueReport(waitingFor: ReportKind, startedAt: number, now: number): ReportKind {
  const elapsed = now - startedAt;
  if (elapsed >= FINAL.afterMs) return "final";
  if (elapsed >= INTERIM_2.afterMs && waitingFor === "interim1") return "interim2";
  return waitingFor;
}

/** The report after this one, and when it is due; `null` after the final one. */
export function nextCheckpoint(done: ReportKind, startedAt: number): { kind: ReportKind; at: number } | null {
  if (done === "final") return null;
  const next = done === "interim1" ? INTERIM_2 : FINAL;
  return { kind: next.kind, at: startedAt + next.afterMs };
}

/** When the collection after one at `now` is due: a whole interval later, however late that one was, within the shift. */
export function nextCollection(startedAt: number, now: number): number {
  const due = now + COLLECTION_INTERVAL_MS;
  return due < startedAt + SHIFT_MS ? due : NEVER;
}
