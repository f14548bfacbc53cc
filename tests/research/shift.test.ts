import fc from "fast-check";
import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { dueReport, REPORTS } from "../../convex/research/model";
import type { ReportKind } from "../../convex/research/tables";
import { COINS } from "../../scripts/standins/market";
import { createApp, START, test, type App } from "../support/app";
import { expireLeases } from "../support/rows/leases";
import { unmarked } from "../support/marks";

/** Shifts at their door: what a user sees of them, what they cost, and what they survive. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";
const BOB = "bob-5d1e0a9e2b";

const shown = z.record(z.string(), z.unknown());
const statusShape = z.object({
  activeJob: shown.nullable(),
  lastJob: shown.nullable(),
  activeJobs: z.array(z.object({ jobId: z.string() })),
  recentReports: z.array(shown),
});
const statusOf = async (app: App, userId = ALICE) =>
  statusShape.parse((await app.get(`/mcp/research/status?userId=${userId}`)).body);
const start = (app: App, body: object = {}, ip?: string) =>
  app.post("/mcp/research/start", { userId: ALICE, ...body }, ip === undefined ? {} : { ip });
const stop = async (app: App) => (await app.post("/mcp/research/stop", { userId: ALICE })).body.stopped;

/** Time goes by without crons: a shift's collections call for its own checks. */
const quietly = (app: App, ms: number) => app.pass(ms, { cronsRun: false });
/** Nothing runs for so long, and every timer keeps its remaining time. */
const outage = (ms: number) => vi.setSystemTime(Date.now() + ms);

/** A shift, and a minute before its first report is due a collection for that. */
async function beforeReport(app: App, body: object = {}): Promise<void> {
  await start(app, body);
  await app.settle();
  outage(2.45 * HOUR);
  await app.pass(2 * MINUTE);
}
/** The report is due; the cron that sees it runs every few minutes. */
const untilReport = (app: App) => app.pass(6 * MINUTE);

const asked = (app: App, ...schemas: string[]) =>
  app.standins.sent("llm").filter(({ schema }) => schemas.includes(schema ?? ""));
const written = (app: App) => asked(app, "research_result").length;
/** Calls for collections: three make one, and the gateway's list of coins serves all foci for ten minutes. */
const collected = (app: App) =>
  asked(app, "market_snapshot", "onchain_signals").length + app.standins.sent("sentiment").length;
/** Which of the three models are among what is missing. */
const models = (missing: readonly { collector: string }[] = []) =>
  missing
    .map(({ collector }) => collector)
    .filter((one) => /^(?:market|sentiment|onchain)$/.test(one))
    .toSorted();
/** A chat's cards without the warning before those to an unproven one, and without their further parts. */
const cardsOf = (app: App, chat = "424242") =>
  app
    .cards()
    .flatMap(({ text, chatId }) =>
      chatId === chat && /^<b>[🔬📊🏁]/u.test(unmarked(text)) ? [unmarked(text)] : [],
    );

test("a shift on a token walks its 8 hours, at first beside one on the whole market", async ({ app }) => {
  const { status, body } = await start(app, { token: "sol", telegramChatId: 77 });
  await start(app, { userId: BOB, token: "", messengerChatId: "78" });
  const { jobId, startedAt } = z.object({ jobId: z.string(), startedAt: z.number() }).parse(body);
  const stopsAt = startedAt + 8 * HOUR;
  expect([status, body]).toEqual([200, { success: true, jobId, startedAt, stopsAt }]);
  expect(startedAt - START).toBeLessThan(MINUTE);
  const iso = (ms: number) => new Date(ms).toISOString();
  const job = { jobId, token: "SOL", startedAt: iso(startedAt), stopsAt: iso(stopsAt) };
  const running = { ...job, status: "active", finalReportSent: false };
  expect((await app.get(`/mcp/research/status?userId=${ALICE}`)).body).toEqual({
    activeJob: {
      ...running,
      elapsedMinutes: 0,
      remainingMinutes: 480,
      interimReportsCount: 0,
      collectionsCount: 1,
    },
    lastJob: null,
    activeJobs: [job],
    deliveryProblem: null,
    recentReports: [],
  });

  await quietly(app, 4 * HOUR);
  await app.post("/mcp/research/stop", { userId: BOB });
  const interim = await statusOf(app);
  expect(interim.activeJob).toMatchObject({
    ...running,
    interimReportsCount: 1,
    elapsedMinutes: 240,
    remainingMinutes: 240,
  });
  // Each collection is a data point.
  const observations = await app.rows("observations");
  for (const { _id, token, observationIds } of await app.rows("shifts"))
    expect([_id, observationIds]).toEqual([
      _id,
      observations.flatMap(({ _id: id, focus }) => (focus === token ? [id] : [])),
    ]);
  for (const row of observations) {
    expect(row).toMatchObject({
      state: "done",
      market: {
        trending: expect.arrayContaining([expect.objectContaining({ rank: 1 })]),
        movers: expect.arrayContaining([expect.objectContaining({ change24h: expect.any(Number) })]),
        marketDataRaw: expect.stringContaining('"top20"'),
      },
      sentiment: { degraded: false },
      onchain: { signals: expect.any(Array) },
    });
    for (const { buzz } of row.sentiment?.tokens ?? []) expect(buzz >= 1 && buzz <= 10).toBe(true);
  }
  // A report says first, in code's words, how its focus has moved; its summary has no marks of sources that are not there.
  const LEAD =
    /^(\w+) since the shift began: ([+−][\d.]+)\u202F%.*?from \D*?([\d,.]+\d).*? to \D*?([\d,.]+\d)/;
  for (const { result, jobToken } of await app.rows("reports")) {
    const [, of, moved = "", from = "", to = ""] = LEAD.exec(result?.fullAnalysis ?? "") ?? [];
    const [first = NaN, last = NaN] = [from, to].map((amount) => Number(amount.replaceAll(",", "")));
    expect(of).toBe(jobToken === "" ? "BTC" : "SOL");
    expect(Number(moved.replace("−", "-"))).toBeCloseTo((last / first - 1) * 100, 1);
    expect(result?.fullAnalysis).toMatch(/\[1[\],:]/);
    expect(result?.shortSummary).toMatch(/\d/);
    expect(result?.shortSummary).not.toMatch(/\[\d/);
    if (jobToken === "SOL") expect(interim.recentReports).toMatchObject([{ summary: result?.shortSummary }]);
  }
  expect(JSON.stringify(asked(app, "research_result")[0]?.body)).toMatch(
    /f1 (?:SOL|BTC) price since the shift began: [+−][\d.]+\s%.*f2 \w+ price when the shift began: \$[\d,.]+ \(\w+, 2026-01-05T09:00Z\)/,
  );

  await quietly(app, 4 * HOUR);
  await app.pass(10 * MINUTE);
  const { activeJob, lastJob, recentReports } = await statusOf(app);
  expect(activeJob).toBeNull();
  expect(lastJob).toEqual({
    ...job,
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
  const runs = (await app.rows("agentRuns")).filter(({ userId }) => userId === ALICE);
  expect(runs.map(({ title, status }) => [title, status])).toEqual([
    ["Interim report 1 of 2 on SOL", "completed"],
    ["Interim report 2 of 2 on SOL", "completed"],
    ["Final report on SOL", "completed"],
  ]);

  expect(cardsOf(app, "77").map((card) => card.split("\n").slice(0, 2).join(" "))).toEqual([
    "<b>🔬 Research shift started</b> 5 Jan 2026, 09:00 UTC",
    expect.stringMatching(/^<b>📊 Interim report 1 of 2 · SOL<\/b> 2\.5h checkpoint · 2h 3\dmin elapsed · /),
    expect.stringMatching(/^<b>📊 Interim report 2 of 2 · SOL<\/b> 5h checkpoint/),
    expect.stringMatching(/^<b>🏁 Final report · SOL<\/b> 8h checkpoint/),
  ]);
  expect(cardsOf(app, "77")[0]).toContain(
    "Tracking: <b>SOL</b>\n\nDuration: 8 hours\nData collection: every 30 minutes\nReports: at 2.5h, 5h and 8h",
  );
  expect(cardsOf(app, "78")[1]).toMatch(/^<b>📊 Interim report 1 of 2 · the whole market<\/b>\n/);

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

  // Nothing was asked twice, and nothing goes on behind.
  const done = () => [
    app.standins.sent("sentiment").length,
    asked(app, "onchain_signals").length,
    written(app),
    app.cards().length,
  ];
  const before = done();
  const bobs = (await app.rows("shifts")).find(({ userId }) => userId === BOB)?.observationIds.length ?? 0;
  expect(before.slice(0, 3)).toEqual([17 + bobs, 17 + bobs, 3 + 1]);
  outage(HOUR);
  await untilReport(app);
  expect(done()).toEqual(before);
});

test("a start twice makes two shifts; with one Idempotency-Key, one", async ({ app }) => {
  const keyed = (body: object = {}) =>
    app.post("/mcp/research/start", { userId: ALICE, ...body }, { headers: { "Idempotency-Key": "k1" } });
  const [a, b, c, d] = await Promise.all([start(app), start(app), keyed(), keyed()]);
  expect(new Set([a.body.jobId, b.body.jobId, c.body.jobId]).size).toBe(3);
  expect(d.body).toEqual(c.body);
  expect((await start(app, { idempotencyKey: "k1" })).body).toEqual(c.body);
  expect((await keyed({ userId: "bob" })).body.jobId).not.toBe(c.body.jobId);
  for (const other of [{ token: "BTC" }, { messengerChatId: "12" }])
    expect(await keyed(other)).toMatchObject({
      status: 409,
      body: { error: "This idempotency key was used for another request" },
    });
  expect((await statusOf(app)).activeJobs).toHaveLength(3);
});

test("a stop drops what is being collected or written, and calls off what has not been sent", async ({
  app,
}) => {
  app.standins.fail("messenger", { mode: "status", status: 429, retryAfter: 600, times: 1 });
  app.standins.fail("llm", { mode: "slow", ms: 5_000 });
  await start(app, { token: "BTC" });
  await app.settle(2);
  expect([await stop(app), await stop(app)]).toEqual([1, 0]);
  app.standins.clear("llm");
  await quietly(app, 40 * MINUTE);
  expect(await statusOf(app)).toMatchObject({ lastJob: { collectionsCount: 0 }, recentReports: [] });
  expect([app.cards(), written(app)]).toEqual([[], 0]);

  deadlines.llmScheduled = HOUR;
  app.standins.fail("llm", { mode: "slow", ms: 8 * MINUTE, schema: "research_result" });
  await beforeReport(app, { token: "BTC" });
  await untilReport(app);
  expect([written(app), await stop(app)]).toEqual([1, 1]);
  await quietly(app, 10 * MINUTE);
  expect((await statusOf(app)).recentReports).toEqual([]);
  expect([await app.rows("agentRuns"), app.cards().length]).toEqual([[], 1]);
});

describe("many shifts on few foci", () => {
  test("cost one collection per focus and half hour, shared while it is at most five minutes old", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    const order = (i: number, token: string) => start(app, { userId: `user-${i}`, token }, `10.0.0.${i}`);
    await Promise.all(Array.from({ length: 9 }, (_, i) => order(i, ["BTC", "ETH", ""][i % 3] ?? "")));
    while (collected(app) < 9) await app.settle();
    const cost = async (i: number) => {
      const before = app.standins.sent("sentiment").length;
      await order(i, "BTC");
      await app.settle();
      return app.standins.sent("sentiment").length - before;
    };
    await quietly(app, 3.5 * MINUTE);
    expect(await cost(10)).toBe(0);
    await quietly(app, 2 * MINUTE);
    expect([await cost(11), await cost(12)]).toEqual([1, 0]);
    const before = collected(app);
    await quietly(app, 26 * MINUTE);
    expect(collected(app) - before).toBe(9);
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
  test("leaves a partial data point that says so, however it fails", async ({ app }) => {
    Object.assign(deadlines, { llmScheduled: 60, sentiment: 60 });
    const FAULTS = [
      ["BTC", "llm", { mode: "status", status: 429 }],
      ["ETH", "llm", { mode: "slow" }],
      ["SOL", "sentiment", { mode: "garbage" }],
      ["DOGE", "sentiment", { mode: "drop", half: true }],
      ["LINK", "sentiment", { mode: "slow" }],
    ] as const;
    const named = /^(?:The (?:LLM gateway|sentiment model) |It did not come in time)/;
    for (const [token, provider, fault] of FAULTS) {
      app.standins.fail(provider, fault);
      await start(app, { token });
      await app.settle(60);
      app.standins.clear();
      const { missing } = (await app.rows("observations")).find(({ focus }) => focus === token) ?? {};
      expect([token, models(missing)]).toEqual([
        token,
        provider === "llm" ? ["market", "onchain"] : ["sentiment"],
      ]);
      for (const { collector, reason } of missing ?? [])
        if (models([{ collector }]).length > 0) expect(reason).toMatch(named);
    }
  });

  test("is told in a report's evidence, and in the report", async ({ app }) => {
    app.standins.fail("sentiment", { mode: "status", status: 500 });
    await beforeReport(app, { token: "BTC" });
    await untilReport(app);
    const reason = "The sentiment model answered with status 500";
    expect(JSON.stringify(asked(app, "research_result")[0]?.body)).toContain(
      `Missing: social sentiment: ${reason}`,
    );
    const { body } = await app.get("/mcp/research/report?token=BTC");
    expect(body.result).toMatchObject({
      missing: expect.arrayContaining([{ collector: "sentiment", subject: "", reason }]),
    });
  });
});

describe("a report that cannot be written", () => {
  test("is tried again and arrives late, once", async ({ app }) => {
    app.standins.fail("llm", { mode: "garbage", schema: "research_result", times: 2 });
    await beforeReport(app);
    await untilReport(app);
    await quietly(app, 5 * MINUTE);
    expect((await statusOf(app)).recentReports).toHaveLength(1);
    expect(cardsOf(app)).toHaveLength(2);
  });

  test("leaves out an interim; a final one ends the shift with its error", async ({ app }) => {
    app.standins.fail("llm", { mode: "status", status: 500, schema: "research_result" });
    await beforeReport(app);
    await untilReport(app);
    await quietly(app, 15 * MINUTE);
    expect(await app.rows("reports")).toMatchObject([{ state: "failed" }]);
    expect((await statusOf(app)).activeJob).toMatchObject({ interimReportsCount: 0 });
    outage(6 * HOUR);
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

test("an outage is caught up with one fresh collection, and skips what is past", async ({ app }) => {
  await start(app);
  await quietly(app, 50 * MINUTE);
  outage(5 * HOUR);
  await app.pass(10 * MINUTE);
  expect(await statusOf(app)).toMatchObject({
    activeJob: { collectionsCount: 3, interimReportsCount: 1 },
    recentReports: [{ type: "interim" }],
  });
  expect(cardsOf(app).at(-1)).toContain("Interim report 2 of 2");
  // Past the 8 hours, the final report is made at once, from a fresh collection.
  outage(4 * HOUR);
  await app.pass(10 * MINUTE);
  expect(await statusOf(app)).toMatchObject({
    lastJob: { status: "completed", finalReportSent: true, collectionsCount: 4 },
    recentReports: [{ type: "final" }, { type: "interim" }],
  });
});

describe("work that is cut off", () => {
  test.for([
    ["once is repeated; late words are dropped", { times: 1 }, []],
    ["twice leaves its sources out, and the shift goes on", {}, ["market", "onchain", "sentiment"]],
  ] as const)("in a collection %s", async ([_name, times, missing], { app }) => {
    deadlines.sentiment = HOUR;
    app.standins.fail("sentiment", { mode: "slow", ...times });
    await start(app);
    for (let cut = 0; cut < 2; cut++) {
      await app.settle(20);
      await expireLeases(app);
    }
    await quietly(app, MINUTE);
    const [observation] = await app.rows("observations");
    expect([observation?.state, models(observation?.missing)]).toEqual(["done", missing]);
    expect(app.standins.sent("sentiment")).toHaveLength(2);
  });

  test("in the writing of a report is written again, and told once, however often it is checked", async ({
    app,
  }) => {
    deadlines.llmScheduled = 24 * HOUR;
    app.standins.fail("llm", { mode: "slow", schema: "research_result", times: 1 });
    await beforeReport(app);
    await quietly(app, 2 * MINUTE);
    const { check, checkDue } = internal.research.shifts;
    const checks = [check, checkDue, check, checkDue];
    await app.during(Promise.all(checks.map((one) => app.t.mutation(one, {}))));
    await quietly(app, MINUTE);
    expect([written(app), cardsOf(app).length]).toEqual([1, 1]);
    await app.pass(20 * MINUTE);
    expect((await statusOf(app)).recentReports).toHaveLength(1);
    expect([written(app), cardsOf(app).length]).toEqual([2, 2]);
  });
});

test("with checks at any times, each report of a shift is due at most once, in order and not too early", () => {
  const minutes = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 41 }), fc.array(minutes, { maxLength: 200 }), (at, gaps) => {
      const kinds: ReportKind[] = [];
      let now = at;
      for (const gap of [...gaps, 480]) {
        now += gap * MINUTE;
        const due = dueReport(kinds.at(-1), at, now);
        if (due === null) continue;
        kinds.push(due);
        expect(now - at).toBeGreaterThanOrEqual(REPORTS[due].dueAfterMs);
      }
      const order: ReportKind[] = ["interim1", "interim2", "final"];
      expect(kinds).toEqual(order.filter((kind) => kinds.includes(kind)));
      expect(kinds.at(-1)).toBe("final");
    }),
  );
});
