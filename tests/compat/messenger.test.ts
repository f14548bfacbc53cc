import { describe, expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { linkedUser } from "../bot/support";
import { closeApp, createApp, type App, test } from "../support/app";

const USER = "user-5b0d3a9c17";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const NOTIFY = "/user/telegram/notify";

const notify = async (app: App, message = "BTC is above 100,000 USD.", userId = USER) =>
  app.post(NOTIFY, { userId, message });

test("a field that is wrong is named as it was sent", async ({ app }) => {
  const chat = "must be a numeric chat id or @channel";
  for (const [path, fields, error] of [
    [
      "/user/telegram",
      { telegramBotToken: "garbage" },
      "telegramBotToken must be 20 to 128 printable characters, or empty",
    ],
    ["/user/telegram", { telegramChatId: "abc" }, `telegramChatId ${chat}, or empty`],
    ["/mcp/research/start", { telegramChatId: "abc" }, `telegramChatId ${chat}`],
    ["/mcp/research/start", { messengerChatId: "abc", telegramChatId: "1" }, `messengerChatId ${chat}`],
  ] as const) {
    const { status, body } = await app.post(path, { userId: USER, ...fields });
    expect([status, body]).toEqual([400, { error }]);
  }
});

describe("POST /user/telegram/notify", () => {
  test("goes by the user's own bot to the user's own chat, as plain text; what did not arrive is said", async ({
    app,
  }) => {
    await app.post("/user/telegram", { userId: USER, telegramBotToken: OWN_BOT, telegramChatId: "11" });
    const { status, body } = await notify(app, "Price <b>up</b> & away\n\nSecond paragraph");
    expect([status, body]).toEqual([200, { sent: true }]);
    const text = "Price &lt;b&gt;up&lt;/b&gt; &amp; away\n\nSecond paragraph";
    expect(app.cards()).toMatchObject([{ botToken: OWN_BOT, chatId: "11", text }]);
    app.standins.fail("messenger", { mode: "status", status: 403 });
    expect((await notify(app)).body).toEqual({ sent: false, reason: "refused" });
    app.standins.clear("messenger");
    deadlines.delivery = 1;
    expect((await notify(app)).body).toEqual({ sent: false, reason: "pending" });
    await app.settle(8);
    expect(app.cards()).toHaveLength(2);
  });

  test("is no_config where nothing is set, and never reaches the service's own chat", async ({ app }) => {
    const none = { sent: false, reason: "no_config" };
    expect((await notify(app)).body).toEqual(none);
    await app.post("/user/telegram", { userId: USER, telegramBotToken: OWN_BOT });
    expect((await notify(app)).body).toEqual(none);
    closeApp();
    const botless = createApp({ env: { MESSENGER_BOT_TOKEN: "" } });
    await botless.post("/user/telegram", { userId: USER, telegramChatId: "11" });
    expect((await notify(botless)).body).toEqual(none);
    expect([await botless.rows("messages"), botless.cards(), app.cards()]).toEqual([[], [], []]);
  });

  test("goes to a linked account as it is, by nobody but its user, and marked to a chat that is merely named", async ({
    app,
  }) => {
    const { userId } = await linkedUser(app, "alice", 4242);
    // By the bot that the account trusts its own user alone speaks.
    expect((await notify(app, "reply to keep your funds", userId)).status).toBe(403);
    const body = { userId, message: "Hello" };
    expect((await app.post(NOTIFY, body, { as: "mallory" })).status).toBe(403);
    expect((await app.post(NOTIFY, body, { as: "alice" })).body).toEqual({ sent: true });
    await app.post("/user/telegram", { userId: USER, telegramChatId: "11" });
    expect((await notify(app, "Your wallet is at risk, go to evil.example")).body).toEqual({ sent: true });
    expect(app.cards().map(({ chatId, text }) => [chatId, text])).toEqual([
      ["4242", "Hello"],
      ["11", expect.stringMatching(/^<b>✉️ Not from this service<\/b>\n.*\n\nYour wallet is at risk/)],
    ]);
  });

  test("refuses what is missing or too long, and each user's own after thirty", async ({ app }) => {
    for (const [body, field] of [
      [{ message: "x" }, "userId"],
      [{ userId: USER }, "message"],
      [{ userId: USER, message: "  " }, "message"],
      [{ userId: USER, message: "x".repeat(12_001) }, "message"],
    ] as const) {
      const { status, body: answer } = await app.post(NOTIFY, body);
      expect([status, answer.error]).toEqual([400, expect.stringMatching(`^${field} `)]);
    }
    expect(await app.rows("messages")).toEqual([]);
    const statuses = [];
    for (let n = 0; n < 31; n++) statuses.push((await notify(app)).status);
    expect([statuses.indexOf(429), (await notify(app, "x", "somebody-else")).status]).toEqual([30, 200]);
  });
});
