import { describe, expect } from "vitest";
import { ALICE, linkedUser } from "../bot/support";
import { test, type App } from "../support/app";

/** What reaches the chat of a confirmed user through the default bot: what that user's own id addressed to it, and no more. */

const STRANGER = "a-stranger-whom-nobody-knows";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const CHAT = String(ALICE);
const toAlice = (app: App) => app.cards().filter(({ chatId }) => chatId === CHAT);

const paths: [string, (app: App) => Promise<unknown>][] = [
  [
    "a shift's messengerChatId",
    (app) => app.post("/mcp/research/start", { userId: STRANGER, token: "BTC", messengerChatId: CHAT }),
  ],
  [
    "a shift's telegramChatId",
    (app) => app.post("/mcp/research/start", { userId: STRANGER, token: "BTC", telegramChatId: CHAT }),
  ],
  ...["/user/messenger", "/user/telegram"].map((path): [string, (app: App) => Promise<unknown>] => [
    path,
    async (app) => {
      await app.post(path, { userId: STRANGER, messengerChatId: CHAT });
      await app.post("/mcp/research/start", { userId: STRANGER, token: "BTC" });
      await app.post("/user/telegram/notify", { userId: STRANGER, message: "tap Approve" });
      await app.get(`/mcp/signals/latest?userId=${STRANGER}`);
      await app.get(`/mcp/whale-alerts?userId=${STRANGER}`);
    },
  ]),
];

describe("a confirmed user's chat", () => {
  test.for(paths)("gets nothing that another id addressed to it by %s", async ([_name, address], { app }) => {
    await linkedUser(app, "alice");
    await address(app);
    await app.settle(40);
    expect(toAlice(app)).toEqual([]);
    const [message] = (await app.rows("messages")).filter(({ userId }) => userId === STRANGER);
    expect(message).toMatchObject({
      ...{ state: "skipped", error: "The default bot does not write to this chat for this user" },
    });
  });

  test("has one spelling: the messenger would read the others as the same number", async ({ app }) => {
    for (const messengerChatId of [`0${CHAT}`, `00${CHAT}`, `-0${CHAT}`, String(2n ** 64n + BigInt(ALICE))]) {
      const { status, body } = await app.post("/user/messenger", { userId: STRANGER, messengerChatId });
      expect([status, body.error]).toEqual([
        400,
        "messengerChatId must be a numeric chat id or @channel, or empty",
      ]);
    }
    expect(await app.rows("messengerConfigs")).toEqual([]);
  });

  test("gets a shift's reports no more, once the account has confirmed that it is another's", async ({
    app,
  }) => {
    await app.post("/mcp/research/start", { userId: STRANGER, token: "BTC", messengerChatId: CHAT });
    await app.settle();
    expect(toAlice(app)).toHaveLength(1);
    await linkedUser(app, "alice");
    await app.pass(3 * 3_600_000);
    expect(toAlice(app)).toHaveLength(1);
  });

  test("gets what its own id addressed to it, and another id's own bot is that one's matter", async ({
    app,
  }) => {
    const { userId } = await linkedUser(app, "alice");
    await app.post("/mcp/research/start", { userId, token: "BTC", messengerChatId: CHAT });
    const own = { userId: STRANGER, messengerBotToken: OWN_BOT, messengerChatId: CHAT };
    await app.post("/user/messenger", own);
    await app.post("/mcp/research/start", { userId: STRANGER, token: "BTC" });
    await app.settle(40);
    expect(
      toAlice(app)
        .map(({ botToken }) => botToken === OWN_BOT)
        .toSorted(),
    ).toEqual([false, true]);
  });
});

test("a shift that was started by userId alone reports to another chat than the owner's by the default bot, marked", async ({
  app,
}) => {
  const { userId } = await linkedUser(app, "alice");
  const own = { userId, messengerBotToken: OWN_BOT, messengerChatId: "7" };
  await app.post("/user/messenger", own, { as: "alice" });
  for (const messengerChatId of ["7", "8"])
    await app.post("/mcp/research/start", { userId, token: "BTC", messengerChatId });
  await app.post("/mcp/research/start", { userId, token: "BTC", messengerChatId: "9" }, { as: "alice" });
  await app.settle(40);
  const told = app
    .cards()
    .filter(({ text }) => !text.includes("Your cards go elsewhere"))
    .map(({ chatId, botToken, text }) => [chatId, botToken === OWN_BOT, /^✉️/.test(text)]);
  expect(told.toSorted()).toEqual([
    ["7", true, false],
    ["8", false, true],
    ["9", true, false],
  ]);
});
