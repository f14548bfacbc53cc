import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { COINS } from "../../scripts/standins/market";
import { createApp, START, test, type App } from "../support/app";
import { expireLeases } from "../support/rows/leases";
import { unmarked } from "../support/marks";

/** Shifts at their door: what a user sees of them, what they cost, and what they survive. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";

const statusShape = z.object({
  activeJob: z.record(z.string(), z.unknown()).nullable(),
  lastJob: z.record(z.string(), z.unknown()).nullable(),
  activeJobs: z.array(z.object({ jobId: z.string() })),
  recentReports: z.array(z.record(z.string(), z.unknown())),
});
const statusOf = async (app: App, userId = ALICE) =>
  statusShape.parse((await app.get(`/mcp/research/status?userId=${userId}`)).body);
const start = (app: App, body: object = {}, ip?: string) =>
  app.post("/mcp/research/start", { userId: ALICE, ...body }, ip === undefined ? {} : { ip });

/** Time goes by without crons: a shift's collections call for its own checks. */
const quietly = (app: App, ms: number) => app.pass(ms, { cronsRun: false });

const asked = (app: App, ...schemas: string[]) =>
  app.standins.sent("llm").filter(({ schema }) => schemas.includes(schema ?? "")).length;
const written = (app: App) => asked(app, "research_result");
/** Calls for collections: three make one. */
const collected = (app: App) =>
  asked(app, "market_snapshot", "onchain_signals") + app.standins.sent("sentiment").length;
/** Which of the three models are among what is missing. */
const models = (missing: readonly { collector: string }[]) =>
  missing
    .map(({ collector }) => collector)
    .filter((one) => /^(?:market|sentiment|onchain)$/.test(one))
    .toSorted();
/** Cards without the warning before those to an unproven chat, and without their further parts. */
const cardsOf = (app: App) =>
  app.cards().flatMap(({ text }) => (/^<b>[🔬📊🏁]/u.test(unmarked(text)) ? [unmarked(text)] : []));

describe("a research shift", () => {
  test("walks its 8 hours", async ({ app }) => {
    const { status, body } = await start(app, { token: "sol", telegramChatId: 77 });
    const { jobId, startedAt } = z.object({ jobId: z.string(), startedAt: z.number() }).parse(body);
    const stopsAt = startedAt + 8 * HOUR;
    expect([status, body]).toEqual([200, { success: true, jobId, startedAt, stopsAt }]);
    expect(startedAt - START).toBeLessThan(MINUTE);
    const iso = (ms: number) => new Date(ms).toISOString();
    const shown = { jobId, token: "SOL", startedAt: iso(startedAt), stopsAt: iso(stopsAt) };
    const running = { ...shown, status: "active", finalReportSent: false };
    expect((await app.get(`/mcp/research/status?userId=${ALICE}`)).body).toEqual({
      activeJob: {
        ...running,
        elapsedMinutes: 0,
        remainingMinutes: 480,
        interimReportsCount: 0,
        collectionsCount: 1,
      },
      lastJob: null,
      activeJobs: [shown],
      deliveryProblem: null,
      recentReports: [],
    });
    await app.pass(4 * HOUR);
    expect((await statusOf(app)).activeJob).toMatchObject({
      ...running,
      interimReportsCount: 1,
      elapsedMinutes: 240,
      remainingMinutes: 240,
    });
    await app.pass(4 * HOUR + 10 * MINUTE);

    const { activeJob, lastJob, recentReports } = await statusOf(app);
    expect(activeJob).toBeNull();
    expect(lastJob).toEqual({
      ...shown,
      status: "completed",
      endedAt: expect.stringMatching(/^2026-01-05T17:/),
      interimReportsCount: 2,
      finalReportSent: true,
      // One every half hour, and the one that the final report is written from.
      collectionsCount: 17,
      error: null,
    });
    expect(recentReports.map(({ type, messengerSent }) => [type, messengerSent])).toEqual([
      ["final", true],
      ["interim", true],
      ["interim", true],
    ]);
    // 17 collections of two gateway calls and one search, three reports: nothing was asked twice.
    expect([collected(app), written(app)]).toEqual([51, 3]);

    const cards = cardsOf(app);
    expect(cards.map((card) => card.split("\n").slice(0, 2).join(" "))).toEqual([
      "<b>🔬 Research shift started</b> 5 Jan 2026, 09:00 UTC",
      expect.stringMatching(
        /^<b>📊 Interim report 1 of 2 · SOL<\/b> 2\.5h checkpoint · 2h 3\dmin elapsed · /,
      ),
      expect.stringMatching(/^<b>📊 Interim report 2 of 2 · SOL<\/b> 5h checkpoint/),
      expect.stringMatching(/^<b>🏁 Final report · SOL<\/b> 8h checkpoint/),
    ]);
    expect(cards[0]).toContain(
      "Tracking: <b>SOL</b>\n\nDuration: 8 hours\nData collection: every 30 minutes\nReports: at 2.5h, 5h and 8h",
    );
    expect(new Set(app.cards().map(({ chatId }) => chatId))).toEqual(new Set(["77"]));
    expect((await app.rows("agentRuns")).map(({ title, status }) => [title, status])).toEqual([
      ["Interim report 1 of 2 on SOL", "completed"],
      ["Interim report 2 of 2 on SOL", "completed"],
      ["Final report on SOL", "completed"],
    ]);

    const latest = await app.get("/mcp/research/report?token=sol");
    expect([latest.status, latest.body]).toMatchObject([
      200,
      {
        jobId,
        type: "final",
        userId: expect.stringMatching(/^usr_[0-9a-f]{24}$/),
        messengerSent: true,
        jobToken: "SOL",
        jobStartedAt: startedAt,
      },
    ]);
    expect((await app.get(`/mcp/research/report?jobId=${jobId}`)).body).toEqual(latest.body);
    expect(latest.text).not.toContain(ALICE);
    const result = z
      .object({ fullAnalysis: z.string(), shortSummary: z.string(), sources: z.array(z.unknown()) })
      .parse(latest.body.result);
    const words = result.fullAnalysis.split(/\s+/).length;
    expect([words >= 400, words <= 640, [...result.shortSummary].length <= 100]).toEqual([true, true, true]);
    expect(result.sources.length).toBeGreaterThan(15);

    // Nothing goes on behind.
    await app.pass(2 * HOUR);
    expect([collected(app), written(app), cardsOf(app).length]).toEqual([51, 3, 4]);
  });

  test("keeps what each collection heard as its data points", async ({ app }) => {
    await start(app, { token: "SOL" });
    await quietly(app, 40 * MINUTE);
    const rows = await app.rows("observations");
    expect((await app.rows("shifts"))[0]?.observationIds).toEqual(rows.map(({ _id }) => _id));
    for (const row of rows) {
      expect(row).toMatchObject({
        focus: "SOL",
        state: "done",
        market: {
          trending: expect.arrayContaining([expect.objectContaining({ rank: 1 })]),
          movers: expect.arrayContaining([expect.objectContaining({ change24h: expect.any(Number) })]),
          marketDataRaw: expect.stringContaining('"top20"'),
        },
        sentiment: { degraded: false },
        onchain: { signals: expect.any(Array) },
      });
      for (const { buzz } of row.sentiment?.tokens ?? [])
        expect([buzz >= 1, buzz <= 10]).toEqual([true, true]);
    }
  });

  test.for([
    ["SOL", /^SOL since the shift began: ([+−][\d.]+)\u202F%.*?from \D*?([\d,.]+\d).*? to \D*?([\d,.]+\d)/],
    ["", /^BTC since the shift began: ([+−][\d.]+)\u202F%.*?from \D*?([\d,.]+\d).*? to \D*?([\d,.]+\d)/],
  ] as const)("on %j says first, in code's words, how it has moved", async ([token, lead], { app }) => {
    await start(app, { token });
    await quietly(app, 2.7 * HOUR);
    const [report] = await app.rows("reports");
    const fullText = report?.result?.fullAnalysis ?? "";
    const [, moved = "", from = "", to = ""] = lead.exec(fullText) ?? [];
    const [first, last] = [from, to].map((amount) => Number(amount.replaceAll(",", "")));
    expect(Number(moved.replace("−", "-"))).toBeCloseTo(((last ?? NaN) / (first ?? NaN) - 1) * 100, 1);
  });

  test("without a token is about the whole market", async ({ app }) => {
    await start(app, { token: "" });
    await quietly(app, 2.6 * HOUR);
    expect(cardsOf(app).map((card) => card.split("\n")[0])).toEqual([
      "<b>🔬 Research shift started</b>",
      "<b>📊 Interim report 1 of 2 · the whole market</b>",
    ]);
  });

  test("has no report on an unknown token, nor on one that nobody has ordered", async ({ app }) => {
    const error = async (query: string) => {
      const { status, body } = await app.get(`/mcp/research/report${query}`);
      return [status, body.error];
    };
    expect(await error("?token=NOPE")).toEqual([
      404,
      "No source knows the token NOPE: name it by its symbol, such as BTC",
    ]);
    expect(await error("?token=DOGE")).toEqual([
      404,
      expect.stringMatching(/^There is no research report on DOGE yet\. .*both are free$/),
    ]);
    expect((await error("?jobId=nonsense"))[0]).toBe(404);
    expect(await error("")).toEqual([
      400,
      "token or jobId is required: the focus token of a shift, or the id that its start returned",
    ]);
  });
});

describe("starting", () => {
  test("twice makes two shifts; with one Idempotency-Key, one", async ({ app }) => {
    const keyed = (key: string, body: object = {}) =>
      app.post("/mcp/research/start", { userId: ALICE, ...body }, { headers: { "Idempotency-Key": key } });
    const [a, b, c, d] = await Promise.all([start(app), start(app), keyed("k1"), keyed("k1")]);
    expect(new Set([a.body.jobId, b.body.jobId, c.body.jobId]).size).toBe(3);
    expect(d.body).toEqual(c.body);
    expect((await start(app, { idempotencyKey: "k1" })).body).toEqual(c.body);
    expect((await keyed("k1", { userId: "bob" })).body.jobId).not.toBe(c.body.jobId);
    for (const other of [{ token: "BTC" }, { messengerChatId: "12" }])
      expect(await keyed("k1", other)).toMatchObject({
        status: 409,
        body: { error: "This idempotency key was used for another request" },
      });
    expect((await statusOf(app)).activeJobs).toHaveLength(3);
  });

  test("an eleventh is 429 until one stops", async ({ app }) => {
    for (let i = 0; i < 10; i++) expect((await start(app)).status).toBe(200);
    const refused = await start(app);
    expect([refused.status, refused.body.error]).toEqual([
      429,
      "At most 10 research shifts can be active at once",
    ]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await app.post("/mcp/research/stop", { userId: ALICE })).body).toEqual({
      success: true,
      stopped: 10,
    });
    expect((await start(app)).status).toBe(200);
  });

  test("collects no sooner than half an hour later, and no later where the check is a moment early", async ({
    app,
  }) => {
    const { internal } = await import("../../convex/_generated/api");
    await start(app);
    const times: number[] = [];
    for (let half = 0; half < 3; half++) {
      await app.advance(29 * MINUTE + 45_010);
      await app.t.mutation(internal.research.shifts.checkDue, {});
      times.push(collected(app));
      await app.advance(14_990);
      await app.settle();
    }
    expect(times).toEqual([3, 6, 9]);
    expect(collected(app)).toBe(12);
  });
});

describe("stopping", () => {
  test("ends all of the user's shifts and nobody else's", async ({ app }) => {
    for (const userId of [ALICE, ALICE, "bob"]) await start(app, { userId });
    const stop = async () => (await app.post("/mcp/research/stop", { userId: ALICE })).body.stopped;
    expect([await stop(), await stop()]).toEqual([2, 0]);
    expect(await statusOf(app)).toMatchObject({ activeJob: null, lastJob: { status: "stopped" } });
    expect((await statusOf(app, "bob")).activeJobs).toHaveLength(1);
  });

  test("during a collection drops its late result and sends nothing more", async ({ app }) => {
    app.standins.fail("llm", { mode: "slow", ms: 5_000 });
    await start(app, { token: "BTC" });
    await app.settle(2);
    await app.post("/mcp/research/stop", { userId: ALICE });
    const sent = app.cards().length;
    app.standins.clear();
    await quietly(app, 8.2 * HOUR);
    expect(await statusOf(app)).toMatchObject({ lastJob: { collectionsCount: 0 }, recentReports: [] });
    expect(app.cards()).toHaveLength(sent);
  });

  test("during the writing of a report drops the report", async ({ app }) => {
    await start(app, { token: "BTC" });
    await quietly(app, 2.4 * HOUR);
    deadlines.llmScheduled = HOUR;
    app.standins.fail("llm", { mode: "slow", ms: 5 * MINUTE, schema: "research_result" });
    while ((await app.rows("reports")).length === 0) await quietly(app, MINUTE);
    await app.post("/mcp/research/stop", { userId: ALICE });
    await quietly(app, HOUR);
    expect((await statusOf(app)).recentReports).toEqual([]);
    expect(await app.rows("agentRuns")).toEqual([]);
    expect(app.cards()).toHaveLength(1);
  });

  test("calls off a card that has not been sent", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 429, retryAfter: 600, times: 1 });
    await start(app);
    await app.settle();
    await app.post("/mcp/research/stop", { userId: ALICE });
    await quietly(app, HOUR);
    expect(app.cards()).toEqual([]);
  });
});

describe("many shifts on few foci", () => {
  const FOCI = ["BTC", "ETH", ""];

  test("cost one collection per focus and half hour, however many they are", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    const order = (i: number) =>
      start(app, { userId: `user-${i}`, token: FOCI[i % FOCI.length] }, `10.0.0.${i}`);
    await Promise.all(Array.from({ length: 12 }, (_, i) => order(i)));
    while (collected(app) < 9) await app.settle();
    await quietly(app, 38 * MINUTE);
    expect(collected(app)).toBe(18);
    await quietly(app, 2 * HOUR + 15 * MINUTE);
    for (let i = 0; i < 12; i++)
      expect((await statusOf(app, `user-${i}`)).recentReports).toMatchObject([{ type: "interim" }]);
    expect(written(app)).toBe(12);
  });

  test("share what is at most five minutes old, of their own focus", async ({ app }) => {
    const cost = async (userId: string, token: string) => {
      const before = collected(app);
      await start(app, { userId, token });
      await app.settle();
      return collected(app) - before;
    };
    // The gateway's list of coins serves all foci for ten minutes.
    expect([await cost("a", "BTC"), await cost("b", "BTC"), await cost("c", "ETH")]).toEqual([3, 0, 2]);
    await app.pass(4 * MINUTE, { cronsRun: false });
    expect(await cost("d", "BTC")).toBe(0);
    await app.pass(2 * MINUTE, { cronsRun: false });
    expect([await cost("e", "BTC"), await cost("f", "BTC")]).toEqual([2, 0]);
  });

  test("wait their turn where they are more than are worked on at once: nothing is asked twice", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    const inner = app.standins.handle.bind(app.standins);
    // Slow enough in simulated time that most of them wait longer than an attempt may take.
    app.standins.handle = async (request) => {
      if (request.url.includes("/sentiment/")) await new Promise((resolve) => setTimeout(resolve, 100_000));
      return inner(request);
    };
    const foci = COINS.slice(0, 12).map(({ symbol }) => symbol);
    for (const [i, token] of foci.entries())
      await start(app, { userId: `user-${i}`, token }, `198.51.100.${i}`);
    await quietly(app, 18 * MINUTE);
    expect(app.standins.sent("sentiment")).toHaveLength(12);
    for (const { missing } of await app.rows("observations")) expect(models(missing)).toEqual([]);
  });
});

describe("a source that fails", () => {
  test.for([
    ["llm", { mode: "status", status: 429 }],
    ["llm", { mode: "slow" }],
    ["sentiment", { mode: "garbage" }],
    ["sentiment", { mode: "drop", half: true }],
    ["sentiment", { mode: "slow" }],
  ] as const)("%s %o leaves a partial data point that says so", async ([provider, fault], { app }) => {
    Object.assign(deadlines, { llmScheduled: 60, sentiment: 60 });
    app.standins.fail(provider, fault);
    await start(app);
    let missing: { collector: string; reason: string }[] = [];
    for (let i = 0; i < 20 && models(missing).length === 0; i++) {
      await app.settle();
      missing = (await app.rows("observations")).flatMap((row) => row.missing);
    }
    expect(models(missing)).toEqual(provider === "llm" ? ["market", "onchain"] : ["sentiment"]);
    const named = /^(?:The (?:LLM gateway|sentiment model) |It did not come in time)/;
    for (const { collector, reason } of missing)
      if (models([{ collector }]).length > 0) expect(reason).toMatch(named);
  });

  test("for a whole shift is told in its reports' evidence, and in the report", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500 });
    await start(app, { token: "BTC" });
    await quietly(app, 2.6 * HOUR);
    const reason = "The sentiment model answered with status 500";
    const [writing] = app.standins.sent("llm").filter(({ schema }) => schema === "research_result");
    expect(JSON.stringify(writing?.body)).toContain(`Missing: social sentiment: ${reason}`);
    const { body } = await app.get("/mcp/research/report?token=BTC");
    expect(body.result).toMatchObject({
      missing: expect.arrayContaining([{ collector: "sentiment", subject: "", reason }]),
    });
  });
});

describe("a report that cannot be written", () => {
  test("is tried again and arrives late, once", async ({ app }) => {
    await start(app);
    await quietly(app, 2.4 * HOUR);
    app.standins.fail("llm", { mode: "garbage", schema: "research_result", times: 2 });
    await quietly(app, 0.5 * HOUR);
    expect((await statusOf(app)).recentReports).toHaveLength(1);
    expect(cardsOf(app)).toHaveLength(2);
  });

  test("leaves out an interim; a final one ends the shift with its error", async ({ app }) => {
    await start(app);
    app.standins.fail("llm", { mode: "status", status: 500, schema: "research_result" });
    await quietly(app, 8 * HOUR);
    await app.pass(20 * MINUTE);
    const error = "The LLM gateway answered with status 500";
    expect(await statusOf(app)).toMatchObject({
      activeJob: null,
      lastJob: { status: "completed", finalReportSent: false, interimReportsCount: 0, error },
      recentReports: [],
    });
    expect(app.cards()).toHaveLength(1);
  });
});

describe("an outage", () => {
  test("of some hours is caught up with one fresh collection, and skips what is past", async ({ app }) => {
    await start(app);
    await quietly(app, 50 * MINUTE);
    vi.setSystemTime(Date.now() + 5 * HOUR);
    await app.pass(10 * MINUTE);
    expect(await statusOf(app)).toMatchObject({
      activeJob: { collectionsCount: 3, interimReportsCount: 1 },
      recentReports: [{ type: "interim" }],
    });
    expect(cardsOf(app).at(-1)).toContain("Interim report 2 of 2");
  });

  test("past the 8 hours makes the final report at once, from a fresh collection", async ({ app }) => {
    await start(app);
    await quietly(app, 50 * MINUTE);
    vi.setSystemTime(Date.now() + 9 * HOUR);
    await app.pass(10 * MINUTE);
    expect(await statusOf(app)).toMatchObject({
      lastJob: { status: "completed", finalReportSent: true, collectionsCount: 3 },
      recentReports: [{ type: "final" }],
    });
  });
});

describe("work that is cut off", () => {
  test("in a collection is repeated; late words are dropped", async ({ app }) => {
    deadlines.sentiment = HOUR;
    app.standins.fail("sentiment", { mode: "slow", times: 1 });
    await start(app);
    await app.settle(20);
    await expireLeases(app);
    await app.pass(MINUTE, { cronsRun: false });
    const [observation] = await app.rows("observations");
    expect([observation?.state, models(observation?.missing ?? [])]).toEqual(["done", []]);
    expect(app.standins.sent("sentiment")).toHaveLength(2);
  });

  test("in a collection twice leaves its sources out, and the shift goes on", async ({ app }) => {
    deadlines.sentiment = HOUR;
    app.standins.fail("sentiment", { mode: "slow" });
    await start(app);
    for (let times = 0; times < 2; times++) {
      await app.settle(20);
      await expireLeases(app);
    }
    await app.pass(MINUTE, { cronsRun: false });
    const [observation] = await app.rows("observations");
    expect(observation).toMatchObject({
      state: "done",
      missing: [{ collector: "market" }, { collector: "sentiment" }, { collector: "onchain" }],
    });
  });

  test("in the writing of a report is written again, and told once", async ({ app }) => {
    await start(app);
    await quietly(app, 2.4 * HOUR);
    deadlines.llmScheduled = 24 * HOUR;
    app.standins.fail("llm", { mode: "slow", schema: "research_result", times: 1 });
    await app.pass(0.5 * HOUR);
    expect((await statusOf(app)).recentReports).toHaveLength(1);
    expect(cardsOf(app)).toHaveLength(2);
  });

  test("or checked twice at once, changes nothing", async ({ app }) => {
    const { internal } = await import("../../convex/_generated/api");
    await start(app);
    await quietly(app, 2.4 * HOUR);
    await app.pass(10 * MINUTE, { cronsRun: false });
    const { check, checkDue } = internal.research.shifts;
    const checks = [check, checkDue, check, checkDue];
    await app.during(Promise.all(checks.map((one) => app.t.mutation(one, {}))));
    await quietly(app, MINUTE);
    expect([written(app), cardsOf(app).length]).toEqual([1, 2]);
    expect((await statusOf(app)).recentReports).toHaveLength(1);
  });
});
