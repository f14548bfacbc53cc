/** What alerts may be about, without the shape of a whole condition, which is in `conditions`. */

/** Hours over which a change of price may be asked for. */
export const WINDOWS = [1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168] as const;

/** A coin's symbol, as prices and changes are asked for. */
export const COIN = /^[A-Z0-9][A-Z0-9.-]{0,19}$/;
export const FUNDED = ["BTC", "ETH", "SOL"] as const;
/** The hours that exchanges quote a funding rate for, where nobody says another time. */
export const FUNDING_HOURS = 8;
export const MOVED = ["USDC", "USDT", "DAI", "ETH", "WETH", "CBBTC"] as const;
/** A movement of any other has to be said in USD: its amount could be one of coins. */
export const STABLE: readonly string[] = ["USDC", "USDT", "DAI"];

/** Smaller movements are not measured: the floor of `whales/coins`, which has more to it than endpoints need. */
export const LEAST_FLOW_USD = 1_000_000;
/** Whether the platform knows a zone by this name. Names without a slash are short forms that mean several zones, UTC aside. */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  // The signs of `Etc/GMT+2` are the other way round.
  if (/^etc\//i.test(name) || !/^[A-Za-z]+(?:\/[A-Za-z0-9_+-]+){1,2}$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
