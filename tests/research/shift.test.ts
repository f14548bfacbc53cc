import { inflateSync, strFromU8 } from "fflate";
import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { HOUR, MINUTE } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { COINS } from "../../scripts/standins/market";
import { createApp, test, type App } from "../support/app";
import { expireLeases } from "../support/rows/leases";
import { unmarked } from "../support/marks";

/** Shifts at their door: what a user sees of them, what they cost, and what they survive. */

const ALICE = "alice-6f1c0a9e2b";

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

/** Nothing runs for so long, and then the crons do for a while. */
async function later(app: App, ms: number): Promise<void> {
  outage(ms);
  await app.pass(18 * MINUTE);
}

/** A minute before its first report is due a shift makes a collection for that. */
async function beforeReport(app: App): Promise<void> {
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

/** A report says first, in code's words, how its focus has moved. @returns Its summary, without marks of sources that are not there. */
async function ledBy(app: App, focus: string): Promise<string> {
  const LEAD =
    /^(\w+) since the shift began: ([+−][\d.]+)\u202F%.*?from \D*?([\d,.]+\d).*? to \D*?([\d,.]+\d)/;
  const { fullAnalysis = "", shortSummary = "" } = (await app.rows("reports")).at(-1)?.result ?? {};
  const [, of, moved = "", from = "", to = ""] = LEAD.exec(fullAnalysis) ?? [];
  const [first = NaN, last = NaN] = [from, to].map((amount) => Number(amount.replaceAll(",", "")));
  expect(of).toBe(focus);
  expect(Number(moved.replace("−", "-"))).toBeCloseTo((last / first - 1) * 100, 1);
  expect(fullAnalysis).toMatch(/\[1[\],:]/);
  expect(shortSummary).toMatch(/\d/);
  expect(shortSummary).not.toMatch(/\[\d/);
  return shortSummary;
}

test("a shift on a token walks its 8 hours", async ({ app }) => {
  const { status, body } = await start(app, { token: "sol", telegramChatId: 77 });
  const { jobId, startedAt } = z.object({ jobId: z.string(), startedAt: z.number() }).parse(body);
  const stopsAt = startedAt + 8 * HOUR;
  expect([status, body]).toEqual([200, { success: true, jobId, startedAt, stopsAt }]);
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

  await quietly(app, 65 * MINUTE);
  expect((await statusOf(app)).activeJob).toMatchObject({ collectionsCount: 3 });
  await later(app, 82 * MINUTE);
  const interim = await statusOf(app);
  const elapsedMinutes = 65 + 82 + 18;
  const remainingMinutes = 480 - elapsedMinutes;
  expect(interim.activeJob).toMatchObject({
    ...running,
    ...{ interimReportsCount: 1, elapsedMinutes, remainingMinutes },
  });
  // Each collection is a data point.
  const observations = await app.rows("observations");
  const [shift] = await app.rows("shifts");
  expect(shift?.observationIds).toEqual(observations.map(({ _id }) => _id));
  for (const row of observations)
    expect(row).toMatchObject({
      state: "done",
      market: {
        trending: expect.arrayContaining([expect.objectContaining({ rank: 1 })]),
        movers: expect.arrayContaining([expect.objectContaining({ change24h: expect.any(Number) })]),
        marketDataRaw: expect.any(ArrayBuffer),
      },
      sentiment: { degraded: false, tokens: expect.any(Array) },
      onchain: { signals: expect.any(Array) },
    });
  const raw = observations[0]?.market?.marketDataRaw;
  expect(raw instanceof ArrayBuffer && strFromU8(inflateSync(new Uint8Array(raw)))).toContain('"top20":[{');
  expect(interim.recentReports).toMatchObject([{ summary: await ledBy(app, "SOL") }]);
  expect(JSON.stringify(asked(app, "research_result")[0]?.body)).toMatch(
    /SOL \| f1 [+-][\d.]+% \|.*# \w+, 09:00Z\\nsubject \| price when the shift began\\nSOL \| f2 \$/,
  );

  await later(app, 132 * MINUTE);
  await later(app, 162 * MINUTE);
  const { activeJob, lastJob, recentReports } = await statusOf(app);
  expect(activeJob).toBeNull();
  expect(lastJob).toEqual({
    ...job,
    status: "completed",
    endedAt: expect.stringMatching(/^2026-01-05T17:/),
    interimReportsCount: 2,
    finalReportSent: true,
    // Three, and one for each report.
    collectionsCount: 6,
    error: null,
  });
  expect(recentReports.map(({ type, messengerSent }) => [type, messengerSent])).toEqual([
    ["final", true],
    ["interim", true],
    ["interim", true],
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

  const latest = await app.get("/mcp/research/report?token=sol");
  // Of six data points the latest five, and those before once an hour.
  expect(JSON.stringify(asked(app, "research_result").at(-1)?.body)).toMatch(
    /Most persistent trending tokens, [^:]*: \w+ in [1-5] of 5,/,
  );
  expect(latest.body).toMatchObject({
    ...{ jobId, type: "final", messengerSent: true, jobToken: "SOL", jobStartedAt: startedAt },
    userId: expect.stringMatching(/^usr_[0-9a-f]{24}$/),
  });
  expect((await app.get(`/mcp/research/report?jobId=${jobId}`)).body).toEqual(latest.body);
  const { fullAnalysis, sources } = z
    .object({ fullAnalysis: z.string(), sources: z.array(z.unknown()) })
    .parse(latest.body.result);
  const words = fullAnalysis.split(/\s+/).length;
  expect([words >= 400, words <= 640, sources.length > 15]).toEqual([true, true, true]);

  // Nothing was asked twice, and nothing goes on behind.
  const done = () => [asked(app, "onchain_signals").length, written(app), app.cards().length];
  const before = done();
  expect(before.slice(0, 2)).toEqual([6, 3]);
  outage(HOUR);
  await untilReport(app);
  expect(done()).toEqual(before);
});

test("starts with one Idempotency-Key are one of its user, and of one wish", async ({ app }) => {
  const keyed = (body: object = {}) =>
    app.post("/mcp/research/start", { userId: ALICE, ...body }, { headers: { "Idempotency-Key": "k1" } });
  const [first, atOnce] = await Promise.all([keyed(), keyed()]);
  expect([first.status, atOnce.body]).toEqual([200, first.body]);
  expect((await start(app, { idempotencyKey: "k1" })).body).toEqual(first.body);
  expect((await keyed({ userId: "bob" })).body.jobId).not.toBe(first.body.jobId);
  for (const other of [{ token: "BTC" }, { messengerChatId: "12" }])
    expect(await keyed(other)).toMatchObject({
      status: 409,
      body: { error: "This idempotency key was used for another request: send a new key for a new request" },
    });
  expect((await statusOf(app)).activeJobs).toHaveLength(1);
});

test("a stop drops what is being collected, and calls off what has not been sent", async ({ app }) => {
  app.standins.fail("messenger", { mode: "status", status: 429, retryAfter: 600, times: 1 });
  app.standins.fail("llm", { mode: "slow", ms: 5_000 });
  await start(app, { token: "BTC" });
  await app.settle(2);
  expect([await stop(app), await stop(app)]).toEqual([1, 0]);
  app.standins.clear("llm");
  await quietly(app, 40 * MINUTE);
  expect(await statusOf(app)).toMatchObject({ lastJob: { collectionsCount: 0 }, recentReports: [] });
  expect([app.cards(), written(app)]).toEqual([[], 0]);
});

describe("many shifts on few foci", () => {
  test("cost one collection per focus and half hour, shared with callers while it is at most five minutes old", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    const order = (i: number, token: string) => start(app, { userId: `user-${i}`, token }, `10.0.0.${i}`);
    await Promise.all(Array.from({ length: 6 }, (_, i) => order(i, ["BTC", "ETH", ""][i % 3] ?? "")));
    while (collected(app) < 9) await app.settle();
    const cost = async (work: () => Promise<unknown>) => {
      const before = app.standins.sent("sentiment").length;
      await work();
      await app.settle();
      return app.standins.sent("sentiment").length - before;
    };
    await quietly(app, 3.5 * MINUTE);
    expect(await cost(() => order(10, "BTC"))).toBe(0);
    expect(await cost(() => app.post("/mcp/research", { token: "BTC" }))).toBe(0);
    await quietly(app, 2 * MINUTE);
    expect(await cost(() => order(11, "BTC"))).toBe(1);
    expect(await cost(() => order(12, "BTC"))).toBe(0);
    const before = collected(app);
    await quietly(app, 26 * MINUTE);
    expect(collected(app) - before).toBe(9);
  });

  test("wait their turn where they are more than are worked on at once: nothing is asked twice", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    deadlines.sentiment = HOUR;
    // The last wait longer than an attempt may take.
    app.standins.fail("sentiment", { mode: "slow", ms: 6 * MINUTE });
    for (const [i, { symbol }] of COINS.slice(0, 7).entries())
      await start(app, { userId: `user-${i}`, token: symbol }, `198.51.100.${i}`);
    await app.pass(19 * MINUTE);
    expect(app.standins.sent("sentiment")).toHaveLength(7);
    for (const { missing } of await app.rows("observations")) expect(models(missing)).toEqual([]);
  });
});

test("a source that fails leaves a partial data point, an unwritable report is left out; one that can be at last tells what its collection lacks; a final one ends the shift with its error", async ({
  app,
}) => {
  const unwritable = { mode: "status", status: 500, schema: "research_result" } as const;
  app.standins.fail("llm", { mode: "status", status: 429 });
  await start(app, { token: "BTC" });
  await app.settle(60);
  const [partial] = await app.rows("observations");
  expect([models(partial?.missing), partial?.sentiment?.degraded]).toEqual([["market", "onchain"], false]);
  app.standins.clear();
  app.standins.fail("llm", unwritable);
  await beforeReport(app);
  await untilReport(app);
  await quietly(app, 15 * MINUTE);
  expect(await app.rows("reports")).toMatchObject([{ state: "failed" }]);
  expect((await statusOf(app)).activeJob).toMatchObject({ interimReportsCount: 0 });

  app.standins.clear();
  app.standins.fail("sentiment", { mode: "status", status: 500 });
  app.standins.fail("llm", { mode: "garbage", schema: "research_result", times: 2 });
  const before = written(app);
  await later(app, 2.5 * HOUR);
  expect(written(app) - before).toBe(3);
  const reason = "The sentiment model answered with status 500";
  expect(JSON.stringify(asked(app, "research_result").at(-1)?.body)).toContain(
    `Missing: social sentiment: ${reason}`,
  );
  expect((await app.get("/mcp/research/report?token=BTC")).body.result).toMatchObject({
    missing: expect.arrayContaining([{ collector: "sentiment", subject: "", reason }]),
  });
  expect(cardsOf(app)).toHaveLength(2);

  app.standins.fail("llm", unwritable);
  await later(app, 3 * HOUR);
  await quietly(app, 15 * MINUTE);
  expect(await statusOf(app)).toMatchObject({
    activeJob: null,
    lastJob: {
      status: "completed",
      finalReportSent: false,
      interimReportsCount: 1,
      error: "The LLM gateway answered with status 500",
    },
    recentReports: [{ type: "interim" }],
  });
  expect(cardsOf(app)).toHaveLength(2);
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
  expect(cardsOf(app).at(-1)).toContain("Interim report 2 of 2 · the whole market");
  await ledBy(app, "BTC");
  // Past the 8 hours, the final report is made at once, from a fresh collection.
  outage(4 * HOUR);
  await app.pass(10 * MINUTE);
  expect(await statusOf(app)).toMatchObject({
    lastJob: { status: "completed", finalReportSent: true, collectionsCount: 4 },
    recentReports: [{ type: "final" }, { type: "interim" }],
  });
});

test("work that is cut off is repeated, a collection then goes without its sources; a report is told once, however often it is checked", async ({
  app,
}) => {
  Object.assign(deadlines, { sentiment: HOUR, llmScheduled: 24 * HOUR });
  app.standins.fail("sentiment", { mode: "slow", times: 2 });
  await start(app);
  for (let cut = 0; cut < 2; cut++) {
    await app.settle(20);
    await expireLeases(app);
  }
  await quietly(app, MINUTE);
  const [observation] = await app.rows("observations");
  const missing = ["market", "onchain", "sentiment"];
  expect([observation?.state, models(observation?.missing)]).toEqual(["done", missing]);
  expect(app.standins.sent("sentiment")).toHaveLength(2);

  app.standins.fail("llm", { mode: "slow", schema: "research_result", times: 1 });
  await beforeReport(app);
  await untilReport(app);
  const { checkShiftsNow, checkDue } = internal.research.shifts;
  const checks = [checkShiftsNow, checkDue, checkShiftsNow, checkDue];
  await app.during(Promise.all(checks.map((one) => app.t.mutation(one, {}))));
  await quietly(app, MINUTE);
  expect([written(app), cardsOf(app).length]).toEqual([1, 1]);
  await expireLeases(app);
  await app.pass(10 * MINUTE);
  expect((await statusOf(app)).recentReports).toHaveLength(1);
  expect([written(app), cardsOf(app).length]).toEqual([2, 2]);
});
