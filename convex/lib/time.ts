/** Durations in milliseconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The beginning of the minute of `ms`: queries that are asked for a whole minute's answers are answered from the cache. */
export function wholeMinute(ms: number): number {
  return Math.floor(ms / MINUTE) * MINUTE;
}

/** An epoch-milliseconds moment as an ISO 8601 UTC string. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Resolves after `ms` of the application's clock. Not for queries and mutations, where the platform has no timers. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** For people: `20 Nov 2026, 15:30 UTC`. */
export function dateTime(epochMs: number): string {
  const date = new Date(epochMs);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""} ${date.getUTCFullYear()}`;
  return `${day}, ${two(date.getUTCHours())}:${two(date.getUTCMinutes())} UTC`;
}
