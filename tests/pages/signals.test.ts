import { describe, expect } from "vitest";
import * as z from "zod";
import { insertSignals } from "../support/rows/signalRows";
import { signalStats } from "../../convex/signals/shapes";
import { formatPoints, formatSignedPercent } from "../../convex/lib/text/numbers";
import type { App } from "../support/app";
import {
  buy,
  DAY,
  EIGHT,
  issue,
  issued,
  marketAt,
  modelSays,
  sell,
  test,
  track,
  wait,
  work,
} from "../signals/support";
import { HOSTILE, HOUR, openPage, samplePrices, says, soundWords } from "./support";

/** The record, and a signal's own page. */

const history = z.object({ stats: signalStats, signals: z.array(z.object({ id: z.string() })) });
const proof = z.object({ head: z.object({ hash: z.string() }) });

/** Two days: both tokens won on the first; on the second they lost. */
async function twoDays(app: App): Promise<void> {
  await issued(app, buy);
  await samplePrices(app, [100, 100.3, 101.2]);
  marketAt(app, { BTC: 101.2, ETH: 101.2 });
  await track(app);
  await wait(app, 6 * HOUR);
  await track(app);
  await wait(app, DAY - (Date.now() - EIGHT));
  marketAt(app, { BTC: 100, ETH: 100 });
  modelSays(app, { ...sell, confidence: 90 });
  await issue(app);
  await work(app);
  await samplePrices(app, [100, 101, 102.5]);
  marketAt(app, { BTC: 102.5, ETH: 102.5 });
  await track(app);
  await wait(app, 6 * HOUR);
  await track(app);
}

/** Pages have addresses of their own, and programs find all of them. */
async function expectShared(app: App): Promise<void> {
  const site = "https://some.convex.site";
  const { text } = await openPage(app, "/signals/btc-2026-01-05");
  expect(text).toContain(`<link rel="canonical" href="${site}/signals/BTC-2026-01-05"/>`);
  expect(text).toContain(`<meta property="og:image" content="${site}/pictures/BTC-2026-01-05"/>`);
  const feed = await app.get("/signals/feed.xml");
  expect(feed.headers.get("content-type")).toBe("application/atom+xml");
  expect(feed.text.match(/<entry><id>/g)).toHaveLength(4);
  says(feed.text, "<title>BTC: BUY at $100.00</title>", "<summary>WIN, +");
  expect((await app.get("/sitemap.xml")).text).toContain(`<loc>${site}/signals/ETH-2026-01-06</loc>`);
  expect((await app.get("/robots.txt")).text).toContain(`Sitemap: ${site}/sitemap.xml`);
}

describe("the record", () => {
  test("shows what the history and the chain of events tell, once there is something", async ({ app }) => {
    says(
      soundWords(await openPage(app, "/record")),
      ...["The record begins with the first signals", "The chain of events begins with the first signal"],
    );
    await twoDays(app);
    const words = soundWords(await openPage(app, "/record"));
    const { body } = await app.get("/mcp/signals/history?limit=40");
    const { stats, signals } = history.parse(body);
    const { head } = proof.parse((await app.get("/signals/proof")).body);
    expect([stats.wins, stats.losses, signals.length]).toEqual([2, 2, 4]);
    says(
      words,
      stats.summary,
      "2 won",
      "2 lost, 0 expired",
      formatSignedPercent(stats.afterCosts.totalPnlPercent),
    );
    says(
      words,
      formatSignedPercent(stats.beforeCosts.totalPnlPercent),
      formatSignedPercent(stats.afterCosts.expectancyPercent ?? NaN),
    );
    says(
      words,
      `After 4 trades: signals ${formatSignedPercent(stats.afterCosts.totalPnlPercent)}, bought and held`,
    );
    says(words, formatSignedPercent(stats.buyAndHoldPercent ?? NaN), head.hash);
    const { excessPoints, lowPoints, highPoints, verdict } = stats.edge;
    const bounds = `${formatPoints(lowPoints)} to ${formatPoints(highPoints)}`;
    says(words, verdict, `${formatPoints(excessPoints ?? NaN)} points a day, ${bounds}`);
    says(words, stats.reliability.says ?? "none", "npm run verify-signals -- https://some.convex.site");
    for (const { id } of signals) says(words, id);
    await expectShared(app);
    // And a signal's own page its levels on the path of the price, and who told what.
    const one = soundWords(await openPage(app, "/signals/btc-2026-01-05"));
    says(one, "BTC signal of 2026-01-05", "won +", "Prices by");
    says(one, "Entry $100.00", "Target 1 $101.00", "Stop $99.00", "Price at issue $100.00");
    says(one, "BTC-2026-01-06 →", "Open in the bot");
    const { text } = await openPage(app, "/signals/BTC-2026-01-06");
    expect(text).toContain('<a href="/signals/BTC-2026-01-05">← BTC-2026-01-05</a>');
    says(one, "Stated confidence 70 %", "The model's view “Up.”", "Last price shown: $10");
  });

  test("stays a small page however long it is, of which the newest is listed", async ({ app }) => {
    await insertSignals(app, 730);
    const page = await openPage(app, "/record");
    soundWords(page);
    expect(page.text.match(/<th scope="row"><a href="\/signals\//g)).toHaveLength(10);
    expect(page.text).toContain('href="https://t.me/simulated_123456_bot?start=signals"');
    expect((await openPage(app, "/whales")).text).toContain("_bot?start=whales");
    // Sentence and curve tell the same.
    expect(page.text).toMatch(/buying and holding \+1\.00/);
    expect(page.text).toMatch(/bought and held \+1\.00/);
  });
});

describe("a signal's page", () => {
  test("draws from the issue to the end, with nothing outside the plot, the model's words as text, also when the samples have gone", async ({
    app,
  }) => {
    // A figure of its own would be marked.
    const reasoning = HOSTILE.replaceAll("1", "one");
    await issued(app, { ...buy, reasoning });
    await samplePrices(app, [100, 100.3, 108]);
    marketAt(app, { BTC: 108, ETH: 108 });
    await track(app);
    const page = await openPage(app, "/signals/BTC-2026-01-05");
    says(soundWords(page), `“${reasoning}”`, "Last price shown: $10");
    const [, drawn = ""] = /<path class="path " d="([^"]+)"/.exec(page.text) ?? [];
    const places = drawn.split(/[ML]/).slice(1);
    expect(places.length).toBeGreaterThan(1);
    for (const length of places.flatMap((place) => place.split(",").map(Number))) {
      expect(length).toBeGreaterThanOrEqual(0);
      expect(length).toBeLessThanOrEqual(1_000);
    }
    expect(page.text.match(/<path class="band /g)).toHaveLength(3);
    await app.t.run(async ({ db }) => {
      for (const { _id } of await db.query("priceSamples").take(100)) await db.delete("priceSamples", _id);
    });
    expect((await openPage(app, "/signals/ETH-2026-01-05")).text).toContain('<path class="path "');
  });
});
