import { describe, expect } from "vitest";
import * as z from "zod";
import { MINUTE } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { CUT_OFF } from "../standins/support";
import { test, type App } from "../support/app";
import { noPrices } from "../support/outside";

const market = (app: App) => app.get("/mcp/market");
/** Without its lists the market is not told while the model fails. */
const noLists = (app: App) => app.standins.fail("coingecko", { mode: "status", status: 503 });
const asOf = expect.stringMatching(/^2026-01-05T09:0\d:\d\d\.\d{3}Z$/);

describe("GET /mcp/market", () => {
  test("answers the contract's snapshot, of one call for all who ask at once; and the market moves", async ({
    app,
  }) => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => market(app)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const { status, body } = answers[0] ?? (await market(app));
    expect(status).toBe(200);
    const price = { usd: expect.any(Number), usd_24h_change: expect.any(Number), source: "coinbase" };
    expect(body).toEqual({
      fetchedAt: asOf,
      keyPrices: { bitcoin: price, ethereum: price, solana: price },
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
      sources: ["coinbase", "coingecko"].map((name) => ({ name, asOf })),
    });
    await app.settle();
    // Ten minutes of the gateway's list cost less than the day's two dollars.
    const { checks } = z
      .object({ checks: z.object({ budget: z.object({ spentUsd: z.number() }) }) })
      .parse((await app.get("/health")).body);
    expect(checks.budget.spentUsd).toBeGreaterThan(0);
    expect(checks.budget.spentUsd * 144).toBeLessThan(2);
    await app.pass(91_000, { cronsRun: false });
    const later = await market(app);
    expect(later.body.fetchedAt).not.toBe(body.fetchedAt);
    expect(later.body.keyPrices).not.toEqual(body.keyPrices);
    expect(app.standins.sent("llm")).toHaveLength(1);
  });

  test("reads fenced JSON with numbers as strings", async ({ app }) => {
    noPrices(app);
    const key = { usd: "$65,000.50", usd_24h_change: "-1.2 %" };
    const coin = (rank: number) => ({
      rank: `${rank}`,
      name: `Coin ${rank}`,
      symbol: `$c${rank}`,
      price: "1,000.5",
      change24h: "+2%",
      marketCap: "$1,000,000",
    });
    const loose = {
      keyPrices: { bitcoin: key, ethereum: key, solana: key },
      trending: [{ name: "Pepe", symbol: "pepe", rank: "1", change24h: "3" }],
      top20: Array.from({ length: 20 }, (_, i) => coin(20 - i)),
    };
    const content = `Here you are:\n\`\`\`json\n${JSON.stringify(loose)}\n\`\`\``;
    app.standins.fail("llm", { mode: "reply", content });
    const { status, body } = await market(app);
    expect(status).toBe(200);
    expect(body.keyPrices).toMatchObject({ bitcoin: { usd: 65_000.5, usd_24h_change: -1.2 } });
    expect(app.standins.sent("llm")).toHaveLength(1);
  });
});

test("a snapshot and two reports that need the gateway's list at once ask for it once", async ({ app }) => {
  const lists = () => app.standins.sent("llm").filter(({ schema }) => schema === "market_snapshot").length;
  const all = () =>
    Promise.all([
      market(app),
      app.post("/mcp/research", { token: "BTC" }),
      app.post("/mcp/research", { token: "ETH" }),
    ]);
  noLists(app);
  app.standins.fail("llm", { mode: "slow", ms: 3_000, schema: "market_snapshot" });
  expect((await all()).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(lists()).toBe(1);
  // A failure is everybody's, and the next caller asks again.
  await app.pass(20 * MINUTE, { cronsRun: false });
  app.standins.clear("llm");
  app.standins.fail("llm", { mode: "status", status: 400, schema: "market_snapshot", times: 1 });
  await all();
  expect((await market(app)).status).toBe(200);
});

describe("an LLM gateway that fails", () => {
  const UNUSABLE = "The LLM gateway sent an unusable answer";
  const FAULTS = [
    [{ mode: "status", status: 429 }, "The LLM gateway is limiting this service's requests"],
    [{ mode: "status", status: 500 }, "The LLM gateway answered with status 500"],
    [{ mode: "status", status: 401 }, "The LLM gateway refused this service's key"],
    [{ mode: "garbage" }, UNUSABLE],
    [{ mode: "garbage", text: "{}" }, UNUSABLE],
    [CUT_OFF, "an answer that was cut off at its limit"],
    [{ mode: "reply", content: null }, UNUSABLE],
    [{ mode: "reply", content: "I cannot know." }, UNUSABLE],
    [{ mode: "drop", half: true }, "The LLM gateway"],
    [{ mode: "drop" }, "The LLM gateway could not be reached"],
    [{ mode: "slow" }, "The LLM gateway did not answer in time"],
    [{ mode: "status", status: 402 }, "The LLM gateway reports that this service's credits"],
  ] as const;

  test("is a 502 that names it, however it fails; once it answers the market is told", async ({ app }) => {
    for (const [fault, error] of FAULTS) {
      deadlines.llmScheduled = fault.mode === "slow" ? 60 : 10_000;
      app.standins.fail("llm", fault);
      noLists(app);
      const { status, body } = await market(app);
      expect([fault, status, body]).toEqual([fault, 502, { error: expect.stringContaining(error) }]);
      app.standins.clear();
      await app.pass(15_000, { cronsRun: false });
    }
    deadlines.llmScheduled = 10_000;
    // An empty account is not asked again for an hour.
    await app.pass(60 * MINUTE, { cronsRun: false });
    expect((await market(app)).status).toBe(200);
  });

  test("leaves the market to its sources, no row a model's; without them to the last snapshot", async ({
    app,
  }) => {
    app.standins.fail("llm", { mode: "status", status: 500 });
    const { status, body, text } = await market(app);
    expect(status).toBe(200);
    expect([body.trending, body.top20].map((rows) => (Array.isArray(rows) ? rows.length : 0))).toEqual([
      10, 20,
    ]);
    expect(text).not.toContain('"model"');
    await app.pass(20 * MINUTE, { cronsRun: false });
    noPrices(app);
    const stale = await market(app);
    expect([stale.status, stale.body]).toEqual([200, body]);
  });
});

test("/mcp/token caches the answer to a question, however it is written", async ({ app }) => {
  const posted = await app.post("/mcp/token", { question: "How is Ethereum doing?" });
  const got = await app.get(`/mcp/token?question=${encodeURIComponent("how is ethereum  doing?")}`);
  expect(got.body.fetchedAt).toBe(posted.body.fetchedAt);
  expect(app.standins.sent("llm")).toHaveLength(1);
  const none = await app.get("/mcp/token?question=what%20a%20day");
  expect([none.status, none.body.token]).toEqual([200, null]);
});
