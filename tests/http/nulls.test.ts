import { expect } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { test } from "../support/app";

/** `null` is absent in every field: clients send it for what they leave out. */

const BOT = "999999:AAE-a-token-that-nobody-made-0000000";

test("in /user/messenger it keeps what was set, under every name", async ({ app }) => {
  const userId = "alice";
  await app.post("/user/messenger", { userId, messengerBotToken: BOT, messengerChatId: "4711" });
  const [before] = await app.rows("messengerConfigs");
  for (const fields of [
    { messengerBotToken: null, messengerChatId: null },
    { telegramBotToken: null, telegramChatId: null },
  ]) {
    const { status, body } = await app.post("/user/messenger", { userId, ...fields });
    expect([status, body]).toEqual([200, { success: true }]);
  }
  expect(await app.rows("messengerConfigs")).toMatchObject([
    { sealedBotToken: before?.sealedBotToken, chatId: "4711" },
  ]);
  await app.post("/user/messenger", { userId, messengerChatId: null, telegramChatId: "4712" });
  const holding = await app.rows("messengerConfigs");
  expect(holding).toMatchObject([{ chatId: "4712" }]);
});

test("no endpoint says of a field that null is the wrong kind of value", async ({ app }) => {
  for (const { path, methods, example } of endpoints) {
    if (!methods.includes("POST") || typeof example?.input !== "object") continue;
    for (const name of Object.keys({ ...example.input })) {
      const { body } = await app.post(path, { [name]: null });
      const left = await app.post(path, {});
      expect([path, name, body.error]).toEqual([path, name, left.body.error]);
    }
  }
});
