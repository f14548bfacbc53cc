import fc from "fast-check";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import * as z from "zod";
import { signalStats } from "../../convex/signals/statistics/shapes";
import { closeApp, createApp, type App } from "../support/app";
import * as given from "./support";
import { test } from "./support";

const { buy, sell, hold, DAY, EIGHT, HOUR, MINUTE, endings, issued, marketAt, noCandles, track, wait } =
  given;

const totals = async (app: App) =>
  (await app.rows("signalTotals"))
    .filter(({ arm }) => arm === "daily")
    .map(({ scope, wins, losses, expired, before }) => [scope, wins, losses, expired, before.sum])
    .sort();

describe("the outcome tracker", () => {
  test("ends each signal at its token's price, with event and totals in one transaction", async ({ app }) => {
    await issued(app, buy);
    await wait(app, 30 * MINUTE);
    await track(app);
    expect(await endings(app)).toEqual([
      ["PENDING", undefined, undefined],
      ["PENDING", undefined, undefined],
    ]);
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 101.2, ETH: 97.5 });
    await track(app);
    const rows = await app.rows("signals");
    const of = (token: string) => rows.find((row) => row.token === token);
    expect(of("BTC")).toMatchObject({
      status: "WIN",
      exitPrice: 101,
      pnlPercent: 1,
      closedAt: expect.any(Number),
    });
    expect(of("ETH")).toMatchObject({ status: "LOSS", exitPrice: 99, pnlPercent: -1 });
    const events = await given.events(app);
    expect(events.map(({ kind }) => kind)).toEqual(["issued", "issued", "closed", "closed"]);
    expect(events.map(({ previousHash }) => previousHash).slice(1)).toEqual(
      events.map(({ hash }) => hash).slice(0, 3),
    );
    expect(await totals(app)).toEqual([
      ["ALL", 1, 1, 0, 0],
      ["BTC", 1, 0, 0, 1],
      ["BUY", 1, 1, 0, 0],
      ["ETH", 0, 1, 0, -1],
      ["calm", 1, 1, 0, 0],
    ]);
  });

  test("lets the first level touched between two looks decide, at its own minute", async ({ app }) => {
    await issued(app, buy);
    await wait(app, 10 * MINUTE);
    marketAt(app, { BTC: 90, ETH: 110 });
    await wait(app, 5 * MINUTE);
    marketAt(app, { BTC: 110, ETH: 90 });
    await wait(app, 15 * MINUTE);
    await track(app);
    const rows = await app.rows("signals");
    const told = rows.map(({ token, status, decidedBy, gapMinutes }) => [
      token,
      status,
      decidedBy,
      gapMinutes,
    ]);
    expect(told.sort()).toEqual([
      ["BTC", "LOSS", "candle", 0],
      ["ETH", "WIN", "candle", 0],
    ]);
    for (const { closedAt = 0 } of rows) {
      expect(closedAt % MINUTE).toBe(0);
      expect(closedAt).toBeGreaterThanOrEqual(EIGHT + 9 * MINUTE);
      expect(closedAt).toBeLessThanOrEqual(EIGHT + 11 * MINUTE);
    }
    const closed = (await given.events(app)).flatMap((event) =>
      event.kind === "closed" ? [event.content.decidedBy] : [],
    );
    expect(closed).toEqual(["candle", "candle"]);
  });

  test("asks for the candles since its last look alone, and for the whole path once more for the controls", async ({
    app,
  }) => {
    await issued(app, buy);
    const asked = () =>
      app.standins
        .sent("coinbase")
        .filter(({ path, query }) => query?.granularity === "60" && path.includes("BTC"))
        .map(({ query }) => [query?.start?.slice(11, 16), query?.end?.slice(11, 16)]);
    for (const _look of [1, 2]) {
      await wait(app, 30 * MINUTE);
      await track(app);
    }
    expect(asked()).toEqual([
      ["08:00", "08:29"],
      ["08:30", "08:59"],
    ]);
    await wait(app, 5 * HOUR + 2 * MINUTE);
    await track(app);
    // Three hundred candles a question.
    expect(asked().slice(2)).toEqual([
      ["08:00", "12:59"],
      ["13:00", "14:00"],
    ]);
  });

  test("expires HOLD at the live price without a result, whatever the price did", async ({ app }) => {
    await issued(app, hold);
    marketAt(app, { BTC: 150, ETH: 50 });
    await wait(app, 5 * HOUR);
    await track(app);
    expect((await endings(app)).map(([status]) => status)).toEqual(["PENDING", "PENDING"]);
    await wait(app, 2 * HOUR);
    await track(app);
    expect((await endings(app)).sort()).toEqual([
      ["EXPIRED", 150, null],
      ["EXPIRED", 50, null],
    ]);
    expect((await totals(app))[0]).toEqual(["ALL", 0, 0, 2, 0]);
    const [row] = await app.rows("signals");
    expect([row?.compared, row?.coin, row?.momentum]).toEqual([undefined, null, null]);
  });

  test("asks for one price per token and tick, and for none when nothing is pending", async ({ app }) => {
    await track(app);
    expect(app.standins.sent("tickers")).toEqual([]);
    await issued(app, buy);
    await wait(app, DAY);
    await issued(app, buy);
    await wait(app, 10 * MINUTE);
    const before = app.standins.sent("tickers").length;
    await track(app);
    expect(app.standins.sent("tickers").length - before).toBe(2);
    expect(await app.rows("signals")).toHaveLength(4);
  });

  test("run twice, and twice at once, ends a signal once", async ({ app }) => {
    await issued(app, buy);
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 101, ETH: 101 });
    const tick = () => app.t.mutation(internal.signals.outcomes.tracker.track, {});
    await Promise.all([tick(), tick(), tick()]);
    await app.settle();
    await track(app);
    expect((await given.events(app)).filter(({ kind }) => kind === "closed")).toHaveLength(2);
    expect((await totals(app))[0]).toEqual(["ALL", 2, 0, 0, 2]);
  });

  test("closes more than a batch of open signals, at once", async ({ app }) => {
    await issued(app, buy);
    const [row] = await app.rows("signals");
    if (row === undefined) throw new Error("There is a signal");
    const { _id, _creationTime, ...signal } = row;
    await app.t.run(async (ctx) => {
      for (let n = 1; n <= 60; n++) {
        const generatedAt = signal.generatedAt - n * MINUTE;
        await ctx.db.insert("signals", {
          ...signal,
          slot: signal.slot - n * DAY,
          generatedAt,
          walkedUntil: generatedAt,
        });
      }
    });
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 101, ETH: 101 });
    await track(app);
    expect((await endings(app)).filter(([status]) => status === "PENDING")).toEqual([]);
    expect((await totals(app))[0]?.[1]).toBe(62);
  });
});

describe("where the price comes from", () => {
  test("a ticker that fails is followed by the next, and the signal ends", async ({ app }) => {
    await issued(app, buy);
    await wait(app, 30 * MINUTE);
    app.standins.fail("tickers", { mode: "status", status: 500, ticker: "coinbase" });
    marketAt(app, { BTC: 101, ETH: 101 });
    await track(app);
    expect((await app.rows("priceSamples")).at(-1)?.source).toBe("binance");
    expect((await endings(app)).map(([status]) => status)).toEqual(["WIN", "WIN"]);
  });

  test("the model's market data decide nothing; the next measured price does", async ({ app }) => {
    await issued(app, buy);
    await wait(app, 30 * MINUTE);
    noCandles(app);
    app.standins.fail("tickers", { mode: "status", status: 500 });
    marketAt(app, { BTC: 150, ETH: 50 });
    await track(app);
    expect(app.standins.sent("llm").filter(({ schema }) => schema === "market_snapshot")).toEqual([]);
    for (const token of ["BTC", "ETH"] as const) {
      const told = await app.during(app.t.action(internal.market.prices.current, { token }));
      expect(told.source).toBe("llm");
    }
    await track(app);
    expect((await endings(app)).map(([status]) => status)).toEqual(["PENDING", "PENDING"]);
    app.standins.clear("tickers");
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 101, ETH: 101 });
    await track(app);
    // Candles may only be late.
    expect((await endings(app)).map(([status]) => status)).toEqual(["PENDING", "PENDING"]);
    await wait(app, 2 * HOUR);
    await track(app);
    expect((await endings(app)).map(([status]) => status)).toEqual(["WIN", "WIN"]);
  });

  test("no exchange in reach: samples decide, and the gap counts as chance at most", async ({ app }) => {
    await issued(app, buy);
    noCandles(app);
    await app.pass(7 * MINUTE);
    marketAt(app, { BTC: 101.5, ETH: 98.5 });
    await app.pass(5 * MINUTE);
    marketAt(app, { BTC: 100, ETH: 100 });
    await app.pass(2.5 * HOUR);
    const told = (await app.rows("signals")).map((row) => [
      row.token,
      row.status,
      row.decidedBy,
      row.gapMinutes,
    ]);
    expect(told.sort()).toEqual([
      ["BTC", "WIN", "sample", expect.any(Number)],
      ["ETH", "LOSS", "sample", expect.any(Number)],
    ]);
    for (const [, , , minutes] of told) expect(minutes).toBeGreaterThanOrEqual(7);
    await app.pass(9 * HOUR);
    const { stats } = parsed((await app.get("/mcp/signals/history?token=BTC")).body);
    expect(stats).toMatchObject({
      wins: 1,
      gaps: { trades: 1 },
      edge: { trades: 1, days: 1, excessPoints: 0, verdict: "no record yet" },
    });
  });

  test("Coinbase has a hole: Binance's candles fill it", async ({ app }) => {
    await issued(app, buy);
    app.standins.fail("coinbase", { mode: "status", status: 500 });
    await wait(app, 10 * MINUTE);
    marketAt(app, { BTC: 101.5, ETH: 101.5 });
    await wait(app, 20 * MINUTE);
    await track(app);
    for (const row of await app.rows("signals")) {
      expect([row.status, row.decidedBy, row.gapMinutes]).toEqual(["WIN", "candle", 0]);
    }
  });

  test("with none in reach nothing changes until 6 hours behind the expiry, then it expires without a result", async ({
    app,
  }) => {
    await issued(app, buy);
    noCandles(app);
    app.standins.fail("tickers", { mode: "status", status: 500 });
    app.standins.fail("llm", { mode: "status", status: 401 });
    await wait(app, 11.9 * HOUR);
    await track(app);
    expect((await endings(app)).map(([status]) => status)).toEqual(["PENDING", "PENDING"]);
    await wait(app, HOUR);
    await track(app);
    expect(await endings(app)).toEqual([
      ["EXPIRED", null, null],
      ["EXPIRED", null, null],
    ]);
    expect((await totals(app))[0]).toEqual(["ALL", 0, 0, 2, 0]);
    const { body } = await app.get("/mcp/signals/history");
    expect(body).toMatchObject({
      stats: { expired: 2, trades: 0, edge: { days: 1, excessPoints: -50 } },
      count: 2,
    });
  });
});

const parsed = (body: unknown) => z.object({ stats: signalStats }).parse(body);

test("whatever the prices and the ticks, a signal ends once, and the chain and the totals tell the same", async () => {
  const tick = fc.record({
    after: fc.integer({ min: 20, max: 300 }),
    btc: fc.option(fc.integer({ min: 95, max: 105 }), { freq: 4 }),
    twice: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(buy, sell, hold),
      fc.array(tick, { minLength: 1, maxLength: 5 }),
      async (proposal, ticks) => {
        const app = createApp({ now: EIGHT });
        try {
          await issued(app, proposal);
          for (const { after, btc, twice } of ticks) {
            await wait(app, after * MINUTE);
            app.standins.clear("tickers");
            if (btc === null) app.standins.fail("tickers", { mode: "status", status: 500 });
            marketAt(app, { BTC: btc ?? 100, ETH: btc ?? 100 });
            await track(app);
            if (twice) await track(app);
          }
          const signals = await app.rows("signals");
          const closed = signals.filter(({ status }) => status !== "PENDING");
          const events = await given.events(app);
          expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
          expect(events.filter(({ kind }) => kind === "closed")).toHaveLength(closed.length);
          const all = (await app.rows("signalTotals")).find(({ scope }) => scope === "ALL");
          const counted = all === undefined ? 0 : all.wins + all.losses + all.expired;
          expect(counted).toBe(closed.length);
          const sum = closed.reduce((total, { pnlPercent }) => total + (pnlPercent ?? 0), 0);
          expect(all?.before.sum ?? 0).toBeCloseTo(sum, 6);
        } finally {
          closeApp();
        }
      },
    ),
    { numRuns: 8, endOnFailure: true },
  );
});
