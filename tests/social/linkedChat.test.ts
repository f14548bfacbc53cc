import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { confirm } from "../bot/support";
import { decided, linkedUser, mention, test } from "./support";

const ALICE_CHAT = "4242";
const BOB_CHAT = "4343";
const BOB = { id: "201", handle: "bob" };

test("what became of a mention is told in its author's linked chat, and in no other", async ({ app }) => {
  for (const [subject, author, chat] of [
    ["alice", undefined, ALICE_CHAT],
    ["bob", BOB, BOB_CHAT],
  ] as const) {
    const { userId, browser } = await linkedUser(app, () => app.settle(), {
      subject,
      ...(author === undefined ? {} : { author }),
    });
    // No chat is set: the linked account's own is all there is.
    await app.post("/user/messenger", { userId, messengerChatId: "" }, { as: subject });
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    const linked = await app.post("/messenger/connect", { linkToken: code, messengerId: chat });
    expect(linked.status).toBe(200);
    await confirm(app, chat);
  }
  await app.settle();
  const before = app.cards().length;
  const tweetId = await mention(app, "good morning, buy 10 USD of ETH if you like");
  await decided(app);
  expect(await app.rows("mentions")).toContainEqual(
    expect.objectContaining({ tweetId, status: "ignored", reason: expect.any(String) }),
  );
  expect(app.cards().slice(before)).toMatchObject([
    { chatId: ALICE_CHAT, text: expect.stringContaining(`Post ${tweetId} by @\u2060alice`) },
  ]);
});
