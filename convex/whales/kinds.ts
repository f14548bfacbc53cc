/** What alerts are of, for those who need none of their shapes. */

export const ALERT_TYPES = ["cex_inflow", "cex_outflow", "large_transfer", "smart_money"] as const;
export const DIRECTIONS = ["bullish", "bearish", "neutral"] as const;

/** The window of the agent's prompt in hours; one more than the prompts are apart, so that a late one misses nothing. */
export const WINDOW_HOURS = 2;
