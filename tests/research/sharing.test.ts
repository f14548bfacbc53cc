import { afterEach, describe, expect, test } from "vitest";
import { closeApp, createApp, type App } from "../support/app";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

afterEach(closeApp);

const FOCI = ["BTC", "ETH", ""];

function startAll(app: App, count: number) {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      app.post("/mcp/research/start", {
        userId: `user-${i}`,
        token: FOCI[i % FOCI.length],
        messengerChatId: 1_000 + i,
      }),
    ),
  );
}

/** Upstream calls for collections (not for reports) since the last look. */
function collectionCalls(app: App): number {
  const llm = app.standins.sent("llm").filter(({ schema }) => schema !== "research_result").length;
  const calls = llm + app.standins.sent("sentiment").length;
  return calls;
}

describe("many shifts on few foci", () => {
  test("1,000 started together cost 9 upstream calls per 30 minutes, and one writing per focus and report", async () => {
    const app = createApp();
    const started = await startAll(app, 1_000);
    expect(started.every(({ status }) => status === 200)).toBe(true);
    await app.settle();
    expect(collectionCalls(app)).toBe(9);
    await app.pass(38 * MINUTE);
    await app.settle();
    expect(collectionCalls(app)).toBe(18);
    const points = await app.rows("dataPoints");
    expect(points).toHaveLength(2_000);
    expect(await app.rows("observations")).toHaveLength(6);

    await app.pass(2 * HOUR + 10 * MINUTE);
    await app.settle(40);
    expect(app.standins.sent("llm").filter(({ schema }) => schema === "research_result")).toHaveLength(3);
    const reports = await app.rows("reports");
    expect(new Set(reports.map(({ jobId }) => jobId)).size).toBe(1_000);
    expect(reports).toHaveLength(1_000);
    expect(await app.rows("agentRuns")).toHaveLength(1_000);
    expect((await app.rows("shifts")).every(({ interimReportsCount }) => interimReportsCount === 1)).toBe(
      true,
    );
  }, 120_000);

  test("started at any times cost at most 54 per 30 minutes", async () => {
    const app = createApp();
    const windows: number[] = [];
    let before = 0;
    for (let i = 0; i < 180; i++) {
      const userId = `user-${i}`;
      await app.post("/mcp/research/start", { userId, token: FOCI[i % FOCI.length] });
      await app.pass(MINUTE * 0.5);
      if ((i + 1) % 60 === 0) {
        windows.push(collectionCalls(app) - before);
        before = collectionCalls(app);
      }
    }
    for (const calls of windows) expect(calls).toBeLessThanOrEqual(54);
    expect(await app.rows("dataPoints")).not.toHaveLength(0);
  }, 120_000);

  test("a shift shares an observation at most 5 minutes old, of its own focus alone", async () => {
    const app = createApp();
    const observed = async (userId: string, token: string) => {
      const { body } = await app.post("/mcp/research/start", { userId, token });
      await app.settle();
      const points = await app.rows("dataPoints");
      return points.find(({ shiftId }) => shiftId === body.jobId)?.observationId;
    };
    const first = await observed("a", "BTC");
    await app.pass(4 * MINUTE, { cronsRun: false });
    expect(await observed("b", "BTC")).toBe(first);
    expect(await observed("c", "ETH")).not.toBe(first);
    await app.pass(2 * MINUTE, { cronsRun: false });
    expect(await observed("d", "BTC")).not.toBe(first);
  });
});

describe("more foci than the pool works on at once", () => {
  test("wait their turn: nothing is asked twice, and nothing is left out", async () => {
    const app = createApp();
    const foci = Array.from({ length: 40 }, (_, i) => `T${i}`);
    // Slow enough in simulated time that most of them wait longer than an attempt may take.
    let asked = 0;
    const inner = app.standins.handle.bind(app.standins);
    app.standins.handle = async (request) => {
      if (request.url.includes("/sentiment/")) {
        asked++;
        await new Promise((resolve) => setTimeout(resolve, 100_000));
      }
      return inner(request);
    };
    for (const [i, token] of foci.entries())
      await app.post("/mcp/research/start", { userId: `u${i}`, token });
    await app.pass(25 * MINUTE);
    const observations = await app.rows("observations");
    expect(observations.map(({ attempt, state }) => [attempt, state])).toEqual(
      foci.map(() => [1, "settled"]),
    );
    expect(asked).toBe(40);
  }, 120_000);
});
