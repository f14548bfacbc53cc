import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { MINUTE } from "../../convex/lib/time";
import { confirm } from "../bot/support";
import { createApp } from "../support/app";
import { browserOf } from "../support/browser";
import { ALICE, decided, deliver, event, linkedUser, mention, SECRET, test } from "./support";

const world = () => createApp({ env: { SOCIAL_WEBHOOK_SECRET: SECRET } });
const MALLORY = { id: "666", handle: "mallory" };

async function signedIn(app: ReturnType<typeof world>, subject: string) {
  const browser = browserOf(app, subject);
  await browser.mutation(api.accounts.profile.signIn, {});
  return browser;
}

const linked = async (app: ReturnType<typeof world>) =>
  (await app.rows("socialAuthors")).map(({ authorId, handle, enabled }) => [authorId, handle, enabled]);

describe("proving an account", () => {
  test("links its id, switched off, uses the code up, and tells the user; by another user it moves the account over", async ({
    app,
  }) => {
    const alice = await signedIn(app, "alice");
    const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
    const { code, expiresAt } = await alice.mutation(api.social.app.startProof, { handle: "@Alice" });
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{4}(?:-[A-HJ-NP-Z2-9]{4}){2}$/);
    expect(Math.abs(expiresAt - Date.now() - 15 * MINUTE)).toBeLessThan(5);
    expect(JSON.stringify(await app.rows("codes"))).not.toContain(code);
    await mention(app, `this is me: ${code.toLowerCase()}!`);
    await app.settle();
    expect(await alice.query(api.social.app.settings, {})).toEqual({
      authors: [{ authorId: ALICE.id, handle: "alice", enabled: false, linkedAt: expect.any(Number) }],
      recipients: [],
    });
    expect(await app.rows("codes")).toEqual([]);
    expect(await app.rows("mentions")).toMatchObject([{ status: "ignored" }]);
    expect((await app.rows("messages")).map((one) => [one.userId, one.kind])).toEqual([
      [userId, "account linked"],
    ]);
    expect(app.standins.sent("llm")).toEqual([]);

    await mention(app, code, { id: "777", handle: "Alice" });
    await app.settle();
    expect(await linked(app)).toEqual([[ALICE.id, "alice", false]]);

    await app.post("/user/messenger", { userId, messengerChatId: "77" }, { as: "alice" });
    const bob = await signedIn(app, "bob");
    const his = await bob.mutation(api.social.app.startProof, { handle: "alice" });
    await mention(app, his.code);
    await app.settle();
    expect((await bob.query(api.social.app.settings, {})).authors).toHaveLength(1);
    // Who had it hears of it.
    expect(app.cards().at(-1)).toMatchObject({
      chatId: "77",
      text: expect.stringContaining("@\u2060alice is no longer linked to you"),
    });
    const setting = alice.mutation(api.social.app.setTrading, { authorId: ALICE.id, enabled: true });
    await expect(setting).rejects.toMatchObject({ data: { code: "not_found" } });
  });

  test("does not work from another handle or none, too late, or with an earlier code", async ({ app }) => {
    const alice = await signedIn(app, "alice");
    const start = () => alice.mutation(api.social.app.startProof, { handle: "alice" });
    const { code: old } = await start();
    const { code } = await start();
    await mention(app, code, MALLORY);
    await mention(app, old);
    const nameless = event({ tweetId: "1", text: `@bot ${code}` });
    await deliver(app, { data: { ...nameless.data, includes: undefined } });
    await app.settle();
    expect(await linked(app)).toEqual([]);
    await app.pass(16 * MINUTE);
    await mention(app, code);
    await app.settle();
    expect(await linked(app)).toEqual([]);
    expect((await app.rows("mentions")).map(({ status }) => status)).toEqual(Array(4).fill("ignored"));
  });

  test("takes a handle, five accounts at most, and nothing for a userId that was given up", async ({
    app,
  }) => {
    const alice = await signedIn(app, "alice");
    for (const handle of ["", "@", "two words", "a".repeat(31), "<b>"]) {
      const start = alice.mutation(api.social.app.startProof, { handle });
      await expect(start).rejects.toMatchObject({ data: { code: "invalid_request" } });
    }
    for (let i = 0; i < 5; i++) {
      const { code } = await alice.mutation(api.social.app.startProof, { handle: `alice${i}` });
      await mention(app, code, { id: `20${i}`, handle: `alice${i}` });
      await app.settle();
    }
    const sixth = alice.mutation(api.social.app.startProof, { handle: "alice6" });
    await expect(sixth).rejects.toMatchObject({ data: { code: "conflict" } });
    const bob = await signedIn(app, "bob");
    const { code } = await bob.mutation(api.social.app.startProof, { handle: "bob" });
    await bob.action(api.accounts.actions.claimUserId, { userId: "my-long-random-id" });
    await mention(app, code, { id: "300", handle: "bob" });
    await app.settle();
    expect(await linked(app)).toHaveLength(5);
  });
});

test("a mention by somebody who has the user's handle and not the id, while trading is off, or after unlinking, orders nothing and reaches no model", async ({
  app,
}) => {
  const { browser, userId } = await linkedUser(app, { enabled: false });
  const outcomeOf = async (author = ALICE) => {
    await mention(app, "buy 10 usd of eth", author);
    await app.settle();
    return (await app.rows("mentions")).at(-1);
  };
  const strangers = { status: "ignored", reason: "The author's account is not linked to any user" };
  expect(await outcomeOf({ ...ALICE, id: "999" })).toMatchObject(strangers);
  const off = {
    status: "ignored",
    reason: "Social trading is switched off: switch it on in the web application",
    userId,
  };
  expect(await outcomeOf()).toMatchObject(off);
  expect(app.cards().at(-1)).toMatchObject({
    chatId: "77",
    text: expect.stringMatching(/not executed[\s\S]*by @\u2060alice[\s\S]*switched off/),
  });
  await browser.mutation(api.social.app.setTrading, { authorId: ALICE.id, enabled: true });
  await browser.mutation(api.social.app.unlink, { authorId: ALICE.id });
  expect(await outcomeOf()).toMatchObject(strangers);
  expect(await app.rows("orders")).toEqual([]);
  expect(app.standins.sent("llm")).toEqual([]);
});

test("what became of a mention is told in its author's linked chat; mentions are listed to their user alone, and leave with them", async ({
  app,
}) => {
  const { browser, userId } = await linkedUser(app);
  // No chat is set: the linked account's own is all there is.
  await app.post("/user/messenger", { userId, messengerChatId: "" }, { as: "alice" });
  const { code } = await browser.mutation(api.messenger.linking.createCode, {});
  await app.post("/messenger/connect", { linkToken: code, messengerId: "4242" });
  await confirm(app, "4242");
  await app.settle();
  const before = app.cards().length;
  const tweetId = await mention(app, "good morning, buy 10 USD of ETH if you like");
  await mention(app, "good morning", MALLORY);
  await decided(app);
  expect(app.cards().slice(before)).toMatchObject([
    { chatId: "4242", text: expect.stringContaining(`Post ${tweetId} by @\u2060alice`) },
  ]);
  const paginationOpts = { numItems: 10, cursor: null };
  const mentionsOf = async (whose: typeof browser) => {
    const { page } = await whose.query(api.accounts.data.page, { section: "mentions", paginationOpts });
    return page.map((row): unknown => JSON.parse(row));
  };
  expect(await mentionsOf(browser)).toMatchObject([
    { tweetId, status: "ignored", authorHandle: "alice" },
    { text: expect.stringContaining("my code is"), reason: "It proved its author's account" },
  ]);
  const bob = await signedIn(app, "bob");
  expect(await mentionsOf(bob)).toEqual([]);
  await browser.mutation(api.accounts.data.erase, {});
  await app.pass(MINUTE);
  expect(await app.rows("socialAuthors")).toEqual([]);
  expect((await app.rows("mentions")).map(({ authorId }) => authorId)).toEqual([MALLORY.id]);
});
