import { expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { findLinkOfMessenger } from "../../convex/messenger/model";

import { createApp, test as appTest, type App, type AppSettings } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "../support/browser";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { HOUR } from "../../convex/lib/time";

/** What the tests of the bot share: updates as the messenger sends them. */

export const SECRET = "a-webhook-secret_of-tests";
export const BOT_NAME = "simulated_123456_bot";
export const ALICE = 42;
export const GROUP = -100_777;

export function createBotApp(options: AppSettings = {}) {
  // On a busy machine simulated time may pass while a module is still being loaded.
  deadlines.alertWords = HOUR;
  return createApp({ ...options, env: { MESSENGER_WEBHOOK_SECRET: SECRET, ...options.env } });
}

/** Tests that get such an `app` when they ask for one. */
export const test = appTest.extend<{ app: App }>({
  app: async ({ settings }, use) => use(createBotApp(settings)),
});

let lastUpdateId = 1_000;

/** An update with a person's message. */
export function updateOf(text: string | undefined, where: { from?: number; chat?: number } = {}) {
  const { from = ALICE } = where;
  const { chat = from } = where;
  const id = ++lastUpdateId;
  return {
    update_id: id,
    message: {
      message_id: id,
      date: 1_700_000_000,
      ...(text === undefined ? { sticker: { file_id: "x" } } : { text }),
      from: { id: from, is_bot: false, first_name: "A", username: `user_${from}` },
      chat: chat < 0 ? { id: chat, type: "supergroup", title: "G" } : { id: chat, type: "private" },
    },
  };
}

export function deliver(app: App, update: unknown, secret: string | null = SECRET, init: CallInit = {}) {
  const headers: Record<string, string> =
    secret === null ? {} : { "X-Telegram-Bot-Api-Secret-Token": secret };
  return app.post("/messenger/webhook", update, { headers, ...init });
}

/** The work whose answers are still to come. */
export async function underWay(app: Pick<App, "rows">) {
  return (await app.rows("work")).filter(({ run }) => run === "bot/service:answerMessage");
}

/** Lets work go on until the messenger was sent so many cards in all, and a little longer in case there are more. */
export async function arrived(app: App, count: number): Promise<void> {
  for (let i = 0; i < 400 && app.cards().length < count; i++) await app.settle(2);
  await app.settle(4);
}

/** Says something to the bot, and returns what it answers, which are so many cards at least. */
export function say(
  app: App,
  text: string | undefined,
  { answers = 1, ...where }: { from?: number; chat?: number; answers?: number } = {},
): Promise<string[]> {
  return told(app, updateOf(text, where), answers);
}

/** What the bot answers to an update, which are so many cards at least. */
export async function told(app: App, update: unknown, answers = 1): Promise<string[]> {
  const before = app.cards().length;
  const { status } = await deliver(app, update);
  if (status !== 200) throw new Error(`The webhook answered ${status}`);
  await arrived(app, before + answers);
  // What it leaves to be done later has been done, or is an answer that was waited for.
  for (let i = 0; i < 400 && (await underWay(app)).length > 0; i++) await app.settle(2);
  await app.settle(4);
  return app
    .cards()
    .slice(before)
    .map(({ text }) => text);
}

/** A signed-in user, and the code they created. */
export async function userWithCode(app: Pick<App, "t">, subject: string) {
  const browser = browserOf(app, subject);
  const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
  const { code, expiresAt } = await browser.mutation(api.messenger.linking.createCode, {});
  return { browser, userId, code, expiresAt };
}

/** Confirms an account's link as the bot does when it is sent the code, without its card. */
export async function confirm(app: Pick<App, "t">, messengerId: string): Promise<void> {
  const link = await app.t.run((ctx) => findLinkOfMessenger(ctx, messengerId));
  const codeHash = link?.codeHash ?? "";
  await app.t.mutation(internal.messenger.linking.link, { codeHash, messengerId, by: "account" });
}

/** A signed-in user whose messenger account is linked over HTTP, and confirmed in the bot unless told otherwise. */
export async function linkedUser(app: App, subject: string, messengerId = ALICE, { confirmed = true } = {}) {
  const { browser, userId, code } = await userWithCode(app, subject);
  const { status, body } = await app.post("/messenger/connect", {
    linkToken: code,
    messengerId: String(messengerId),
    messengerUsername: subject,
  });
  if (status !== 200) throw new Error(`The account was not linked: ${JSON.stringify(body)}`);
  if (confirmed) await confirm(app, String(messengerId));
  return { browser, userId, code, walletAddress: String(body.walletAddress) };
}

/** Taps a button of the newest message that has it, as the messenger tells the webhook. @returns What the bot sent then. */
export async function tap(
  app: App,
  words: string,
  { from = ALICE, data }: { from?: number; data?: string } = {},
) {
  const card = app.cards().findLast(({ keyboard }) => keyboard?.flat().some(({ text }) => text === words));
  const button = card?.keyboard?.flat().find(({ text }) => text === words);
  if (card === undefined || button === undefined) throw new Error(`There is no button ${words}`);
  const before = app.cards().length;
  const id = ++lastUpdateId;
  const chat = Number(card.chatId);
  const { status, body } = await deliver(app, {
    update_id: id,
    callback_query: {
      id: `query-${id}`,
      from: { id: from, is_bot: false, first_name: "A", username: `user_${from}` },
      message: {
        message_id: card.messageId,
        chat: chat < 0 ? { id: chat, type: "supergroup", title: "G" } : { id: chat, type: "private" },
        ...(card.photo === undefined ? { text: "as it stands" } : { photo: [], caption: "as it stands" }),
      },
      chat_instance: "1",
      data: data ?? button.callback_data,
    },
  });
  // The tap itself is answered in the answer to the webhook.
  const confirmed = { method: "answerCallbackQuery", callback_query_id: `query-${id}` };
  expect([status, body]).toMatchObject([200, confirmed]);
  await arrived(app, before + 1);
  return app.cards().slice(before);
}
