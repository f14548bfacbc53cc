import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { parseCommand } from "../../convex/bot/commands";
import {
  ALICE,
  arrived,
  BOT_NAME,
  createBotApp,
  deliver,
  GROUP,
  linkedUser,
  say,
  test,
  told,
  underWay,
  updateOf,
} from "../bot/support";
import type { App } from "../support/app";
import { hang, intercept, type Outgoing } from "../support/outside";

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
    expect(await say(app, undefined)).toEqual([expect.stringContaining("I can't hear voice messages")]);
    expect(await say(app, undefined, { answers: 0 })).toEqual([]);
  });
});

describe("thousands with a point (W60: pricebuddy #173)", () => {
  test.for(["/alert BTC above 120.000", "BTC above 120.000"])("%s is asked back", async (text, { app }) => {
    const [answer] = await say(app, text);
    expect(answer).toMatch(/^I read \$120\. Is that the level\?/);
    expect(
      app
        .cards()
        .at(-1)
        ?.keyboard?.map(([button]) => button?.text),
    ).toEqual(["BTC above $120,000", "BTC above $120"]);
    expect(await app.rows("alerts")).toEqual([]);
    expect(app.standins.sent("llm")).toEqual([]);
    // What a button says is read as it stands.
    expect((await say(app, "/alert BTC above 120"))[0]).toContain("BTC above $120");
  });

  test("is no question where the price has that size", async ({ app }) => {
    const sample = { token: "SOL", priceUsd: 149.5, source: "coinbase", observedAt: Date.now() } as const;
    await app.t.mutation(internal.market.samples.storeSample, sample);
    expect((await say(app, "/alert SOL above 150.250"))[0]).toContain("SOL above $150.25");
  });
});

describe("what is said to the bot in a group (W61: zeroclaw #5866, hermes-agent #55439)", () => {
  const group = { chat: GROUP };
  const named = (text: string, name = BOT_NAME) => ({
    entities: [{ type: "mention", offset: text.indexOf("@"), length: name.length + 1 }],
  });
  const from = (id: number, fields = {}) => ({
    reply_to_message: { message_id: 5, from: { id, is_bot: true, username: BOT_NAME }, ...fields },
  });

  test.for([
    ["hey @BOT, how is ETH?", "hey, how is ETH?"],
    ["👋 @BOT how is ETH?", "👋 how is ETH?"],
    ["how is ETH, @BOT?", "how is ETH,?"],
    ["@BOT how is ETH?", "how is ETH?"],
  ])("%s names it anywhere", async ([said = "", heard = ""], { app }) => {
    const text = said.replace("BOT", BOT_NAME);
    expect(await told(app, written(text, named(text), group))).toHaveLength(1);
    expect(JSON.stringify(app.standins.sent("llm").at(-1)?.body)).toContain(heard);
  });

  test("is a reply to its own message, and no reply to another's, or in a topic that it has opened", async ({
    app,
  }) => {
    expect(await told(app, written("how is ETH?", from(123_456), group))).toHaveLength(1);
    for (const fields of [from(99), from(123_456, { forum_topic_created: { name: "T" } })])
      expect(await told(app, written("how is ETH?", fields, group), 0)).toEqual([]);
    const person = "@alice how is ETH?";
    expect(await told(app, written(`so ${person}`, named(`so ${person}`, "alice"), group), 0)).toEqual([]);
    const other = "hey @another_bot how is ETH?";
    expect(await told(app, written(other, named(other, "another_bot"), group), 0)).toEqual([]);
    expect(await underWay(app)).toEqual([]);
  });
});

test("a campaign's word in a link to the bot is a welcome, and no guess (W62: worldmonitor #2584)", async ({
  app,
}) => {
  for (const word of ["ref_abc123", "utm-spring-2026", "x"])
    expect([word, await say(app, `/start ${word}`)]).toEqual([word, [expect.stringContaining("Welcome!")]]);
  expect((await say(app, "/start K7QM2XWD"))[0]).toContain("This code is unknown");
});

test("an album with one caption is one question, and one without any says nothing (W63: pyTelegramBotAPI #1581)", async ({
  app,
}) => {
  const part = { sticker: undefined, photo: [{ file_id: "x" }], media_group_id: "13" };
  await deliver(app, written(undefined, { ...part, caption: "/price BTC" }));
  for (let n = 0; n < 3; n++) await deliver(app, written(undefined, part));
  await arrived(app, 1);
  expect(app.cards().map(({ text }) => text)).toEqual([expect.stringContaining("BTC $")]);
});

test("an answer does not wait for the messenger to show that the bot is typing (W64: agent-afk #352)", async ({
  app,
}) => {
  const typing: Outgoing[] = [];
  intercept((call, pass) => {
    if (!call.url.endsWith("/sendChatAction")) return pass();
    typing.push(call);
    return hang(call);
  });
  const before = Date.now();
  await deliver(app, updateOf("/price BTC"));
  await arrived(app, 1);
  expect(app.cards()).toHaveLength(1);
  expect(Date.now() - before).toBeLessThan(5_000);
  // The platform drops a call that outlives its action.
  expect(typing.map(({ signal }) => signal?.aborted)).toEqual([true]);
});

test("somebody who writes as their channel asks what anybody may, and binds nothing; the channel's own posts are none (W65)", async ({
  app,
}) => {
  const channel = {
    from: { id: 136_817_688, is_bot: true, first_name: "Channel", username: "Channel_Bot" },
    sender_chat: { id: -100_555, type: "channel", title: "C" },
  };
  expect(await told(app, written("/price BTC", channel, { chat: GROUP }))).toHaveLength(1);
  expect((await told(app, written("/follow ETH", channel, { chat: GROUP }), 0)).join()).not.toContain(
    "follow",
  );
  const post = { ...channel, is_automatic_forward: true };
  expect(await told(app, written("/price BTC", post, { chat: GROUP }), 0)).toEqual([]);
});

describe("how people write symbols and amounts (W66: valora #3074)", () => {
  test.for(["/price BTC.", "/price “BTC”", "/price 'btc'!", "„BTC“", "«Bitcoin»?"])(
    "%s is Bitcoin's price",
    async (text, { app }) => {
      expect((await say(app, text))[0]).toContain("BTC $");
    },
  );

  test.for([
    ["/swap 0,5 ETH to USDC", "I cannot tell what 0,5 is: write 0.5."],
    ["swap 0,5 ETH to USDC", "I cannot tell what 0,5 is: write 0.5."],
    ["/swap 1,500 USDC to ETH", "I cannot tell what 1,500 is: write 1.500 or 1500."],
  ] as const)("%s is told how to write it", async ([text, answer], { app }) => {
    await linkedUser(app, "alice");
    expect(await say(app, text)).toEqual([expect.stringContaining(answer)]);
  });
});

test("a freeze is one in whatever letters it comes; other words that only look like it are none", () => {
  const freezes = [
    "/freeze",
    "/FREEZE",
    "/freeze\u200b",
    "/ｆｒｅｅｚｅ",
    "／freeze",
    "/fr\u0435\u0435ze",
    "/\u2060freeze",
  ];
  for (const text of [...freezes, "/freez", "/freeeze", "/frezze", "/freeze now", "/freeze@some_bot"])
    expect([text, parseCommand(text)?.name]).toEqual([text, "freeze"]);
  for (const text of ["/free", "/unfreeze", "/привет", "/frozen", "/freezer", "/ezezeze"])
    expect([text, parseCommand(text)?.name]).not.toEqual([text, "freeze"]);
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

test.for([
  [
    400,
    { error: { code: "content_filter", message: "The prompt was filtered" } },
    /^The model declined to answer this question: ask it in other words/,
  ],
  [
    403,
    { error: { message: "Your input was flagged by moderation" } },
    /^The model declined to answer this question: ask it in other words/,
  ],
  [
    400,
    { error: { message: "This model's maximum context length is 8192 tokens" } },
    /^The question, with its earlier turns, is longer than the model can read: ask a shorter one/,
  ],
] as const)(
  "a question that its model refuses with %s is told so in words, and the next one is answered",
  async ([status, body, words], { app }) => {
    app.standins.fail("llm", { mode: "status", status, body, schema: "chat" });
    expect(await say(app, "What will happen to the market next week, in all detail?")).toEqual([
      expect.stringMatching(words),
    ]);
    app.standins.clear();
    expect((await say(app, "And what of ETH this week, briefly?"))[0]).not.toMatch(
      /declined|longer than|wait/,
    );
  },
);
