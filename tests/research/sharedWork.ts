import { expect } from "vitest";
import { createApp, type App } from "../support/app";

/** What any number of shifts on few foci must cost: the same promises for a few of them and for a thousand. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const FOCI = ["BTC", "ETH", ""];

/** Everybody has an address of their own. */
const addressOf = (i: number) => `10.${Math.floor(i / 65_536)}.${Math.floor(i / 256) % 256}.${i % 256}`;

function startAll(app: App, count: number) {
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      app.post(
        "/mcp/research/start",
        { userId: `user-${i}`, token: FOCI[i % FOCI.length], messengerChatId: 1_000 + i },
        { ip: addressOf(i) },
      ),
    ),
  );
}

/** Upstream calls for collections (not for reports) since the last look. */
function collectionCalls(app: App): number {
  const llm = app.standins.sent("llm").filter(({ schema }) => schema !== "research_result").length;
  const calls = llm + app.standins.sent("sentiment").length;
  return calls;
}

/** Lets the work go on until it has come so far; what never comes ends at the test's own limit. */
async function settleUntil(app: App, isThere: () => boolean | Promise<boolean>): Promise<void> {
  do await app.settle();
  while (!(await isThere()));
}

/** Started together. */
export async function shareEverything(count: number): Promise<void> {
  const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
  const started = await startAll(app, count);
  expect(started.every(({ status }) => status === 200)).toBe(true);
  await settleUntil(app, () => collectionCalls(app) >= 9);
  expect(collectionCalls(app)).toBe(9);
  await app.pass(38 * MINUTE);
  await settleUntil(app, () => collectionCalls(app) >= 18);
  expect(collectionCalls(app)).toBe(18);
  const points = await app.rows("dataPoints");
  expect(points).toHaveLength(2 * count);
  expect(await app.rows("observations")).toHaveLength(6);

  await app.pass(2 * HOUR + 10 * MINUTE);
  await settleUntil(app, async () => (await app.rows("reports")).length >= count);
  expect(app.standins.sent("llm").filter(({ schema }) => schema === "research_result")).toHaveLength(3);
  const reports = await app.rows("reports");
  expect(new Set(reports.map(({ jobId }) => jobId)).size).toBe(count);
  expect(reports).toHaveLength(count);
  expect(await app.rows("agentRuns")).toHaveLength(count);
  expect((await app.rows("shifts")).every(({ interimReportsCount }) => interimReportsCount === 1)).toBe(true);
}

/** One every half minute. @returns The upstream calls of each half hour. */
export async function shareWhatIsFresh(count: number): Promise<number[]> {
  const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
  const windows: number[] = [];
  let before = 0;
  for (let i = 0; i < count; i++) {
    const userId = `user-${i}`;
    await app.post("/mcp/research/start", { userId, token: FOCI[i % FOCI.length] }, { ip: addressOf(i) });
    await app.pass(MINUTE * 0.5);
    if ((i + 1) % 60 === 0) {
      windows.push(collectionCalls(app) - before);
      before = collectionCalls(app);
    }
  }
  for (const calls of windows) expect(calls).toBeLessThanOrEqual(54);
  expect(await app.rows("dataPoints")).not.toHaveLength(0);
  return windows;
}
