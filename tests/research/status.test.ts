import { expect, vi } from "vitest";
import { createApp, test, type App } from "../support/app";

/** What the status says of delivery when that does not go well. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-3f1b6c0d2a";
const OWN_BOT = "999999:AAE-a-token-that-nobody-made-0000000";

const status = async (app: App) => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body;

test("a refused bot token shows as a delivery problem, until a card arrives", async ({ app }) => {
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: OWN_BOT, messengerChatId: "4711" });
  expect((await status(app)).deliveryProblem).toBeNull();
  app.standins.fail("messenger", { mode: "status", status: 401 });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect((await status(app)).deliveryProblem).toMatch(/Unauthorized/);

  app.standins.clear("messenger");
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: "" });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect((await status(app)).deliveryProblem).toBeNull();
});

test.for([
  ["no bot at all", { MESSENGER_BOT_TOKEN: "" }, {}, "No bot is configured: set messengerBotToken"],
  ["a bot and no chat", {}, { messengerBotToken: OWN_BOT }, "No chat is configured: set messengerChatId"],
] as const)("says why cards do not arrive of a user with %s, report by report", async ([, env, own, why]) => {
  const app = createApp({ env });
  await app.post("/user/messenger", { userId: ALICE, ...own });
  const { jobId } = (await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" })).body;
  await app.settle();
  const reason = expect.stringMatching(new RegExp(`^${why}`));
  expect((await status(app)).deliveryProblem).toEqual(reason);
  vi.setSystemTime(Date.now() + 2.6 * HOUR);
  await app.pass(8 * MINUTE);
  expect(app.cards()).toEqual([]);
  expect(await status(app)).toMatchObject({
    deliveryProblem: reason,
    recentReports: [{ messengerSent: false, deliveryProblem: reason }],
  });
  const report = await app.get(`/mcp/research/report?jobId=${String(jobId)}`);
  expect(report.body).toMatchObject({ messengerSent: false, deliveryProblem: reason });
});
