import type { Address } from "viem";

/** Addresses on the local chain: the same as on Base, except for the settler and its pool. */

export const CHAIN_ID = 8453;

/** The public mnemonic of the node's ten accounts: for local use only. */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

/** Swap providers' address for ether. */
export const NATIVE: Address = "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE";

export const TOKENS = {
  USDC: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  USDT: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
  DAI: "0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb",
  WETH: "0x4200000000000000000000000000000000000006",
  CBBTC: "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf",
} as const satisfies Record<string, Address>;
export type TokenSymbol = keyof typeof TOKENS;

export const DECIMALS: Record<TokenSymbol | "ETH", number> = {
  ETH: 18,
  WETH: 18,
  DAI: 18,
  USDC: 6,
  USDT: 6,
  CBBTC: 8,
};

export const FEEDS = {
  ETH: "0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70",
  BTC: "0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F",
  USDC: "0x7e860098F58bBFC8648a4311b374B1D669a2bc6B",
  USDT: "0xf19d560eB8d2ADf07BD6D13ed03e1D11215721F9",
  DAI: "0x591e79239a7d679378eC8c847e5038150364C78F",
  /** Reports whether the chain's sequencer is up (answer 0) and since when. */
  SEQUENCER: "0xBCF85224fc0756B9Fa45aA7892530B47e10b6433",
} as const satisfies Record<string, Address>;
export type FeedName = keyof typeof FEEDS;

export const PERMIT2: Address = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
export const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** Our own: swaps are paid from it. */
export const POOL: Address = "0x9001000000000000000000000000000000008453";

/** Our own: executes swaps. On the real chain such contracts change, so clients take the address from the quote. */
export const SETTLER: Address = "0x5e77130000000000000000000000000000008453";

/** 0x's registry of its genuine settler, at this address on every chain. */
export const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
