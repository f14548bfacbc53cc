import { codeHash } from "../../convex/messenger/model";
import { loseScheduled } from "../support/rows/leases";
import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import type { App } from "../support/app";
import {
  ALICE,
  arrived,
  BOT_NAME,
  createBotApp,
  deliver,
  GROUP,
  linkedUser,
  say,
  tap,
  updateOf,
  userWithCode,
  test,
  underWay,
} from "./support";

/** Whose account is whose: what anybody can say over HTTP, and what the account itself says to the bot. */

const UNCONFIRMED = expect.stringContaining("was linked to a user of the web application outside this chat");
const link = async (app: App) => (await app.rows("messengerLinks"))[0];
const exported = async ({ browser }: Awaited<ReturnType<typeof linkedUser>>) => {
  const paginationOpts = { numItems: 50, cursor: null };
  return (await browser.query(api.accounts.data.page, { section: "messages", paginationOpts })).page;
};

/** Alice's account, bound over HTTP to a stranger who knows its id. */
async function bound() {
  const app = createBotApp();
  const mallory = await linkedUser(app, "mallory", ALICE, { confirmed: false });
  return { app, mallory };
}

describe("a link that the account has not made itself", () => {
  test("shows it nothing of that user's and that user nothing of it, and is told of", async () => {
    const { app, mallory } = await bound();
    for (const command of ["/portfolio", "/status", "/stop", "/alerts"]) {
      const [told = "", ...more] = await say(app, command);
      expect([command, told, more]).toEqual([command, UNCONFIRMED, []]);
      expect(told).not.toContain(mallory.walletAddress);
    }
    const answers = await say(app, "/ask my-private-question");
    expect(answers).toEqual([UNCONFIRMED]);
    expect(answers[0]).toContain("my-private-question");
    expect(await exported(mallory)).toEqual([]);
    expect((await app.rows("messages")).map(({ userId }) => userId)).not.toContain(mallory.userId);
    // In a group it says nothing.
    const inGroup = await say(app, `/help@${BOT_NAME}`, { chat: GROUP });
    expect(inGroup.join()).not.toContain("was linked to a user");
  });

  test("is sent nothing of that user's, and whoever asks is told that it is not confirmed", async () => {
    const { app, mallory } = await bound();
    const { userId } = mallory;
    const init = { as: "mallory" };
    expect((await app.post("/mcp/research/start", { userId, token: "BTC" }, init)).status).toBe(200);
    const message = "send /connect to keep your funds";
    expect((await app.post("/user/telegram/notify", { userId, message }, init)).body).toEqual({
      sent: false,
      reason: "no_config",
    });
    await app.settle();
    expect(app.cards().filter(({ chatId }) => chatId === String(ALICE))).toEqual([]);
    expect((await app.get(`/messenger/wallet?messengerId=${ALICE}`)).body).toMatchObject({
      ...{ linked: true, confirmed: false, userId },
    });
  });

  test("gives way to the account's own", async () => {
    const { app } = await bound();
    const { userId, code } = await userWithCode(app, "alice");
    const [told = ""] = await say(app, `/connect ${code}`);
    expect(told).toContain("Linked");
    expect(told).toContain("If you did not make this code yourself, send /unlink");
    expect(await app.rows("messengerLinks")).toMatchObject([
      { userId, messengerId: String(ALICE), confirmedAt: expect.any(Number) },
    ]);
    // And that one gives way to nothing.
    const again = await userWithCode(app, "mallory");
    const body = { linkToken: again.code, messengerId: String(ALICE) };
    expect((await app.post("/messenger/connect", body)).status).toBe(409);
    expect(await say(app, `/connect ${again.code}`)).toEqual([expect.stringContaining("already linked")]);
  });

  test("is used once the account confirms it, and dropped when the account says so", async () => {
    const { app, mallory } = await bound();
    // Who has not made the link cannot know its code; whose it is, is named.
    expect((await say(app, "/connect ABCDEFGH"))[0]).toContain("This code is unknown");
    expect((await link(app))?.confirmedAt).toBeUndefined();
    const [confirmed = ""] = await say(app, `/connect ${mallory.code}`);
    expect(confirmed).toContain(mallory.walletAddress);
    const [account] = /usr_\w+/.exec(confirmed) ?? [];
    expect(account).toBe((await mallory.browser.mutation(api.messenger.linking.createCode, {})).account);
    expect(account).not.toBe(mallory.userId);
    expect(await say(app, "/status")).toEqual(["No research shift is running."]);
    expect((await say(app, `/connect ${mallory.code}`))[0]).toContain("Linked");
    expect(await say(app, "/unlink")).toEqual([expect.stringContaining("Unlinked")]);
    expect(await app.rows("messengerLinks")).toEqual([]);
    expect(await say(app, "/unlink")).toEqual(["This account is not linked."]);
    const { app: other } = await bound();
    expect(await say(other, "/unlink")).toEqual([expect.stringContaining("Unlinked")]);
    expect(await say(other, "/help")).not.toContainEqual(UNCONFIRMED);
    expect(await other.rows("messengerLinks")).toEqual([]);
  });
});

test.for([
  ["/connect CODE", { forward_origin: { type: "user", sender_user: { id: 666 } } }],
  ["/start CODE", { forward_origin: { type: "hidden_user", sender_user_name: "A" } }],
  ["/connect CODE", { forward_from: { id: 666 }, forward_date: 1 }],
] as const)("a forwarded %s binds nobody", async ([command, forwarding], { app }) => {
  const { code } = await userWithCode(app, "mallory");
  const update = updateOf(command.replace("CODE", code));
  await deliver(app, { ...update, message: { ...update.message, ...forwarding } });
  await arrived(app, 1);
  expect(app.cards().at(-1)?.text).toContain("I do not accept that from a forwarded message");
  expect(await underWay(app)).toEqual([]);
  expect((await app.rows("messengerLinks")).filter((one) => one.confirmedAt !== undefined)).toEqual([]);
});

test.for([
  ["to the bot", (code: string) => `/connect@${BOT_NAME} ${code}`],
  ["to nobody", (code: string) => `/connect ${code}`],
  ["to another bot", (code: string) => `/start@another_bot ${code.toLowerCase()}`],
] as const)("a code shown in a group %s is worth nothing any more", async ([_name, text], { app }) => {
  const { code } = await userWithCode(app, "alice");
  await deliver(app, updateOf(text(code), { chat: GROUP }));
  await app.settle();
  expect(await app.rows("codes")).toEqual([]);
  const body = { linkToken: code, messengerId: "666" };
  expect((await app.post("/messenger/connect", body)).status).toBe(404);
  expect((await say(app, `/connect ${code}`, { from: 666 }))[0]).toContain("This code is unknown");
});

test("what a chat had is its user's once it is linked, however it is", async ({ app }) => {
  await say(app, "/alert BTC above 110000");
  await tap(app, "Set");
  const { userId } = await linkedUser(app, "alice");
  const { body } = await app.get(`/alerts?userId=${userId}`, { as: "alice" });
  expect(body["alerts"]).toMatchObject([{ state: "active", words: "BTC at $110,000 or above" }]);
  expect((await say(app, "/alerts"))[0]).toContain("110,000");
});

test("a code that nobody can check is refused at once, and no update is lost in a group", async () => {
  const app = createBotApp({ env: { WALLET_ENCRYPTION_KEY: "" } });
  expect(await say(app, "/connect ABCDEFGH")).toEqual([
    "That does not work right now. The problem has been recorded.",
  ]);
  const inGroup = await say(app, `/connect@${BOT_NAME} ABCDEFGH`, { chat: GROUP });
  expect(inGroup).toEqual([expect.stringContaining("in a private chat only")]);
});

test("a code is written down nowhere, and whoever was cut off behind the link is told of it on the next try", async ({
  app,
}) => {
  const { code } = await userWithCode(app, "alice");
  await deliver(app, updateOf(`/connect ${code}`));
  const [work] = await underWay(app);
  expect(JSON.stringify(work?.args)).toContain(codeHash(code));
  expect(JSON.stringify(work)).not.toContain(code);
  // A server took it, linked the account, and was lost before it could say so.
  await loseScheduled(app);
  const account = { codeHash: codeHash(code), messengerId: String(ALICE), by: "account" as const };
  await app.t.mutation(internal.messenger.linking.link, account);
  await app.pass(5 * 60_000);
  await arrived(app, 1);
  expect(app.cards().map(({ text }) => text)).toEqual([expect.stringContaining("Linked")]);
  expect(await app.rows("messengerLinks")).toHaveLength(1);
  expect(await app.rows("codes")).toEqual([]);
});

test("questions of one account in many groups are limited", async ({ app }) => {
  let asked = 0;
  for (let group = 0; group < 9; group++) {
    for (let i = 0; i < 10; i++) {
      const update = updateOf(`/ask@${BOT_NAME} Why?`, { chat: GROUP - group });
      if ((await deliver(app, update)).status === 200) asked++;
    }
  }
  for (let i = 0; i < 400 && (await underWay(app)).length > 0; i++) await app.settle(8);
  expect(asked).toBe(90);
  const calls = app.standins.sent("llm").length;
  expect(calls).toBeGreaterThanOrEqual(60);
  expect(calls).toBeLessThan(85);
  // The answers leave a few at a time.
  await app.pass(5 * 60_000);
  expect(
    app.cards().filter(({ text }) => / is used up: there is more in \d+ seconds?\.$/.test(text)),
  ).not.toEqual([]);
});
