import fc from "fast-check";
import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import * as z from "zod";
import { computeRecord } from "../../convex/signals/record";
import { signalStats } from "../../convex/signals/shapes";
import { closeApp, createApp, type App } from "../support/app";
import * as given from "./support";
import { test } from "./support";
import { noPrices } from "../support/outside";

const { buy, sell, hold, EIGHT, MINUTE, issued, marketAt, track, wait } = given;

const statuses = async (app: App) => (await app.rows("signals")).map(({ status }) => status);

/** The whole record: won, lost, expired, and the sum of results. */
const totals = async (app: App) => {
  const { stats } = parsed((await app.get("/mcp/signals/history")).body);
  return [stats.wins, stats.losses, stats.expired, stats.beforeCosts.totalPnlPercent];
};

test("the tracker, run twice, and twice at once, ends a signal once; candles decide alone, and may come late", async ({
  app,
}) => {
  await issued(app, buy);
  await wait(app, 30 * MINUTE);
  marketAt(app, { BTC: 101, ETH: 101 });
  app.standins.fail("coinbase", { mode: "status", status: 500, path: "/candles" });
  await track(app);
  expect(app.standins.sent("llm").filter(({ schema }) => schema === "market_snapshot")).toEqual([]);
  expect(await statuses(app)).toEqual(["PENDING", "PENDING"]);
  await wait(app, 30 * MINUTE);
  app.standins.clear("coinbase");
  const tick = () => app.t.mutation(internal.signals.tracker.track, {});
  await Promise.all([tick(), tick(), tick()]);
  await app.settle();
  await track(app);
  expect((await app.rows("signalEvents")).filter(({ kind }) => kind === "closed")).toHaveLength(2);
  expect(await totals(app)).toEqual([2, 0, 0, 2]);
});

const parsed = (body: unknown) => z.object({ stats: signalStats }).parse(body);

test("whatever the prices and the ticks, a signal ends once, and the chain and the record tell the same", async () => {
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
            app.standins.clear("coinbase");
            app.standins.clear("coingecko");
            if (btc === null) noPrices(app);
            marketAt(app, { BTC: btc ?? 100, ETH: btc ?? 100 });
            await track(app);
            if (twice) await track(app);
          }
          const signals = await app.rows("signals");
          const closed = signals.filter(({ status }) => status !== "PENDING");
          const events = await app.rows("signalEvents");
          expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
          expect(events.filter(({ kind }) => kind === "closed")).toHaveLength(closed.length);
          const { stats } = parsed((await app.get("/mcp/signals/history")).body);
          expect(stats).toEqual(computeRecord(closed));
        } finally {
          closeApp();
        }
      },
    ),
    { numRuns: 3, endOnFailure: true },
  );
});
