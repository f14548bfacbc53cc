import { expect } from "vitest";
import { createApp, test } from "../support/app";

/** What the status says when something does not go well. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-3f1b6c0d2a";

test("the same start twice shows as two shifts, the newest first", async ({ app }) => {
  const first = await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
  await app.settle();
  const second = await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" });
  const { body } = await app.get(`/mcp/research/status?userId=${ALICE}`);
  expect(body.activeJob).toMatchObject({ jobId: second.body.jobId, token: "BTC" });
  expect(body.activeJobs).toMatchObject([
    { jobId: second.body.jobId, token: "BTC" },
    { jobId: first.body.jobId, token: "BTC" },
  ]);
});

test("a stopped shift shows as the last one, with how it ended", async ({ app }) => {
  const status = async () => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body;
  const first = await app.post("/mcp/research/start", { userId: ALICE, token: "ETH" });
  expect(await status()).toMatchObject({ activeJob: { jobId: first.body.jobId }, lastJob: null });
  await app.post("/mcp/research/stop", { userId: ALICE });
  const stopped = {
    status: "stopped",
    finalReportSent: false,
    endedAt: expect.stringMatching(/^2026-01-05T09:/),
  };
  expect(await status()).toMatchObject({
    activeJob: null,
    lastJob: { jobId: first.body.jobId, token: "ETH", ...stopped },
  });
  const second = await app.post("/mcp/research/start", { userId: ALICE });
  expect(await status()).toMatchObject({
    activeJob: { jobId: second.body.jobId },
    lastJob: { jobId: first.body.jobId },
  });
  await app.post("/mcp/research/stop", { userId: ALICE });
  expect(await status()).toMatchObject({ lastJob: { jobId: second.body.jobId, token: null, ...stopped } });
});

test("the summaries of recent reports have no marks of sources that are not beside them", async ({ app }) => {
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.pass(2 * HOUR + 45 * MINUTE, { cronsRun: false });
  const [report] = await app.rows("reports");
  if (report?.result === undefined) throw new Error("There is no report");
  const summaries = async () => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body.recentReports;
  // It states figures of sources, which are listed beside the analysis.
  expect(report.result.fullAnalysis).toMatch(/\[1[\],:]/);
  expect(report.result.shortSummary).toMatch(/\$\d/);
  expect(report.result.shortSummary).not.toMatch(/\[\d/);
  expect(await summaries()).toMatchObject([{ summary: report.result.shortSummary }]);
});

test("a refused bot token shows as a delivery problem, until a card arrives", async ({ app }) => {
  await app.post("/user/messenger", {
    userId: ALICE,
    messengerBotToken: "999999:AAE-a-token-that-nobody-made-0000000",
    messengerChatId: "4711",
  });
  const problem = async () => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body.deliveryProblem;
  expect(await problem()).toBeNull();
  app.standins.fail("messenger", { mode: "status", status: 401 });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect(await problem()).toMatch(/Unauthorized/);

  app.standins.clear("messenger");
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: "" });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect(await problem()).toBeNull();
});

test.for([
  [
    "no bot at all",
    { MESSENGER_BOT_TOKEN: "" },
    {},
    "No bot is configured: set messengerBotToken and messengerChatId",
  ],
  [
    "a bot of their own and no chat",
    {},
    { messengerBotToken: "999999:AAE-a-token-that-nobody-made-0000000" },
    "No chat is configured: set messengerChatId",
  ],
] as const)(
  "says why cards do not arrive of a user with %s, report by report",
  async ([, env, own, reason]) => {
    const app = createApp({ env });
    await app.post("/user/messenger", { userId: ALICE, ...own });
    const { jobId } = (await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" })).body;
    await app.settle();
    const status = async () => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body;
    expect((await status()).deliveryProblem).toBe(reason);
    await app.pass(2.6 * HOUR, { cronsRun: false });
    expect(app.cards()).toEqual([]);
    expect(await status()).toMatchObject({
      deliveryProblem: reason,
      recentReports: [{ messengerSent: false, deliveryProblem: reason }],
    });
    const report = await app.get(`/mcp/research/report?jobId=${String(jobId)}`);
    expect(report.body).toMatchObject({ messengerSent: false, deliveryProblem: reason });
  },
);
