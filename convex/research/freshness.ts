import { MINUTE } from "../lib/time";

/** How long results and facts stay fresh. Every endpoint imports this file, so it holds nothing else. */

/** An on-demand result. */
export const CACHE_MS = 15 * MINUTE;

/**
 * How long a source's failure counts, and a result without a source; then, or immediately for a new shift, the source
 * is asked again.
 */
export const FAILURE_STANDS_MS = 2 * MINUTE;

/** Facts this young serve a report as they are. */
export const FACTS_FRESH_MS = 5 * MINUTE;
