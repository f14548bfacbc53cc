import type { FeedName } from "../market/feeds";
import { WALLET_TOKENS } from "../wallets/tokens";

/** The kinds of movements, and the coins that are measured on Base. */

export const CHAIN = "base";

/** The least value of an alert, from any source, in USD. */
export const FLOOR_USD = 1_000_000;

export const ALERT_TYPES = ["cex_inflow", "cex_outflow", "large_transfer", "smart_money"] as const;
export const DIRECTIONS = ["bullish", "bearish", "neutral"] as const;

type Coin = {
  /** For display. */
  name: string;
  /** The address of its contract, in lower case; `null` for the chain's own coin. */
  address: string | null;
  decimals: number;
  feed: FeedName;
  /** Its movements say nothing about a market's direction. */
  isStable: boolean;
};

const buildKnownCoin = (symbol: keyof typeof WALLET_TOKENS, isStable: boolean): Coin => {
  const { address, decimals, feed } = WALLET_TOKENS[symbol];
  return { name: symbol, address: address?.toLowerCase() ?? null, decimals, feed, isStable };
};

export const COINS = {
  ETH: buildKnownCoin("ETH", false),
  WETH: buildKnownCoin("WETH", false),
  USDC: buildKnownCoin("USDC", true),
  USDT: buildKnownCoin("USDT", true),
  DAI: buildKnownCoin("DAI", true),
  CBBTC: { ...buildKnownCoin("CBBTC", false), name: "cbBTC" },
} as const satisfies Record<string, Coin>;

export type CoinSymbol = keyof typeof COINS;

export const CONTRACTS: readonly string[] = Object.values(COINS).flatMap(({ address }) => address ?? []);

/** Wrapped and bridged forms of a coin: a movement of one is a movement of the coin. */
const FORMS = { ETH: ["WETH"], BTC: ["CBBTC", "WBTC", "TBTC", "BTCB"] };

/** The coin that a token is a form of, or itself. */
export function getFamily(token: string): string {
  return Object.entries(FORMS).find(([, forms]) => forms.includes(token))?.[0] ?? token;
}

/** The coin of a contract, by its address in lower case; `null` for one that is not measured. */
export function findCoinByAddress(address: string): CoinSymbol | null {
  return (
    Object.keys(COINS).find((one): one is CoinSymbol => isCoin(one) && COINS[one].address === address) ?? null
  );
}

export function isCoin(text: string): text is CoinSymbol {
  return Object.hasOwn(COINS, text);
}
