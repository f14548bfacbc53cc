import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { type App, test } from "../support/app";
import { altered } from "../support/outside";

/** Without a chain: `live.node.test.ts` has the feeds. */

const current = (app: App, token: "BTC" | "ETH" = "BTC") =>
  app.during(app.t.action(internal.market.actions.price, { token }));

const fail = (app: App, ...sources: ("coinbase" | "coingecko")[]) => {
  for (const source of sources) app.standins.fail(source, { mode: "status", status: 503 });
};

describe("with the feeds out of reach, a live price", () => {
  test.for([
    [[], "coinbase"],
    [["coinbase"], "coingecko"],
  ] as const)(
    "comes, with %j down, from %s, and is stored with its source",
    async ([down, source], { app }) => {
      fail(app, ...down);
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
    },
  );

  test("that nobody tells is an upstream failure that names everyone who was asked; no model is", async ({
    app,
  }) => {
    fail(app, "coinbase", "coingecko");
    const failure: unknown = await current(app, "ETH").catch((error: unknown) => error);
    expect(failure).toMatchObject({ data: { code: "upstream" } });
    const message = failure instanceof Error ? failure.message : "";
    for (const name of ["ETH", "chain RPC", "Coinbase", "CoinGecko"]) expect(message).toContain(name);
    await app.t.action(internal.market.actions.takeSamples, { lists: [], newest: [] });
    expect([await app.rows("priceSamples"), await app.rows("hourlyCloses")]).toEqual([[], []]);
    expect(app.standins.sent("llm")).toEqual([]);
  });
});

describe("a price asked for again", () => {
  test("within 55 seconds is the stored one, and nobody is asked", async ({ app }) => {
    const first = await current(app);
    app.standins.forget();
    // A little less than the minute after which a tick samples for standing orders.
    const reused = MINUTE - 5_000;
    vi.setSystemTime(first.takenAt + reused);
    expect(await current(app)).toEqual(first);
    expect(app.standins.sent("coinbase")).toEqual([]);
    vi.setSystemTime(first.takenAt + reused + 1);
    const second = await current(app);
    expect(second.takenAt).toBeGreaterThan(first.takenAt + reused);
    expect(app.standins.sent("coinbase")).toHaveLength(1);
    expect(await app.rows("priceSamples")).toHaveLength(2);
  });

  test("by twenty at once leaves one sample", async ({ app }) => {
    const prices = await Promise.all(Array.from({ length: 20 }, () => current(app)));
    expect(new Set(prices.map(({ takenAt }) => takenAt)).size).toBe(1);
    expect(await app.rows("priceSamples")).toHaveLength(1);
  });
});

test("an answer that is no live price is passed over", async ({ app }) => {
  deadlines.price = 500;
  const now = () => new Date().toISOString();
  const hour = (hours: number) => new Date(Date.now() + hours * 60 * MINUTE).toISOString();
  const spoilt: [string, () => unknown][] = [
    ["no JSON object", () => []],
    ["zero", () => ({ price: "0", time: now() })],
    ["negative", () => ({ price: "-5", time: now() })],
    ["a word", () => ({ price: "NaN", time: now() })],
    ["a number where text is due", () => ({ price: 5, time: now() })],
    ["an hour old", () => ({ price: "5", time: hour(-1) })],
    ["from the future", () => ({ price: "5", time: hour(1) })],
  ];
  let answer = spoilt[0]?.[1];
  altered(/\/ticker$/, () => answer?.());
  const passedOver = async (name: string) => {
    const price = await current(app);
    const market = app.standins.market.coin("BTC", price.observedAt).price;
    expect([name, price]).toEqual([
      name,
      expect.objectContaining({ source: "coingecko", priceUsd: expect.closeTo(market, -2) }),
    ]);
    vi.setSystemTime(price.takenAt + MINUTE + 1);
  };
  for (const [name, told] of spoilt) {
    answer = told;
    await passedOver(name);
  }
  for (const mode of ["garbage", "drop", "slow"] as const) {
    app.standins.fail("coinbase", { mode });
    await passedOver(mode);
    app.standins.clear("coinbase");
  }
});
