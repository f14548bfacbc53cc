import { expect, vi } from "vitest";
import { HOUR, MINUTE } from "../../convex/lib/time";
import { createApp, test, type App } from "../support/app";

/** What the status says of delivery when that does not go well. */

const ALICE = "alice-3f1b6c0d2a";
const OWN_BOT = "999999:AAE-a-token-that-nobody-made-0000000";

const status = async (app: App) => (await app.get(`/mcp/research/status?userId=${ALICE}`)).body;

test("a refused bot token shows as a delivery problem, report by report, until a card arrives", async ({
  app,
}) => {
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: OWN_BOT, messengerChatId: "4711" });
  expect((await status(app)).deliveryProblem).toBeNull();
  app.standins.fail("messenger", { mode: "status", status: 401 });
  const { jobId } = (await app.post("/mcp/research/start", { userId: ALICE, token: "BTC" })).body;
  await app.settle(40);
  const told = { deliveryProblem: expect.stringMatching(/Unauthorized/) };
  expect(await status(app)).toMatchObject(told);
  vi.setSystemTime(Date.now() + 2.6 * HOUR);
  await app.pass(8 * MINUTE);
  const unsent = { messengerSent: false, ...told };
  expect(await status(app)).toMatchObject({ ...told, recentReports: [unsent] });
  expect((await app.get(`/mcp/research/report?jobId=${String(jobId)}`)).body).toMatchObject(unsent);

  app.standins.clear("messenger");
  await app.post("/user/messenger", { userId: ALICE, messengerBotToken: "" });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle(40);
  expect((await status(app)).deliveryProblem).toBeNull();
});

test.for([
  ["no bot at all", { MESSENGER_BOT_TOKEN: "" }, {}, "No bot is configured: set messengerBotToken"],
  ["no chat at all", { MESSENGER_CHAT_ID: "" }, {}, "No chat is configured: set messengerChatId"],
  // It never writes into the service's own chat.
  ["a bot and no chat", {}, { messengerBotToken: OWN_BOT }, "No chat is configured: set messengerChatId"],
] as const)("says why no cards arrive of a user with %s", async ([, env, own, why]) => {
  const app = createApp({ env });
  await app.post("/user/messenger", { userId: ALICE, ...own });
  await app.post("/mcp/research/start", { userId: ALICE });
  await app.settle();
  expect(app.cards()).toEqual([]);
  expect(await app.rows("messages")).toMatchObject([{ state: "skipped" }]);
  expect((await status(app)).deliveryProblem).toEqual(expect.stringMatching(new RegExp(`^${why}`)));
});
