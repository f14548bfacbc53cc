import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { broadcast } from "../../convex/messenger/subscriptions";
import type { App } from "../support/app";
import { ALICE, createBotApp, deliver, linkedUser, say, tap, test, told, updateOf } from "./support";

/** The subscriptions of chats: whose taps count, in private chats, groups and channels. */

const [GROUP, CHANNEL, ADMIN, STRANGER] = [-100_777, -100_888, 7, 8];
const TOGGLES = ["Daily signals", "Outcomes", "Whales", "Weekly recap"];

/** The texts of the newest card's buttons. */
const buttons = (app: App) =>
  app
    .cards()
    .at(-1)
    ?.keyboard?.flat()
    .map(({ text }) => text) ?? [];
const all = (on: string[]) =>
  TOGGLES.map((name) => (on.includes(name) ? `🔔 ${name}: on` : `🔕 ${name}: off`));
const become = (app: App, chatId: number, userId: number, status: string) =>
  app.standins.handle(
    new Request("http://providers.test/_control/messenger/member", {
      method: "POST",
      body: JSON.stringify({ chatId, userId, status }),
    }),
  );
/** Tells every subscriber of the daily signals. @returns Who was told. */
async function tell(app: App, words: string): Promise<string[]> {
  await app.t.run((ctx) => broadcast(ctx, "signals", { kind: "news", paragraphs: [[words]] }));
  await app.settle(20);
  const cards = app.cards().filter(({ text }) => text === words);
  return cards.map(({ chatId }) => chatId).filter((one) => one !== "424242");
}

/** Somebody taps a button of a shared chat's newest card that has it. @returns What the bot sent then. */
async function tapped(app: App, words: string, from: number): Promise<number> {
  const has = ({ keyboard }: { keyboard?: { text: string }[][] | undefined }) =>
    keyboard?.flat().some(({ text }) => text === words);
  const card = app.cards().findLast(has);
  const data = card?.keyboard?.flat().find(({ text }) => text === words)?.callback_data;
  const before = app.cards().length;
  const { update_id: id, message } = updateOf("a tap", { from });
  const type = card?.chatId === String(CHANNEL) ? "channel" : "supergroup";
  const shown = {
    message_id: card?.messageId,
    text: "as it stands",
    chat: { id: Number(card?.chatId), type },
  };
  const query = { id: `query-${id}`, from: message.from, message: shown, chat_instance: "1", data };
  const { body } = await deliver(app, { update_id: id, callback_query: query });
  expect(body.text).toBe("Administrators of this chat decide that.");
  await app.settle(20);
  return app.cards().length - before;
}

/** A channel's post, as the messenger tells it: of nobody, for the channel. */
function postOf(text: string) {
  const { update_id: id, message } = updateOf(text, { chat: CHANNEL });
  const chat = { id: CHANNEL, type: "channel", title: "C" };
  const { from: _, ...post } = { ...message, chat, sender_chat: chat };
  return { update_id: id, channel_post: post };
}

test("a private chat switches its news by a page's link, by taps and by a card's button, and owns the choice", async ({
  app,
}) => {
  const { browser } = await linkedUser(app, "alice");
  const [text] = await say(app, "/start signals");
  expect([text?.split("\n")[0], buttons(app)]).toEqual(["<b>🔔 News for this chat</b>", all([])]);
  expect(await say(app, "/start whales")).toHaveLength(1);
  await tap(app, "🔕 Daily signals: off");
  expect(buttons(app)).toEqual(all(["Daily signals"]));
  await tap(app, "🔕 Whales: off");
  expect(buttons(app)).toEqual(all(["Daily signals", "Whales"]));
  expect(app.cards().at(-1)?.method).toBe("editMessageText");
  expect(await tell(app, "Today")).toEqual([String(ALICE)]);
  const exported = await browser.query(api.accounts.data.page, {
    section: "subscriptions",
    paginationOpts: { numItems: 10, cursor: null },
  });
  expect(exported.page.map((row): unknown => JSON.parse(row))).toMatchObject([
    { chatId: String(ALICE), topics: ["signals", "whales"] },
  ]);
  const [stopped] = await tap(app, "🔕 Stop these");
  expect(stopped).toMatchObject({ method: "sendMessage", text: "Stopped here: daily signals." });
  expect(buttons(app)).toEqual(all(["Whales"]));
  expect(await tell(app, "Tomorrow")).toEqual([]);
  await tap(app, "🔕 Daily signals: off");
  await browser.mutation(api.accounts.data.erase, {});
  await app.settle(20);
  expect(await tell(app, "After the deletion")).toEqual([]);
});

test("the choice of a chat becomes its user's once it is linked, until it is unlinked", async ({ app }) => {
  await say(app, "/subscribe signals on");
  const { browser } = await linkedUser(app, "alice");
  await browser.mutation(api.accounts.data.erase, {});
  await app.settle(20);
  expect(await tell(app, "After the deletion")).toEqual([]);
  const bob = await linkedUser(app, "bob");
  await say(app, "/subscribe signals on");
  await say(app, "/unlink");
  await bob.browser.mutation(api.accounts.data.erase, {});
  await app.settle(20);
  expect(await tell(app, "After another's deletion")).toEqual([String(ALICE)]);
  // Words that somebody else has written switch nothing.
  const { message, ...update } = updateOf("/unsubscribe");
  const [refusal] = await told(app, { ...update, message: { ...message, forward_date: 1 } });
  expect(refusal).toContain("forwarded message");
  expect(await tell(app, "Still")).toEqual([String(ALICE)]);
});

test("in a group and in a channel only those who are its administrators at the tap switch", async () => {
  const app = createBotApp();
  const inGroup = { chat: GROUP };
  await become(app, GROUP, ADMIN, "administrator");
  expect(await say(app, "/subscribe", { from: STRANGER, ...inGroup })).toEqual([
    expect.stringMatching(/^Only administrators of this chat/),
  ]);
  await say(app, "/subscribe signals on", { from: STRANGER, ...inGroup });
  expect(await tell(app, "No group")).toEqual([]);
  // The link of a page that adds the bot to a group.
  await say(app, "/start@simulated_123456_bot signals", { from: ADMIN, ...inGroup });
  expect(buttons(app)).toEqual(all([]));
  expect(await tapped(app, "🔕 Daily signals: off", STRANGER)).toBe(0);
  expect(await tapped(app, "🔕 Daily signals: off", ADMIN)).toBe(1);
  expect(buttons(app)).toEqual(all(["Daily signals"]));
  expect(await tell(app, "For the group")).toEqual([String(GROUP)]);
  expect(await tapped(app, "🔕 Stop these", STRANGER)).toBe(0);
  await become(app, GROUP, ADMIN, "member");
  expect(await tapped(app, "🔕 Stop these", ADMIN)).toBe(0);
  expect(await tell(app, "Still for the group")).toEqual([String(GROUP)]);
  // The group itself speaks for an anonymous administrator; a channel that it is linked to does not.
  const { message, ...update } = updateOf("/subscribe signals off", { from: STRANGER, ...inGroup });
  await told(app, { ...update, message: { ...message, sender_chat: { id: CHANNEL } } });
  expect(await tell(app, "Once more")).toEqual([String(GROUP)]);
  const { message: spoken, ...anonymous } = updateOf("/subscribe signals off", {
    from: STRANGER,
    ...inGroup,
  });
  await told(app, { ...anonymous, message: { ...spoken, sender_chat: { id: GROUP } } });
  expect(buttons(app)).toEqual(all([]));
  expect(await tell(app, "No more")).toEqual([]);

  // In a channel only administrators post, and everybody sees the buttons.
  for (const text of ["BTC", "/price BTC", "/help"]) await deliver(app, postOf(text));
  const before = app.cards().length;
  await app.settle(20);
  expect(app.cards().length).toBe(before);
  await told(app, postOf("/subscribe whales on"));
  expect([app.cards().at(-1)?.chatId, buttons(app)]).toEqual([String(CHANNEL), all(["Whales"])]);
  expect(await tapped(app, "🔕 Daily signals: off", STRANGER)).toBe(0);
  await become(app, CHANNEL, ADMIN, "creator");
  expect(await tapped(app, "🔕 Daily signals: off", ADMIN)).toBe(1);
  expect(await tell(app, "For the channel")).toEqual([String(CHANNEL)]);
});

test("the service's own chat gets news once, also where it subscribes", async () => {
  const app = createBotApp({ env: { MESSENGER_CHAT_ID: String(CHANNEL) } });
  await told(app, postOf("/subscribe signals on"));
  expect(buttons(app)).toEqual(all(["Daily signals"]));
  expect(await tell(app, "Once")).toEqual([String(CHANNEL)]);
});

test("the service's own chat gets news once, also where it is set by its public name and subscribes", async () => {
  const app = createBotApp({ env: { MESSENGER_CHAT_ID: "@News_of_today" } });
  const { update_id: id, channel_post: post } = postOf("/subscribe signals on");
  const chat = { id: CHANNEL, type: "channel", title: "News", username: "news_of_Today" };
  await told(app, { update_id: id, channel_post: { ...post, chat, sender_chat: chat } });
  expect(buttons(app)).toEqual(all(["Daily signals"]));
  expect(await tell(app, "Once")).toEqual(["@News_of_today"]);
});

test("the service's own chat gets news once, also where it has become a supergroup and subscribes", async () => {
  const app = createBotApp({ env: { MESSENGER_CHAT_ID: "-55" } });
  await become(app, GROUP, ADMIN, "administrator");
  const { update_id: id, message } = updateOf("moved", { from: ADMIN, chat: -55 });
  await deliver(app, { update_id: id, message: { ...message, migrate_to_chat_id: GROUP } });
  await say(app, "/subscribe signals on", { from: ADMIN, chat: GROUP });
  expect(await tell(app, "Once")).toEqual([String(GROUP)]);
});
