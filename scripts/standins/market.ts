/**
 * A simulated crypto market for local use: every price is a pure function of the seed, the coin and the moment, so that
 * it needs no state, works for any moment in any order, and is the same on every run.
 */

import { hash, smoothNoise, unit, createUnits } from "./random";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The base of a coin's prices. The figures are plausible, not current. */
type Basis = {
  symbol: string;
  name: string;
  /** USD */
  price: number;
  /** Coins in circulation. */
  supply: number;
  /** 1 moves like Bitcoin, 3 three times as much, 0 marks a stablecoin. */
  volatility: number;
};

type Listed = readonly [symbol: string, name: string, price: number, supply: number, volatility: number];

const LIST: readonly Listed[] = [
  ["BTC", "Bitcoin", 104_500, 19.9e6, 1],
  ["ETH", "Ethereum", 3_480, 120.7e6, 1.35],
  ["USDT", "Tether", 1, 162e9, 0],
  ["XRP", "XRP", 2.31, 59.6e9, 1.6],
  ["BNB", "BNB", 912, 138e6, 1.1],
  ["SOL", "Solana", 158, 553e6, 1.7],
  ["USDC", "USDC", 1, 75e9, 0],
  ["DOGE", "Dogecoin", 0.172, 151e9, 2],
  ["ADA", "Cardano", 0.562, 35.8e9, 1.7],
  ["TRX", "TRON", 0.291, 94.7e9, 0.9],
  ["AVAX", "Avalanche", 17.4, 427e6, 1.9],
  ["LINK", "Chainlink", 15.3, 697e6, 1.8],
  ["SUI", "Sui", 2.02, 3.68e9, 2.2],
  ["TON", "Toncoin", 2.07, 2.51e9, 1.5],
  ["SHIB", "Shiba Inu", 0.0000095, 589e12, 2],
  ["DAI", "Dai", 1, 4.6e9, 0],
  ["DOT", "Polkadot", 2.94, 1.63e9, 1.8],
  ["BCH", "Bitcoin Cash", 511, 19.95e6, 1.4],
  ["LTC", "Litecoin", 101, 76.5e6, 1.5],
  ["UNI", "Uniswap", 6.9, 630e6, 2.2],
  ["NEAR", "NEAR Protocol", 2.61, 1.28e9, 2.1],
  ["PEPE", "Pepe", 0.0000057, 420.7e12, 2.6],
  ["AAVE", "Aave", 201, 15.3e6, 2],
  ["APT", "Aptos", 3.11, 731e6, 2.1],
  ["ARB", "Arbitrum", 0.262, 5.6e9, 2.2],
  ["HYPE", "Hyperliquid", 39.4, 336e6, 2.4],
  ["XLM", "Stellar", 0.277, 32.1e9, 1.6],
  ["XMR", "Monero", 362, 18.4e6, 1.4],
  ["ICP", "Internet Computer", 5.9, 542e6, 2.2],
  ["ETC", "Ethereum Classic", 15.6, 154e6, 1.7],
  ["OP", "Optimism", 0.411, 1.9e9, 2.3],
  ["INJ", "Injective", 7.2, 100e6, 2.3],
  ["TAO", "Bittensor", 386, 9.6e6, 2.4],
  ["RENDER", "Render", 2.38, 518e6, 2.4],
  ["ONDO", "Ondo", 0.644, 3.16e9, 2.2],
  ["WIF", "dogwifhat", 0.472, 999e6, 3],
  ["BONK", "Bonk", 0.0000121, 82e12, 2.9],
  ["FLOKI", "FLOKI", 0.0000611, 9.54e12, 2.8],
  ["VIRTUAL", "Virtuals Protocol", 1.24, 656e6, 3],
  ["AERO", "Aerodrome Finance", 0.981, 903e6, 2.6],
  ["DEGEN", "Degen", 0.00191, 21.6e9, 3.2],
];

export const COINS: readonly Basis[] = LIST.map(([symbol, name, price, supply, volatility]) => {
  return { symbol, name, price, supply, volatility };
});
const LISTED = new Map(COINS.map((basis) => [basis.symbol, basis]));
const FLOATING = COINS.filter(({ volatility }) => volatility > 0);

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

export type Market = {
  /** All coins, largest market capitalisation first. */
  coins(at?: number): Coin[];
  /** The ten most searched coins, most searched first. */
  trending(at?: number): TrendingCoin[];
  /** One coin; an unlisted symbol is a small coin invented from its letters. */
  coin(symbol: string, at?: number): Coin;
  /** Only its price, in USD. */
  price(symbol: string, at: number): number;
  /** Coins that are no stablecoins, largest rise first. */
  movers(at?: number): Coin[];
};

/** The context that stand-ins of market data share. */
export type Scene = { seed: string; now: () => number; market: Market };

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
/** The significant digits of a price. */
const DIGITS = 7;
/** A lead in attention that keeps three coins almost always on the list. */
const HEADSTART = 1.8;

export function createMarket({ seed, now }: { seed: string; now: () => number }): Market {
  /** The movement of a name over time around 0. */
  const computeWaves = (name: string): ((at: number) => number) => {
    const [periods, phases] = [createUnits(seed, name, "period"), createUnits(seed, name, "phase")];
    const waves = WAVES.map(({ period, height }, index) => {
      return { length: period * (0.85 + 0.3 * periods(index)), phase: phases(index), height };
    });
    return (at) =>
      waves.reduce((sum, { length, phase, height }) => {
        return sum + height * Math.sin(2 * Math.PI * (at / length + phase));
      }, 0);
  };
  const everyone = computeWaves("*");
  const newCourse = (symbol: string) => ({
    waves: computeWaves(symbol),
    noise: smoothNoise(seed, symbol, "noise"),
    peg: smoothNoise(seed, symbol, "peg"),
    volume: smoothNoise(seed, symbol, "volume"),
    attention: smoothNoise(seed, symbol, "attention"),
    turnover: unit(seed, symbol, "turnover"),
    span: unit(seed, symbol, "attention span"),
  });
  const courses = new Map<string, ReturnType<typeof newCourse>>();
  const computeCourse = (symbol: string) => {
    const course = courses.get(symbol) ?? newCourse(symbol);
    courses.set(symbol, course);
    return course;
  };

  const computePrice = (basis: Basis, at: number): number => {
    const { waves, noise, peg } = computeCourse(basis.symbol);
    if (basis.volatility === 0) return basis.price * (1 + STABLE_HEIGHT * peg(at / (3 * HOUR)));
    const ownMovement = waves(at) + NOISE.height * noise(at / NOISE.period);
    return basis.price * Math.exp(basis.volatility * (COMMON * everyone(at) + (1 - COMMON) * ownMovement));
  };

  const findCoin = (basis: Basis, at: number): Coin => {
    const course = computeCourse(basis.symbol);
    const price = computePrice(basis, at);
    const marketCap = price * basis.supply;
    const turnover = (basis.volatility === 0 ? 0.6 : 0.05) * (0.6 + course.turnover);
    const activity = Math.exp(0.5 * course.volume(at / (5 * HOUR)));
    return {
      name: basis.name,
      symbol: basis.symbol,
      price: significant(price, DIGITS),
      change24h: round((price / computePrice(basis, at - DAY) - 1) * 100),
      marketCap: Math.round(marketCap),
      volume24h: Math.round(marketCap * turnover * activity),
    };
  };

  /** Three coins keep their place for the seed's whole life; the others come and go within an hour or so. */
  const byFame = FLOATING.toSorted((a, b) => unit(seed, a.symbol, "fame") - unit(seed, b.symbol, "fame"));
  const persistent = new Set(byFame.slice(0, 3).map(({ symbol }) => symbol));
  const attention = ({ symbol }: Basis, at: number) => {
    const { attention: course, span } = computeCourse(symbol);
    return (persistent.has(symbol) ? HEADSTART : 0) + course(at / ((30 + 60 * span) * MINUTE));
  };

  return {
    coins: (at = now()) =>
      COINS.map((basis) => findCoin(basis, at)).sort((a, b) => b.marketCap - a.marketCap),
    trending: (at = now()) =>
      FLOATING.map((basis) => ({ basis, score: attention(basis, at) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 10)
        .map(({ basis }, index) => {
          const { name, symbol, change24h } = findCoin(basis, at);
          return { name, symbol, rank: index + 1, change24h };
        }),
    coin: (symbol, at = now()) => findCoin(getBasis(symbol), at),
    price: (symbol, at) => significant(computePrice(getBasis(symbol), at), DIGITS),
    movers: (at = now()) =>
      FLOATING.map((basis) => findCoin(basis, at)).sort((a, b) => b.change24h - a.change24h),
  };
}

/** Below one percent a day's change says nothing about direction. */
export function getOutlook(change24h: number): Outlook {
  if (change24h >= 1) return "bullish";
  return change24h <= -1 ? "bearish" : "neutral";
}

function getBasis(symbol: string): Basis {
  const upperCase = symbol.toUpperCase();
  return LISTED.get(upperCase) ?? madeUp(upperCase);
}

/** A small unlisted coin: the same one for every seed, worth 2 to 80 million USD. */
function madeUp(symbol: string): Basis {
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

function round(percent: number): number {
  // Adding zero turns -0 into 0.
  return Math.round(percent * 100) / 100 + 0;
}
