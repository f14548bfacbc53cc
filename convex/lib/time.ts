/** Durations in milliseconds. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Later than any moment. */
export const NEVER = Number.MAX_SAFE_INTEGER;

/** The start of the minute of `ms`: queries with the same minute as argument are answered from the cache. */
export function startOfMinute(ms: number): number {
  return Math.floor(ms / MINUTE) * MINUTE;
}

/**
 * Now, rounded to ten seconds, as an argument of queries. A query's own clock may be seconds late because the platform
 * caches answers; with a rounded argument, equal queries share the cache.
 */
export function getRoundedNow(): number {
  return Math.floor(Date.now() / (10 * SECOND)) * 10 * SECOND;
}

/** A time in epoch milliseconds as an ISO 8601 UTC string. */
export function toIso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The UTC day of a time in epoch milliseconds: `2026-01-05`. */
export function toDay(ms: number): string {
  return toIso(ms).slice(0, "2026-01-05".length);
}

/** Resolves after `ms` of the application's clock, or at once when `end` is aborted. Not for queries and mutations, in which the platform has no timers. */
export function sleep(ms: number, end?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (end?.aborted === true) return resolve();
    const stop = () => {
      clearTimeout(timer);
      end?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(stop, ms);
    end?.addEventListener("abort", stop);
  });
}

/** A promise's value, or `null` if the deadline comes first. */
export async function raceDeadline<Value>(
  deadline: AbortSignal,
  promise: Promise<Value>,
): Promise<Value | null> {
  let end: () => void = () => undefined;
  const late = new Promise<null>((resolve) => (end = () => resolve(null)));
  if (deadline.aborted) end();
  deadline.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([promise, late]);
  } finally {
    // Otherwise every wait for a slow chain would leave a listener behind.
    deadline.removeEventListener("abort", end);
  }
}

/** A promise's value before the deadline. @param late Makes the error that is thrown at the deadline. */
export async function rejectWhenLate<Value extends object>(
  work: Promise<Value>,
  deadline: AbortSignal,
  late: () => Error,
): Promise<Value> {
  const value = await raceDeadline(deadline, work);
  if (value === null) throw late();
  return value;
}

/**
 * Pauses for polling a row: short at first, when most work ends, then longer. Each read is a call that the deployment's
 * operator pays for.
 * @param first In ms, as `longest`; each pause is `growth` times the one before.
 */
export function createPauses(first: number, growth = 1.25, longest = SECOND) {
  let pause = first;
  return (end?: AbortSignal): Promise<void> => {
    const now = pause;
    pause = Math.min(pause * growth, longest);
    return sleep(now, end);
  };
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** For people: `20 Nov 2026`. */
export function formatDate(epochMs: number): string {
  const day = new Date(epochMs);
  return `${day.getUTCDate()} ${MONTHS[day.getUTCMonth()] ?? ""} ${day.getUTCFullYear()}`;
}

/** For answers: `2026-11-20 15:30 UTC`. */
export function formatMinute(epochMs: number): string {
  return `${toIso(epochMs).slice(0, 16).replace("T", " ")} UTC`;
}

/** For people: `20 Nov 2026, 15:30 UTC`. */
export function formatDateTime(epochMs: number): string {
  return `${formatDate(epochMs)}, ${toIso(epochMs).slice(11, 16)} UTC`;
}
