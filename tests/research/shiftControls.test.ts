import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { test } from "../support/app";

/** Starting and stopping shifts. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";

describe("starting shifts", () => {
  test("twice makes two shifts; with one Idempotency-Key, one", async ({ app }) => {
    const start = (key?: string) =>
      app.post(
        "/mcp/research/start",
        { userId: ALICE },
        key === undefined ? {} : { headers: { "Idempotency-Key": key } },
      );
    const [a, b] = await Promise.all([start(), start()]);
    const [c, d] = await Promise.all([start("k1"), start("k1")]);
    expect(new Set([a.body.jobId, b.body.jobId, c.body.jobId]).size).toBe(3);
    expect(d.body).toEqual(c.body);
    expect((await app.post("/mcp/research/start", { userId: ALICE, idempotencyKey: "k1" })).body).toEqual(
      c.body,
    );
    expect(
      (await app.post("/mcp/research/start", { userId: "bob", idempotencyKey: "k1" })).body.jobId,
    ).not.toBe(c.body.jobId);
    await app.settle();
    expect(await app.rows("shifts")).toHaveLength(4);
    expect(app.cards()).toHaveLength(4);
  });

  test("a used Idempotency-Key with another token or chat is refused, and the first shift is left alone", async ({
    app,
  }) => {
    const start = (body: object) =>
      app.post("/mcp/research/start", { userId: ALICE, ...body }, { headers: { "Idempotency-Key": "k1" } });
    const first = await start({ token: "ETH", messengerChatId: "11" });
    for (const other of [
      { token: "BTC", messengerChatId: "11" },
      { token: "ETH", messengerChatId: "12" },
      {},
    ]) {
      const { status, body } = await start(other);
      expect([status, body]).toEqual([409, { error: "This idempotency key was used for another request" }]);
    }
    expect((await start({ token: "eth", telegramChatId: 11 })).body).toEqual(first.body);
    expect(await app.rows("shifts")).toHaveLength(1);
  });

  test("collect no sooner than 30 minutes after the last time, and no later where the check comes a moment early", async ({
    app,
  }) => {
    await app.post("/mcp/research/start", { userId: ALICE });
    // A check that comes a quarter of a minute too early, each time.
    for (let half = 0; half < 3; half++) {
      await app.advance(29 * MINUTE + 45_010);
      await app.t.mutation(internal.research.shifts.collectDue, {});
      await app.advance(14_990);
    }
    await app.settle();
    const points = await app.rows("dataPoints");
    const gaps = points.slice(1).map(({ claimedAt }, i) => claimedAt - (points[i]?.claimedAt ?? 0));
    expect(gaps).toEqual([30 * MINUTE, 30 * MINUTE, 30 * MINUTE]);
  });

  test("an eleventh is 429 until one stops", async ({ app }) => {
    for (let i = 0; i < 10; i++) {
      expect((await app.post("/mcp/research/start", { userId: ALICE })).status).toBe(200);
    }
    const refused = await app.post("/mcp/research/start", { userId: ALICE });
    expect([refused.status, refused.body.error]).toEqual([
      429,
      "At most 10 research shifts can be active at once",
    ]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await app.post("/mcp/research/stop", { userId: ALICE })).body).toEqual({
      success: true,
      stopped: 10,
    });
    expect((await app.post("/mcp/research/start", { userId: ALICE })).status).toBe(200);
  });
});

describe("stopping", () => {
  test("stops all of the user's shifts and nobody else's", async ({ app }) => {
    for (const userId of [ALICE, ALICE, "bob"]) await app.post("/mcp/research/start", { userId });
    expect((await app.post("/mcp/research/stop", { userId: ALICE })).body).toEqual({
      success: true,
      stopped: 2,
    });
    expect((await app.post("/mcp/research/stop", { userId: ALICE })).body).toEqual({
      success: true,
      stopped: 0,
    });
    const statuses = (await app.rows("shifts")).map(({ userId, status }) => [userId, status]);
    expect(statuses).toEqual([
      [ALICE, "stopped"],
      [ALICE, "stopped"],
      ["bob", "active"],
    ]);
    expect((await app.get(`/mcp/research/status?userId=${ALICE}`)).body.activeJob).toBeNull();
  });

  test("during a collection drops its late result and sends nothing more", async ({ app }) => {
    app.standins.fail("llm", { mode: "slow", ms: 5_000 });
    await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
    await app.settle(2);
    expect((await app.rows("observations"))[0]?.state).toBe("collecting");
    await app.post("/mcp/research/stop", { userId: ALICE });
    const sent = app.cards().length;
    app.standins.clear();
    await app.pass(8.2 * HOUR);
    expect(await app.rows("dataPoints")).toEqual([]);
    expect(await app.rows("reports")).toEqual([]);
    expect(app.cards()).toHaveLength(sent);
  });

  test("during the writing of a report drops the report", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
    await app.pass(2.4 * HOUR);
    deadlines.llmScheduled = HOUR;
    app.standins.fail("llm", { mode: "slow", ms: 5 * MINUTE, schema: "research_result" });
    while ((await app.rows("syntheses")).length === 0) await app.pass(MINUTE);
    await app.post("/mcp/research/stop", { userId: ALICE });
    while ((await app.rows("syntheses"))[0]?.state === "writing") await app.settle();
    await app.pass(HOUR);
    expect(await app.rows("reports")).toEqual([]);
    expect(await app.rows("agentRuns")).toEqual([]);
    expect(app.cards()).toHaveLength(1);
  });

  test("calls off a card that has not been sent", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 429, retryAfter: 600, times: 1 });
    await app.post("/mcp/research/start", { userId: ALICE });
    await app.settle();
    expect((await app.rows("messages"))[0]).toMatchObject({ state: "queued", postponements: 1 });
    await app.post("/mcp/research/stop", { userId: ALICE });
    await app.pass(HOUR);
    expect((await app.rows("messages"))[0]).toMatchObject({ state: "skipped", error: "called off" });
    expect(app.cards()).toEqual([]);
  });
});
