import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import * as given from "./support";
import { test } from "./support";

const { buy, decided, DAY, EIGHT, HOUR, MINUTE, issued, marketAt, track, wait, work } = given;

/** Monday 08:00 to Sunday 23:55. */
const TO_SUNDAY = 6 * DAY + 15 * HOUR + 55 * MINUTE;

async function recapWeek(app: App): Promise<void> {
  await app.t.mutation(internal.signals.history.recapDue, {});
  await work(app);
}

/** Monday: BTC wins, ETH loses. Tuesday: both expire at +0.5 %. */
async function week(app: App): Promise<void> {
  await decided(app);
  await wait(app, 6 * HOUR);
  await track(app);
  await wait(app, DAY - 6.5 * HOUR);
  await issued(app, buy);
  await wait(app, 5 * HOUR);
  marketAt(app, { BTC: 100.5, ETH: 100.5 });
  await wait(app, 1.5 * HOUR);
  await track(app);
}

async function weeks(app: App) {
  return (await app.rows("recaps")).flatMap((row) => (row.period === "week" ? [row] : []));
}

async function until(app: App, moment: number): Promise<void> {
  await wait(app, moment - Date.now());
}

describe("the weekly recap", () => {
  test("tells Monday to Sunday, day by day, and goes to the messenger as a full card", async ({ app }) => {
    await week(app);
    await until(app, EIGHT + TO_SUNDAY);
    await recapWeek(app);
    const [recap] = await weeks(app);
    expect(recap).toMatchObject({
      of: "2026-01-05",
      review: expect.stringContaining("1 won, 1 lost and 2 expired"),
    });
    expect(recap?.results).toMatchObject({
      wins: 1,
      losses: 1,
      expired: 2,
      pending: 0,
      winrate: 50,
      trades: 4,
      totalPnlPercent: 1,
      totalAfterCostsPercent: 0.4,
      averagePnlPercent: 0.25,
      bestPnlPercent: 1,
      worstPnlPercent: -1,
    });
    expect(Object.keys(recap?.days ?? {}).sort()).toEqual([
      "2026-01-05",
      "2026-01-06",
      "2026-01-07",
      "2026-01-08",
      "2026-01-09",
      "2026-01-10",
      "2026-01-11",
    ]);
    expect(recap?.days["2026-01-05"]?.BTC).toMatchObject({
      signal: "BUY",
      status: "WIN",
      pnlPercent: 1,
    });
    expect(recap?.days["2026-01-11"]).toEqual({ BTC: null, ETH: null });
    const text = app.cards().at(-1)?.text ?? "";
    expect(text).toContain("<b>🏆 Weekly recap</b>\n2026-01-05 to 2026-01-11, UTC");
    expect(text).toContain(
      "Won 1 · lost 1 · expired 2\n4 trades: <b>+0.40 % after costs</b>, +1.00 % before",
    );
    expect(text).toMatch(/A trade: average \+0\.25.%, best \+1\.00.%, worst −1\.00.% before costs/);
    expect(text).toContain(
      "<b>Mon</b> · BTC 🟢 ✅ +0.85 % · ETH 🟢 ❌ −1.15 %\n<b>Tue</b> · BTC 🟢 ⌛ +0.35 %",
    );
    expect(text).toContain("<b>Sun</b> · BTC — · ETH —");
    expect(text).toMatch(
      /<b>Whole record<\/b> · 2 days\n4 trades: \+0\.40.% after costs; buying and holding .*%\. Too early to call it anything\.\n12\.5 points above chance \(−[\d.]+ to \+[\d.]+\), \+5\.0 after costs: no record yet\nOf 2 signals stated at 60–79.%, 50.% were won\./,
    );
    expect(text).toMatch(/<b>Review<\/b>, a model's view\n[^]*🔗 Record 8: <code>[0-9a-f]{64}<\/code>$/u);
  });

  test("is stored and sent once however often it runs, late on Monday for last week", async ({ app }) => {
    await week(app);
    await until(app, EIGHT + 7 * DAY + HOUR);
    const open = () => app.t.mutation(internal.signals.history.recapDue, {});
    await Promise.all([open(), open()]);
    await work(app);
    await recapWeek(app);
    expect((await weeks(app)).map(({ of }) => of)).toEqual(["2026-01-05"]);
    expect(app.cards().filter(({ text }) => text.includes("Weekly recap"))).toHaveLength(1);
    await until(app, EIGHT + TO_SUNDAY + 7 * DAY);
    await recapWeek(app);
    expect((await weeks(app)).map(({ of }) => of)).toEqual(["2026-01-05", "2026-01-12"]);
  });

  test("goes out unreviewed when the gateway stays away; an empty week is not reviewed", async ({ app }) => {
    await week(app);
    await until(app, EIGHT + TO_SUNDAY);
    app.standins.fail("llm", { mode: "status", status: 401, schema: "signal_review" });
    await recapWeek(app);
    await app.pass(30 * MINUTE);
    expect((await weeks(app))[0]).toMatchObject({ review: null, results: { wins: 1 } });
    const asked = () => app.standins.sent("llm").filter(({ schema }) => schema === "signal_review").length;
    const before = asked();
    await until(app, EIGHT + TO_SUNDAY + 7 * DAY);
    await recapWeek(app);
    expect((await weeks(app))[1]).toMatchObject({ review: null, results: { wins: 0 } });
    expect(asked()).toBe(before);
    expect(app.cards().filter(({ text }) => text.includes("Weekly recap"))).toHaveLength(2);
    expect(app.cards().at(-1)?.text).not.toContain("Review");
  });
});
