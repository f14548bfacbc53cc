import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createStandins } from "../../scripts/standins/index";
import { renderHtml } from "../../scripts/standins/messengerForms";
import { BASE, post, standinsAt, START } from "./support";

/** The messenger's stand-in, as the Bot API's documents tell it. */

const path = (method: string, token = "123456:AAE-simulated") => `/messenger/bot${token}/${method}`;
const answerShape = z.object({ ok: z.boolean(), description: z.string().optional() });

function messenger() {
  const updates: unknown[] = [];
  let reply: unknown = {};
  const standins = createStandins({
    seed: "tests",
    now: () => START,
    deliver: (update) => {
      updates.push(update);
      return Promise.resolve(Response.json(reply));
    },
  });
  const told = async (answer: Promise<Response>) => {
    const response = await answer;
    const { ok, description } = answerShape.parse(await response.json());
    return ok ? response.status : description;
  };
  const button = (button: object) => ({
    chat_id: 42,
    text: "x",
    reply_markup: { inline_keyboard: [[button]] },
  });
  return {
    ...{ standins, updates, button },
    replyWith: (body: unknown) => void (reply = body),
    ask: (method: string, body: object) => told(post(standins, path(method), body)),
    photo: (png: Uint8Array<ArrayBuffer> | string, fields: Record<string, string> = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries({ chat_id: "42", ...fields })) form.set(name, value);
      form.set("photo", typeof png === "string" ? png : new Blob([png]));
      return told(
        standins.handle(new Request(`${BASE}${path("sendPhoto")}`, { method: "POST", body: form })),
      );
    },
    control: async (what: "say" | "tap", body: object) =>
      (await post(standins, `/_control/messenger/${what}`, body)).status,
  };
}

test("HTML is read as the Bot API reads it", () => {
  for (const [source, text] of [
    ["<b>a</b> &lt;i&gt; &amp; &quot;&#65;&#x42;", 'a <i> & "AB'],
    ['<a href="https://example.com/?a=1&amp;b=2">x</a>', "x"],
    ["A&B &nosuch; &constructor; &#0;", "A&B &nosuch; &constructor; &#0;"],
  ] as const)
    expect(renderHtml(source)).toBe(text);
  for (const [source, problem] of [
    ["a<br>b", 'Unsupported start tag "br"'],
    ["1 < 2 ", 'Unsupported start tag ""'],
    ["<b>x", 'Can\'t find end tag corresponding to start tag "b"'],
    ["x</b>", "Unexpected end tag"],
    ["<b><i>x</b></i>", "Unmatched end tag"],
    ['<a href="x', 'Unclosed start tag "a"'],
  ] as const)
    expect(() => renderHtml(source)).toThrow(`can't parse entities: ${problem}`);
});

test("sendMessage refuses what the documents refuse; a message is measured after its markup is read", async () => {
  const { ask, button, standins } = messenger();
  for (const [message, description] of [
    [button({ text: "A", callback_data: "ä".repeat(33) }), "BUTTON_DATA_INVALID"],
    [button({ text: "A" }), "text buttons are unallowed in the inline keyboard"],
    [
      button({ text: "A", url: "http://localhost" }),
      "inline keyboard button URL 'http://localhost' is invalid: Wrong HTTP URL",
    ],
    [{ chat_id: 42, text: "<b> </b>", parse_mode: "HTML" }, "message text is empty"],
    [{ text: "x" }, "chat_id is empty"],
    [{ chat_id: "nobody", text: "x" }, "chat not found"],
    [{ chat_id: 42, text: "x", parse_mode: "BBCode" }, "unsupported parse_mode"],
    [{ chat_id: 42, text: "x".repeat(4_097) }, "message is too long"],
  ] as const)
    expect(await ask("sendMessage", message)).toBe(`Bad Request: ${description}`);
  expect(standins.sent("messenger")).toEqual([]);
  const html = { chat_id: 42, parse_mode: "HTML", text: `<b>${"&lt;".repeat(4_096)}</b>` };
  expect(await ask("sendMessage", html)).toBe(200);
});

/** The beginning of a PNG of this size. */
function png(width: number, height: number, size = 100): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

test("sendPhoto takes an uploaded picture and its caption, and refuses what the documents refuse", async () => {
  const { photo, standins } = messenger();
  const caption = `<b>${"&lt;".repeat(1_024)}</b>`;
  expect(await photo(png(1_000, 500), { caption, parse_mode: "HTML" })).toBe(200);
  expect(standins.sent("messenger")).toMatchObject([
    { method: "sendPhoto", chatId: "42", messageId: 1, photo: { width: 1_000, height: 500, bytes: 100 } },
  ]);
  for (const [given, fields, description] of [
    [png(1_000, 500), { caption: "x".repeat(1_025) }, "Bad Request: message caption is too long"],
    [png(6_000, 5_000), {}, "Bad Request: PHOTO_INVALID_DIMENSIONS"],
    [new TextEncoder().encode("no picture, whatever it says"), {}, "Bad Request: IMAGE_PROCESS_FAILED"],
    ["a-stored-file", {}, "Bad Request: wrong remote file identifier specified"],
  ] as const)
    expect(await photo(given, fields)).toBe(description);
});

describe("buttons", () => {
  test("are tapped by their words, with the mark before them or without it, but not without a sign", async () => {
    const { ask, button, control, updates } = messenger();
    const texts = ["✅ Approve", "⚠️ Set", "−1 %"];
    for (const text of texts) await ask("sendMessage", button({ text, callback_data: text }));
    for (const words of ["Approve", "✅ Approve", "Set", "-1 %"])
      expect(await control("tap", { chatId: 42, button: words })).toBe(200);
    expect(await control("tap", { chatId: 42, button: "1 %" })).toBe(400);
    const [approve, set, less] = texts;
    expect(updates).toMatchObject(
      [approve, approve, set, less].map((data) => ({ callback_query: { data } })),
    );
  });

  test("are answered once, and the webhook's answer is carried out", async () => {
    const { ask, button, control, updates, replyWith, standins } = messenger();
    await ask("sendMessage", button({ text: "A", callback_data: "signals BTC" }));
    replyWith({ method: "sendChatAction", chat_id: 42, action: "typing" });
    expect(await control("tap", { chatId: 42, button: "A" })).toBe(200);
    expect(standins.sent("messenger").map(({ method }) => method)).toEqual(["sendMessage", "sendChatAction"]);
    const query = z.object({ callback_query: z.object({ id: z.string() }) }).parse(updates[0]);
    const answer = { callback_query_id: query.callback_query.id };
    expect(await ask("answerCallbackQuery", answer)).toBe(200);
    expect(await ask("answerCallbackQuery", answer)).toMatch(/query is too old/);
  });
});

test("edits change a message of the bot's own, and refuse what they cannot change", async () => {
  const { ask, photo } = messenger();
  await ask("sendMessage", { chat_id: 42, text: "one" });
  await photo(png(10, 10));
  const edit = (messageId: number, text = "two") =>
    ask("editMessageText", { chat_id: 42, message_id: messageId, text });
  expect(await edit(1)).toBe(200);
  expect(await edit(1)).toMatch(/message is not modified/);
  expect(await edit(9)).toMatch(/message to edit not found/);
  expect(await edit(2)).toMatch(/no text in the message/);
});

test("what a person says becomes an update with a new id each time, and is told of with the webhook's status", async () => {
  const { control, updates, standins } = messenger();
  const said = await post(standins, "/_control/messenger/say", { chatId: 42, text: "/connect ABC" });
  expect(await said.json()).toEqual({ ok: true, updateId: START, status: 200 });
  await control("say", { chatId: "-100", text: "hi", from: { id: 7, username: "ann" } });
  const entities = [{ type: "bot_command", offset: 0, length: 8 }];
  const chats = [
    { from: { id: 42, is_bot: false }, chat: { id: 42, type: "private" }, text: "/connect ABC", entities },
    { from: { id: 7, username: "ann" }, chat: { id: -100, type: "supergroup" } },
  ];
  expect(updates).toMatchObject(chats.map((message, index) => ({ update_id: START + index, message })));
  for (const wrong of [{ chatId: 1 }, { chatId: "me", text: "a" }, { chatId: 1, text: "" }])
    expect(await control("say", wrong)).toBe(400);
  const unheard = await post(standinsAt(), "/_control/messenger/say", { chatId: 1, text: "a" });
  expect(await unheard.json()).toEqual({ error: "the messenger stand-in has no webhook" });
});
