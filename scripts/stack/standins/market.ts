/**
 * A simulated crypto market for local use: every price is a pure function of the seed, the coin and the moment, so that
 * it needs no state, works for any moment in any order, and is the same on every run.
 */

import { COINS, type CoinBasis } from "./coins";
import { hash, smoothNoise, unit } from "./random";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export type Coin = {
  name: string;
  symbol: string;
  /** USD */
  price: number;
  /** Percent. */
  change24h: number;
  /** USD */
  marketCap: number;
  /** USD */
  volume24h: number;
};

export type TrendingCoin = { name: string; symbol: string; rank: number; change24h: number };

export type Outlook = "bullish" | "bearish" | "neutral";

export type Mood = {
  outlook: Outlook;
  /** Mean 24-hour change of the coins that are no stablecoins, in percent. */
  averageChange: number;
  rising: number;
  count: number;
  /** Largest rise first. */
  byChange: Coin[];
};

export type Market = {
  /** All coins, largest market capitalisation first. */
  coins(at?: number): Coin[];
  /** The ten most searched coins, most searched first. */
  trending(at?: number): TrendingCoin[];
  /** One coin; a symbol that is not listed is a small coin made up from its letters. */
  coin(symbol: string, at?: number): Coin;
  mood(at?: number): Mood;
};

/** Wave lengths and heights (of the logarithm of the price) at volatility 1: visible within half an hour. */
const WAVES = [
  { period: 27 * MINUTE, height: 0.0016 },
  { period: 71 * MINUTE, height: 0.003 },
  { period: 4.3 * HOUR, height: 0.006 },
  { period: 13 * HOUR, height: 0.01 },
  { period: 1.7 * DAY, height: 0.016 },
  { period: 6.1 * DAY, height: 0.03 },
  { period: 23 * DAY, height: 0.05 },
];

const NOISE = { period: 4 * MINUTE, height: 0.0012 };
/** How much of a coin's movement is the whole market's. */
const COMMON = 0.7;
const STABLE_HEIGHT = 0.0006;

const TRENDING = 10;
/** So much attention that the persistent coins hardly ever leave the list. */
const HEADSTART = 1.8;

export function createMarket({ seed, now }: { seed: string; now: () => number }): Market {
  const waves = (name: string, at: number) =>
    WAVES.reduce((sum, { period, height }, index) => {
      const length = period * (0.85 + 0.3 * unit(seed, name, "period", index));
      return sum + height * Math.sin(2 * Math.PI * (at / length + unit(seed, name, "phase", index)));
    }, 0);

  const priceOf = (basis: CoinBasis, at: number) => {
    if (basis.volatility === 0) {
      return basis.price * (1 + STABLE_HEIGHT * smoothNoise(at / (3 * HOUR), seed, basis.symbol, "peg"));
    }
    const noise = NOISE.height * smoothNoise(at / NOISE.period, seed, basis.symbol, "noise");
    const own = waves(basis.symbol, at) + noise;
    return basis.price * Math.exp(basis.volatility * (COMMON * waves("*", at) + (1 - COMMON) * own));
  };

  const coinOf = (basis: CoinBasis, at: number): Coin => {
    const price = priceOf(basis, at);
    const marketCap = price * basis.supply;
    const turnover = (basis.volatility === 0 ? 0.6 : 0.05) * (0.6 + unit(seed, basis.symbol, "turnover"));
    const activity = Math.exp(0.5 * smoothNoise(at / (5 * HOUR), seed, basis.symbol, "volume"));
    return {
      name: basis.name,
      symbol: basis.symbol,
      price: significant(price, 7),
      change24h: rounded((price / priceOf(basis, at - DAY) - 1) * 100),
      marketCap: Math.round(marketCap),
      volume24h: Math.round(marketCap * turnover * activity),
    };
  };

  const floating = COINS.filter(({ volatility }) => volatility > 0);

  /** Three coins hold their place for the seed's whole life; the others come and go within half to one and a half hours. */
  const persistent = new Set(
    floating
      .toSorted((a, b) => unit(seed, a.symbol, "fame") - unit(seed, b.symbol, "fame"))
      .slice(0, 3)
      .map(({ symbol }) => symbol),
  );
  const attention = ({ symbol }: CoinBasis, at: number) => {
    const period = (30 + 60 * unit(seed, symbol, "attention span")) * MINUTE;
    return (persistent.has(symbol) ? HEADSTART : 0) + smoothNoise(at / period, seed, symbol, "attention");
  };

  const coins = (at = now()) =>
    COINS.map((basis) => coinOf(basis, at)).sort((a, b) => b.marketCap - a.marketCap);

  return {
    coins,
    trending: (at = now()) =>
      floating
        .map((basis) => ({ basis, score: attention(basis, at) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, TRENDING)
        .map(({ basis }, index) => ({
          name: basis.name,
          symbol: basis.symbol,
          rank: index + 1,
          change24h: coinOf(basis, at).change24h,
        })),
    coin: (symbol, at = now()) => {
      const wanted = symbol.toUpperCase();
      return coinOf(COINS.find((basis) => basis.symbol === wanted) ?? madeUp(wanted), at);
    },
    mood: (at = now()) => {
      const all = floating.map((basis) => coinOf(basis, at));
      const averageChange = rounded(all.reduce((sum, { change24h }) => sum + change24h, 0) / all.length);
      return {
        averageChange,
        outlook: outlookOf(averageChange),
        rising: all.filter(({ change24h }) => change24h > 0).length,
        count: all.length,
        byChange: all.sort((a, b) => b.change24h - a.change24h),
      };
    },
  };
}

/** Below one percent a day's change says nothing about direction. */
export function outlookOf(change24h: number): Outlook {
  if (change24h >= 1) return "bullish";
  return change24h <= -1 ? "bearish" : "neutral";
}

/** A small coin nobody listed: the same one for every seed, worth 2 to 80 million USD. */
function madeUp(symbol: string): CoinBasis {
  const price = significant(10 ** (-4 + 5 * unit(symbol, "price")), 3);
  const marketCap = 2e6 * 40 ** unit(symbol, "capitalisation");
  const suffix = ["Protocol", "Network", "Token", "Finance"][hash(symbol) % 4] ?? "Token";
  return {
    symbol,
    name: `${symbol.charAt(0)}${symbol.slice(1).toLowerCase()} ${suffix}`,
    price,
    supply: Math.round(marketCap / price),
    volatility: 2.5 + unit(symbol, "volatility"),
  };
}

function significant(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

function rounded(percent: number): number {
  // Adding zero turns -0 into 0.
  return Math.round(percent * 100) / 100 + 0;
}
