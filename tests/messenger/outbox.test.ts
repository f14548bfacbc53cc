import { createFunctionHandle } from "convex/server";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { enqueueCard } from "../../convex/messenger/model";
import { arrived } from "../bot/support";
import { createApp, type App, test } from "../support/app";
import { unmarked } from "../support/marks";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ALICE = "alice-6f1c0a9e2b";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";

const start = (app: App, extra: object = {}) => app.post("/mcp/research/start", { userId: ALICE, ...extra });
/** To shortly before a shift's first report, which is then written from one fresh collection. */
const nearReport = (app: App) => app.pass(2.4 * HOUR, { cronsRun: false });
const configure = (app: App, fields: object) => app.post("/user/messenger", { userId: ALICE, ...fields });

describe("POST /user/messenger", () => {
  test("updates either field alone, takes the aliases, and clears with an empty one", async ({ app }) => {
    expect((await configure(app, { telegramBotToken: OWN_BOT })).body).toEqual({ success: true });
    await configure(app, { telegramChatId: -100123 });
    const [config] = await app.rows("messengerConfigs");
    expect(config).toMatchObject({
      userId: ALICE,
      chatId: "-100123",
      sealedBotToken: expect.stringMatching(/^v1\./),
    });
    expect(JSON.stringify(config)).not.toContain(OWN_BOT.slice(7));
    await configure(app, { messengerBotToken: "" });
    const [cleared] = await app.rows("messengerConfigs");
    expect(cleared).not.toHaveProperty("sealedBotToken");
    expect(cleared?.chatId).toBe("-100123");
    await configure(app, { messengerChatId: "@my_channel" });
    expect((await app.rows("messengerConfigs"))[0]?.chatId).toBe("@my_channel");
    const holding = await app.rows("messengerConfigs");
    expect(holding).toHaveLength(1);
  });
});

describe("a card whose asker cannot be told", () => {
  test("is sent once all the same", async ({ app }) => {
    await app.t.run(async (ctx) => {
      // Takes other arguments, and so fails when it is told.
      const handle = await createFunctionHandle(internal.messenger.linking.end);
      const onSettled = { handle, subject: "none" };
      await enqueueCard(ctx, {
        userId: ALICE,
        chatId: "7",
        kind: "a card",
        paragraphs: [["Hello"]],
        onSettled,
      });
    });
    await arrived(app, 1);
    await app.pass(10 * MINUTE);
    expect(app.cards().map(({ text }) => text)).toEqual([expect.stringMatching(/\n\nHello$/)]);
    expect((await app.rows("messages")).map(({ state }) => state)).toEqual(["sent"]);
  });
});

describe("rotating the encryption key", () => {
  test("seals bot tokens anew, and they go on working", async ({ app }) => {
    await configure(app, { messengerBotToken: OWN_BOT, messengerChatId: "11" });
    await app.post("/user/messenger", { userId: "bob", messengerChatId: "12" });
    const [before] = await app.rows("messengerConfigs");
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    const rotate = () => app.during(app.t.action(internal.messenger.actions.rotate, {}));
    expect(await rotate()).toEqual({ rotated: 1, failed: [] });
    expect(await rotate()).toEqual({ rotated: 0, failed: [] });
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "");
    const [after] = await app.rows("messengerConfigs");
    expect(after?.sealedBotToken).not.toBe(before?.sealedBotToken);
    await start(app);
    await arrived(app, 1);
    expect(app.cards().map(({ botToken }) => botToken)).toEqual([OWN_BOT]);
  });

  test("leaves a token that does not open as it is, and seals all others anew", async ({ app }) => {
    for (const userId of ["alice", "bob", "carol"]) {
      await app.post("/user/messenger", { userId, messengerBotToken: OWN_BOT });
    }
    const damaged = (await app.rows("messengerConfigs")).find(({ userId }) => userId === "bob");
    if (damaged?.sealedBotToken === undefined) throw new Error("There is a token");
    const sealedBotToken = damaged.sealedBotToken.replace(/.$/, (last) => (last === "A" ? "Q" : "A"));
    await app.t.run((ctx) => ctx.db.patch("messengerConfigs", damaged._id, { sealedBotToken }));
    vi.stubEnv("WALLET_ENCRYPTION_KEY_PREVIOUS", "ab".repeat(32));
    vi.stubEnv("WALLET_ENCRYPTION_KEY", "cd".repeat(32));
    const rotate = () => app.during(app.t.action(internal.messenger.actions.rotate, {}));
    expect(await rotate()).toEqual({ rotated: 2, failed: ["bob"] });
    expect(await rotate()).toEqual({ rotated: 0, failed: ["bob"] });
    expect(await app.row("messengerConfigs", damaged._id)).toMatchObject({ sealedBotToken });
  });
});

describe("where a card goes", () => {
  test.for([
    ["nothing configured by the user: the default bot and chat", {}, {}, ["default", "424242"]],
    ["the user's chat with the default bot", { messengerChatId: "11" }, {}, ["default", "11"]],
    [
      "the shift's chat before the user's",
      { messengerChatId: "11" },
      { messengerChatId: "22" },
      ["default", "22"],
    ],
    ["the user's own bot", { messengerBotToken: OWN_BOT, messengerChatId: "11" }, {}, ["own", "11"]],
  ] as const)("%s", async ([_name, config, shift, [bot, chatId]], { app }) => {
    if (Object.keys(config).length > 0) await configure(app, config);
    await start(app, shift);
    await arrived(app, 1);
    const [card] = app.cards();
    expect([card?.botToken === OWN_BOT ? "own" : "default", card?.chatId]).toEqual([bot, chatId]);
  });

  test.each([
    [
      "the user's own bot never writes into the default chat",
      { messengerBotToken: OWN_BOT },
      {},
      "No chat is configured: set messengerChatId",
    ],
    [
      "without any bot there is nothing to do",
      {},
      { MESSENGER_BOT_TOKEN: "" },
      "No bot is configured: set messengerBotToken and messengerChatId",
    ],
    ["without any chat neither", {}, { MESSENGER_CHAT_ID: "" }, "No chat is configured: set messengerChatId"],
  ] as const)("%s", async (_name, config, env, error) => {
    const app = createApp({ env });
    if (Object.keys(config).length > 0) await configure(app, config);
    await start(app);
    await app.settle();
    expect(app.cards()).toEqual([]);
    expect(await app.rows("messages")).toMatchObject([{ state: "skipped", error }]);
  });
});

describe("a messenger that fails", () => {
  test("with 403 is a permanent failure, on its row and on the report", async ({ app }) => {
    app.standins.fail("messenger", {
      mode: "status",
      status: 403,
      body: { ok: false, error_code: 403, description: "Forbidden: bot was blocked by the user" },
    });
    await start(app);
    await nearReport(app);
    await app.pass(15 * MINUTE);
    const messages = await app.rows("messages");
    for (const message of messages) {
      expect(message).toMatchObject({
        state: "failed",
        error: "Forbidden: bot was blocked by the user",
      });
    }
    expect(messages.map(({ postponements }) => postponements)).toEqual(messages.map(() => 0));
    const deliveryProblem = "Forbidden: bot was blocked by the user";
    expect(await app.rows("reports")).toMatchObject([{ messengerSent: false, deliveryProblem }]);
  });

  test("with 429 is tried again when it says, not before", async ({ app }) => {
    app.standins.fail("messenger", { mode: "status", status: 429, retryAfter: 400, times: 1 });
    await start(app);
    await app.pass(6 * MINUTE);
    expect(app.cards()).toEqual([]);
    await app.pass(2 * MINUTE);
    expect(app.cards()).toHaveLength(1);
    expect((await app.rows("messages"))[0]).toMatchObject({ state: "sent", postponements: 1 });
  });

  test("because the group moved is followed to its new id, for later cards too", async ({ app }) => {
    await configure(app, { messengerChatId: "-5" });
    app.standins.fail("messenger", {
      mode: "status",
      status: 400,
      times: 1,
      body: {
        ok: false,
        error_code: 400,
        description: "Bad Request: group chat was upgraded to a supergroup chat",
        parameters: { migrate_to_chat_id: -1005 },
      },
    });
    await start(app);
    await arrived(app, 1);
    expect(app.cards().map(({ chatId }) => chatId)).toEqual(["-1005"]);
    // Whoever set the old id means the new one, and a card for it goes there at once.
    await app.post("/mcp/research/start", { userId: ALICE, token: "SOL", messengerChatId: "-5" });
    await arrived(app, 2);
    expect(app.cards().map(({ chatId }) => chatId)).toEqual(["-1005", "-1005"]);
  });
});

describe("a card in several parts", () => {
  const paragraphs = Array.from({ length: 12 }, () => [`${"A&B <moved> sharply. ".repeat(40)}Then calm.`]);

  async function sent(app: App) {
    const card = { userId: ALICE, chatId: "7", bot: "default", kind: "a card", paragraphs } as const;
    await app.t.run((ctx) => enqueueCard(ctx, card));
    await app.pass(40 * MINUTE, { cronsRun: false });
    const [row] = await app.rows("messages");
    expect(row?.parts.length).toBeGreaterThan(2);
    expect(row?.state).toBe("sent");
    expect(app.cards().map(({ text }) => unmarked(text))).toEqual(row?.parts);
    return row;
  }

  test("is sent in order, every part within the limit", async ({ app }) => {
    await sent(app);
    for (const { text } of app.cards()) expect(text.length).toBeLessThanOrEqual(4_096);
  });

  test("cut off after its first part goes on with the second, and repeats none", async ({ app }) => {
    app.standins.fail("messenger", { mode: "slow", ms: 0, times: 1 });
    app.standins.fail("messenger", { mode: "slow", times: 1 });
    expect(await sent(app)).toMatchObject({ postponements: 1 });
  });
});
