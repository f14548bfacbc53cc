import { cutOff } from "../support/rows/leases";
import { describe, expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { test } from "../support/app";
import { observationsOf } from "../support/rows/observations";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";

describe("a source that fails", () => {
  test.for([
    ["llm", { mode: "status", status: 429 }],
    ["llm", { mode: "html" }],
    ["llm", { mode: "truncated" }],
    ["llm", { mode: "hang" }],
    ["sentiment", { mode: "status", status: 500 }],
    ["sentiment", { mode: "garbage" }],
    ["sentiment", { mode: "half" }],
    ["sentiment", { mode: "hang" }],
  ] as const)("%s %o leaves a partial data point that says so", async ([provider, fault], { app }) => {
    Object.assign(deadlines, { llmScheduled: 60, sentiment: 60 });
    app.standins.fail(provider, fault);
    await app.post("/mcp/research/start", { userId: ALICE });
    for (let i = 0; i < 20 && (await app.rows("observations"))[0]?.state !== "settled"; i++)
      await app.settle();
    const [observation] = await app.rows("observations");
    expect(observation?.state).toBe("settled");
    const failed = Object.entries(observation?.sources ?? {}).filter(([, { state }]) => state === "failed");
    expect(failed.map(([name]) => name)).toEqual(provider === "llm" ? ["market", "onchain"] : ["sentiment"]);
    const upstream = provider === "llm" ? /^The LLM gateway/ : /^The sentiment model/;
    for (const [, reading] of failed)
      expect(reading).toMatchObject({ error: expect.stringMatching(upstream) });
    expect(await app.rows("dataPoints")).toHaveLength(1);
  });

  test("an answer without search and citation is marked degraded", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "uncited" });
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.settle();
    const [observation] = await observationsOf(app);
    expect(observation?.sources.sentiment).toMatchObject({ state: "ok", output: { degraded: true } });
  });

  test("for a whole shift is told in its reports' evidence", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500 });
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(2.6 * HOUR);
    const [writing] = app.standins.sent("llm").filter(({ schema }) => schema === "research_result");
    expect(JSON.stringify(writing?.body)).toContain("Missing: social sentiment: None could be collected");
    expect(await app.rows("reports")).toHaveLength(1);
  });
});

describe("a report that cannot be written", () => {
  test("is tried again and arrives late, once", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(2.4 * HOUR);
    // Two tries of the gateway client and one repair turn each: the first two attempts fail.
    app.standins.fail("llm", { mode: "garbage", schema: "research_result", times: 2 });
    await app.pass(0.5 * HOUR);
    expect((await app.rows("syntheses")).map(({ state }) => state)).toEqual(["done"]);
    expect(await app.rows("reports")).toHaveLength(1);
    expect(await app.rows("messages")).toHaveLength(2);
  });

  test("leaves out an interim; a final one ends the shift with its error, which the status tells", async ({
    app,
  }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    app.standins.fail("llm", { mode: "status", status: 500, schema: "research_result" });
    await app.pass(9 * HOUR);
    const [shift] = await app.rows("shifts");
    const end = {
      status: "completed",
      finalReportSent: false,
      error: "The LLM gateway answered with status 500",
    };
    expect(shift).toMatchObject({ ...end, interimReportsCount: 0 });
    const { body } = await app.get(`/mcp/research/status?userId=${ALICE}`);
    expect(body).toMatchObject({ activeJob: null, lastJob: end });
    expect(await app.rows("reports")).toEqual([]);
    expect(app.cards()).toHaveLength(1);
    expect((await app.rows("syntheses")).map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
  });
});

describe("an outage", () => {
  test("of some hours is caught up with one fresh collection, and skips what is past", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(50 * MINUTE);
    await app.pass(5 * HOUR, { cronsRun: false });
    expect((await app.rows("dataPoints")).length).toBe(2);
    await app.pass(10 * MINUTE);
    expect((await app.rows("dataPoints")).length).toBe(3);
    expect((await app.rows("reports")).map(({ type }) => type)).toEqual(["interim"]);
    expect((await app.rows("shifts"))[0]).toMatchObject({ interimReportsCount: 1, nextReport: "final" });
  });

  test("past the 8 hours makes the final report at once", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(50 * MINUTE);
    await app.pass(9 * HOUR, { cronsRun: false });
    await app.pass(10 * MINUTE);
    expect((await app.rows("reports")).map(({ type }) => type)).toEqual(["final"]);
    expect((await app.rows("shifts"))[0]).toMatchObject({ status: "completed", finalReportSent: true });
    // The fresh one is the final report's.
    expect((await app.rows("dataPoints")).length).toBe(3);
  });
});

describe("work that is cut off", () => {
  test("in a collection is resumed for the silent sources alone; late words are dropped", async ({ app }) => {
    deadlines.sentiment = 24 * HOUR;
    app.standins.fail("sentiment", { mode: "hang", times: 1 });
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(11 * MINUTE);
    const [observation] = await app.rows("observations");
    expect(observation).toMatchObject({ state: "settled" });
    expect(app.standins.sent("sentiment")).toHaveLength(2);
    expect(app.standins.sent("llm")).toHaveLength(2);
  });

  test("in a collection twice leaves the source out", async ({ app }) => {
    deadlines.sentiment = 24 * HOUR;
    app.standins.fail("sentiment", { mode: "hang" });
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(25 * MINUTE);
    const [observation] = await app.rows("observations");
    expect(observation?.state).toBe("settled");
    expect(observation?.sources.sentiment).toMatchObject({ state: "failed", error: expect.any(String) });
    expect(observation?.sources.market.state).toBe("ok");
  });

  test("in the writing of a report is written again, and told once", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(2.4 * HOUR);
    deadlines.llmScheduled = 24 * HOUR;
    app.standins.fail("llm", { mode: "hang", schema: "research_result", times: 1 });
    await app.pass(0.5 * HOUR);
    expect(await app.rows("reports")).toHaveLength(1);
    expect((await app.rows("syntheses"))[0]).toMatchObject({ state: "done" });
    expect(await app.rows("messages")).toHaveLength(2);
  });
});

describe("a job of research", () => {
  test("that runs twice changes nothing", async ({ app }) => {
    const { internal } = await import("../../convex/_generated/api");
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.pass(2.4 * HOUR);
    await app.pass(10 * MINUTE, { cronsRun: false });
    await app.during(
      Promise.all([
        app.t.mutation(internal.research.shifts.collectDue, {}),
        app.t.mutation(internal.research.reports.syntheses.claimDue, {}),
        app.t.mutation(internal.research.shifts.collectDue, {}),
        app.t.mutation(internal.research.reports.syntheses.claimDue, {}),
      ]),
    );
    await app.settle(150);
    const [synthesis] = await app.rows("syntheses");
    if (synthesis === undefined) throw new Error("A synthesis is written");
    await app.during(
      app.t.mutation(internal.research.reports.publications.publish, { synthesisId: synthesis._id }),
    );
    const overtaken = await cutOff(app, internal.research.desk.writeReport, "over", {});
    const over = { ...overtaken, attempt: 0 };
    for (const { _id } of await app.rows("messages")) {
      await app.during(app.t.action(internal.messenger.delivery.desk.deliver, { messageId: _id, job: over }));
    }
    const again = { synthesisId: synthesis._id, job: over };
    await app.during(app.t.action(internal.research.desk.writeReport, again));
    expect(await app.rows("dataPoints")).toHaveLength(6);
    expect(await app.rows("reports")).toHaveLength(1);
    const texts = await app.rows("messages");
    expect(texts).toHaveLength(2);
    expect(app.cards()).toHaveLength(texts.reduce((sum, { parts }) => sum + parts.length, 0));
    expect(app.standins.sent("llm").filter(({ schema }) => schema === "research_result")).toHaveLength(1);
  });
});
