import { typeset } from "../../convex/lib/text/numbers";
import { describe, expect } from "vitest";
import { START, test } from "../support/app";
import { unmarked } from "../support/marks";
import { observationsOf } from "../support/rows/observations";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";

describe("a research shift", () => {
  test("walks its 8 hours: every row, every message", async ({ app }) => {
    const started = await app.post("/mcp/research/start", {
      userId: ALICE,
      token: "sol",
      telegramChatId: 77,
    });
    const { jobId, startedAt } = started.body;
    if (typeof startedAt !== "number") throw new Error("startedAt is a number");
    expect([started.status, started.body]).toEqual([
      200,
      {
        success: true,
        jobId: expect.any(String),
        startedAt: expect.any(Number),
        stopsAt: startedAt + 8 * HOUR,
      },
    ]);
    expect(startedAt - START).toBeLessThan(MINUTE);

    const running = await app.get(`/mcp/research/status?userId=${ALICE}`);
    expect(running.body).toEqual({
      activeJob: {
        jobId,
        status: "active",
        startedAt: new Date(startedAt).toISOString(),
        stopsAt: new Date(startedAt + 8 * HOUR).toISOString(),
        elapsedMinutes: 0,
        remainingMinutes: 480,
        interimReportsCount: 0,
        finalReportSent: false,
        token: "SOL",
        collectionsCount: 1,
        // It may have come to its end by now.
        lastCollection: expect.toBeOneOf([null, { at: expect.any(String), failed: [] }]),
      },
      lastJob: null,
      activeJobs: [
        {
          jobId,
          token: "SOL",
          startedAt: new Date(startedAt).toISOString(),
          stopsAt: new Date(startedAt + 8 * HOUR).toISOString(),
        },
      ],
      deliveryProblem: null,
      recentReports: [],
    });

    await app.pass(4 * HOUR);
    const half = (await app.get(`/mcp/research/status?userId=${ALICE}`)).body;
    expect(half.activeJob).toMatchObject({
      interimReportsCount: 1,
      elapsedMinutes: 240,
      remainingMinutes: 240,
    });
    await app.pass(4 * HOUR + 6 * MINUTE);

    const [shift, ...otherShifts] = await app.rows("shifts");
    expect(otherShifts).toEqual([]);
    expect(shift).toMatchObject({
      _id: jobId,
      userId: ALICE,
      token: "SOL",
      focus: "SOL",
      messengerChatId: "77",
      startedAt,
      stopsAt: startedAt + 8 * HOUR,
      status: "completed",
      // One every half hour, and the one that the final report is written from.
      collectionsCount: 17,
      interimReportsCount: 2,
      finalReportSent: true,
    });
    expect(shift).not.toHaveProperty("error");
    expect(shift).not.toHaveProperty("synthesisId");

    const points = await app.rows("dataPoints");
    expect(points.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 17 }, (_, i) => i + 1));
    for (const { shiftId, sequence, claimedAt } of points) {
      expect(shiftId).toBe(jobId);
      const due = startedAt + (sequence - 1) * 30 * MINUTE;
      expect(claimedAt - due).toBeGreaterThanOrEqual(0);
      expect(claimedAt - due).toBeLessThanOrEqual(5 * MINUTE);
    }
    const observations = await observationsOf(app);
    expect(observations.map(({ _id }) => _id)).toEqual(points.map(({ observationId }) => observationId));
    for (const { state, focus, sources } of observations) {
      expect([state, focus]).toEqual(["settled", "SOL"]);
      expect(sources.market).toMatchObject({
        state: "ok",
        output: {
          trending: expect.arrayContaining([expect.objectContaining({ rank: 1 })]),
          movers: expect.any(Array),
          focus: expect.stringContaining("(SOL)"),
          marketDataRaw: expect.stringContaining('"top20"'),
        },
      });
      expect(sources.sentiment).toMatchObject({ state: "ok", output: { degraded: false } });
      for (const { buzz } of sources.sentiment.output?.tokens ?? []) {
        expect(buzz).toBeGreaterThanOrEqual(1);
        expect(buzz).toBeLessThanOrEqual(10);
      }
      expect(sources.onchain).toMatchObject({ state: "ok", output: { signals: expect.any(Array) } });
    }

    const reports = await app.rows("reports");
    expect(
      reports.map(({ type, generatedAt }) => [type, Math.floor((generatedAt - startedAt) / (5 * MINUTE))]),
    ).toEqual([
      ["interim", expect.toBeOneOf([30, 31])],
      ["interim", expect.toBeOneOf([60, 61])],
      ["final", expect.toBeOneOf([96, 97])],
    ]);
    expect((await app.rows("shifts"))[0]?.deliveries).toEqual(
      reports.map(({ _id: reportId }) => ({ reportId, sent: true })),
    );
    const runs = await app.rows("agentRuns");
    for (const [i, report] of reports.entries()) {
      expect(report).toMatchObject({
        jobId,
        userId: ALICE,
        jobToken: "SOL",
        jobStartedAt: startedAt,
      });
      expect(report.result.sources?.length).toBeGreaterThan(15);
      expect(report.result.checked).toMatchObject({ removed: 0 });
      expect(
        report.result.changes?.some(
          ({ subject, what, since }) => `${subject} ${what} ${since}` === "BTC price start",
        ),
      ).toBe(true);
      for (const { observedAt } of report.result.sources ?? []) {
        expect(report.generatedAt - observedAt).toBeLessThan(24 * HOUR);
      }
      expect(report.result.fullAnalysis.split(/\s+/).length).toBeGreaterThanOrEqual(400);
      expect(report.result.fullAnalysis.split(/\s+/).length).toBeLessThanOrEqual(600);
      expect([...report.result.shortSummary].length).toBeLessThanOrEqual(100);
      expect(runs[i]).toMatchObject({
        _id: report.runId,
        userId: ALICE,
        status: "completed",
        tokensUsed: expect.any(Number),
      });
      expect(runs[i]?.tokensUsed).toBeGreaterThan(0);
    }
    expect(runs.map(({ title }) => title)).toEqual([
      "Interim report on SOL",
      "Interim report on SOL",
      "Final report on SOL",
    ]);

    const messages = await app.rows("messages");
    expect(messages.map(({ kind, state }) => [kind, state])).toEqual([
      ["shift started", "sent"],
      ["interim report", "sent"],
      ["interim report", "sent"],
      ["final report", "sent"],
    ]);
    const [told, cards] = [await app.rows("messages"), app.cards()];
    // Nobody has proved that the chat is theirs.
    const mark =
      "✉️ Somebody who named this chat as theirs has ordered this card. If it was not you, ignore it.\n\n";
    expect(cards.map(({ text }) => text)).toEqual(
      told.flatMap(({ parts }) => {
        // There is nothing to draw, and so no picture without a caption.
        const sent = parts.filter((part) => part !== "");
        return sent.map((part, index) => (index === 0 ? mark + part : part));
      }),
    );
    expect(new Set(cards.map(({ chatId }) => chatId))).toEqual(new Set(["77"]));
    expect(cards[0]?.text).toMatch(
      /Research shift started<\/b>\n5 Jan 2026, 09:00 UTC\n\nTracking: <b>SOL<\/b>\n\nDuration: 8 hours\nData collection: every 30 minutes\nReports: at 2.5h, 5h and 8h$/,
    );
    const titles = [
      "Interim report 1 of 2 · SOL</b>\n2.5h",
      "Interim report 2 of 2 · SOL</b>\n5h",
      "Final report · SOL</b>\n8h",
    ];
    for (const [i, report] of reports.entries()) {
      const text = told[i + 1]?.parts.join("\n");
      expect(text).toContain(titles[i]);
      expect(text).toContain(`Outlook: <b>${report.result.marketOutlook}</b>`);
      expect(text).toContain(typeset(report.result.shortSummary).replaceAll("&", "&amp;"));
      for (const { title, confidence } of report.result.impacts) {
        expect(text).toContain(`<b>${title}</b> · ${Math.round(confidence * 100)}\u202F% · `);
      }
    }

    // 17 collections of two gateway calls and one search, three reports: nothing was asked twice.
    expect(app.standins.sent("llm")).toHaveLength(17 * 2 + 3);
    expect(app.standins.sent("sentiment")).toHaveLength(17);
    expect((await app.rows("syntheses")).map(({ kind, state }) => [kind, state])).toEqual([
      ["interim1", "done"],
      ["interim2", "done"],
      ["final", "done"],
    ]);

    const after = await app.get(`/mcp/research/status?userId=${ALICE}`);
    expect(after.body.activeJob).toBeNull();
    expect(after.body.lastJob).toEqual({
      jobId,
      token: "SOL",
      startedAt: new Date(startedAt).toISOString(),
      stopsAt: new Date(startedAt + 8 * HOUR).toISOString(),
      status: "completed",
      endedAt: expect.stringMatching(/^2026-01-05T17:/),
      interimReportsCount: 2,
      finalReportSent: true,
      collectionsCount: 17,
      error: null,
    });
    expect(after.body.recentReports).toEqual(
      reports.toReversed().map((report) => ({
        type: report.type,
        generatedAt: new Date(report.generatedAt).toISOString(),
        outlook: report.result.marketOutlook,
        summary: report.result.shortSummary.replace(/ \[\d+\]/g, ""),
        messengerSent: true,
      })),
    );

    const [row] = await app.rows("shifts");
    const ofShift = await app.get(`/mcp/research/report?jobId=${row?._id}`);
    expect([ofShift.status, ofShift.body.jobId]).toEqual([200, row?._id]);
    expect((await app.get("/mcp/research/report?jobId=nonsense")).status).toBe(404);
    expect((await app.get("/mcp/research/report")).body.error).toBe("token is required");
    const latest = await app.get("/mcp/research/report?token=sol");
    expect(latest.status).toBe(200);
    expect(latest.body).toMatchObject({
      jobId,
      type: "final",
      messengerSent: true,
      jobToken: "SOL",
      jobStartedAt: startedAt,
    });
    const { sources = [], changes = [], ...texts } = reports[2]?.result ?? {};
    const iso = (epochMs: number) => new Date(epochMs).toISOString();
    expect(latest.body.result).toEqual({
      missing: [],
      ...texts,
      sources: sources.map((one) => ({ ...one, observedAt: iso(one.observedAt) })),
      changes: changes.map((one) => ({ ...one, fromAt: iso(one.fromAt), toAt: iso(one.toAt) })),
    });
    expect(latest.body.userId).toMatch(/^usr_[0-9a-f]{24}$/);
    expect(latest.text).not.toContain(ALICE);

    // Nothing goes on behind.
    const before = [app.standins.sent("llm").length, app.cards().length];
    await app.pass(2 * HOUR);
    expect([app.standins.sent("llm").length, app.cards().length]).toEqual(before);
  });

  test("without a token is about the whole market", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: ALICE, token: "" });
    await app.pass(2.6 * HOUR);
    const lines = app.cards().map(({ text }) => unmarked(text).split("\n")[0] ?? "");
    // A report may be longer than one message.
    expect(lines.filter((line) => line.startsWith("<b>"))).toEqual([
      "<b>🔬 Research shift started</b>",
      "<b>📊 Interim report 1 of 2 · Market</b>",
    ]);
    const [report] = await app.rows("reports");
    expect(report?.jobToken).toBe("");
  });

  test("an unknown token's report is 404, and so is one that nobody has ordered", async ({ app }) => {
    const asked = async (token: string) => {
      const { status, body } = await app.get(`/mcp/research/report?token=${token}`);
      return [status, body];
    };
    expect(await asked("NOPE")).toEqual([
      404,
      { error: "No source knows the token NOPE: name it by its symbol, such as BTC" },
    ]);
    expect(await asked("DOGE")).toEqual([404, { error: "There is no research report on DOGE yet" }]);
  });
});
