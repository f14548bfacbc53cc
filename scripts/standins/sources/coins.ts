/**
 * Part of the stand-ins for local use: the coins of the simulated market, around which its prices move. The figures are
 * plausible, not current.
 */

export type CoinBasis = {
  symbol: string;
  name: string;
  /** USD */
  price: number;
  /** Coins in circulation. */
  supply: number;
  /** 1 moves like Bitcoin, 3 three times as much, 0 marks a stablecoin. */
  volatility: number;
};

const coin = (
  symbol: string,
  name: string,
  price: number,
  supply: number,
  volatility: number,
): CoinBasis => ({
  symbol,
  name,
  price,
  supply,
  volatility,
});

export const COINS: readonly CoinBasis[] = [
  coin("BTC", "Bitcoin", 104_500, 19.9e6, 1),
  coin("ETH", "Ethereum", 3_480, 120.7e6, 1.35),
  coin("USDT", "Tether", 1, 162e9, 0),
  coin("XRP", "XRP", 2.31, 59.6e9, 1.6),
  coin("BNB", "BNB", 912, 138e6, 1.1),
  coin("SOL", "Solana", 158, 553e6, 1.7),
  coin("USDC", "USDC", 1, 75e9, 0),
  coin("DOGE", "Dogecoin", 0.172, 151e9, 2),
  coin("ADA", "Cardano", 0.562, 35.8e9, 1.7),
  coin("TRX", "TRON", 0.291, 94.7e9, 0.9),
  coin("AVAX", "Avalanche", 17.4, 427e6, 1.9),
  coin("LINK", "Chainlink", 15.3, 697e6, 1.8),
  coin("SUI", "Sui", 2.02, 3.68e9, 2.2),
  coin("TON", "Toncoin", 2.07, 2.51e9, 1.5),
  coin("SHIB", "Shiba Inu", 0.0000095, 589e12, 2),
  coin("DAI", "Dai", 1, 4.6e9, 0),
  coin("DOT", "Polkadot", 2.94, 1.63e9, 1.8),
  coin("BCH", "Bitcoin Cash", 511, 19.95e6, 1.4),
  coin("LTC", "Litecoin", 101, 76.5e6, 1.5),
  coin("UNI", "Uniswap", 6.9, 630e6, 2.2),
  coin("NEAR", "NEAR Protocol", 2.61, 1.28e9, 2.1),
  coin("PEPE", "Pepe", 0.0000057, 420.7e12, 2.6),
  coin("AAVE", "Aave", 201, 15.3e6, 2),
  coin("APT", "Aptos", 3.11, 731e6, 2.1),
  coin("ARB", "Arbitrum", 0.262, 5.6e9, 2.2),
  coin("HYPE", "Hyperliquid", 39.4, 336e6, 2.4),
  coin("XLM", "Stellar", 0.277, 32.1e9, 1.6),
  coin("XMR", "Monero", 362, 18.4e6, 1.4),
  coin("ICP", "Internet Computer", 5.9, 542e6, 2.2),
  coin("ETC", "Ethereum Classic", 15.6, 154e6, 1.7),
  coin("OP", "Optimism", 0.411, 1.9e9, 2.3),
  coin("INJ", "Injective", 7.2, 100e6, 2.3),
  coin("TAO", "Bittensor", 386, 9.6e6, 2.4),
  coin("RENDER", "Render", 2.38, 518e6, 2.4),
  coin("ONDO", "Ondo", 0.644, 3.16e9, 2.2),
  coin("WIF", "dogwifhat", 0.472, 999e6, 3),
  coin("BONK", "Bonk", 0.0000121, 82e12, 2.9),
  coin("FLOKI", "FLOKI", 0.0000611, 9.54e12, 2.8),
  coin("VIRTUAL", "Virtuals Protocol", 1.24, 656e6, 3),
  coin("AERO", "Aerodrome Finance", 0.981, 903e6, 2.6),
  coin("DEGEN", "Degen", 0.00191, 21.6e9, 3.2),
];
