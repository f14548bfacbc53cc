import { describe, expect } from "vitest";
import {
  ALICE,
  arrived,
  BOT_NAME,
  createBotApp,
  deliver,
  GROUP,
  linkedUser,
  say,
  SECRET,
  updateOf,
  test,
  underWay,
} from "./support";

const HOUR = 3_600_000;
const HELP = expect.stringContaining("/help: What I can do");

describe("the webhook's secret", () => {
  test.for([
    ["absent", null],
    ["empty", ""],
    ["wrong", "another-secret_of-tests"],
    ["cut short", SECRET.slice(0, -1)],
    ["too long", `${SECRET}x`],
    ["in another case", SECRET.toUpperCase()],
  ])("%s is 401, and nothing happens", async ([_name, secret], { app }) => {
    expect(await deliver(app, updateOf("/help"), secret)).toMatchObject({
      status: 401,
      body: { error: "The webhook's secret token is missing or wrong" },
    });
    await app.settle();
    expect(app.cards()).toEqual([]);
    expect(await app.rows("botUpdates")).toEqual([]);
  });

  test("not configured is 500, before anything else is looked at", async () => {
    const app = createBotApp({ env: { MESSENGER_WEBHOOK_SECRET: "" } });
    for (const secret of [SECRET, "", null]) {
      expect(await deliver(app, "no update", secret)).toMatchObject({
        status: 500,
        body: { error: "MESSENGER_WEBHOOK_SECRET is not configured" },
      });
    }
  });
});

describe("an update", () => {
  test("is answered with 200 at once, and once however often it comes", async ({ app }) => {
    const update = updateOf("/help");
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(app, update)));
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, {}]));
    await app.pass(HOUR);
    await deliver(app, update);
    await arrived(app, 1);
    expect(app.cards().map(({ chatId, text }) => [chatId, text])).toEqual([[String(ALICE), HELP]]);
  });

  test.for([
    ["an edited message", { update_id: 1, edited_message: updateOf("/help").message }],
    ["a channel's post", { update_id: 2, channel_post: { message_id: 1 } }],
    ["being blocked", { update_id: 3, my_chat_member: { new_chat_member: { status: "kicked" } } }],
    ["a tap of nobody's", { update_id: 4, callback_query: { id: "1", data: "help" } }],
    ["nothing", { update_id: 5 }],
    ["a message of no known form", { update_id: 6, message: { text: ["/help"], chat: "me" } }],
    [
      "a message without a sender",
      { update_id: 7, message: { text: "/help", chat: { id: 1, type: "private" } } },
    ],
    [
      "a bot's message",
      {
        update_id: 8,
        message: { text: "/help", chat: { id: 9, type: "private" }, from: { id: 9, is_bot: true } },
      },
    ],
    [
      "a message in a channel",
      {
        update_id: 9,
        message: { text: "/help", chat: { id: -9, type: "channel" }, from: { id: 9, is_bot: false } },
      },
    ],
  ])("of another kind is 200 and ignored: %s", async ([_name, update], { app }) => {
    const { status, body } = await deliver(app, update);
    expect([status, body]).toEqual([200, {}]);
    await app.settle();
    expect(app.cards()).toEqual([]);
  });

  test.for([
    [{}, "update_id is required"],
    [{ update_id: "1" }, "update_id must be a whole number"],
    [{ update_id: -1 }, "update_id must not be negative"],
  ])("that is none is 400: %j", async ([update, error], { app }) => {
    expect(await deliver(app, update)).toMatchObject({ status: 400, body: { error } });
  });

  test("with a picture, or an unknown command, gets help", async ({ app }) => {
    expect(await say(app, undefined)).toEqual([HELP]);
    expect(await say(app, "/constructor")).toEqual([
      expect.stringContaining("I do not know /\u2060constructor."),
    ]);
  });
});

describe("a flood", () => {
  test("is answered up to the limit, told once, then ignored; others are answered", async ({ app }) => {
    for (let i = 0; i < 60; i++) await deliver(app, updateOf("/help"));
    expect((await deliver(app, updateOf("/help", { from: 77 }))).status).toBe(200);
    await arrived(app, 22);
    const sent = (chatId: number) =>
      app.cards().flatMap((card) => (card.chatId === String(chatId) ? [card.text] : []));
    const told = sent(ALICE).filter((text) => text.startsWith("That was a lot at once."));
    expect(told).toHaveLength(1);
    expect(sent(ALICE).length).toBeGreaterThanOrEqual(21);
    expect(sent(ALICE).length).toBeLessThan(30);
    expect(sent(77)).toEqual([HELP]);
    expect(await app.rows("botUpdates")).toHaveLength(61);

    await app.pass(2 * 60_000, { cronsRun: false });
    expect(await say(app, "/help")).toEqual([HELP]);
  });
});

describe("in a group", () => {
  const inGroup = { chat: GROUP };
  const silent = { ...inGroup, answers: 0 };

  test("what does not name the bot is left alone, and so is what names another", async ({ app }) => {
    for (const text of ["hello", "/portfolio", "/ban", "/help@another_bot", `hey @${BOT_NAME}`]) {
      expect([text, await say(app, text, silent)]).toEqual([text, []]);
    }
    expect(await underWay(app)).toEqual([]);
  });

  test("a command that anybody may give is answered there, and so is one that names the bot", async ({
    app,
  }) => {
    expect(await say(app, "/help", inGroup)).toEqual([HELP]);
    expect(await say(app, `/help@${BOT_NAME.toUpperCase()}`, inGroup)).toEqual([HELP]);
    expect(new Set(app.cards().map(({ chatId }) => chatId))).toEqual(new Set([String(GROUP)]));
    expect((await app.rows("messages")).map(({ userId }) => userId)).toEqual(["", ""]);
  });

  test("nothing of a user's own is told, and no code is taken", async ({ app }) => {
    const { userId, walletAddress } = await linkedUser(app, "alice");
    await app.post("/mcp/research/start", { userId, token: "BTC" }, { as: "alice" });
    await arrived(app, 1);
    for (const command of ["portfolio", "status", "stop", "connect ABCDEFGH"]) {
      const [name = "", argument = ""] = command.split(" ");
      const answers = await say(app, `/${name}@${BOT_NAME} ${argument}`, inGroup);
      expect([command, answers]).toEqual([
        command,
        [expect.stringContaining("I answer that in a private chat only")],
      ]);
    }
    expect((await app.rows("shifts")).map(({ status }) => status)).toEqual(["active"]);
    await say(app, `/ask@${BOT_NAME} How is my research?`, { ...inGroup });
    const asked = JSON.stringify(app.standins.sent("llm").at(-1)?.body);
    expect(asked).toContain("How is my research?");
    expect(asked).not.toContain("this user's research");
    expect(JSON.stringify(app.cards().filter(({ chatId }) => chatId === String(GROUP)))).not.toContain(
      walletAddress,
    );
  });

  test("the bot's name is the one of its token", async () => {
    const app = createBotApp({ env: { MESSENGER_BOT_TOKEN: "999999:AAE-another" } });
    expect(await say(app, `/help@${BOT_NAME}`, silent)).toEqual([]);
    expect(await say(app, "/help@simulated_999999_bot", inGroup)).toEqual([HELP]);
  });
});
