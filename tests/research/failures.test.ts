import { describe, expect } from "vitest";
import { type App, test } from "../support/app";

/** A source that failed is nobody's misfortune for longer than a moment. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** The observation that a shift's first data point refers to. */
async function begun(app: App, userId: string) {
  const { body } = await app.post("/mcp/research/start", { userId, token: "BTC" });
  await app.settle();
  const point = (await app.rows("dataPoints")).find(({ shiftId }) => shiftId === body.jobId);
  if (point === undefined) throw new Error("A shift has a first data point");
  return app.row("observations", point.observationId);
}

const sentimentOf = async (app: App, token = "BTC") => {
  const { body } = await app.post("/mcp/research", { token });
  return body.result;
};

describe("a source that failed once", () => {
  test("is asked again for a new shift, which takes over what the others have said", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500, times: 1 });
    const first = await begun(app, "first-shift-of-somebody");
    expect(first?.sources.sentiment.state).toBe("failed");
    const asked = app.standins.sent("llm").length;
    const second = await begun(app, "second-shift-of-another");
    expect(second?._id).not.toBe(first?._id);
    expect(second?.sources.sentiment.state).toBe("ok");
    expect([second?.sources.market, second?.sources.onchain]).toEqual([
      first?.sources.market,
      first?.sources.onchain,
    ]);
    expect(app.standins.sent("llm")).toHaveLength(asked);
    // What is whole is shared again.
    expect((await begun(app, "third-shift-of-a-third"))?._id).toBe(second?._id);
  });

  test("is missing from on-demand research for two minutes, and no longer", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500, times: 1 });
    expect(await sentimentOf(app)).toMatchObject({ readings: { sentiment: { state: "missing" } } });
    await app.pass(1.8 * MINUTE, { cronsRun: false });
    expect(await sentimentOf(app)).toMatchObject({ readings: { sentiment: { state: "missing" } } });
    expect(app.standins.sent("sentiment")).toHaveLength(1);
    await app.pass(0.3 * MINUTE, { cronsRun: false });
    expect(await sentimentOf(app)).toMatchObject({ readings: { sentiment: { state: "live" } } });
    expect(app.standins.sent("sentiment")).toHaveLength(2);
  });

  test("in a shift is not handed on to on-demand research that comes later", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500, times: 1 });
    await begun(app, "first-shift-of-somebody");
    await app.pass(3 * MINUTE, { cronsRun: false });
    expect(await sentimentOf(app)).toMatchObject({ readings: { sentiment: { state: "live" } } });
  });
});

describe("a refresh that failed", () => {
  const calls = (app: App) => app.standins.sent("llm").length;

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
