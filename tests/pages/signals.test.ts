import { describe, expect } from "vitest";
import { insertSignals } from "../support/rows/signalRows";
import { oneSignal, record } from "../../convex/pages/shapes";
import { points, signed, usd } from "../../convex/lib/text/numbers";
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
import { HOSTILE, HOUR, MINUTE, openPage, samplePrices, says, soundWords } from "./support";

/** The record, and a signal's own page. */

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

describe("the record", () => {
  test("says that there is none yet, where there is none", async ({ app }) => {
    const words = soundWords(await openPage(app, "/record"));
    says(words, "No signal has been issued yet", "The chain of events begins with the first signal");
  });

  test("shows what its JSON tells, which is what the history and the chain of events tell", async ({
    app,
  }) => {
    await twoDays(app);
    const words = soundWords(await openPage(app, "/record"));
    const told = record.parse((await app.get("/record")).body);

    const history = (await app.get("/mcp/signals/history?limit=40")).body;
    expect(told.stats).toEqual(history.stats);
    expect(told.signals).toEqual(history.signals);
    expect(told.head).toEqual((await app.get("/signals/proof")).body.head);

    const { stats, equity, signals, head } = told;
    expect([stats.wins, stats.losses, equity.length, signals.length]).toEqual([2, 2, 4, 4]);
    expect(equity.at(-1)?.sumPercent).toBeCloseTo(stats.afterCosts.totalPnlPercent, 5);
    says(words, stats.summary, "2 won", "2 lost, 0 expired", signed(stats.afterCosts.totalPnlPercent));
    says(words, signed(stats.beforeCosts.totalPnlPercent), signed(stats.afterCosts.expectancyPercent ?? NaN));
    says(words, head?.hash ?? "none", "Anchor on Base none yet");
    expect(stats.edge.verdict).toBe("no record yet");
    const { excessPoints, lowPoints, highPoints } = stats.edge;
    says(
      words,
      "no record yet",
      `${points(excessPoints ?? NaN)} points a day, ${points(lowPoints)} to ${points(highPoints)}`,
      stats.reliability.says ?? "none",
    );
    for (const { id } of signals) says(words, id);
    says(words, "npm run verify-signals -- https://some.convex.site");
  });

  test("is of one token where one is named", async ({ app }) => {
    await twoDays(app);
    const told = record.parse((await app.get("/record?token=eth")).body);
    expect(told.stats.n).toBe(2);
    expect(new Set(told.equity.map(({ id }) => id.slice(0, 3)))).toEqual(new Set(["ETH"]));
    const words = soundWords(await openPage(app, "/record?token=eth"));
    expect(words).not.toContain("BTC-2026");
    expect(words).toContain("One ETH signal a day, each closed");
  });
});

describe("a long record", () => {
  test("stays a small page, of which the newest is listed", async ({ app }) => {
    await insertSignals(app, 300);
    const page = await openPage(app, "/record");
    soundWords(page);
    const { equity, signals } = record.parse((await app.get("/record")).body);
    expect([signals.length, equity.length]).toEqual([10, 300]);
    expect(page.text.length).toBeLessThan(50_000);
  });

  test("lists each of its signals once, a page at a time", async ({ app }) => {
    await insertSignals(app, 300);
    for (const token of ["", "token=ETH&"]) {
      const seen: string[] = [];
      let link: string | undefined = `/record?${token}`;
      for (let pages = 0; link !== undefined; pages++) {
        expect(pages).toBeLessThan(40);
        const page = await openPage(app, link);
        const words = soundWords(page);
        const { signals } = record.parse((await app.get(link)).body);
        for (const { id } of signals) says(words, id);
        seen.push(...signals.map(({ id }) => id));
        link = /<a href="([^"]*before=[^"]*)">Older/.exec(page.text)?.[1]?.replace("&amp;", "&");
      }
      const all = (await app.rows("signals")).filter((row) => token === "" || row.token === "ETH");
      expect([seen.length, new Set(seen).size]).toEqual([all.length, all.length]);
    }
  });

  test("of one token says so, and leads to the other", async ({ app }) => {
    const { text } = await openPage(app, "/record?token=ETH");
    expect(text).toContain("<h1>The record of the ETH signals</h1>");
    expect(text).toContain('<a href="/record?token=BTC">BTC</a>');
    expect((await app.get("/record?before=yesterday")).status).toBe(400);
  });
});

describe("a signal's page", () => {
  test("shows its levels on the path of the price, and who told what", async ({ app }) => {
    await twoDays(app);
    const { body } = await app.get("/signals/btc-2026-01-05");
    const { signal, issued: at, path } = oneSignal.parse(body);
    expect([signal.id, signal.status]).toEqual(["BTC-2026-01-05", "WIN"]);
    expect(path.map(({ priceUsd }) => priceUsd)).toEqual(expect.arrayContaining([100.3, 101.2]));
    const words = soundWords(await openPage(app, "/signals/btc-2026-01-05"));
    says(words, "BTC signal of 2026-01-05", `won ${signed(signal.afterCostsPercent ?? NaN)}`);
    says(words, `Entry ${usd(signal.entry)} USD`, `Target 1 ${usd(101)} USD`, `Stop ${usd(99)} USD`);
    says(words, `Price at issue ${usd(at.priceUsd)} USD`, at.model, "Stated confidence 70 %");
    says(words, "The model's view “Up.”");
    for (const { priceUsd } of path) says(words, usd(priceUsd));
  });

  test("shows one price for each moment, where the samples begin on the hour", async ({ app }) => {
    await issued(app, buy);
    await app.t.run(async ({ db }) => {
      const of = { token: "BTC", source: "coinbase" } as const;
      const at = EIGHT - HOUR;
      await db.insert("hourlyCloses", { ...of, priceUsd: 97, hourEndsAt: at, takenAt: at - MINUTE });
      await db.insert("priceSamples", { ...of, priceUsd: 98, observedAt: at, takenAt: at });
    });
    const { path } = oneSignal.parse((await app.get("/signals/btc-2026-01-05")).body);
    const times = path.map(({ at }) => at);
    expect(times).toEqual([...new Set(times)]);
    expect(path[0]).toMatchObject({ at: new Date(EIGHT - HOUR).toISOString(), priceUsd: 98 });
  });

  test("keeps the hours of the price when the samples have gone", async ({ app }) => {
    await issued(app, buy);
    await samplePrices(app, [100, 100.3, 101.2, 101.4]);
    const path = async () => oneSignal.parse((await app.get("/signals/ETH-2026-01-05")).body).path;
    const sampled = await path();
    await app.t.run(async ({ db }) => {
      for (const { _id } of await db.query("priceSamples").take(100)) await db.delete("priceSamples", _id);
    });
    const hourly = await path();
    expect(hourly.length).toBeLessThan(sampled.length);
    expect(hourly.map(({ at }) => Date.parse(at) % HOUR)).toEqual(hourly.map(() => 0));
    expect(hourly.map(({ priceUsd }) => priceUsd)).toEqual([100.3, 101.4]);
  });

  test("has a point every five minutes at most, whoever asked for prices in between", async ({ app }) => {
    await issued(app, buy);
    await app.t.run(async ({ db }) => {
      for (let minute = 1; minute <= 400; minute++) {
        const at = EIGHT + minute * MINUTE;
        const sample = { token: "BTC" as const, priceUsd: 100, source: "coinbase" as const };
        await db.insert("priceSamples", { ...sample, observedAt: at, takenAt: at });
      }
    });
    const { path } = oneSignal.parse((await app.get("/signals/BTC-2026-01-05")).body);
    expect(path.length).toBeLessThanOrEqual(82);
    expect(path.length).toBeGreaterThan(70);
    soundWords(await openPage(app, "/signals/BTC-2026-01-05"));
  });

  test("takes the model's words as text", async ({ app }) => {
    // A figure of its own would be marked.
    const reasoning = HOSTILE.replaceAll("1", "one");
    await issued(app, { ...buy, reasoning });
    says(soundWords(await openPage(app, "/signals/BTC-2026-01-05")), `“${reasoning}”`);
  });
});
