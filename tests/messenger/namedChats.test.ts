import { describe, expect } from "vitest";
import { enqueueServiceCard } from "../../convex/messenger/model";
import { confirm, linkedUser } from "../bot/support";
import { test } from "../support/app";
import { withoutListings } from "./support";

/** What the bot says in chats that somebody has merely named: anybody can name anybody's. */

const MARK = /^✉️ This chat was named for an account of this service/;
const VICTIM = "4711";
const OWN_BOT = "777777:AAOwnBotOwnBotOwnBotOwnBotOwnBot";

describe("a card for a chat that somebody named", () => {
  test("is marked, and no symbol in it becomes a link", async ({ app }) => {
    withoutListings(app);
    const order = { userId: "a-stranger-nobody-knows", token: "CLAIM-BASE.XYZ", messengerChatId: VICTIM };
    expect((await app.post("/mcp/research/start", order)).status).toBe(200);
    await app.settle();
    const [card] = app.cards();
    expect(card).toMatchObject({ chatId: VICTIM, text: expect.stringMatching(MARK) });
    expect(card?.text).toContain("CLAIM-BASE.\u2060XYZ");
  });

  test("is marked by what holds when it is sent, not when it was ordered", async ({ app }) => {
    const userId = "a-stranger-nobody-knows";
    const settings = { userId, messengerBotToken: OWN_BOT, messengerChatId: VICTIM };
    await app.post("/user/messenger", settings);
    // The own bot is refused a try; by the next one the stranger has gone over to the default bot.
    app.standins.fail("messenger", { mode: "status", status: 429 });
    await app.post("/user/telegram/notify", { userId, message: "Your funds are at risk" });
    await app.post("/user/messenger", { userId, messengerBotToken: "" });
    app.standins.clear("messenger");
    await app.pass(10 * 60_000);
    const told = app.cards().filter(({ text }) => text.includes("Your funds"));
    expect(told.filter(({ botToken }) => botToken !== OWN_BOT)).toMatchObject([
      { chatId: VICTIM, text: expect.stringMatching(/^<b>✉️ Not from this service<\/b>\n.*\n\nYour funds/) },
    ]);
  });

  test("is unmarked by the user's own bot, and in a chat that has said it is theirs", async ({ app }) => {
    const own = { userId: "a-user-with-a-bot-of-her-own", messengerBotToken: OWN_BOT, messengerChatId: "7" };
    await app.post("/user/messenger", own);
    await app.post("/mcp/research/start", { userId: own.userId, token: "BTC" });
    const { userId } = await linkedUser(app, "alice", 42, { confirmed: false });
    await confirm(app, "42");
    await app.post("/mcp/research/start", { userId, token: "ETH" }, { as: "alice" });
    await app.settle();
    // Chats do not wait for each other.
    const marks = app.cards().map(({ chatId, text }) => [chatId, MARK.test(text)]);
    expect(marks.toSorted()).toEqual([
      ["42", false],
      ["7", false],
    ]);
  });
});

test.for([
  ["that somebody named", { messengerChatId: VICTIM }, "too many cards from people who named it"],
  ["of the service's own", {}, "too many cards from people who named it"],
] as const)(
  "a chat %s gets 60 such cards an hour, whoever orders them and from wherever; the service's own do not count",
  async ([_name, where, error], { app }) => {
    for (let n = 0; n < 70; n++) {
      const order = { userId: `one-of-many-strangers-${n}`, token: "BTC", ...where };
      expect((await app.post("/mcp/research/start", order, { ip: `198.51.100.${n}` })).status).toBe(200);
    }
    await app.settle(400);
    await app.t.run((ctx) => enqueueServiceCard(ctx, { kind: "whales", paragraphs: [["All is quiet."]] }));
    await app.settle(400);
    expect(app.cards().filter(({ text }) => text.includes("Research shift started"))).toHaveLength(60);
    expect(app.cards().at(-1)?.text).toBe("All is quiet.");
    const skipped = (await app.rows("messages")).filter(({ state }) => state === "skipped");
    expect(skipped).toHaveLength(10);
    expect(skipped[0]?.error).toContain(error);
  },
);
