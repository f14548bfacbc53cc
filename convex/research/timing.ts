import { namesIn } from "../lib/records/records";
import { HOUR, MINUTE, NEVER } from "../lib/time";
import type { ReportKind } from "./tables";

/** The timing of shifts and of what research shares. All pure, all in epoch ms. */

export const SHIFT_MS = 8 * HOUR;
const COLLECTION_INTERVAL_MS = 30 * MINUTE;

/** An on-demand result is a cache of this age. */
export const CACHE_MS = 15 * MINUTE;
/** How long an observation serves everybody who needs one of its focus; and one that lacks a source. */
export const SHARED_FOR_MS = 5 * MINUTE;
export const GAP_STANDS_MS = 2 * MINUTE;

/** How far into a shift each report is due, in ms; in their order. */
export const dueAfterMs: Record<ReportKind, number> = {
  interim1: 2.5 * HOUR,
  interim2: 5 * HOUR,
  final: SHIFT_MS,
};
const KINDS = namesIn(dueAfterMs);

/**
 * The report that a shift owes at a time, `null` if none is due. Normally the one it was waiting for; after an outage,
 * interims whose successor is also due are skipped, and after 8 hours only the final report remains.
 */
export function dueReport(waitingFor: ReportKind, startedAt: number, now: number): ReportKind | null {
  const later = KINDS.slice(KINDS.indexOf(waitingFor));
  return later.findLast((kind) => now - startedAt >= dueAfterMs[kind]) ?? null;
}

/** The report after this one; `null` after the final one. */
export function nextReport(done: ReportKind): ReportKind | null {
  return KINDS[KINDS.indexOf(done) + 1] ?? null;
}

/** When the next collection is due: a whole interval later, however late this one was, within the shift. */
export function nextCollection(startedAt: number, now: number): number {
  const due = now + COLLECTION_INTERVAL_MS;
  return due < startedAt + SHIFT_MS ? due : NEVER;
}
