import fc from "fast-check";
import { expect, test } from "vitest";
import { createMarket } from "../../scripts/standins/sources/market";
import { START } from "./support";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const marketOf = (seed: string) => createMarket({ seed, now: () => START });

test("is the same for the same seed, in any order of moments, and another for another seed", () => {
  const [one, two] = [marketOf("a"), marketOf("a")];
  const later = one.coins(START + HOUR);
  expect(two.coins()).toEqual(one.coins(START));
  expect(two.coins(START + HOUR)).toEqual(later);
  expect(marketOf("b").coins()).not.toEqual(one.coins());
});

test("moves visibly within half an hour, plausibly within a day, and keeps stablecoins at their peg", () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 0, max: 4e12 }), (seed, at) => {
      const market = marketOf(seed);
      const [now, later] = [market.coins(at), market.coins(at + 30 * MINUTE)];
      expect(now.length).toBeGreaterThanOrEqual(24);
      let moved = 0;
      for (const coin of now) {
        const next = later.find(({ symbol }) => symbol === coin.symbol)?.price ?? 0;
        if (coin.symbol === "USDT" || coin.symbol === "USDC")
          expect(Math.abs(coin.price - 1)).toBeLessThan(0.001);
        else if (Math.abs(next / coin.price - 1) > 0.0005) moved++;
        expect(Math.abs(coin.change24h)).toBeLessThan(60);
        expect(coin.price).toBeGreaterThan(0);
        expect(coin.volume24h).toBeGreaterThan(0);
      }
      expect(moved).toBeGreaterThan(15);
    }),
    { numRuns: 60 },
  );
});

test("change24h is the change against the price a day before", () => {
  const market = marketOf("a");
  const before = market.coin("SOL", START - 24 * HOUR).price;
  const { price, change24h } = market.coin("SOL", START);
  expect(change24h).toBeCloseTo((price / before - 1) * 100, 1);
});

test("orders coins by market capitalisation", () => {
  const coins = marketOf("a").coins();
  const caps = coins.map(({ marketCap }) => marketCap);
  expect(caps).toEqual(caps.toSorted((a, b) => b - a));
  expect(coins[0]?.symbol).toBe("BTC");
});

test.each(["a", "b", "c", "local"])("trending keeps some tokens for a whole shift (%s)", (seed) => {
  const market = marketOf(seed);
  const lists = Array.from({ length: 17 }, (_, cycle) =>
    market.trending(START + cycle * 30 * MINUTE).map(({ symbol }) => symbol),
  );
  for (const list of lists) expect(new Set(list).size).toBe(10);
  const seen = new Set(lists.flat());
  const persistent = [...seen].filter((symbol) => lists.every((list) => list.includes(symbol)));
  expect(persistent.length).toBeGreaterThanOrEqual(2);
  expect(seen.size).toBeGreaterThan(15);
  expect(lists[0]).not.toEqual(lists[1]);
});

test("the market's mood changes over a month", () => {
  const market = marketOf("a");
  const outlooks = Array.from({ length: 120 }, (_, step) => market.mood(START + step * 6 * HOUR).outlook);
  expect(new Set(outlooks)).toEqual(new Set(["bullish", "bearish", "neutral"]));
});

test("an unlisted symbol is a small coin of its own", () => {
  const market = marketOf("a");
  expect(market.coin("zzz9")).toEqual(market.coin("ZZZ9"));
  expect(market.coin("ZZZ9").marketCap).toBeLessThan(200e6);
  expect(market.coin("ZZZ9").price).not.toBe(market.coin("ZZZ8").price);
});
