import { describe, expect, test } from "vitest";
import { createStandins } from "../../scripts/standins/index";
import { parseHtml } from "../../scripts/standins/messenger/html";
import { get, post, standinsAt, START } from "./support";

const TOKEN = "123456:AAE-simulated";
const path = (method: string, token = TOKEN) => `/messenger/bot${token}/${method}`;

describe("HTML", () => {
  test.each([
    ["<b>a</b> &lt;i&gt; &amp; &quot;&#65;&#x42;", 'a <i> & "AB'],
    ['<a href="https://example.com/?a=1&amp;b=2">x</a>', "x"],
    ["<pre><code class='language-ts'>1 > 0</code></pre>", "1 > 0"],
    ['<span class="tg-spoiler"><tg-spoiler>s</tg-spoiler></span>', "s"],
    ["<blockquote expandable>q</blockquote>", "q"],
    ["<B>a</b></>", null],
    ["A&B &nosuch; &constructor; &#0;", "A&B &nosuch; &constructor; &#0;"],
    ["🟢 <b>ü</b>", "🟢 ü"],
  ])("%s", (source, text) => {
    const parsed = parseHtml(source);
    expect(parsed.ok ? parsed.text : null).toBe(text);
  });

  test.each([
    ["a<br>b", 'Unsupported start tag "br" at byte offset 1'],
    ["ü<h1>b</h1>", 'Unsupported start tag "h1" at byte offset 2'],
    ["1 < 2 ", 'Unsupported start tag "" at byte offset 2'],
    ["<b>x", 'Can\'t find end tag corresponding to start tag "b"'],
    ["x</b>", "Unexpected end tag at byte offset 1"],
    ["<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'],
    ["<b", "Unclosed start tag at byte offset 0"],
    ['<a href="x', 'Unclosed start tag "a" at byte offset 0'],
    ["<b>x</b y>", "Unclosed end tag at byte offset 4"],
    ["<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'],
  ])("rejects %s", (source, problem) => {
    const parsed = parseHtml(source);
    expect(parsed).toEqual({ ok: false, problem });
  });
});

describe("sendMessage", () => {
  const send = async (body: Record<string, unknown>) => {
    const standins = standinsAt();
    const response = await post(standins, path("sendMessage"), body);
    const answer: unknown = await response.json();
    return { status: response.status, body: answer, sent: standins.sent("messenger") };
  };

  test("sendMessage measures a message after its markup is read", async () => {
    const html = { chat_id: 42, parse_mode: "HTML" };
    expect((await send({ ...html, text: `<b>${"&lt;".repeat(4_096)}</b>` })).status).toBe(200);
    expect((await send({ ...html, text: "x".repeat(4_097) })).body).toMatchObject({
      description: "Bad Request: message is too long",
    });
  });

  test.each([
    [{ chat_id: 42, text: "" }, "Bad Request: message text is empty"],
    [{ chat_id: 42, text: "<b> </b>", parse_mode: "HTML" }, "Bad Request: message text is empty"],
    [{ text: "x" }, "Bad Request: chat_id is empty"],
    [{ chat_id: "nobody", text: "x" }, "Bad Request: chat not found"],
    [
      { chat_id: 42, text: "a<p>", parse_mode: "HTML" },
      `Bad Request: can't parse entities: Unsupported start tag "p" at byte offset 1`,
    ],
    [{ chat_id: 42, text: "x", parse_mode: "BBCode" }, "Bad Request: unsupported parse_mode"],
  ])("refuses %j", async (message, description) => {
    const { status, body, sent } = await send(message);
    expect(status).toBe(400);
    expect(body).toEqual({ ok: false, error_code: 400, description });
    expect(sent).toEqual([]);
  });
});

test("tokens, methods and webhooks", async () => {
  const standins = standinsAt();
  expect((await get(standins, path("getMe"))).status).toBe(200);
  expect((await get(standins, path("getMe", "no-token"))).status).toBe(401);
  expect((await get(standins, path("noSuchMethod"))).status).toBe(404);
  expect((await get(standins, "/messenger/getMe")).status).toBe(404);
  expect((await get(standins, `${path("sendMessage")}?chat_id=7&text=hi`)).status).toBe(200);
  expect((await post(standins, path("setWebhook"), { url: "http://plain.test" })).status).toBe(400);
  expect(
    (await post(standins, path("setWebhook"), { url: "https://x.test", secret_token: "s" })).status,
  ).toBe(200);
  expect(await (await get(standins, path("getWebhookInfo"))).json()).toMatchObject({
    result: { url: "https://x.test" },
  });
  await post(standins, path("deleteWebhook"), {});
  expect(await (await get(standins, path("getWebhookInfo"))).json()).toMatchObject({ result: { url: "" } });
  const commands = (command: string) => ({ commands: [{ command, description: "Says hello" }] });
  expect((await post(standins, path("setMyCommands"), commands("start"))).status).toBe(200);
  expect((await post(standins, path("setMyCommands"), commands("Not Good"))).status).toBe(400);
  expect(await (await get(standins, path("getMyCommands"))).json()).toMatchObject({
    result: commands("start").commands,
  });
});

describe("what a person says", () => {
  const listening = (status = 200) => {
    const updates: unknown[] = [];
    const standins = createStandins({
      seed: "tests",
      now: () => START,
      deliver: (update) => {
        updates.push(update);
        return Promise.resolve(new Response("{}", { status }));
      },
    });
    return { standins, updates };
  };
  const SAY = "/_control/messenger/say";

  test("becomes an update of the Bot API, with a new id each time", async () => {
    const { standins, updates } = listening();
    const said = await post(standins, SAY, { chatId: 42, text: "/connect ABC" });
    expect(await said.json()).toEqual({ ok: true, updateId: START, status: 200 });
    await post(standins, SAY, { chatId: "-100", text: "hi", from: { id: 7, username: "ann" } });
    expect(updates).toMatchObject([
      {
        update_id: START,
        message: {
          text: "/connect ABC",
          from: { id: 42, is_bot: false },
          chat: { id: 42, type: "private" },
          entities: [{ type: "bot_command", offset: 0, length: 8 }],
        },
      },
      {
        update_id: START + 1,
        message: { from: { id: 7, username: "ann" }, chat: { id: -100, type: "supergroup" } },
      },
    ]);
  });

  test("is told of with the webhook's status, or why it could not be said", async () => {
    const { standins } = listening(401);
    expect(await (await post(standins, SAY, { chatId: 1, text: "a" })).json()).toMatchObject({ status: 401 });
    for (const body of [{ chatId: 1 }, { chatId: "me", text: "a" }, { chatId: 1, text: "" }]) {
      expect((await post(standins, SAY, body)).status).toBe(400);
    }
    expect(await (await post(standinsAt(), SAY, { chatId: 1, text: "a" })).json()).toEqual({
      error: "the messenger stand-in has no webhook",
    });
  });
});
