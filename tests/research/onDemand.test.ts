import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { createApp, type App, test } from "../support/app";

const MINUTE = 60_000;

/** Which of the models are missing from a result on BTC, and why. */
async function missingIn(app: App): Promise<[string, string][]> {
  const shape = z.object({ missing: z.array(z.object({ collector: z.string(), reason: z.string() })) });
  const { missing } = shape.parse((await app.post("/mcp/research", { token: "BTC" })).body.result);
  return missing.flatMap(({ collector, reason }) =>
    /^(?:market|sentiment|onchain)$/.test(collector) ? [[collector, reason]] : [],
  );
}

const writings = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "research_result");

describe("POST /mcp/research", () => {
  test("answers a result within the contract, from facts and three live models", async ({ app }) => {
    const { status, body } = await app.post("/mcp/research", { userId: "alice", token: "eth" });
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      result: {
        fullAnalysis: expect.stringContaining("Ethereum (ETH)"),
        shortSummary: expect.stringMatching(/^(🟢|🔴|🟡) /u),
        marketOutlook: expect.stringMatching(/^(bullish|bearish|neutral)$/),
        impacts: expect.arrayContaining([
          {
            title: expect.any(String),
            detail: expect.any(String),
            sentiment: expect.any(String),
            confidence: expect.any(Number),
          },
        ]),
        generatedAt: expect.stringMatching(/^2026-01-05T09:00/),
        sources: expect.arrayContaining([
          {
            id: 1,
            name: "CoinGecko",
            url: "https://www.coingecko.com/en/coins/bitcoin",
            observedAt: expect.stringMatching(/^2026-01-05T09:00/),
            says: expect.stringMatching(/^BTC price: \$1[\d,.]+$/),
          },
        ]),
        missing: [{ collector: "base", subject: "", reason: "The chain RPC could not be reached" }],
      },
    });
    expect(app.standins.sent("llm")).toHaveLength(3);
    expect(app.standins.sent("sentiment")).toHaveLength(1);
  });

  test("is cached for 15 minutes per focus, with one owner", async ({ app }) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.post("/mcp/research", { token: "ETH" })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    await app.pass(14 * MINUTE, { cronsRun: false });
    expect((await app.post("/mcp/research", { token: "eth" })).text).toBe(answers[0]?.text);
    expect(writings(app)).toHaveLength(1);
    await app.post("/mcp/research", {});
    expect(writings(app)).toHaveLength(2);
    await app.pass(2 * MINUTE, { cronsRun: false });
    expect((await app.post("/mcp/research", { token: "ETH" })).text).not.toBe(answers[0]?.text);
    expect(writings(app)).toHaveLength(3);
  });

  test("shares a shift's observation at most 5 minutes old", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "alice", token: "BTC" });
    await app.settle();
    await app.post("/mcp/research", { token: "BTC" });
    expect(app.standins.sent("sentiment")).toHaveLength(1);
    expect(await app.rows("observations")).toHaveLength(1);
  });

  test("does not wait for a slow source: it is missing, and for two minutes alone", async ({ app }) => {
    deadlines.researchSources = 800;
    app.standins.fail("sentiment", { mode: "slow", ms: 5_000, times: 1 });
    expect(await missingIn(app)).toEqual([["sentiment", "It did not come in time"]]);
    await app.pass(1.8 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    await app.pass(0.3 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
    expect(app.standins.sent("sentiment")).toHaveLength(2);
  });

  test("has a failed source asked again after two minutes, and no sooner", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500, times: 1 });
    expect(await missingIn(app)).toHaveLength(1);
    await app.pass(1.8 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    await app.pass(0.3 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
  });

  test("goes on without the sentiment key, and says that it is missing for the result's 15 minutes", async () => {
    const app = createApp({ env: { SENTIMENT_API_KEY: "" } });
    expect(await missingIn(app)).toEqual([["sentiment", "SENTIMENT_API_KEY is not configured"]]);
    const asked = app.standins.sent("llm").length;
    await app.pass(14 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    expect(app.standins.sent("llm")).toHaveLength(asked);
  });

  test("repairs a result that breaks the contract with one turn, then by rule", async ({ app }) => {
    const broken = {
      fullAnalysis: "Prices moved again. ".repeat(250),
      shortSummary: "x".repeat(150),
      marketOutlook: "BULLISH",
      impacts: [{ title: "BTC", detail: "Up.", sentiment: "bullish", confidence: "85" }],
    };
    app.standins.fail("llm", { mode: "reply", content: JSON.stringify(broken), schema: "research_result" });
    const { status, body } = await app.post("/mcp/research", {});
    expect(status).toBe(200);
    expect(body.result).toMatchObject({
      fullAnalysis: "Prices moved again. ".repeat(200).trim(),
      shortSummary: `🟢 ${"x".repeat(97)}…`,
      marketOutlook: "bullish",
      impacts: [{ title: "BTC", detail: "Up.", sentiment: "bullish", confidence: 0.85 }],
    });
    expect(writings(app)).toHaveLength(2);
    expect(JSON.stringify(writings(app)[1]?.body)).toContain("fullAnalysis has 750 words");
  });

  test("accepts a short analysis after the repair turn, but none without an impact", async ({ app }) => {
    const short = {
      fullAnalysis: "Quiet day.",
      shortSummary: "🟡 Quiet",
      marketOutlook: "neutral",
      impacts: [{ title: "BTC", detail: "Flat.", sentiment: "neutral", confidence: 0.5 }],
    };
    app.standins.fail("llm", { mode: "reply", content: JSON.stringify(short), schema: "research_result" });
    expect((await app.post("/mcp/research", {})).body.result).toMatchObject({ fullAnalysis: "Quiet day." });
    app.standins.clear();
    const empty = JSON.stringify({ ...short, impacts: [] });
    app.standins.fail("llm", { mode: "reply", content: empty, schema: "research_result" });
    const { status, body } = await app.post("/mcp/research", { token: "BTC" });
    expect([status, body]).toEqual([502, { error: "The LLM gateway sent an unusable answer" }]);
    const kept = (await app.rows("answers")).filter(
      ({ key, body }) => body !== undefined && key.startsWith("research:"),
    );
    expect(kept).toHaveLength(1);
  });

  test("with every source down is 502 and names the upstream", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 500 });
    app.standins.fail("sentiment", { mode: "status", status: 500 });
    const { status, body } = await app.post("/mcp/research", {});
    expect([status, body]).toEqual([502, { error: "The LLM gateway answered with status 500" }]);
  });

  test("too slow for its caller gives the last result, marked by its own time; without one, 502, and a repeat joins", async ({
    app,
  }) => {
    deadlines.caller = 60;
    app.standins.fail("llm", { mode: "slow", ms: 250, schema: "research_result", times: 1 });
    const late = await app.post("/mcp/research", {});
    expect([late.status, late.body.error]).toEqual([502, expect.stringContaining("did not answer in time")]);
    deadlines.caller = 10_000;
    const joined = await app.post("/mcp/research", {});
    expect(joined.status).toBe(200);
    expect(writings(app)).toHaveLength(1);

    await app.pass(16 * MINUTE, { cronsRun: false });
    deadlines.caller = 60;
    app.standins.fail("llm", { mode: "slow", ms: 250, schema: "research_result", times: 1 });
    const stale = await app.post("/mcp/research", {});
    expect([stale.status, stale.text]).toEqual([200, joined.text]);
  });
});

describe("a refresh that failed", () => {
  const calls = (app: App) => app.standins.sent("llm").length;
  const SECOND = 1_000;

  test.for([
    ["GET", "/mcp/market", undefined],
    ["POST", "/mcp/token", { question: "BTC" }],
    ["POST", "/mcp/research", { token: "BTC" }],
  ] as const)(
    "%s %s is told to everybody for a moment, with when to come back",
    async ([method, path, body], { app }) => {
      app.standins.fail("llm", { mode: "status", status: 401 });
      app.standins.fail("sentiment", { mode: "status", status: 401 });
      // The market would be told by its sources.
      if (path === "/mcp/market") app.standins.fail("coingecko", { mode: "status", status: 503 });
      const ask = () => app.call(method, path, body === undefined ? {} : { body: JSON.stringify(body) });
      const first = await ask();
      expect([first.status, first.headers.get("retry-after")]).toEqual([502, "15"]);
      const asked = calls(app);
      await app.pass(5 * SECOND, { cronsRun: false });
      const second = await ask();
      expect([second.status, second.body]).toEqual([502, first.body]);
      expect(Number(second.headers.get("retry-after"))).toBeLessThan(15);
      expect(calls(app)).toBe(asked);
      app.standins.clear();
      await app.pass(10 * SECOND, { cronsRun: false });
      expect((await ask()).status).toBe(200);
    },
  );

  test("leaves chat its answer, without asking the market again in that moment", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 500, schema: "market_snapshot" });
    expect((await app.post("/mcp/chat", { question: "hello" })).status).toBe(200);
    const markets = () =>
      app.standins.sent("llm").filter(({ schema }) => schema === "market_snapshot").length;
    const asked = markets();
    expect((await app.post("/mcp/chat", { question: "hello again" })).status).toBe(200);
    expect(markets()).toBe(asked);
  });
});
