/** Kinds of alerts, for code that needs none of their shapes. */

export const ALERT_TYPES = ["cex_inflow", "cex_outflow", "large_transfer", "smart_money"] as const;
export const DIRECTIONS = ["bullish", "bearish", "neutral"] as const;

/** The window of the agent's prompt in hours; one more than the interval, so that a late prompt misses nothing. */
export const WINDOW_HOURS = 2;
