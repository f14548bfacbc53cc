import { describe, expect } from "vitest";
import * as z from "zod";
import { decodeFacts, encodeFacts } from "../../convex/market/facts";
import { pricesShape } from "../../convex/market/views";
import { formatBigUsd, formatSignedPercent, formatUsd } from "../../convex/lib/text/numbers";
import { agentSays, alert, watchNow } from "../whales/support";
import { buy, issued, test } from "../signals/support";
import { HOSTILE, HOUR, MINUTE, openPage, samplePrices, says, soundWords } from "./support";
import { measure } from "../support/usage";

/** The first page. */

const marketOf = z.object({ keyPrices: z.object({ bitcoin: z.object({ usd_24h_change: z.number() }) }) });

const rows = z.object({
  top20: z.array(z.object({ symbol: z.string(), price: z.number(), change24h: z.number() })),
});

describe("the first page", () => {
  test("says what will be there where nothing is stored, leads to the start, and asks nobody", async ({
    app,
  }) => {
    const { text, ...answer } = await openPage(app, "/");
    const words = soundWords({ text, ...answer });
    says(words, "The first price comes within", "come every day at 08:00 UTC", "Large movements stand here");
    says(words, "The record begins with the first signals", "The table of the largest coins comes within");
    for (const part of ["", "#curl", "#ai"]) expect(text).toContain(`href="/start${part}"`);
    await app.settle();
    expect(app.standins.sent("llm")).toEqual([]);
    expect([await app.rows("answers"), await app.rows("work")]).toEqual([[], []]);
  });

  test("shows the prices, signals, whales and coins that the JSON tells", async ({ app }) => {
    await issued(app, buy);
    agentSays(app, [alert({ token: "PEPE", amount: 7_300_000 })]);
    await watchNow(app);
    await samplePrices(app, [100, 100.4, 100.2, 100.8, 100.6]);
    const { top20 } = rows.parse((await app.get("/mcp/market")).body);
    const { prices } = pricesShape.parse((await app.get("/mcp/prices?hours=25")).body);
    const words = soundWords(await openPage(app, "/"));

    expect(prices.BTC?.closes.length).toBeGreaterThan(1);
    for (const price of [prices.BTC, prices.ETH]) {
      const known = price?.closes.map(({ priceUsd }) => priceUsd) ?? [];
      says(words, `$${formatUsd(price?.priceUsd ?? 0)}`, "Chainlink", "30 minutes ago");
      says(words, `lowest $${formatUsd(Math.min(...known))}, highest $${formatUsd(Math.max(...known))}`);
    }
    for (const { symbol, price, change24h } of top20.slice(0, 10)) {
      says(words, symbol, `$${formatUsd(price)}`, formatSignedPercent(change24h));
    }
    says(words, "Data provided by CoinGecko");
    says(words, "Entry $100", "TP1 $101", "TP2 $102", "SL $99", "▲ BUY", "“Up.”");
    says(words, `PEPE: ${formatBigUsd(7_300_000)} went to exchanges`, "bearish");
  });

  test("takes whatever strangers wrote as text", async ({ app }) => {
    await app.get("/mcp/market");
    await issued(app, { ...buy, reasoning: `Up ${HOSTILE}` });
    const isList = ({ key }: { key: string }) => key === "markets:";
    const list = (await app.rows("facts")).find(isList);
    if (list === undefined) throw new Error("A market was asked for");
    await app.t.run(async ({ db }) => {
      const facts = decodeFacts(list);
      const name = facts.find(({ subject, kind }) => subject === "BTC" && kind === "name");
      expect(name?.value).toBe("Bitcoin");
      const named = facts.map((one) => (one === name ? { ...one, value: HOSTILE } : one));
      await db.patch("facts", list._id, { facts: encodeFacts(named) });
    });
    agentSays(app, [alert({ description: `Moved ${HOSTILE}` })]);
    await watchNow(app);
    const answer = await openPage(app, "/");
    says(soundWords(answer), `Moved ${HOSTILE}`, HOSTILE, "The model's view “Up");
    says(answer.text, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&lt;img");
  });

  test("has prices with a day's line of the exchange five minutes after the first start, and keeps the table of coins while nobody asks, without a model and without a call more", async ({
    app,
  }) => {
    await app.pass(5 * MINUTE);
    const page = await openPage(app, "/");
    expect(soundWords(page)).not.toContain("The first price comes");
    const drawn = Array.from(
      page.text.matchAll(/<path class="path (?:up|down|flat)" d="([^"]+)"/g),
      ([, d = ""]) => d,
    );
    expect(drawn.map((path) => path.split("L").length > 24)).toEqual([true, true]);
    // Two cards and ten coins.
    expect(page.text.match(/class="change /g)).toHaveLength(12);
    await app.pass(5 * MINUTE);
    const { byFunction } = await measure(() => app.pass(HOUR));
    expect(app.standins.sent("llm")).toEqual([]);
    // Each sixth sample brings the lists.
    const own = [...byFunction].filter(([name]) => /^(?:market|providers)\//.test(name));
    expect(Object.fromEntries(own)).toEqual({
      "market/actions:takeSamples": 12,
      "market/samples:storeAll": 12,
    });
    const words = soundWords(await openPage(app, "/"));
    const { top20 } = rows.parse((await app.get("/mcp/market")).body);
    for (const { symbol } of top20.slice(0, 10)) says(words, symbol);
    expect(words).toMatch(/the list (?:just now|[12]?\d minutes? ago)/);
    expect(app.standins.sent("coingecko").length).toBeLessThan(12);
  });
});

test("/mcp/prices tells the newest prices, the closes of the hours asked for, and the change over a day, once there are some", async ({
  app,
}) => {
  expect((await app.get("/mcp/prices")).body).toEqual({ hours: 48, prices: { BTC: null, ETH: null } });
  expect((await app.get("/mcp/prices?hours=721")).status).toBe(400);
  const told = async () => pricesShape.parse((await app.get("/mcp/prices?hours=3")).body);
  await samplePrices(app, [50, 100, 101]);
  expect((await told()).prices.ETH?.change24hPercent).toBeNull();
  await samplePrices(
    app,
    Array.from({ length: 48 }, (_, index) => 102 + index),
  );
  const { prices, hours } = await told();
  expect(hours).toBe(3);
  // Half-hourly from 50 at 08:00: an hour's close is its half hour's price.
  expect(prices.BTC?.closes.map(({ priceUsd }) => priceUsd)).toEqual([144, 146, 148]);
  expect(prices.BTC?.closes.at(-1)?.at).toBe("2026-01-06T09:00:00.000Z");
  expect(prices.BTC?.priceUsd).toBe(149);
  // The newest was taken at 09:00; at the same minute of the day before it was 101.
  expect(prices.BTC?.change24hPercent).toBeCloseTo((149 / 101 - 1) * 100, 5);
  // Market, card and table tell the same, and the line takes its sign.
  const market = marketOf.parse((await app.get("/mcp/market")).body);
  expect(market.keyPrices.bitcoin.usd_24h_change).toBe(prices.BTC?.change24hPercent);
  const { text } = await openPage(app, "/");
  expect(text.match(/\$149\.00/g)?.length).toBeGreaterThanOrEqual(4);
  expect(text.split("+47.52")).toHaveLength(5);
  expect(text.match(/class="path up"/g)).toHaveLength(2);
});
