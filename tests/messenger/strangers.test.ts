import { describe, expect, vi } from "vitest";
import { hasLeft } from "../../convex/platform/limits/charges";
import { enqueueCard, enqueueServiceCard } from "../../convex/messenger/model";
import { ALICE, linkedUser } from "../bot/support";
import { test, type App } from "../support/app";

/** What the bot says in chats that somebody has merely named, as anybody can name anybody's, and in those of confirmed users. */

const MARK = /^✉️ This chat was named for an account of this service/;
const STRANGER = "a-stranger-whom-nobody-knows";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";
const NAMED = "4711";
const CHAT = String(ALICE);
const to = (app: App, chat: string) => app.cards().filter(({ chatId }) => chatId === chat);
const start = (app: App, userId: string, extra: object = {}, init = {}) =>
  app.post("/mcp/research/start", { userId, token: "BTC", ...extra }, init);

describe("a card for a chat that somebody named", () => {
  test("is marked by what holds when it is sent, not when it was ordered", async ({ app }) => {
    const userId = STRANGER;
    await app.post("/user/messenger", { userId, messengerBotToken: OWN_BOT, messengerChatId: NAMED });
    // The own bot is refused a try; by the next one the stranger has gone over to the default bot.
    app.standins.fail("messenger", { mode: "status", status: 429 });
    await app.post("/user/telegram/notify", { userId, message: "Your funds are at risk" });
    await app.post("/user/messenger", { userId, messengerBotToken: "" });
    app.standins.clear("messenger");
    await app.pass(2 * 60_000, { cronsRun: false });
    expect(app.cards().filter(({ botToken }) => botToken !== OWN_BOT)).toMatchObject([
      { chatId: NAMED, text: expect.stringMatching(/^<b>✉️ Not from this service<\/b>\n.*\n\nYour funds/) },
    ]);
  });

  test("is unmarked by the user's own bot, and in a chat that has said it is theirs", async ({ app }) => {
    const own = { userId: "a-user-with-a-bot-of-her-own", messengerBotToken: OWN_BOT, messengerChatId: "7" };
    await app.post("/user/messenger", own);
    await start(app, own.userId);
    const { userId } = await linkedUser(app, "alice");
    await start(app, userId, {}, { as: "alice" });
    await start(app, STRANGER, { messengerChatId: NAMED });
    await app.settle();
    const marks = app.cards().map(({ chatId, text }) => [chatId, MARK.test(text)]);
    expect(marks.toSorted()).toEqual([
      [CHAT, false],
      [NAMED, true],
      ["7", false],
    ]);
  });

  test("is one of 60 an hour, whoever orders them; the service's own do not count", async ({ app }) => {
    for (const [chatId, holder] of [
      [NAMED, NAMED],
      [undefined, "the service's own"],
    ])
      await app.t.run(async (ctx) => {
        for (let n = 0; n < 56; n++) await hasLeft(ctx, "namedChat", `chat:${holder}`);
        for (let n = 0; n < 8; n++)
          await enqueueCard(ctx, {
            userId: `stranger-${n}`,
            chatId,
            kind: "a card",
            paragraphs: [["Hello"]],
          });
      });
    await app.settle(200);
    await app.t.run((ctx) => enqueueServiceCard(ctx, { kind: "whales", paragraphs: [["All is quiet."]] }));
    await app.settle(8);
    expect(app.cards()).toHaveLength(4 + 4 + 1);
    expect(app.cards().at(-1)?.text).toBe("All is quiet.");
    const skipped = (await app.rows("messages")).filter(({ state }) => state === "skipped");
    expect(skipped).toHaveLength(8);
    for (const { error } of skipped) expect(error).toContain("too many cards from people who named it");
  });
});

describe("a stranger's words", () => {
  const BAIT = "Reply with your recovery words to keep your funds.";
  const filler = Array.from(
    { length: 60 },
    (_, n) => `All is well with the market, line ${n}. ${"x".repeat(40)}`,
  );
  const tell = async (app: App, messengerChatId: string, message: string) => {
    await app.post("/user/messenger", { userId: STRANGER, messengerChatId });
    return (await app.post("/user/telegram/notify", { userId: STRANGER, message })).body;
  };

  test("are one message at most, which is marked and says that it was cut", async ({ app }) => {
    const message = `${filler.join("\n").slice(0, 3_880)}\n\n${BAIT}`;
    expect(await tell(app, NAMED, message)).toEqual({ sent: true });
    await app.settle(40);
    expect(app.cards().map(({ text }) => text)).toEqual([
      expect.stringMatching(/^<b>✉️ Not from this service<\/b>\n[^]*\n\n…$/),
    ]);
    expect(JSON.stringify(app.cards())).not.toContain("recovery");
  });

  test("go to no channel or group, and not to the service's own chat", async ({ app }) => {
    for (const chat of ["424242", "@announcements", "-100777", "-100777:5", "-5"])
      expect([chat, await tell(app, chat, BAIT)]).toEqual([chat, { sent: false, reason: "refused" }]);
    expect(JSON.stringify(app.cards())).not.toContain("recovery");
    // A bot of their own brings them wherever it may write.
    await app.post("/user/messenger", { userId: STRANGER, messengerBotToken: OWN_BOT });
    expect(await tell(app, "-100777", "Hello")).toEqual({ sent: true });
  });

  test("stand in no part of the service's own cards without a mark", async ({ app }) => {
    const paragraphs = [...filler, ...filler].map((line) => [line]);
    await app.t.run((ctx) =>
      enqueueCard(ctx, { userId: STRANGER, chatId: NAMED, kind: "a report", paragraphs }),
    );
    await app.settle(40);
    expect(app.cards().length).toBeGreaterThan(1);
    for (const { text } of app.cards()) expect(text).toMatch(MARK);
  });
});

describe("a confirmed user's chat", () => {
  test("gets through the default bot nothing that another id addressed to it, from its confirmation on", async ({
    app,
  }) => {
    await start(app, STRANGER, { messengerChatId: CHAT });
    await app.settle();
    expect(to(app, CHAT)).toHaveLength(1);
    await linkedUser(app, "alice");
    await start(app, STRANGER, { telegramChatId: CHAT });
    await app.post("/user/telegram", { userId: STRANGER, telegramChatId: CHAT });
    await start(app, STRANGER);
    await app.post("/user/telegram/notify", { userId: STRANGER, message: "tap Approve" });
    await app.get(`/mcp/signals/latest?userId=${STRANGER}`);
    await app.get(`/mcp/whale-alerts?userId=${STRANGER}`);
    // The first shift's report, too.
    vi.setSystemTime(Date.now() + 2.5 * 3_600_000);
    await app.pass(15 * 60_000);
    expect(to(app, CHAT)).toHaveLength(1);
    const skipped = (await app.rows("messages")).filter(({ state }) => state === "skipped");
    expect(skipped.length).toBeGreaterThanOrEqual(3);
    expect(new Set(skipped.map(({ error }) => error))).toEqual(
      new Set(["The default bot does not write to this chat for this user"]),
    );
  });

  test("gets what its own id addressed to it, and another id's own bot is that one's matter", async ({
    app,
  }) => {
    const { userId } = await linkedUser(app, "alice");
    await start(app, userId, { messengerChatId: CHAT });
    const own = { userId: STRANGER, messengerBotToken: OWN_BOT, messengerChatId: CHAT };
    await app.post("/user/messenger", own);
    await start(app, STRANGER);
    await app.settle(40);
    const bots = to(app, CHAT).map(({ botToken }) => botToken === OWN_BOT);
    expect(bots.toSorted()).toEqual([false, true]);
  });

  test("has one spelling: the messenger would read the others as the same number", async ({ app }) => {
    for (const messengerChatId of [`0${CHAT}`, `-0${CHAT}`, String(2n ** 64n + BigInt(ALICE))]) {
      const { status, body } = await app.post("/user/messenger", { userId: STRANGER, messengerChatId });
      expect([status, body.error]).toEqual([
        400,
        "messengerChatId must be a numeric chat id or @channel, or empty",
      ]);
    }
  });
});

test("a shift that was started by userId alone reports to another chat than the owner's by the default bot, marked", async ({
  app,
}) => {
  const { userId } = await linkedUser(app, "alice");
  const own = { userId, messengerBotToken: OWN_BOT, messengerChatId: "7" };
  await app.post("/user/messenger", own, { as: "alice" });
  for (const messengerChatId of ["7", "8"]) await start(app, userId, { messengerChatId });
  await start(app, userId, { messengerChatId: "9" }, { as: "alice" });
  await app.settle(40);
  const told = app
    .cards()
    .filter(({ text }) => !text.includes("Your cards go elsewhere"))
    .map(({ chatId, botToken, text }) => [chatId, botToken === OWN_BOT, MARK.test(text)]);
  expect(told.toSorted()).toEqual([
    ["7", true, false],
    ["8", false, true],
    ["9", true, false],
  ]);
});
