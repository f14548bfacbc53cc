import type { FeedName } from "../market/feeds";
import { TOKENS } from "../wallets/tokens";

/** What an alert may be about: the kinds of movements, and the coins that are measured on Base. */

export const CHAIN = "base";

/** Movements from this value on are alerts, from any source. USD. */
export const FLOOR_USD = 1_000_000;

export const ALERT_TYPES = ["cex_inflow", "cex_outflow", "large_transfer", "smart_money"] as const;
export const DIRECTIONS = ["bullish", "bearish", "neutral"] as const;

type Coin = {
  /** As people write it. */
  name: string;
  /** The address of its contract, in lower case; `null` for the chain's own coin. */
  address: string | null;
  decimals: number;
  feed: FeedName;
  /** Its movements say nothing about a market's direction. */
  isStable: boolean;
};

const known = (symbol: keyof typeof TOKENS, isStable: boolean): Coin => {
  const { address, decimals, feed } = TOKENS[symbol];
  return { name: symbol, address: address?.toLowerCase() ?? null, decimals, feed, isStable };
};

export const COINS = {
  ETH: known("ETH", false),
  WETH: known("WETH", false),
  USDC: known("USDC", true),
  USDT: known("USDT", true),
  DAI: known("DAI", true),
  /** Redeemable for one bitcoin each, and valued as one. Address: etherscan.io and Chainlink's CCIP directory. */
  CBBTC: {
    name: "cbBTC",
    address: "0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf",
    decimals: 8,
    feed: "BTC",
    isStable: false,
  },
} as const satisfies Record<string, Coin>;

export type CoinSymbol = keyof typeof COINS;

/** By the contract's address in lower case. */
const BY_ADDRESS: ReadonlyMap<string, CoinSymbol> = new Map(
  Object.entries(COINS).flatMap(([symbol, { address }]) =>
    isCoin(symbol) && address !== null ? [[address, symbol]] : [],
  ),
);

export const CONTRACTS: readonly string[] = [...BY_ADDRESS.keys()];

/** Wrapped and bridged forms of a coin: who moves one of them has moved the coin. */
const FORMS: ReadonlyMap<string, string> = new Map([
  ["WETH", "ETH"],
  ["CBBTC", "BTC"],
  ["WBTC", "BTC"],
  ["TBTC", "BTC"],
  ["BTCB", "BTC"],
]);

/** The coin that a token is a form of, or itself. */
export function familyOf(token: string): string {
  return FORMS.get(token) ?? token;
}

/** The coin of a contract; `null` for one that is not measured. */
export function coinAt(address: string): CoinSymbol | null {
  return BY_ADDRESS.get(address) ?? null;
}

export function isCoin(text: string): text is CoinSymbol {
  return Object.hasOwn(COINS, text);
}
