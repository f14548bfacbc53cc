/** Durations in milliseconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** An epoch-milliseconds moment as an ISO 8601 UTC string. */
export function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Resolves after `ms` of the application's clock. Not for queries and mutations, where the platform has no timers. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
