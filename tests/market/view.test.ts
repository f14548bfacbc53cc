import { describe, expect, test } from "vitest";
import { buildFacts, type Fact } from "../../convex/figures/facts";
import { getFeedPrice, isSequencerUp } from "../../convex/market/feeds";
import type { GatewayList } from "../../convex/market/shapes";
import { indexCoins, buildMarketView, listPriceSources } from "../../convex/market/snapshot";

/** The market as a view of facts. */

const AT = Date.UTC(2026, 0, 5, 9);

const priced = (source: "Chainlink" | "Coinbase", prices: Record<string, number>): Fact[] =>
  Object.entries(prices).flatMap(([subject, price]) =>
    buildFacts({ subject, observedAt: AT, source, url: "" }, { price }),
  );

/** What the list tells of some coins, largest first. */
function listOf(prices: Record<string, number>): Fact[] {
  return Object.entries(prices).flatMap(([subject, price], index) => {
    const by = { subject, observedAt: AT - 1, source: "CoinGecko", url: "", id: `${subject}-coin` };
    const figures = { price, change24h: -4, marketCap: 7e9, volume24h: 3e8 };
    return buildFacts(by, { name: `${subject} coin`, rank: index + 1, ...figures });
  });
}

/** A gateway's list in which prices are `share` of 100. */
function asked(share = 1): GatewayList {
  const key = { usd: 100 * share, usd_24h_change: 1 };
  const row = (index: number) => ({
    symbol: index === 0 ? "BTC" : `M${index}`,
    name: index === 0 ? "Bitcoin" : `Model's ${index}`,
    price: 100 * share,
    rank: index + 1,
    change24h: 1,
    marketCap: 1e9,
  });
  const top20 = Array.from({ length: 20 }, (_, index) => row(index));
  return { keyPrices: { bitcoin: key, ethereum: key, solana: key }, trending: top20.slice(0, 10), top20 };
}

const many = Object.fromEntries(
  ["BTC", "ETH", "SOL", ...Array.from({ length: 22 }, (_, i) => `C${i}`)].map((symbol, i) => [
    symbol,
    10 + i,
  ]),
);

describe("the market", () => {
  test("is the sources' alone where they know all of it, by the most trusted first", () => {
    const searched = buildFacts(
      { subject: "C3", observedAt: AT, source: "CoinGecko", url: "", id: "C3-coin" },
      { name: "C3 coin", trendingPlace: 2, trendingChange: null },
    );
    const facts = [
      ...priced("Coinbase", { BTC: 101, ETH: 102, SOL: 103 }),
      ...priced("Chainlink", { BTC: 100 }),
      ...listOf(many),
      ...searched,
    ];
    const view = buildMarketView(facts, null);
    expect(view?.keyPrices).toEqual({
      bitcoin: { usd: 100, usd_24h_change: -4, source: "chainlink" },
      ethereum: { usd: 102, usd_24h_change: -4, source: "coinbase" },
      solana: { usd: 103, usd_24h_change: -4, source: "coinbase" },
    });
    expect(view?.top20).toHaveLength(20);
    expect(view?.top20[0]).toMatchObject({
      rank: 1,
      price: 100,
      source: "chainlink",
      sizeSource: "coingecko",
    });
    expect(view?.trending).toEqual([
      { symbol: "C3", name: "C3 coin", rank: 1, change24h: -4, source: "coingecko" },
    ]);
    expect(buildMarketView(facts, asked(50))).toEqual(view);
    expect(listPriceSources(facts)).toEqual([
      { name: "chainlink", asOf: "2026-01-05T09:00:00.000Z" },
      { name: "coinbase", asOf: "2026-01-05T09:00:00.000Z" },
      { name: "coingecko", asOf: "2026-01-05T08:59:59.999Z" },
    ]);
  });

  test("is filled from the gateway's list, whose own figures are marked", () => {
    const facts = priced("Coinbase", { BTC: 101 });
    const view = buildMarketView(facts, asked());
    expect(view?.keyPrices).toMatchObject({
      bitcoin: { usd: 101, usd_24h_change: 1, source: "coinbase" },
      ethereum: { usd: 100, source: "model" },
    });
    expect(view?.top20[0]).toMatchObject({
      symbol: "BTC",
      price: 101,
      source: "coinbase",
      sizeSource: "model",
    });
    expect(view?.top20[1]).toMatchObject({ price: 100, source: "model", sizeSource: "model" });
    expect(view?.trending.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("is none where neither has all of it", () => {
    expect(buildMarketView([], null)).toBeNull();
    expect(buildMarketView(priced("Coinbase", { BTC: 1, ETH: 1, SOL: 1 }), null)).toBeNull();
    expect(buildMarketView(listOf(many), null)).toBeNull();
  });
});

test("a token's figures are the list's, else the exchange's, else none", () => {
  const traded = buildFacts(
    { subject: "XYZ", observedAt: AT, source: "Coinbase", url: "" },
    { lastTrade: 2.5, dayChange: 3 },
  );
  const known = indexCoins([...listOf({ BTC: 1, C1: 5 }), ...traded]);
  expect(known.get("C1")).toMatchObject({ usd: 5, size: { marketCap: 7e9 }, source: "coingecko" });
  expect(known.get("XYZ")).toMatchObject({ usd: 2.5, change24h: 3, source: "coinbase", size: null });
  expect(known.get("NOPE")).toBeUndefined();
});

const NOW_S = 1_800_000_000;
const NOW = NOW_S * 1000;
const round = (ageSeconds: number, answer = 300_000_000_000n) => ({
  answer,
  updatedAt: BigInt(NOW_S - ageSeconds),
});

describe("a live price", () => {
  test.each([
    ["fresh", "ETH", round(0), 300_000_000_000n],
    ["at its heartbeat, a little late", "ETH", round(1_320), 300_000_000_000n],
    ["past its heartbeat", "ETH", round(1_321), null],
    ["a day old, where that is its heartbeat", "USDC", round(86_400), 300_000_000_000n],
    ["past a day", "USDC", round(86_521), null],
    ["from the future", "ETH", round(-61), null],
    ["zero", "ETH", round(0, 0n), null],
    ["negative", "ETH", round(0, -5n), null],
    ["never written", "ETH", { answer: 1n, updatedAt: 0n }, null],
    ["no answer at all", "ETH", null, null],
  ] as const)("%s", (_name, feed, latest, expected) =>
    expect(getFeedPrice(feed, latest, NOW)).toBe(expected),
  );
});

describe("the sequencer", () => {
  test.each([
    ["up for long", { answer: 0n, startedAt: BigInt(NOW_S - 3_601) }, true],
    ["just back", { answer: 0n, startedAt: BigInt(NOW_S - 3_600) }, false],
    ["down", { answer: 1n, startedAt: BigInt(NOW_S - 99_999) }, false],
    ["never started", { answer: 0n, startedAt: 0n }, false],
    ["unknown", null, false],
  ] as const)("%s", (_name, status, expected) => expect(isSequencerUp(status, NOW)).toBe(expected));
});
