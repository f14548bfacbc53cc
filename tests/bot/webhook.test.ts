import { describe, expect } from "vitest";
import type { App } from "../support/app";
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

const HELP = expect.stringContaining("Say what you want in your own words, or choose:");

test("without the webhook's secret an update is 401, and nothing happens; with none configured 500", async ({
  app,
}) => {
  const wrong = [
    null,
    "",
    "another-secret_of-tests",
    SECRET.slice(0, -1),
    `${SECRET}x`,
    SECRET.toUpperCase(),
  ];
  for (const secret of wrong) {
    const { status, body } = await deliver(app, updateOf("/help"), secret);
    expect([secret, status, body]).toEqual([
      secret,
      401,
      { error: "The webhook's secret token is missing or wrong: register the webhook again" },
    ]);
  }
  await app.settle();
  expect([app.cards(), await app.rows("botUpdates")]).toEqual([[], []]);
  const unset = createBotApp({ env: { MESSENGER_WEBHOOK_SECRET: "" } });
  for (const secret of [SECRET, "", null])
    expect(await deliver(unset, "no update", secret)).toMatchObject({
      status: 500,
      body: { error: "MESSENGER_WEBHOOK_SECRET is not configured" },
    });
});

/** What asks the bot for nothing. */
const SILENT: readonly object[] = [
  { edited_message: updateOf("/help").message },
  { channel_post: { message_id: 1 } },
  { my_chat_member: { new_chat_member: { status: "kicked" } } },
  { callback_query: { id: "1", data: "help" } },
  {},
  { message: { text: ["/help"], chat: "me" } },
  { message: { text: "/help", chat: { id: 1, type: "private" } } },
  { message: { text: "/help", chat: { id: 9, type: "private" }, from: { id: 9, is_bot: true } } },
  { message: { text: "/help", chat: { id: -9, type: "channel" }, from: { id: 9, is_bot: false } } },
];

describe("an update", () => {
  test("is answered with 200 at once, and once however often it comes", async ({ app }) => {
    const update = updateOf("/help");
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(app, update)));
    expect(answers.map(({ status, body }) => [status, body])).toEqual(answers.map(() => [200, {}]));
    await app.pass(60_000, { cronsRun: false });
    await deliver(app, update);
    await arrived(app, 1);
    expect(app.cards().map(({ chatId, text }) => [chatId, text])).toEqual([[String(ALICE), HELP]]);
  });

  test("of another kind is 200 and ignored, and one that is none is 400", async ({ app }) => {
    for (const [index, update] of SILENT.entries()) {
      const { status, body } = await deliver(app, { update_id: index, ...update });
      expect([index, status, body]).toEqual([index, 200, {}]);
    }
    for (const [update, error] of [
      [{}, "update_id is required"],
      [{ update_id: "first" }, "update_id must be a whole number"],
      [{ update_id: -1 }, "update_id must not be negative"],
    ] as const)
      expect(await deliver(app, update)).toMatchObject({ status: 400, body: { error } });
    await app.settle();
    expect(app.cards()).toEqual([]);
    expect(await say(app, undefined)).toEqual([HELP]);
    expect(await say(app, "/constructor")).toEqual([
      expect.stringContaining("I do not know /\u2060constructor."),
    ]);
  });

  test("in a flood is answered up to the limit, told once, then ignored; others are answered", async ({
    app,
  }) => {
    for (let i = 0; i < 40; i++) await deliver(app, updateOf("/help"));
    await deliver(app, updateOf("/help", { from: 77 }));
    await arrived(app, 22);
    const sent = (chatId: number) =>
      app.cards().flatMap((card) => (card.chatId === String(chatId) ? [card.text] : []));
    expect(
      sent(ALICE).filter((text) => text.startsWith("That was more than 20 messages in a minute")),
    ).toHaveLength(1);
    expect(sent(ALICE).length).toBeGreaterThanOrEqual(21);
    expect(sent(ALICE).length).toBeLessThan(30);
    expect(sent(77)).toEqual([HELP]);
    await app.pass(2 * 60_000, { cronsRun: false });
    expect(await say(app, "/help")).toEqual([HELP]);
  });
});

describe("in a group", () => {
  const inGroup = { chat: GROUP };
  const silent = { ...inGroup, answers: 0 };
  const texts = (app: App) => JSON.stringify(app.cards().filter(({ chatId }) => chatId === String(GROUP)));

  test("what does not name the bot is left alone, and so is what names another", async ({ app }) => {
    for (const text of [
      "hello",
      "/portfolio",
      "/help@another_bot",
      `hey @${BOT_NAME}`,
      "@another_bot how is ETH?",
    ])
      expect([text, await say(app, text, silent)]).toEqual([text, []]);
    expect(await underWay(app)).toEqual([]);
  });

  test("a command that anybody may give is answered there, and so is what names the bot", async ({ app }) => {
    expect(await say(app, "/help", inGroup)).toEqual([HELP]);
    expect(await say(app, `/help@${BOT_NAME.toUpperCase()}`, inGroup)).toEqual([HELP]);
    expect((await say(app, `@${BOT_NAME} how is ETH?`, inGroup))[0]).toContain("how is ETH?");
    expect(new Set(app.cards().map(({ chatId }) => chatId))).toEqual(new Set([String(GROUP)]));
    expect(new Set((await app.rows("messages")).map(({ userId }) => userId))).toEqual(new Set([""]));
    const other = createBotApp({ env: { MESSENGER_BOT_TOKEN: "999999:AAE-another" } });
    expect(await say(other, `/help@${BOT_NAME}`, silent)).toEqual([]);
    expect(await say(other, "/help@simulated_999999_bot", inGroup)).toEqual([HELP]);
  });

  test("a button for the private chat leads there and leaves the card, which nobody's tap changes", async () => {
    const app = createBotApp({ env: { MESSENGER_BOT_NAME: BOT_NAME } });
    await say(app, "/price BTC", inGroup);
    const shown = app.cards();
    const [above, below, again] = shown.at(-1)?.keyboard?.flat() ?? [];
    expect([below?.url, again?.callback_data]).toEqual([expect.stringContaining("?start=do_"), "price BTC"]);
    const [, payload = ""] =
      /^https:\/\/t\.me\/simulated_123456_bot\?start=(do_[\w-]{1,61})$/.exec(above?.url ?? "") ?? [];
    const [proposed = ""] = await say(app, `/start ${payload}`);
    expect(proposed).toMatch(/❔ BTC above \$[\d,]+<\/b>[^]*until you tap Set/);
    // What a stranger puts into such a link orders, sends and freezes nothing.
    for (const command of ["freeze", "swap 5 USDC to ETH", "unlink", "alerts\u0000"])
      expect((await say(app, `/start do_${btoa(command).replace(/=+$/, "")}`))[0]).toContain("Welcome!");
    // A card from before, and a tap that was made up.
    const before = app.cards().length;
    for (const [at, data] of ["alert BTC above 105,000", "portfolio", "freeze"].entries()) {
      const { update_id: id, message } = updateOf("a tap", { from: 8 });
      const card = { message_id: 5, text: "as it stands", chat: { id: GROUP, type: "supergroup" } };
      const query = { id: `q${at}`, from: message.from, message: card, chat_instance: "1", data };
      const { body } = await deliver(app, { update_id: id, callback_query: query });
      expect(body).toMatchObject({
        url: expect.stringMatching(/^https:\/\/t\.me\/simulated_123456_bot\?start=(?:do_|help)/),
      });
    }
    await app.settle(20);
    expect(app.cards().length).toBe(before);
  });

  test("nothing of a user's own is told, and no code is taken", async ({ app }) => {
    const { userId, walletAddress } = await linkedUser(app, "alice");
    await app.post("/mcp/research/start", { userId, token: "BTC" }, { as: "alice" });
    await arrived(app, 1);
    for (const [command, argument = ""] of [["portfolio"], ["status"], ["stop"], ["connect", "ABCDEFGH"]])
      expect([command, await say(app, `/${command}@${BOT_NAME} ${argument}`, inGroup)]).toEqual([
        command,
        [expect.stringContaining("I answer that in a private chat only")],
      ]);
    expect((await app.rows("shifts")).map(({ status }) => status)).toEqual(["active"]);
    await say(app, `/ask@${BOT_NAME} How is my research?`, inGroup);
    const asked = JSON.stringify(app.standins.sent("llm").at(-1)?.body);
    expect(asked).toContain("How is my research?");
    expect(asked).not.toContain("this user's research");
    expect(texts(app)).not.toContain(walletAddress);
  });
});
