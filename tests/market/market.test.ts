import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { SECURITY_MESSAGE } from "../../convex/lib/security/keyRequests";
import { test } from "../support/app";
import { noPrices } from "../support/outside";

describe("GET /mcp/market", () => {
  test("answers the contract's snapshot, and the market moves", async ({ app }) => {
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body).toEqual({
      fetchedAt: expect.stringMatching(/^2026-01-05T09:0\d:\d\d\.\d{3}Z$/),
      keyPrices: {
        bitcoin: { usd: expect.any(Number), usd_24h_change: expect.any(Number), source: "coinbase" },
        ethereum: { usd: expect.any(Number), usd_24h_change: expect.any(Number), source: "coinbase" },
        solana: { usd: expect.any(Number), usd_24h_change: expect.any(Number), source: "coinbase" },
      },
      trending: Array.from({ length: 10 }, (_, i) => ({
        name: expect.any(String),
        symbol: expect.any(String),
        rank: i + 1,
        change24h: expect.any(Number),
        source: "coingecko",
      })),
      top20: Array.from({ length: 20 }, (_, i) => ({
        rank: i + 1,
        name: expect.any(String),
        symbol: expect.any(String),
        price: expect.any(Number),
        change24h: expect.any(Number),
        marketCap: expect.any(Number),
        source: expect.stringMatching(/^(?:coinbase|coingecko)$/),
        sizeSource: "coingecko",
      })),
      sources: ["coinbase", "coingecko"].map((name) => ({
        name,
        asOf: expect.stringMatching(/^2026-01-05T09:0\d:\d\d\.\d{3}Z$/),
      })),
    });
    await app.pass(61_000, { cronsRun: false });
    const later = await app.get("/mcp/market");
    expect(later.body.fetchedAt).not.toBe(body.fetchedAt);
    expect(later.body.keyPrices).not.toEqual(body.keyPrices);
  });

  test("answers the stored text to the letter", async ({ app }) => {
    const { text } = await app.get("/mcp/market");
    expect(await app.rows("answers")).toContainEqual(expect.objectContaining({ key: "market:", body: text }));
    expect((await app.get("/mcp/market")).text).toBe(text);
  });

  test("costs one upstream call for thirty callers at once, and none within the minute", async ({ app }) => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => app.get("/mcp/market")));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    await app.pass(30_000, { cronsRun: false });
    await app.get("/mcp/market");
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("reads fenced JSON with numbers as strings", async ({ app }) => {
    noPrices(app);
    const content = `Here you are:\n\`\`\`json\n${JSON.stringify(loose())}\n\`\`\``;
    app.standins.fail("llm", { mode: "reply", content });
    const { status, body } = await app.get("/mcp/market");
    expect(status).toBe(200);
    expect(body.keyPrices).toMatchObject({ bitcoin: { usd: 65_000.5, usd_24h_change: -1.2 } });
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("sends an unusable answer back once, with what was wrong", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const wrong = { ...loose(), top20: loose().top20.slice(0, 19) };
    app.standins.fail("llm", { mode: "reply", content: JSON.stringify(wrong), times: 1 });
    expect((await app.get("/mcp/market")).status).toBe(200);
    const [, second] = app.standins.sent("llm");
    expect(JSON.stringify(second?.body)).toContain("That answer cannot be used: top20");
  });
});

describe("an LLM gateway that fails", () => {
  test.for([
    [
      "limits requests",
      { mode: "status", status: 429 },
      "The LLM gateway is limiting this service's requests",
    ],
    ["breaks", { mode: "status", status: 500 }, "The LLM gateway answered with status 500"],
    ["refuses the key", { mode: "status", status: 401 }, "The LLM gateway refused this service's key"],
    [
      "is out of credits",
      { mode: "status", status: 402 },
      "The LLM gateway reports that this service's credits",
    ],
    ["answers garbage", { mode: "garbage" }, "The LLM gateway sent an unusable answer"],
    ["answers no choices", { mode: "garbage", text: "{}" }, "The LLM gateway sent an unusable answer"],
    ["answers truncated JSON", { mode: "truncated" }, "an answer that was cut off at its limit"],
    ["answers nothing", { mode: "reply", content: null }, "The LLM gateway sent an unusable answer"],
    ["breaks off", { mode: "drop", half: true }, "The LLM gateway"],
    ["hangs up", { mode: "drop" }, "The LLM gateway could not be reached"],
    [
      "answers prose",
      { mode: "reply", content: "I cannot know." },
      "The LLM gateway sent an unusable answer",
    ],
    ["never answers", { mode: "slow" }, "The LLM gateway did not answer in time"],
  ] as const)("and %s is a 502 that names it", async ([_name, fault, error], { app }) => {
    if (fault.mode === "slow") deadlines.llmScheduled = 60;
    app.standins.fail("llm", fault);
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const answer = await app.get("/mcp/market");
    expect([answer.status, Object.keys(answer.body)]).toEqual([502, ["error"]]);
    expect(answer.body.error).toContain(error);
    expect((await app.rows("answers")).flatMap(({ body }) => body ?? [])).toEqual([]);
    app.standins.clear();
    deadlines.llmScheduled = 10_000;
    await app.pass(15_000, { cronsRun: false });
    expect((await app.get("/mcp/market")).status).toBe(200);
  });

  test("leaves the market to its sources, in the contract's shape, and no row is a model's", async ({
    app,
  }) => {
    app.standins.fail("llm", { mode: "status", status: 500 });
    const { status, body } = await app.get("/mcp/market");
    expect([status, body.error]).toEqual([200, undefined]);
    expect(body).toMatchObject({
      fetchedAt: expect.stringMatching(/^2026-01-05T09:0/),
      keyPrices: { bitcoin: { usd: expect.any(Number), source: "coinbase" }, solana: { source: "coinbase" } },
      sources: ["coinbase", "coingecko"].map((name) => ({ name })),
    });
    expect([body.trending, body.top20].map((rows) => (Array.isArray(rows) ? rows.length : 0))).toEqual([
      10, 20,
    ]);
    expect(JSON.stringify(body)).not.toContain('"model"');
  });

  test("with its sources leaves the last snapshot, with its own time", async ({ app }) => {
    const { body } = await app.get("/mcp/market");
    await app.pass(20 * 60_000, { cronsRun: false });
    app.standins.fail("llm", { mode: "status", status: 500 });
    noPrices(app);
    const stale = await app.get("/mcp/market");
    expect([stale.status, stale.body]).toEqual([200, body]);
  });

  test("too slowly for its caller goes on behind; a repeat joins it", async ({ app }) => {
    deadlines.caller = 30;
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    app.standins.fail("llm", { mode: "slow", ms: 150, times: 1 });
    const first = await app.get("/mcp/market");
    expect([first.status, first.body.error]).toEqual([
      502,
      expect.stringContaining("did not answer in time"),
    ]);
    deadlines.caller = 10_000;
    expect((await app.get("/mcp/market")).status).toBe(200);
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("too slowly leaves the last good snapshot, marked by its own time", async ({ app }) => {
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    const { body } = await app.get("/mcp/market");
    await app.pass(11 * 60_000, { cronsRun: false });
    deadlines.caller = 30;
    app.standins.fail("llm", { mode: "slow", ms: 100 });
    const stale = await app.get("/mcp/market");
    expect([stale.status, stale.body]).toEqual([200, body]);
    deadlines.caller = 10_000;
    expect((await app.get("/mcp/market")).body.fetchedAt).not.toBe(body.fetchedAt);
  });
});

describe("the gateway's list", () => {
  test("is asked for once in ten minutes, whoever asks, and fills what the sources do not have", async ({
    app,
  }) => {
    for (let minute = 0; minute < 12; minute++) {
      await app.get("/mcp/market");
      await app.settle();
      await app.pass(61_000, { cronsRun: false });
    }
    expect(app.standins.sent("llm")).toHaveLength(2);
    app.standins.fail("coingecko", { mode: "status", status: 503 });
    await app.pass(11 * 60_000, { cronsRun: false });
    const { body } = await app.get("/mcp/market");
    expect(JSON.stringify(body.top20)).toContain('"source":"model"');
    expect(body.keyPrices).toMatchObject({ bitcoin: { source: "coinbase" } });
    expect(app.standins.sent("llm")).toHaveLength(3);
  });

  test("costs at most 2 USD a day", async ({ app }) => {
    await app.get("/mcp/market");
    await app.settle();
    const { checks } = z
      .object({ checks: z.object({ budget: z.object({ spentUsd: z.number() }) }) })
      .parse((await app.get("/health")).body);
    expect(checks.budget.spentUsd).toBeGreaterThan(0);
    expect(checks.budget.spentUsd * 144).toBeLessThan(2);
  });
});

describe("/mcp/token", () => {
  test("answers GET and POST alike and caches the answer", async ({ app }) => {
    const posted = await app.post("/mcp/token", { question: "How is Ethereum doing?" });
    expect(posted.status).toBe(200);
    expect(posted.body).toMatchObject({
      question: "How is Ethereum doing?",
      token: { symbol: "ETH", price: expect.any(Number), marketCap: expect.any(Number) },
      answer: expect.any(String),
      model: expect.stringContaining("simulated"),
      fetchedAt: expect.stringMatching(/Z$/),
    });
    const got = await app.get(`/mcp/token?question=${encodeURIComponent("how is ethereum  doing?")}`);
    expect(got.body.fetchedAt).toBe(posted.body.fetchedAt);
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("says null for a token that does not trade", async ({ app }) => {
    const { status, body } = await app.get("/mcp/token?question=what%20a%20day");
    expect([status, body.token]).toEqual([200, null]);
  });

  test("answers a request for a key itself", async ({ app }) => {
    const { status, body } = await app.post("/mcp/token", { question: "show me my private key" });
    expect([status, body.answer, body.token]).toEqual([200, SECURITY_MESSAGE, null]);
    expect(app.standins.sent("llm")).toEqual([]);
  });
});

function loose() {
  const coin = (rank: number) => ({
    rank: `${rank}`,
    name: `Coin ${rank}`,
    symbol: `$c${rank}`,
    price: "1,000.5",
    change24h: "+2%",
    marketCap: "$1,000,000",
  });
  const key = { usd: "$65,000.50", usd_24h_change: "-1.2 %" };
  return {
    keyPrices: { bitcoin: key, ethereum: key, solana: key },
    trending: [{ name: "Pepe", symbol: "pepe", rank: "1", change24h: "3" }],
    top20: Array.from({ length: 20 }, (_, i) => coin(20 - i)),
  };
}
