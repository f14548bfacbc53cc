import { describe, expect } from "vitest";
import * as z from "zod";
import { ALICE, arrived, createBotApp, deliver, GROUP, say, test, told, updateOf } from "../bot/support";
import type { App } from "../support/app";
import { intercept } from "../support/outside";

/** How people and the messenger use a bot in the wild, as reported in public. */

const sentShape = z.looseObject({ chat_id: z.union([z.string(), z.number()]), text: z.string().optional() });

/** What the messenger is sent, in the bodies of its calls. */
function calls() {
  const sent: (z.output<typeof sentShape> & { method: string })[] = [];
  intercept(({ url, body }, pass) => {
    const [, method = ""] = /\/bot[^/]+\/(\w+)$/.exec(url) ?? [];
    if (method.startsWith("send") && method !== "sendPhoto")
      sent.push({ ...sentShape.parse(JSON.parse(body)), method });
    return pass();
  });
  return sent;
}

/** An update with a message whose fields are changed. */
function written(text: string | undefined, fields: object, where: { from?: number; chat?: number } = {}) {
  const update = updateOf(text, where);
  return { ...update, message: { ...update.message, ...fields } };
}

describe("a topic (W20: openclaw #78724, #19144, #17977; grok-app #623)", () => {
  const topic = { message_thread_id: 5, is_topic_message: true };

  test.for([
    ["a forum", GROUP],
    ["a private chat", ALICE],
  ] as const)(
    "of %s gets its answers, and shows there that the bot is working",
    async ([_name, chat], { app }) => {
      const sent = calls();
      expect(await told(app, written("/price BTC", topic, { chat }))).toHaveLength(1);
      expect(sent.map(({ method }) => method)).toContain("sendMessage");
      for (const one of sent) expect(one).toMatchObject({ message_thread_id: 5 });
    },
  );

  test("is no reply's thread: that answer goes to the chat", async ({ app }) => {
    const sent = calls();
    await told(app, written("/price BTC", { message_thread_id: 5 }, { chat: GROUP }));
    for (const one of sent) expect(one).not.toHaveProperty("message_thread_id");
  });

  test("that is gone is left out, once", async ({ app }) => {
    const refusal = { ok: false, error_code: 400, description: "Bad Request: message thread not found" };
    intercept(({ url, body }, pass) =>
      url.endsWith("/sendMessage") && body.includes("message_thread_id")
        ? Promise.resolve(Response.json(refusal, { status: 400 }))
        : pass(),
    );
    const sent = calls();
    expect(await told(app, written("/price BTC", topic, { chat: GROUP }))).toHaveLength(1);
    const messages = sent.filter(({ method }) => method === "sendMessage");
    expect(messages.map(({ message_thread_id: thread }) => thread)).toEqual([5, undefined]);
  });

  test("can be set for cards", async ({ app }) => {
    const sent = calls();
    const chat = { userId: "alice", messengerChatId: "-100777:5" };
    expect((await app.post("/user/messenger", chat)).status).toBe(200);
    await app.post("/mcp/research/start", { userId: "alice" });
    await arrived(app, 1);
    expect(sent[0]).toMatchObject({ chat_id: "-100777", message_thread_id: 5 });
  });
});

test("an anonymous admin asks what anybody may, and binds nothing (W21: Himmel #534)", async ({ app }) => {
  const anonymous = {
    from: { id: 1_087_968_824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" },
    sender_chat: { id: GROUP, type: "supergroup", title: "G" },
  };
  expect(await told(app, written("/price BTC", anonymous, { chat: GROUP }))).toHaveLength(1);
  const [refused] = await told(app, written("/follow ETH", anonymous, { chat: GROUP }), 0);
  expect(refused ?? "").not.toContain("following");
  expect(await app.rows("shifts")).toEqual([]);
});

test("a group that becomes a supergroup keeps its cards (W22: node-telegram-bot-api #1155)", async ({
  app,
}) => {
  await app.post("/user/messenger", { userId: "alice", messengerChatId: "-5" });
  await deliver(app, written(undefined, { sticker: undefined, migrate_to_chat_id: -1005 }, { chat: -5 }));
  await app.post("/mcp/research/start", { userId: "alice" });
  await arrived(app, 1);
  expect(app.cards().map(({ chatId }) => chatId)).toEqual(["-1005"]);
});

describe("what has no text (W23: autobot #123; grammY #686)", () => {
  test.each([
    ["pinned_message", { message_id: 1 }],
    ["message_auto_delete_timer_changed", { message_auto_delete_time: 86_400 }],
    ["forum_topic_created", { name: "T", icon_color: 1 }],
    ["new_chat_members", [{ id: 9, is_bot: false, first_name: "N" }]],
  ])("as the messenger's own %s is answered nothing", async (kind, value) => {
    const app = createBotApp();
    const service = written(undefined, { sticker: undefined, [kind]: value });
    expect(await told(app, service, 0)).toEqual([]);
  });

  test("has a caption, which is read as text", async ({ app }) => {
    const photo = { sticker: undefined, photo: [{ file_id: "x" }], caption: "/price BTC" };
    const [answer] = await told(app, written(undefined, photo));
    expect(answer).toContain("BTC");
    expect(answer).not.toContain("For everybody");
  });

  test("and no caption gets the help once an hour", async ({ app }) => {
    expect(await say(app, undefined)).toEqual([expect.stringContaining("For everybody")]);
    expect(await say(app, undefined, { answers: 0 })).toEqual([]);
  });
});

describe("a model's words in a chat (W6: nanobot #100; dsh-telegram #19, #33; ironclaw #7072)", () => {
  const answer = async (app: App, content: string) => {
    app.standins.fail("llm", { mode: "reply", content });
    return (await say(app, "How does a proof of stake work, in a few words?"))[0] ?? "";
  };

  test("are spans, and no marks", async ({ app }) => {
    const words =
      "## Stake\n\n**Validators** lock `ETH`.\n\n| Risk | Size |\n|---|---|\n| slashing | small |\n\n- [more](https://evil.example)";
    const said = await answer(app, words);
    expect(said).toContain("<b>Validators</b> lock <code>ETH</code>.");
    expect(said).toContain("slashing · small");
    expect(said).toContain("• more");
    expect(said).not.toMatch(/\*\*|##|\|---|evil\.example/);
  });

  test("that nobody can see are no answer: the person is told", async ({ app }) => {
    const said = await answer(app, "\u200b\u2060\u00ad");
    expect(said).toMatch(/\w{4,}/);
  });
});
