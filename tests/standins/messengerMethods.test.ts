import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createStandins } from "../../scripts/standins";

/** Pictures, buttons and edits, as the Bot API's documents tell them. */

const START = Date.UTC(2026, 0, 5, 9);
const BASE = "http://standins.test/messenger/bot123456:AAE-simulated";
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
  const answered = async (request: Request) => {
    const response = await standins.handle(request);
    const { ok, description } = answerShape.parse(await response.json());
    return ok ? response.status : description;
  };
  return {
    standins,
    updates,
    replyWith: (body: unknown) => void (reply = body),
    ask: (method: string, body: object) =>
      answered(new Request(`${BASE}/${method}`, { method: "POST", body: JSON.stringify(body) })),
    photo: (png: Uint8Array<ArrayBuffer> | string, fields: Record<string, string> = {}) => {
      const form = new FormData();
      for (const [name, value] of Object.entries({ chat_id: "42", ...fields })) form.set(name, value);
      if (typeof png === "string") form.set("photo", png);
      else form.set("photo", new Blob([png]), "a.png");
      return answered(new Request(`${BASE}/sendPhoto`, { method: "POST", body: form }));
    },
    control: async (what: object) =>
      (
        await standins.handle(
          new Request("http://standins.test/_control/messenger/tap", {
            method: "POST",
            body: JSON.stringify(what),
          }),
        )
      ).status,
  };
}

/** The beginning of a PNG of this size. */
function png(width: number, height: number, size = 100): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

describe("sendPhoto", () => {
  test("takes an uploaded picture with a caption of 1,024 characters after its entities", async () => {
    const { photo, standins } = messenger();
    expect(
      await photo(png(1_000, 500), { caption: `<b>${"&lt;".repeat(1_024)}</b>`, parse_mode: "HTML" }),
    ).toBe(200);
    expect(standins.sent("messenger")).toMatchObject([
      { method: "sendPhoto", chatId: "42", messageId: 1, photo: { width: 1_000, height: 500, bytes: 100 } },
    ]);
  });

  test.each([
    [png(1_000, 500), { caption: "x".repeat(1_025) }, "Bad Request: message caption is too long"],
    [png(6_000, 5_000), {}, "Bad Request: PHOTO_INVALID_DIMENSIONS"],
    [png(2_100, 100), {}, "Bad Request: PHOTO_INVALID_DIMENSIONS"],
    [
      new TextEncoder().encode("no picture at all, whatever it says"),
      {},
      "Bad Request: IMAGE_PROCESS_FAILED",
    ],
    [png(10, 10, 11 * 1024 * 1024), {}, "Request Entity Too Large"],
    ["a-stored-file", {}, "Bad Request: wrong remote file identifier specified"],
    [png(10, 10), { chat_id: "nobody" }, "Bad Request: chat not found"],
    [png(10, 10), { caption: "<p>", parse_mode: "HTML" }, expect.stringContaining("can't parse entities")],
  ])("refuses what the documents refuse (%#)", async (given, fields, description) => {
    const { photo, standins } = messenger();
    expect(await photo(given, fields)).toEqual(description);
    expect(standins.sent("messenger")).toEqual([]);
  });

  test("needs a form: JSON carries no picture", async () => {
    expect(await messenger().ask("sendPhoto", { chat_id: 42 })).toBe(
      "Bad Request: there is no photo in the request",
    );
  });
});

describe("buttons", () => {
  const withButton = (button: object) => ({
    chat_id: 42,
    text: "x",
    reply_markup: { inline_keyboard: [[button]] },
  });

  test.each([
    [{ text: "A", callback_data: "x".repeat(65) }, "Bad Request: BUTTON_DATA_INVALID"],
    [{ text: "A", callback_data: "ä".repeat(33) }, "Bad Request: BUTTON_DATA_INVALID"],
    [{ text: " ", callback_data: "x" }, "Bad Request: inline keyboard button text is empty"],
    [{ text: "A" }, "Bad Request: text buttons are unallowed in the inline keyboard"],
    [{ text: "A", url: "http://localhost" }, expect.stringContaining("Wrong HTTP URL")],
  ])("are refused as %j", async (button, description) => {
    expect(await messenger().ask("sendMessage", withButton(button))).toEqual(description);
  });

  test("are tapped by their words, with the mark before them or without it, but not without a sign", async () => {
    const { ask, control, updates } = messenger();
    const texts = ["✅ Approve", "✖ Refuse", "⚠️ Set", "−1 %"];
    for (const text of texts) await ask("sendMessage", withButton({ text, callback_data: text }));
    for (const button of ["Approve", "✅ Approve", "Refuse", "Set", "-1 %"])
      expect(await control({ chatId: 42, button })).toBe(200);
    expect(await control({ chatId: 42, button: "1 %" })).toBe(400);
    const [approve, refuse, set, less] = texts;
    expect(updates).toMatchObject(
      [approve, approve, refuse, set, less].map((data) => ({ callback_query: { data } })),
    );
  });

  test("are tapped, and the webhook's answer is carried out once", async () => {
    const { ask, control, updates, replyWith, standins } = messenger();
    await ask("sendMessage", withButton({ text: "A", callback_data: "signals BTC" }));
    replyWith({ method: "sendChatAction", chat_id: 42, action: "typing" });
    expect(await control({ chatId: 42, button: "A" })).toBe(200);
    expect(updates).toMatchObject([
      { callback_query: { from: { id: 42 }, message: { message_id: 1, text: "x" }, data: "signals BTC" } },
    ]);
    expect(standins.sent("messenger").map(({ method }) => method)).toEqual(["sendMessage", "sendChatAction"]);
    expect(await control({ chatId: 42, button: "B" })).toBe(400);
    const { callback_query: query } = z
      .object({ callback_query: z.object({ id: z.string() }) })
      .parse(updates[0]);
    expect(await ask("answerCallbackQuery", { callback_query_id: query.id })).toBe(200);
    const old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    expect(await ask("answerCallbackQuery", { callback_query_id: query.id })).toBe(old);
  });
});

test("editMessageText changes a text of the bot's own, and refuses what it cannot change", async () => {
  const { ask, photo, standins } = messenger();
  await ask("sendMessage", { chat_id: 42, text: "one" });
  await photo(png(10, 10));
  expect(await ask("editMessageText", { chat_id: 42, message_id: 1, text: "two" })).toBe(200);
  expect(await ask("editMessageText", { chat_id: 42, message_id: 1, text: "two" })).toMatch(
    /message is not modified/,
  );
  expect(await ask("editMessageText", { chat_id: 42, message_id: 9, text: "two" })).toMatch(
    /message to edit not found/,
  );
  expect(await ask("editMessageText", { chat_id: 42, message_id: 2, text: "two" })).toMatch(
    /no text in the message/,
  );
  expect(await ask("sendChatAction", { chat_id: 42, action: "thinking" })).toMatch(/wrong parameter action/);
  expect(standins.sent("messenger").map(({ method, text }) => [method, text])).toEqual([
    ["sendMessage", "one"],
    ["sendPhoto", ""],
    ["editMessageText", "two"],
  ]);
});
