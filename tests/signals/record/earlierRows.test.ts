import { expect } from "vitest";
import * as z from "zod";
import { edge } from "../../../convex/signals/statistics/shapes";
import { problemsOfRecord } from "../../../scripts/verifySignals";
import { armIn, armsSay, askArms, CHALLENGER, CHAMPION, labOf, trackShadows } from "../../lab/support";
import { createApp, type App } from "../../support/app";
import { rechained, recordOf } from "./record";
import * as given from "../support";

/** Rows that an earlier version wrote: without doubts, and with one sum of days where there are three now. */

const { buy, sell, DAY, EIGHT, HOUR, MINUTE, events, issued, marketAt, test, track, wait } = given;

/** The deployment as it was when doubts, and what days come to at most and after costs, were not kept. */
async function asWrittenBefore(app: App): Promise<void> {
  await app.t.run(async ({ db }) => {
    for (const { _id, inDoubt: _, compared } of await db.query("signals").collect()) {
      const { mirrorInDoubt: _mirror, ...known } = compared ?? {};
      await db.patch("signals", _id, { inDoubt: undefined });
      if ("mirrorStatus" in known) await db.patch("signals", _id, { compared: known });
    }
    for (const { _id, arms } of await db.query("signalTotals").collect()) {
      const before = (arm: (typeof arms)["coin"]) => {
        if (!("days" in arm)) throw new Error("It is of today");
        const { days, ...sums } = arm;
        return { ...sums, blocks: days.least };
      };
      const [model, coin] = [before(arms.model), before(arms.coin)];
      const [momentum, alwaysLong] = [before(arms.momentum), before(arms.alwaysLong)];
      const earlier = { model, coin, momentum, alwaysLong, buyAndHold: arms.buyAndHold };
      await db.patch("signalTotals", _id, { arms: earlier });
    }
    for (const { _id, days } of await db.query("signalPairs").collect()) {
      if (days !== undefined) await db.patch("signalPairs", _id, { days: undefined, blocks: days.least });
    }
    const rows = (await db.query("signalEvents").collect()).filter(({ desk }) => desk === "daily");
    const told = rows.flatMap((row) => (row.desk === "daily" ? [row.event] : []));
    const chained = rechained(
      told.map((event) => {
        if (event.kind === "closed") {
          const { inDoubt: _, ...content } = event.content;
          return { kind: event.kind, content };
        }
        if (event.kind !== "compared") return event;
        const { mirrorInDoubt: _, ...content } = event.content;
        return { kind: event.kind, content };
      }),
    );
    for (const [index, { _id }] of rows.entries()) {
      const event = chained.events[index];
      if (event !== undefined) await db.replace("signalEvents", _id, { desk: "daily", event });
    }
  });
}

const edgeShape = z.object({ stats: z.object({ edge }) });
const edgeOf = async (app: App) => edgeShape.parse((await app.get("/mcp/signals/history")).body).stats.edge;

test("are read, closed and counted on", async ({ app }) => {
  await given.moved(app, buy, { BTC: 101, ETH: 101 });
  await wait(app, 7 * HOUR);
  await track(app);
  await wait(app, DAY - 7 * HOUR - 30 * MINUTE);
  await issued(app, sell);
  await wait(app, HOUR);
  const before = await edgeOf(app);
  await asWrittenBefore(app);
  const after = await edgeOf(app);
  expect(before).toMatchObject({ trades: 2, days: 1, excessPoints: 50 });
  expect(after).toMatchObject({ trades: 2, days: 1, excessPoints: 50, eValue: before.eValue });
  // What the earlier days come to after costs, and at most, is not known: both begin anew.
  expect(after).toMatchObject({ highPoints: 100, afterCosts: { excessPoints: null, eValue: 1 } });
  expect((await app.get("/signals/BTC-2026-01-05")).body.signal).toMatchObject({
    status: "WIN",
    exitPrice: 101,
  });

  marketAt(app, { BTC: 99, ETH: 99 });
  await track(app);
  await wait(app, 6 * HOUR);
  await track(app);
  const counted = await edgeOf(app);
  expect(counted).toMatchObject({ trades: 4, days: 2, excessPoints: 50 });
  expect(counted.afterCosts.excessPoints).toBeCloseTo(50 - 7.5, 6);
  const told = await events(app);
  const doubts = told.flatMap((event) =>
    event.kind === "closed" || event.kind === "compared" ? [Object.keys(event.content)] : [],
  );
  expect(doubts.map((keys) => keys.some((key) => key.endsWith("nDoubt")))).toEqual([
    ...[false, false, false, false],
    ...[true, true, true, true],
  ]);
  const { stats: _, cuts: _parts, ...record } = await recordOf(app);
  expect(problemsOfRecord(record).filter((problem) => !problem.includes("coin"))).toEqual([]);
});

test("pairs of arms are counted on", async () => {
  const app = createApp({ now: EIGHT, env: { SHADOW_ARMS: `${CHAMPION}, ${CHALLENGER}` } });
  armsSay(app, ({ prompt }) => (prompt === "signal-2" ? buy : sell));
  const day = async () => {
    marketAt(app, { BTC: 100, ETH: 100, SOL: 100 });
    await askArms(app);
    await wait(app, 30 * MINUTE);
    marketAt(app, { BTC: 99, ETH: 99, SOL: 99 });
    await trackShadows(app);
    await wait(app, DAY - 30 * MINUTE);
    await trackShadows(app);
  };
  await day();
  const against = async () => armIn(await labOf(app), CHALLENGER).againstWriter;
  const before = await against();
  await asWrittenBefore(app);
  expect(await against()).toMatchObject({
    days: 1,
    eValue: before?.eValue,
    excessPoints: before?.excessPoints,
  });
  await day();
  expect(await against()).toMatchObject({ days: 2, excessPoints: before?.excessPoints });
});
