/**
 * A simulated crypto market for local use: every price is a pure function of the seed, the coin and the moment, so that
 * it needs no state, works for any moment in any order, and is the same on every run.
 */

import { COINS, type CoinBasis } from "./coins";
import { hash, smoothNoise, unit, unitsOf } from "../random";

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

type TrendingCoin = { name: string; symbol: string; rank: number; change24h: number };

export type Outlook = "bullish" | "bearish" | "neutral";

type Mood = {
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
  /** One coin; an unlisted symbol is a small coin invented from its letters. */
  coin(symbol: string, at?: number): Coin;
  /** Only its price, in USD. */
  price(symbol: string, at: number): number;
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
/** The whole market's share in a coin's movement. */
const COMMON = 0.7;
const STABLE_HEIGHT = 0.0006;

/** How many of a coin's prices are cached: exchanges return candles of the same minutes again and again. */
const PRICES_KEPT = 5_000;

/** The significant digits of a price. */
const DIGITS = 7;

const TRENDING = 10;
/** A lead in attention that keeps the persistent coins almost always on the list. */
const HEADSTART = 1.8;

type Noise = (position: number) => number;
type Course = {
  waves: (at: number) => number;
  noise: Noise;
  peg: Noise;
  volume: Noise;
  attention: Noise;
  turnover: number;
  span: number;
  /** By moment. */
  prices: Map<number, number>;
};

export function createMarket({ seed, now }: { seed: string; now: () => number }): Market {
  /** The movement of a name over time around 0. */
  const wavesOf = (name: string): ((at: number) => number) => {
    const [periods, phases] = [unitsOf(seed, name, "period"), unitsOf(seed, name, "phase")];
    const waves = WAVES.map(({ period, height }, index) => {
      return { length: period * (0.85 + 0.3 * periods(index)), phase: phases(index), height };
    });
    return (at) =>
      waves.reduce(
        (sum, { length, phase, height }) => sum + height * Math.sin(2 * Math.PI * (at / length + phase)),
        0,
      );
  };

  /** The basis of a coin's figures, by its symbol. Computed when it is first needed. */
  const courses = new Map<string, Course>();
  const courseOf = (symbol: string): Course => {
    const known = courses.get(symbol);
    if (known !== undefined) return known;
    const course = {
      waves: wavesOf(symbol),
      noise: smoothNoise(seed, symbol, "noise"),
      peg: smoothNoise(seed, symbol, "peg"),
      volume: smoothNoise(seed, symbol, "volume"),
      attention: smoothNoise(seed, symbol, "attention"),
      turnover: unit(seed, symbol, "turnover"),
      span: unit(seed, symbol, "attention span"),
      prices: new Map<number, number>(),
    };
    courses.set(symbol, course);
    return course;
  };
  const everyone = wavesOf("*");

  const priceOf = (basis: CoinBasis, at: number): number => {
    const { prices } = courseOf(basis.symbol);
    const known = prices.get(at);
    if (known !== undefined) return known;
    if (prices.size >= PRICES_KEPT) prices.clear();
    const price = workedOut(basis, at);
    prices.set(at, price);
    return price;
  };

  const workedOut = (basis: CoinBasis, at: number): number => {
    const { waves, noise, peg } = courseOf(basis.symbol);
    if (basis.volatility === 0) return basis.price * (1 + STABLE_HEIGHT * peg(at / (3 * HOUR)));
    const own = waves(at) + NOISE.height * noise(at / NOISE.period);
    return basis.price * Math.exp(basis.volatility * (COMMON * everyone(at) + (1 - COMMON) * own));
  };

  const coinOf = (basis: CoinBasis, at: number): Coin => {
    const course = courseOf(basis.symbol);
    const price = priceOf(basis, at);
    const marketCap = price * basis.supply;
    const turnover = (basis.volatility === 0 ? 0.6 : 0.05) * (0.6 + course.turnover);
    const activity = Math.exp(0.5 * course.volume(at / (5 * HOUR)));
    return {
      name: basis.name,
      symbol: basis.symbol,
      price: significant(price, DIGITS),
      change24h: rounded((price / priceOf(basis, at - DAY) - 1) * 100),
      marketCap: Math.round(marketCap),
      volume24h: Math.round(marketCap * turnover * activity),
    };
  };

  const floating = COINS.filter(({ volatility }) => volatility > 0);

  /** Three coins keep their place for the seed's whole life; the others come and go within half to one and a half hours. */
  const persistent = new Set(
    floating
      .toSorted((a, b) => unit(seed, a.symbol, "fame") - unit(seed, b.symbol, "fame"))
      .slice(0, 3)
      .map(({ symbol }) => symbol),
  );
  const attention = ({ symbol }: CoinBasis, at: number) => {
    const { attention: course, span } = courseOf(symbol);
    return (persistent.has(symbol) ? HEADSTART : 0) + course(at / ((30 + 60 * span) * MINUTE));
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
    coin: (symbol, at = now()) => coinOf(basisOf(symbol), at),
    price: (symbol, at) => significant(priceOf(basisOf(symbol), at), DIGITS),
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

const LISTED = new Map(COINS.map((basis) => [basis.symbol, basis]));

function basisOf(symbol: string): CoinBasis {
  const wanted = symbol.toUpperCase();
  return LISTED.get(wanted) ?? madeUp(wanted);
}

/** Below one percent a day's change says nothing about direction. */
export function outlookOf(change24h: number): Outlook {
  if (change24h >= 1) return "bullish";
  return change24h <= -1 ? "bearish" : "neutral";
}

/** A small unlisted coin: the same one for every seed, worth 2 to 80 million USD. */
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
