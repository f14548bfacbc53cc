import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import { buy, DAY, decided, EIGHT, HOUR, issued, marketAt, MINUTE, test, track, wait, work } from "./support";

/** Monday 08:00 to Sunday 23:55. */
const TO_SUNDAY = 6 * DAY + 15 * HOUR + 55 * MINUTE;

const until = (app: App, moment: number) => wait(app, moment - Date.now());
const open = (app: App) => app.t.mutation(internal.signals.history.recapDue, {});
const asked = (app: App) =>
  app.standins.sent("llm").filter(({ schema }) => schema === "signal_review").length;
const weeks = async (app: App) =>
  (await app.rows("signalSummaries")).flatMap((row) => (row.period === "week" ? [row] : []));
const cards = (app: App) => app.cards().flatMap(({ text }) => (text.includes("Weekly recap") ? [text] : []));

/** Monday: BTC wins, ETH loses. Tuesday: both expire at +0.5 %. */
async function week(app: App): Promise<void> {
  await decided(app);
  await wait(app, DAY - 30 * MINUTE);
  await issued(app, buy);
  await wait(app, 5 * HOUR);
  marketAt(app, { BTC: 100.5, ETH: 100.5 });
  await wait(app, 1.5 * HOUR);
  await track(app);
}

test("a weekly recap tells Monday to Sunday, day by day, once, in a full card", async ({ app }) => {
  await week(app);
  await until(app, EIGHT + TO_SUNDAY);
  await Promise.all([open(app), open(app)]);
  await work(app);
  // Late on Monday it is still last week's.
  await until(app, EIGHT + 7 * DAY);
  await open(app);
  await work(app);
  const [recap, ...others] = await weeks(app);
  expect(others).toEqual([]);
  expect(recap).toMatchObject({
    of: "2026-01-05",
    review: expect.stringMatching(/won 1, .*lost 1, .*expired 2/),
    results: {
      wins: 1,
      losses: 1,
      expired: 2,
      pending: 0,
      winrate: 50,
      trades: 4,
      totalPnlPercent: 1,
      totalAfterCostsPercent: 0.4,
    },
  });
  expect(Object.keys(recap?.days ?? {}).sort()).toEqual(
    [5, 6, 7, 8, 9, 10, 11].map((day) => `2026-01-${String(day).padStart(2, "0")}`),
  );
  expect(recap?.days["2026-01-05"]?.BTC).toMatchObject({ signal: "BUY", status: "WIN", pnlPercent: 1 });
  expect(recap?.days["2026-01-11"]).toEqual({ BTC: null, ETH: null });
  const [text = "", ...more] = cards(app);
  expect(more).toEqual([]);
  for (const part of [
    "<b>🏆 Weekly recap</b>\n2026-01-05 to 2026-01-11, UTC",
    "Won 1 · lost 1 · expired 2\n4 trades: <b>+0.40 % after costs</b>, +1.00 % before",
    "<b>Mon</b> · BTC 🟢 ✅ +0.85 % · ETH 🟢 ❌ −1.15 %\n<b>Tue</b> · BTC 🟢 ⌛ +0.35 %",
    "<b>Sun</b> · BTC — · ETH —",
  ])
    expect(text.replaceAll("\u202F", " ")).toContain(part);
  expect(text).toMatch(
    /<b>Whole record<\/b> · 2 days\n4 trades: \+0\.40.% after costs; buying and holding .*%\. Too early to call it anything\.\n\n/,
  );
  expect(text).toMatch(
    /<b>Review<\/b>, a model's view\n[^]*🔗 <a href="[^"]+\/record\?head=8-[0-9a-f]{64}#verify">Record 8, /u,
  );
  // Each end was told when it came.
  const ends = app.cards().filter((card) => card.text.includes("This signal and its path"));
  expect(ends.map((end) => end.text.split("\n")[0]?.replaceAll("\u202F", " "))).toEqual([
    "<b>✅ BTC BUY won +0.85 %</b>",
    "<b>❌ ETH BUY lost −1.15 %</b>",
    "<b>⌛ BTC BUY expired +0.35 %</b>",
    "<b>⌛ ETH BUY expired +0.35 %</b>",
  ]);
  expect(ends[0]?.text.replaceAll("\u202F", " ")).toMatch(
    /\nFrom \$100 to its target at \$101, 5 Jan 2026, 08:\d\d UTC\nAfter costs of 0\.15 %\n\n<b>Whole record/,
  );
});

test("a recap goes out unreviewed when the gateway stays away; an empty week is not reviewed", async ({
  app,
}) => {
  await decided(app);
  await until(app, EIGHT + TO_SUNDAY);
  app.standins.fail("llm", { mode: "status", status: 401, schema: "signal_review" });
  await open(app);
  await work(app);
  const before = asked(app);
  await until(app, EIGHT + TO_SUNDAY + 7 * DAY);
  await open(app);
  await work(app);
  expect(await weeks(app)).toMatchObject([
    { of: "2026-01-05", review: null, results: { wins: 1 } },
    { of: "2026-01-12", review: null, results: { wins: 0 } },
  ]);
  expect([before > 0, asked(app), cards(app).length]).toEqual([true, before, 2]);
  expect(cards(app)[1]).not.toContain("Review");
});
