import type { FeedName } from "../prices/feeds";
import { TOKENS } from "../wallets/tokens";

/** What is measured on Base, and how an amount of it becomes a figure. */

export const CHAIN = "base";

/** From so much on a movement is an alert, whoever tells it. USD. */
export const FLOOR_USD = 1_000_000;

export type Coin = {
  /** As people write it. */
  name: string;
  /** Of its contract, in lower case; `null` for the chain's own coin. */
  address: string | null;
  decimals: number;
  feed: FeedName;
  /** Says nothing of a market's direction, wherever it moves. */
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
  /** Redeemable for a bitcoin each, and valued so. Address: etherscan.io and Chainlink's CCIP directory. */
  CBBTC: {
    name: "cbBTC",
    address: "0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf",
    decimals: 8,
    feed: "BTC",
    isStable: false,
  },
} as const satisfies Record<string, Coin>;

export type CoinSymbol = keyof typeof COINS;

const SYMBOLS = ["ETH", "WETH", "USDC", "USDT", "DAI", "CBBTC"] as const satisfies readonly CoinSymbol[];

/** By the contract's address in lower case. */
const BY_ADDRESS: ReadonlyMap<string, CoinSymbol> = new Map(
  SYMBOLS.flatMap((symbol) => {
    const { address } = COINS[symbol];
    return address === null ? [] : [[address, symbol] as const];
  }),
);

export const CONTRACTS: readonly string[] = [...BY_ADDRESS.keys()];

/** Which coin a contract is; `null` for one that is not measured. */
export function coinAt(address: string): CoinSymbol | null {
  return BY_ADDRESS.get(address) ?? null;
}

/** Whether a text is one of the coins' symbols. */
export function isCoin(text: string): text is CoinSymbol {
  return Object.hasOwn(COINS, text);
}
