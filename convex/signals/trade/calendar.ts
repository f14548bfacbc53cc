import { DAY, dayOf, HOUR, MINUTE } from "../../lib/time";

/** Days and weeks of signals, in UTC. Pure. A day is written `2026-11-20`; a week is named by its Monday. */

/** The day's signals are issued from this hour on; a run before it is late for the day before. */
const ISSUE_HOUR = 8;
/** A week's recap is due this long after the week began: Sunday 23:55. */
const RECAP_AFTER_MS = 6 * DAY + 23 * HOUR + 55 * MINUTE;

/** The first moment of a day; `NaN` if it is not a day. */
export function dayStart(day: string): number {
  const start = Date.parse(`${day}T00:00:00.000Z`);
  // Some read 30 February as 2 March.
  return Number.isNaN(start) || dayOf(start) === day ? start : Number.NaN;
}

/** `BTC-2026-11-20`: a token has one signal a day, which began at `slot`. */
export function signalId({ token, slot }: { token: string; slot: number }): string {
  return `${token}-${dayOf(slot)}`;
}

export function dayBefore(day: string): string {
  return dayOf(dayStart(day) - DAY);
}

/** Whether the day of this moment may have its signals by now. */
export function isIssueTime(epochMs: number): boolean {
  return new Date(epochMs).getUTCHours() >= ISSUE_HOUR;
}

/** The day whose signals are current at a moment: the day before, until those of a new day are issued. */
export function spokenDay(epochMs: number): string {
  const day = dayOf(epochMs);
  return isIssueTime(epochMs) ? day : dayBefore(day);
}

/** The seven days from a Monday on. */
export function daysOfWeek(week: string): string[] {
  return Array.from({ length: 7 }, (_, index) => dayOf(dayStart(week) + index * DAY));
}

/**
 * The latest week whose recap is due: this one from Sunday 23:55 on, otherwise the one before, no matter how late it
 * is.
 */
export function weekDueAt(epochMs: number): string {
  const moment = epochMs - RECAP_AFTER_MS;
  const sinceMonday = (new Date(moment).getUTCDay() + 6) % 7;
  return dayOf(moment - sinceMonday * DAY);
}
