import { describe, expect } from "vitest";
import { insertSignals } from "../support/rows/signalRows";
import { record } from "../../convex/pages/shapes";
import { createApp, type App } from "../support/app";
import { replace } from "../support/world";
import { askArms, CHALLENGER, CHAMPION, labOf, trackShadows } from "../lab/support";
import { recordOf } from "./record/record";
import * as given from "./support";
import { test } from "./support";

const { buy, sell, DAY, EIGHT, HOUR, MINUTE, issue, marketAt, modelSays, track, wait } = given;

/** What was told once stays told, whatever comes later: prices, outcomes, revised candles. */

/** A day of daily and shadow signals, from 08:00 to 08:00. */
async function day(
  app: App,
  start: number,
  { proposal, to }: { proposal: object; to: number },
): Promise<void> {
  await app.advance(start - Date.now());
  marketAt(app, { BTC: 100, ETH: 100, SOL: 100 });
  modelSays(app, proposal);
  await issue(app);
  await wait(app, 11 * MINUTE);
  await askArms(app);
  app.standins.clear("llm");
  await wait(app, 8 * MINUTE);
  marketAt(app, { BTC: to, ETH: 200 - to, SOL: 100 + (to - 100) / 4 });
  for (const hour of [1, 7]) {
    await app.advance(start + hour * HOUR - Date.now());
    await track(app);
    await trackShadows(app);
  }
}

const told = async (app: App) => ({
  record: await recordOf(app),
  lab: await labOf(app),
  page: record.parse((await app.get("/record")).body),
  signals: await given.signalsOf(app, "daily"),
  shadows: await given.signalsOf(app, "lab"),
});

describe("what was told", () => {
  test.each([
    ["a rise", 103],
    ["a fall", 97],
  ])(
    "is not changed by %s the days after, nor by candles that the exchange tells otherwise",
    async (_name, to) => {
      const app = createApp({ now: EIGHT, env: { SHADOW_ARMS: `${CHAMPION},${CHALLENGER}` } });
      await day(app, EIGHT, { proposal: buy, to: 101.3 });
      await day(app, EIGHT + DAY, { proposal: { ...sell, confidence: 80 }, to: 100.2 });
      const before = await told(app);
      expect(before.signals.map(({ status }) => status)).not.toContain("PENDING");
      // From here on the exchange tells another past.
      const coin = app.standins.market.coin.bind(app.standins.market);
      const now = Date.now();
      replace(app.standins.market, "coin", (symbol, at = Date.now()) => {
        const usual = coin(symbol, at);
        return at < now ? { ...usual, price: 100 + (100 - usual.price) } : usual;
      });
      await day(app, EIGHT + 2 * DAY, { proposal: buy, to });
      await app.advance(EIGHT + 3 * DAY - Date.now());
      await trackShadows(app);
      const after = await told(app);

      const { events } = before.record;
      expect(after.record.events.slice(0, events.length)).toEqual(events);
      expect(after.record.events.length).toBeGreaterThan(events.length);
      expect(after.lab.events.slice(0, before.lab.events.length)).toEqual(before.lab.events);
      const rows = (all: readonly { _id: string }[], of: readonly { _id: string }[]) =>
        all.filter(({ _id }) => of.some((one) => one._id === _id));
      expect(rows(after.signals, before.signals)).toEqual(before.signals);
      expect(rows(after.shadows, before.shadows)).toEqual(before.shadows);
      const { equity } = before.page;
      expect(after.page.equity.slice(0, equity.length)).toEqual(equity);
    },
    60_000,
  );

  test("stays in the curve when it moves out of the newest hundred signals", async ({ app }) => {
    await insertSignals(app, 300);
    const curve = async () => record.parse((await app.get("/record")).body);
    const before = await curve();
    expect(before.equity.at(-1)?.sumPercent).toBeCloseTo(before.stats.afterCosts.totalPnlPercent, 5);
    const { coin, buyAndHold } = before.stats.controls;
    const whole = (arm: { trades: number; averageAfterCostsPercent: number | null }) =>
      arm.trades * (arm.averageAfterCostsPercent ?? NaN);
    expect(before.equity.at(-1)?.controls.coin).toBeCloseTo(whole(coin), 5);
    expect(before.equity.at(-1)?.controls.buyAndHold).toBeCloseTo(whole(buyAndHold), 5);
    // Today's two, which are open, expire; two more come and expire: the window moves on.
    await wait(app, 6 * HOUR);
    await track(app);
    await day(app, EIGHT + DAY, { proposal: buy, to: 100.5 });
    const after = await curve();
    const kept = before.equity.filter(({ id }) => after.equity.some((one) => one.id === id));
    expect(kept.length).toBeGreaterThan(90);
    expect(kept.length).toBeLessThan(before.equity.length);
    const sums = ({ id, sumPercent, controls }: (typeof kept)[number]) => ({ id, sumPercent, controls });
    const of = (id: string) => after.equity.filter((one) => one.id === id).map(sums);
    for (const one of kept) expect(of(one.id)).toEqual([sums(one)]);
  });
});
