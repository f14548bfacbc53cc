import { describe, expect } from "vitest";
import * as z from "zod";
import { MINUTE } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { createApp, type App, test } from "../support/app";

const missingShape = z.object({
  missing: z.array(z.object({ collector: z.string(), reason: z.string() })),
});
/** Which of the models are missing from a result on BTC, and why. */
async function missingIn(app: App): Promise<[string, string][]> {
  const { missing } = missingShape.parse((await app.post("/mcp/research", { token: "BTC" })).body.result);
  return missing.flatMap(({ collector, reason }) =>
    /^(?:market|sentiment|onchain)$/.test(collector) ? [[collector, reason]] : [],
  );
}

const writings = (app: App) => app.standins.sent("llm").filter(({ schema }) => schema === "research_result");
const writes = (app: App, result: object) =>
  app.standins.fail("llm", { mode: "reply", content: JSON.stringify(result), schema: "research_result" });

describe("POST /mcp/research", () => {
  test("answers from facts and the models that have something to add, the same to everybody who asks at once", async ({
    app,
  }) => {
    const ask = () => app.post("/mcp/research", { token: "eth" });
    const answers = await Promise.all(Array.from({ length: 6 }, ask));
    const [first] = answers;
    expect(first).toMatchObject({ status: 200, body: { success: true } });
    expect(first?.body.result).toEqual({
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
          url: "https://www.coingecko.com/en/coins/ethereum",
          observedAt: expect.stringMatching(/^2026-01-05T09:00/),
          says: expect.stringMatching(/^ETH price: \$3[\d,.]+$/),
        },
      ]),
      missing: [{ collector: "base", subject: "", reason: "The chain RPC could not be reached" }],
    });
    // The sources cover the market: the gateway's list is not asked.
    expect(app.standins.sent("llm").map(({ schema }) => schema)).toEqual([
      "onchain_signals",
      "research_result",
    ]);
    expect(app.standins.sent("sentiment")).toHaveLength(1);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  test("does not wait for a failed source: it is missing, and for two minutes alone", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500, times: 1 });
    expect(await missingIn(app)).toEqual([["sentiment", "The sentiment model answered with status 500"]]);
    await app.pass(1.8 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    await app.pass(0.3 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
    expect(app.standins.sent("sentiment")).toHaveLength(2);
  });

  // A model that searches while it answers takes about 45 s.
  test("a late answer is kept for the next result, paid for once, and not asked again for 15 minutes", async ({
    app,
  }) => {
    app.standins.fail("sentiment", { mode: "slow", ms: 45_000 });
    expect(await missingIn(app)).toEqual([["sentiment", "It did not come in time"]]);
    expect(await missingIn(app)).toHaveLength(1);
    expect(writings(app)).toHaveLength(1);
    await app.pass(40_000, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
    expect(writings(app)).toHaveLength(2);
    await app.pass(13 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
    await app.pass(1 * MINUTE, { cronsRun: false });
    expect(app.standins.sent("sentiment")).toHaveLength(1);
    const spent = (await app.rows("spending")).map(({ of }) => of);
    expect(spent).toContain("sentiment");
  });

  test("two hours of a focus have sentiment in all reports but the first, asked every half hour, and four writings an hour", async ({
    app,
  }) => {
    app.standins.fail("sentiment", { mode: "slow", ms: 45_000 });
    const lacking: number[] = [];
    for (let minute = 0; minute < 120; minute += 3) {
      if ((await missingIn(app)).length > 0) lacking.push(minute);
      await app.pass(3 * MINUTE, { cronsRun: false });
    }
    expect(lacking).toEqual([0]);
    const asked = app.standins.sent("sentiment").length;
    expect([asked, writings(app).length]).toEqual([4, 9]);
    // Each is booked.
    const spent = (await app.rows("spending")).flatMap(({ of, micros }) =>
      of === "sentiment" ? [micros] : [],
    );
    expect(Math.round(spent.reduce((sum, one) => sum + one, 0) / 22_000)).toBe(asked);
  });

  test("a late answer that fails leaves the result as it is", async ({ app }) => {
    deadlines.sentiment = 30_000;
    app.standins.fail("sentiment", { mode: "slow", ms: 45_000, times: 1 });
    expect(await missingIn(app)).toHaveLength(1);
    await app.pass(5 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    expect(writings(app)).toHaveLength(1);
    await app.pass(11 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toEqual([]);
  });

  test("an answer that was paid for in vain is not asked again for half an hour", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "reply", content: "I cannot say." });
    for (let minute = 0; minute < 60; minute += 4) {
      expect(await missingIn(app)).toEqual([
        ["sentiment", expect.stringContaining("sent an unusable answer")],
      ]);
      await app.pass(4 * MINUTE, { cronsRun: false });
    }
    expect(app.standins.sent("sentiment").length).toBeLessThanOrEqual(2);
    expect(writings(app).length).toBeLessThanOrEqual(4);
  });

  test("goes on without the sentiment key, and says that it is missing for the result's 15 minutes", async () => {
    const app = createApp({ env: { SENTIMENT_API_KEY: "" } });
    expect(await missingIn(app)).toEqual([["sentiment", "SENTIMENT_API_KEY is not configured"]]);
    const asked = app.standins.sent("llm").length;
    await app.pass(14 * MINUTE, { cronsRun: false });
    expect(await missingIn(app)).toHaveLength(1);
    expect(app.standins.sent("llm")).toHaveLength(asked);
  });

  test("repairs a result that breaks the contract with one turn, then by rule; without an impact it is none", async ({
    app,
  }) => {
    const impact = { title: "BTC", detail: "Up.", sentiment: "bullish", confidence: 0.85 };
    const broken = {
      fullAnalysis: "Prices moved again. ".repeat(250),
      shortSummary: "x".repeat(150),
      marketOutlook: "BULLISH",
      impacts: [{ ...impact, confidence: "85" }],
    };
    writes(app, broken);
    expect((await app.post("/mcp/research", {})).body.result).toMatchObject({
      fullAnalysis: "Prices moved again. ".repeat(200).trim(),
      shortSummary: `🟢 ${"x".repeat(97)}…`,
      marketOutlook: "bullish",
      impacts: [impact],
    });
    expect(writings(app)).toHaveLength(2);
    expect(JSON.stringify(writings(app)[1]?.body)).toContain("fullAnalysis has 750 words");

    app.standins.clear();
    const short = { ...broken, fullAnalysis: "Quiet day." };
    writes(app, short);
    const { body } = await app.post("/mcp/research", { token: "ETH" });
    expect(body.result).toMatchObject({ fullAnalysis: "Quiet day." });
    app.standins.clear();
    writes(app, { ...short, impacts: [] });
    const none = await app.post("/mcp/research", { token: "BTC" });
    expect([none.status, none.body]).toEqual([502, { error: "The LLM gateway sent an unusable answer" }]);
  });
});

/** How long callers wait. */
describe("within a second and a half comes", () => {
  const timed = async (work: Promise<{ status: number }>) => {
    const from = Date.now();
    const { status } = await work;
    return [status, Date.now() - from <= 1_500];
  };

  test.for([
    ["an instant", 0],
    ["a slow", 4_000],
  ] as const)(
    "a market answer beside six cold reports by %s model; by an instant one then a report on any token",
    async ([_name, ms], { app }) => {
      app.standins.fail("llm", { mode: "slow", ms });
      const reports = ["BTC", "ETH", "SOL", "DOGE", "LINK", "AVAX"].map((token, i) =>
        app.post("/mcp/research", { token }, { ip: `198.51.100.${i}` }),
      );
      await app.pass(500, { cronsRun: false });
      expect(await timed(app.get("/mcp/market"))).toEqual([200, true]);
      for (const { status } of await Promise.all(reports)) expect(status).toBe(200);
      for (const token of ms === 0 ? ["PEPE", "ADA"] : [])
        expect([token, await timed(app.post("/mcp/research", { token }))]).toEqual([token, [200, true]]);
    },
  );
});

describe.each([
  ["GET", "/mcp/market", undefined],
  ["POST", "/mcp/token", { question: "BTC" }],
  ["POST", "/mcp/research", { token: "BTC" }],
] as const)("a refresh of %s %s", (method, path, body) => {
  const ask = (app: App) => {
    // The market would be told by its sources.
    if (path === "/mcp/market") app.standins.fail("coingecko", { mode: "status", status: 503 });
    return app.call(method, path, body === undefined ? {} : { body: JSON.stringify(body) });
  };

  test("that failed is told to everybody for a moment, with when to come back", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 401 });
    app.standins.fail("sentiment", { mode: "status", status: 401 });
    const first = await ask(app);
    expect([first.status, first.headers.get("retry-after")]).toEqual([502, "15"]);
    expect(first.body.error).toContain("The LLM gateway");
    const asked = app.standins.sent("llm").length;
    await app.pass(5_000, { cronsRun: false });
    const second = await ask(app);
    expect([second.status, second.body]).toEqual([502, first.body]);
    expect(Number(second.headers.get("retry-after"))).toBeLessThan(15);
    expect(app.standins.sent("llm")).toHaveLength(asked);
    app.standins.clear();
    await app.pass(10_000, { cronsRun: false });
    expect((await ask(app)).status).toBe(200);
  });

  test("too slow for its caller is 502 and goes on, a repeat joins it; later the last result stands in, marked by its own time", async ({
    app,
  }) => {
    const slowly = () => {
      deadlines.caller = 60;
      app.standins.fail("llm", { mode: "slow", ms: 250, times: 1 });
      return ask(app);
    };
    const late = await slowly();
    expect([late.status, late.body.error]).toEqual([502, expect.stringContaining("did not answer in time")]);
    deadlines.caller = 10_000;
    const joined = await ask(app);
    const schemas = app.standins.sent("llm").map(({ schema }) => schema);
    expect([joined.status, schemas]).toEqual([200, [...new Set(schemas)]]);
    await app.pass(16 * MINUTE, { cronsRun: false });
    const stale = await slowly();
    expect([stale.status, stale.text]).toEqual([200, joined.text]);
    deadlines.caller = 10_000;
    expect((await ask(app)).text).not.toBe(stale.text);
  });
});
