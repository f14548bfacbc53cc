import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/outside/deadlines";
import type { Ticker } from "../../scripts/standins/control";
import { START, type App, test } from "../support/app";
import { intercept } from "../support/outside";

/** Without a chain: `live.node.test.ts` has the feeds. */

const MINUTE = 60_000;

const current = (app: App, token: "BTC" | "ETH" = "BTC") =>
  app.during(app.t.action(internal.market.prices.current, { token }));

const failTickers = (app: App, tickers: readonly Ticker[]) => {
  for (const ticker of tickers) app.standins.fail("tickers", { mode: "status", status: 503, ticker });
};

describe("with the feeds out of reach, a live price", () => {
  test.for([
    [[], "coinbase"],
    [["coinbase"], "binance"],
    [["coinbase", "binance"], "coingecko"],
    [["coinbase", "binance", "coingecko"], "llm"],
  ] as const)(
    "comes, with %j down, from %s, and is stored with its source",
    async ([down, source], { app }) => {
      failTickers(app, down);
      const price = await current(app);
      const market = app.standins.market.coin("BTC", price.observedAt).price;
      expect(price).toEqual({
        token: "BTC",
        source,
        priceUsd: expect.closeTo(market, -2),
        observedAt: expect.any(Number),
        takenAt: expect.any(Number),
      });
      expect(price.observedAt).toBeLessThanOrEqual(price.takenAt);
      expect(await app.rows("priceSamples")).toMatchObject([price]);
      expect(app.standins.sent("llm")).toHaveLength(source === "llm" ? 1 : 0);
    },
  );

  test("that nobody tells is an upstream failure that names everyone who was asked", async ({ app }) => {
    failTickers(app, ["coinbase", "binance", "coingecko"]);
    app.standins.fail("llm", { mode: "status", status: 500 });
    const failure: unknown = await current(app, "ETH").catch((error: unknown) => error);
    expect(failure).toMatchObject({ data: { code: "upstream" } });
    const message = failure instanceof Error ? failure.message : "";
    for (const name of ["ETH", "chain RPC", "Coinbase", "Binance", "CoinGecko", "LLM gateway"]) {
      expect(message).toContain(name);
    }
    // The market is told without the model: its price is not passed off as the model's, now or at the next tick.
    expect(await app.rows("marketSnapshots")).toMatchObject([{ model: "none" }]);
    await app.t.action(internal.market.prices.sample, {});
    expect(await app.rows("priceSamples")).toEqual([]);
    expect(await app.rows("hourlyCloses")).toEqual([]);
  });

  test("does not wait for the model longer than its deadline, and has it the next time", async ({ app }) => {
    deadlines.modelPrice = 20;
    failTickers(app, ["coinbase", "binance", "coingecko"]);
    app.standins.fail("llm", { mode: "slow", ms: 150, times: 1 });
    await expect(current(app)).rejects.toThrow("LLM gateway did not answer in time");
    deadlines.modelPrice = 5_000;
    expect(await current(app)).toMatchObject({ source: "llm" });
    expect(app.standins.sent("llm")).toHaveLength(1);
  });
});

describe("a price asked for again", () => {
  test("within a minute is the stored one, and nobody is asked", async ({ app }) => {
    const first = await current(app);
    app.standins.forget();
    vi.setSystemTime(first.takenAt + MINUTE);
    expect(await current(app)).toEqual(first);
    expect(app.standins.sent("tickers")).toEqual([]);
    vi.setSystemTime(first.takenAt + MINUTE + 1);
    const second = await current(app);
    expect(second.takenAt).toBeGreaterThan(first.takenAt + MINUTE);
    expect(app.standins.sent("tickers")).toHaveLength(1);
    expect(await app.rows("priceSamples")).toHaveLength(2);
  });

  test("by twenty at once leaves one sample", async ({ app }) => {
    const prices = await Promise.all(Array.from({ length: 20 }, () => current(app)));
    expect(new Set(prices.map(({ takenAt }) => takenAt)).size).toBe(1);
    expect(await app.rows("priceSamples")).toHaveLength(1);
  });
});

describe("a ticker's answer that is no live price is passed over", () => {
  const answers: [string, Ticker, (good: Record<string, unknown>) => unknown][] = [
    ["no JSON object", "coinbase", () => []],
    ["zero", "coinbase", () => ({ data: { amount: "0", currency: "USD" } })],
    ["negative", "coinbase", () => ({ data: { amount: "-5", currency: "USD" } })],
    ["a word", "coinbase", () => ({ data: { amount: "NaN", currency: "USD" } })],
    ["another coin's", "coinbase", () => ({ data: { amount: "5", base: "ETH", currency: "USD" } })],
    ["in another currency", "coinbase", () => ({ data: { amount: "5", base: "BTC", currency: "EUR" } })],
    ["another pair's", "binance", (good) => ({ ...good, symbol: "ETHUSDT" })],
    ["a number where text is due", "binance", (good) => ({ ...good, lastPrice: 5 })],
    ["an hour old", "binance", (good) => ({ ...good, closeTime: START - 60 * MINUTE })],
    ["from the future", "binance", (good) => ({ ...good, closeTime: START + 60 * MINUTE })],
    ["without the coin", "coingecko", () => ({})],
    ["zero", "coingecko", () => ({ bitcoin: { usd: 0, last_updated_at: START / 1_000 } })],
    [
      "text where a number is due",
      "coingecko",
      () => ({ bitcoin: { usd: "5", last_updated_at: START / 1_000 } }),
    ],
    ["an hour old", "coingecko", () => ({ bitcoin: { usd: 5, last_updated_at: START / 1_000 - 3_600 } })],
  ];

  test.for(answers)("%s (%s)", async ([_name, ticker, spoiled], { app }) => {
    const order = ["coinbase", "binance", "coingecko"] as const;
    failTickers(app, order.slice(0, order.indexOf(ticker)));
    let replaced = 0;
    intercept(async ({ url }, pass) => {
      const response = await pass();
      const paths = { coinbase: "/v2/prices", binance: "/ticker/24hr", coingecko: "/simple/price" };
      if (!url.includes(paths[ticker])) return response;
      replaced++;
      const good: unknown = await response.json();
      return Response.json(spoiled(typeof good === "object" ? { ...good } : {}));
    });
    const price = await current(app);
    expect(replaced).toBeGreaterThan(0);
    const next = [...order, "llm"][order.indexOf(ticker) + 1];
    expect(price.source).toBe(next);
    expect(price.priceUsd).toBeCloseTo(app.standins.market.coin("BTC", price.observedAt).price, -2);
  });

  test.for(["garbage", "html", "empty", "half", "drop", "hang"] as const)("%s", async (mode, { app }) => {
    deadlines.price = 500;
    app.standins.fail("tickers", { mode, ticker: "coinbase" });
    expect((await current(app)).source).toBe("binance");
  });
});
