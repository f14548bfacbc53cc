import { MINUTE } from "../lib/time";

/** How long a result is given to those who ask later. Imported by every endpoint: it holds nothing else. */

/** An on-demand result. */
export const CACHE_MS = 15 * MINUTE;

/** A source's failure, and a result that misses one; then, or for a new shift at once, the source is asked again. */
export const FAILURE_STANDS_MS = 2 * MINUTE;

/** Facts this young serve a report as they are. */
export const FACTS_FRESH_MS = 5 * MINUTE;
