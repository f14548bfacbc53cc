import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { DAY, HOUR, MINUTE } from "../../convex/lib/time";
import { listRecentCloses, startSampling } from "../../convex/market/samples";
import { keepHouse } from "../support/rows/housekeeping";
import { START, type App, test } from "../support/app";

type Source = "chainlink" | "coinbase" | "coingecko";

const store = (
  app: App,
  at: number,
  priceUsd: number,
  source: Source = "coinbase",
  token: "BTC" | "ETH" = "BTC",
) => {
  vi.setSystemTime(at);
  return app.t.mutation(internal.market.samples.storeSample, { token, priceUsd, source, observedAt: at });
};
const closes = (app: App, before: number, count: number, token: "BTC" | "ETH" = "BTC") =>
  app.t.run((ctx) => listRecentCloses(ctx, token, { before, count }));

describe("the five-minute tick", () => {
  test("stores one sample per token, however often it runs", async ({ app }) => {
    const tick = () => app.t.run(startSampling);
    await Promise.all([tick(), tick(), tick()]);
    await app.settle();
    await tick();
    await app.settle();
    const samples = await app.rows("priceSamples");
    expect(samples.map(({ token }) => token).sort()).toEqual(["BTC", "ETH"]);
    // Of each, the hour that runs, and at the first start the hours of the day before from the exchange; once.
    const hours = (await app.rows("hourlyCloses")).filter(({ token }) => token === "ETH");
    expect(hours.filter(({ hourEndsAt }) => hourEndsAt > START - DAY).length).toBeGreaterThan(24);
    expect(new Set(hours.map(({ hourEndsAt }) => hourEndsAt)).size).toBe(hours.length);
    // Twelve an hour of each token.
    await app.pass(11 * MINUTE);
    expect(await app.rows("priceSamples")).toHaveLength(6);
    expect(app.standins.sent("llm")).toEqual([]);
  });

  test("goes on with one token where a source knows no more", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    app.standins.fail("coinbase", { mode: "status", status: 503, times: 1 });
    await app.t.run(startSampling);
    await app.settle();
    expect(await app.rows("priceSamples")).toHaveLength(1);
  });
});

describe("a sample", () => {
  test("is forgotten after 15 days, its hour's close is not", async ({ app }) => {
    for (let i = 0; i < 6; i++) await store(app, START + i * 5 * MINUTE, 100 + i);
    await store(app, START + 15 * DAY + 12 * MINUTE, 200);
    await keepHouse(app);
    const kept = (await app.rows("priceSamples")).map(({ priceUsd }) => priceUsd);
    expect(kept).toEqual([103, 104, 105, 200]);
    expect((await app.rows("hourlyCloses")).map(({ priceUsd }) => priceUsd)).toEqual([105, 200]);
  });
});

describe("hourly closes", () => {
  test("are the last price of each full UTC hour, over midnight, newest last", async ({ app }) => {
    const midnight = Date.UTC(2026, 1, 28) + DAY;
    await store(app, midnight - 65 * MINUTE, 1);
    await store(app, midnight - 35 * MINUTE, 2);
    await store(app, midnight - 1, 3);
    await store(app, midnight + MINUTE, 4);
    await store(app, midnight + 59 * MINUTE, 5);
    await store(app, midnight + 2 * HOUR + 5 * MINUTE, 6, "chainlink");
    const all = [
      { hourEndsAt: midnight - HOUR, priceUsd: 1, source: "coinbase" },
      { hourEndsAt: midnight, priceUsd: 3, source: "coinbase" },
      { hourEndsAt: midnight + HOUR, priceUsd: 5, source: "coinbase" },
      { hourEndsAt: midnight + 3 * HOUR, priceUsd: 6, source: "chainlink" },
    ];
    expect(await closes(app, midnight + 3 * HOUR, 10)).toEqual(all);
    expect(await closes(app, midnight + 3 * HOUR - 1, 10)).toEqual(all.slice(0, 3));
    expect(await closes(app, midnight + HOUR, 2)).toEqual(all.slice(1, 3));
    expect(await closes(app, midnight + HOUR, 2, "ETH")).toEqual([]);
    expect(new Date(midnight).toISOString()).toBe("2026-03-01T00:00:00.000Z");
  });

  test("a sample on the full hour belongs to the hour it begins", async ({ app }) => {
    await store(app, START - MINUTE - 1, 1);
    await store(app, START, 2);
    expect(await closes(app, START, 5)).toEqual([{ hourEndsAt: START, priceUsd: 1, source: "coinbase" }]);
  });
});
