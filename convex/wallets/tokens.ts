import type { Address } from "viem";
import { USDC } from "../lib/base";

/**
 * The tokens that can be held, sent and swapped, on Base (chain id 8453). Addresses and decimals: the tokens' own
 * contracts as listed by the chain's bridge; checksums verified.
 */

export const SYMBOLS = ["ETH", "USDC", "USDT", "DAI", "WETH"] as const;
export type Symbol = (typeof SYMBOLS)[number];

type Token = {
  /** `null`: the chain's own coin. */
  address: Address | null;
  decimals: number;
  /** The price feed that values it. */
  feed: "ETH" | "USDC" | "USDT" | "DAI";
};

export const TOKENS: Record<Symbol, Token> = {
  ETH: { address: null, decimals: 18, feed: "ETH" },
  USDC: { address: USDC, decimals: 6, feed: "USDC" },
  USDT: { address: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2", decimals: 6, feed: "USDT" },
  DAI: { address: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb", decimals: 18, feed: "DAI" },
  WETH: { address: "0x4200000000000000000000000000000000000006", decimals: 18, feed: "ETH" },
};

/** How the swap provider names the chain's own coin. */
export const NATIVE_SENTINEL: Address = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

export const PERMIT2: Address = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/** Never a person's: money sent here is lost. */
export const CONTRACTS: readonly Address[] = [
  ...Object.values(TOKENS).flatMap(({ address }) => (address === null ? [] : [address])),
  NATIVE_SENTINEL,
  PERMIT2,
];

export function swapAddress(symbol: Symbol): Address {
  return TOKENS[symbol].address ?? NATIVE_SENTINEL;
}
