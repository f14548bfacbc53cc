/** What alerts may be about, without the shape of a whole condition, which is in `conditions`. */

/** Hours over which a change of price may be asked for. */
export const WINDOWS = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168] as const;

/** A coin's symbol, for prices and changes. */
export const COIN = /^[A-Z0-9][A-Z0-9.-]{0,19}$/;
export const FUNDED = ["BTC", "ETH", "SOL"] as const;
/** The hours for which exchanges quote a funding rate, by default. */
export const FUNDING_HOURS = 8;
export const MOVED = ["USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"] as const;
/** Movements of other coins have to be given in USD, because the amount could be one of coins. */
export const STABLE: readonly string[] = ["USDC", "USDT", "DAI"];

/**
 * Smaller movements are not measured. It is the floor of `whales/coins`, which endpoints do not import because it
 * contains more.
 */
export const LEAST_FLOW_USD = 1_000_000;
/**
 * Whether the platform knows a zone of this name. Except for UTC, names without a slash are short forms that mean
 * several zones.
 */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  // The signs of names such as `Etc/GMT+2` are inverted.
  if (/^etc\//i.test(name) || !/^[A-Za-z]+(?:\/[A-Za-z0-9_+-]+){1,2}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
