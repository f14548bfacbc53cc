import {
  counted,
  ledgerOf,
  modelNamed,
  sourceOfFact,
  sourceOfWords,
  type Source,
} from "../../convex/evidence/facts";
import { wordingOf } from "../../convex/evidence/kinds";
import { namesOf } from "../../convex/evidence/names";
import type { Fact, Kind } from "../../convex/evidence/tables";

/** A prompt's facts, as the tests of figures use them. */

export const NOW = Date.UTC(2026, 0, 5, 9, 30);
const AT = Date.UTC(2026, 0, 5, 9, 12);

export function fact(subject: string, kind: Kind, value: number | string, source = "Coinbase"): Fact {
  return {
    subject,
    kind,
    value,
    unit: wordingOf(kind).unit,
    observedAt: AT,
    source,
    url: "https://example.org",
  };
}

/** By the key under which the tests speak of them. */
const TOLD = {
  btc: fact("BTC", "price", 105_440.25),
  btcDay: fact("BTC", "change24h", 5.0812),
  eth: fact("ETH", "price", 3_659.4),
  ethDay: fact("ETH", "change24h", 1.8431),
  sol: fact("SOL", "price", 172.352),
  solDay: fact("SOL", "change24h", -3.2417),
  btcHigh: fact("BTC", "dayHigh", 106_120),
  btcLow: fact("BTC", "dayLow", 99_870.5),
  ethHigh: fact("ETH", "dayHigh", 3_722.11),
  ethLow: fact("ETH", "dayLow", 3_475.13),
  ethHigh48: fact("ETH", "high48h", 3_747.8),
  ethLow48: fact("ETH", "low48h", 3_455.02),
  btcCap: fact("BTC", "marketCap", 2.1012e12, "CoinGecko"),
  ethCap: fact("ETH", "marketCap", 4.4171e11, "CoinGecko"),
  btcVolume: fact("BTC", "volume24h", 5.518e10, "CoinGecko"),
  ethVolume: fact("ETH", "volume24h", 3.4612e10, "CoinGecko"),
  btcRank: fact("BTC", "rank", 1, "CoinGecko"),
  ethRank: fact("ETH", "rank", 2, "CoinGecko"),
  btcBids: fact("BTC", "bidDepth", 51_130_000),
  btcAsks: fact("BTC", "askDepth", 42_780_000),
  btcSpread: fact("BTC", "spread", 0.12),
  btcFunding: fact("BTC", "funding", 0.0015, "Hyperliquid"),
  ethFunding: fact("ETH", "funding", -0.00052, "Hyperliquid"),
  btcInterest: fact("BTC", "openInterest", 2.4381e9, "Hyperliquid"),
  ethInterest: fact("ETH", "openInterest", 1.5022e9, "Hyperliquid"),
  rising: fact("market", "rising", 38, "CoinGecko"),
  stablecoins: fact("market", "stablecoinSupply", 2.5114e11, "DefiLlama"),
  stablecoinWeek: fact("market", "stablecoinWeek", 0.4213, "DefiLlama"),
  usdc: fact("Base", "usdcSupply", 4.0712e9, "Base, read over RPC"),
  transactions: fact("Base", "blockTransactions", 187, "Base, read over RPC"),
  fee: fact("Base", "baseFee", 0.0042, "Base, read over RPC"),
  searched: fact("ETH", "trendingPlace", 5, "CoinGecko"),
  btcCoins: fact("BTC", "dayVolume", 12_345.6),
  headline: fact(
    "market",
    "headline",
    "Bitcoin ETFs took in $812 million in a week",
    "ledger.example, found by GDELT",
  ),
  doge: fact("DOGE", "change24h", -7.914, "CoinGecko"),
  pepe: fact("PEPE", "price", 0.000012345, "CoinGecko"),
} as const;

const listed = [
  "Bitcoin:BTC",
  "Ethereum:ETH",
  "Solana:SOL",
  "Dogecoin:DOGE",
  "Pepe:PEPE",
  "Chainlink:LINK",
  "NEAR Protocol:NEAR",
];
const NAMED = listed.map((one) => {
  const [name = "", symbol = ""] = one.split(":");
  return fact(symbol, "name", name, "CoinGecko");
});

const since = {
  ...sourceOfFact(fact("BTC", "price", 2.344), "start"),
  unit: "percent" as const,
  says: "BTC price since the shift began: +2.344 %",
};
const sinceFrom = {
  ...sourceOfFact(fact("BTC", "price", 103_025), "start"),
  says: "BTC price when the shift began: 103,025 USD",
};
const mood = sourceOfWords({
  says: "SOL sentiment: bullish, buzz 8/10. Traders expect an ETF.",
  observedAt: AT,
  name: modelNamed("social sentiment"),
});

const SOURCES: readonly Source[] = counted([
  ...Object.values(TOLD).map((one) => sourceOfFact(one)),
  since,
  sinceFrom,
  mood,
]);
const KEYS = [...Object.keys(TOLD), "since", "sinceFrom", "mood"];
const NAMES = namesOf([...Object.values(TOLD), ...NAMED]);
export const LEDGER = ledgerOf(SOURCES, NOW, { names: NAMES });

/** A text with `[btcDay]` and `{btc-eth}` as a writer sends it: `[f2]`, `{f1-f3}`. */
export function written(text: string): string {
  return text.replace(/[[{][a-zA-Z\d][^\]}]*[\]}]/g, (whole) =>
    whole.replace(/[a-zA-Z][a-zA-Z\d]*/g, (word) =>
      KEYS.includes(word) ? `f${KEYS.indexOf(word) + 1}` : word,
    ),
  );
}
