import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { charge } from "../../convex/platform/limits/charges";
import { sha256Hex } from "../../convex/lib/crypto";
import { hashCode } from "../../convex/messenger/model";
import { closeApp, type App } from "../support/app";
import { browserOf } from "../support/browser";
import { loseScheduled } from "../support/rows/leases";
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
  told,
  updateOf,
  userWithCode,
  test,
  underWay,
} from "./support";

/** Whose account is whose: what anybody can say over HTTP, and what the account itself says to the bot. */

const UNCONFIRMED = expect.stringContaining("was linked to a user of the web application outside this chat");
const UNKNOWN = expect.stringContaining(
  "This code is unknown: it was used, mistyped or replaced by a newer one.",
);

/** Alice's account, bound over HTTP to a stranger who knows its id. */
async function bound() {
  const app = createBotApp();
  const mallory = await linkedUser(app, "mallory", ALICE, { confirmed: false });
  return { app, mallory };
}

describe("a link that the account has not made itself", () => {
  test("shows and sends it nothing of that user's, and that user nothing of it, and is told of", async () => {
    const { app, mallory } = await bound();
    const { userId } = mallory;
    for (const command of ["/portfolio", "/status", "/ask my-private-question"])
      expect([command, await say(app, command)]).toEqual([command, [UNCONFIRMED]]);
    expect(JSON.stringify(app.cards())).not.toContain(mallory.walletAddress);
    const paginationOpts = { numItems: 50, cursor: null };
    const exported = await mallory.browser.query(api.accounts.data.page, {
      section: "messages",
      paginationOpts,
    });
    expect(exported.page).toEqual([]);
    // In a group it says nothing.
    expect((await say(app, `/help@${BOT_NAME}`, { chat: GROUP })).join()).not.toContain("was linked to");
    const before = app.cards().length;
    expect((await app.post("/mcp/research/start", { userId, token: "BTC" }, { as: "mallory" })).status).toBe(
      200,
    );
    const notice = { userId, message: "send /connect to keep your funds" };
    expect((await app.post("/user/telegram/notify", notice, { as: "mallory" })).body).toEqual({
      sent: false,
      reason: "no_config",
    });
    await app.settle();
    expect(
      app
        .cards()
        .slice(before)
        .map(({ chatId }) => chatId),
    ).not.toContain(String(ALICE));
  });

  test("gives way to the account's own, which gives way to nothing", async () => {
    const { app } = await bound();
    const { userId, code } = await userWithCode(app, "alice");
    const [told = ""] = await say(app, `/connect ${code}`);
    expect(told).toContain("If you did not make this code yourself, send /unlink");
    expect(await app.rows("messengerLinks")).toMatchObject([
      { userId, messengerId: String(ALICE), confirmedAt: expect.any(Number) },
    ]);
    const again = await userWithCode(app, "mallory");
    expect(await say(app, `/connect ${again.code}`)).toEqual([expect.stringContaining("already linked")]);
  });

  test("is used once the account confirms it, and dropped when the account says so", async () => {
    const { app, mallory } = await bound();
    // Who has not made the link cannot know its code; whose it is, is named.
    expect((await say(app, "/connect ABCDEFGH"))[0]).toContain("This code is unknown");
    const [confirmed = ""] = await say(app, `/connect ${mallory.code}`);
    expect(confirmed).toContain(mallory.walletAddress);
    const [account] = /usr_\w+/.exec(confirmed) ?? [];
    expect(account).toBe((await mallory.browser.mutation(api.messenger.linking.createCode, {})).account);
    expect(await say(app, "/status")).toEqual(["No research shift is running."]);
    expect(await say(app, `/connect ${mallory.code}`)).toEqual([confirmed]);
    expect(await say(app, "/unlink")).toEqual([expect.stringContaining("Unlinked")]);
    expect(await say(app, "/unlink")).toEqual(["This account is not linked."]);
    closeApp();
    const { app: other } = await bound();
    expect(await say(other, "/unlink")).toEqual([expect.stringContaining("Unlinked")]);
    expect(await other.rows("messengerLinks")).toEqual([]);
  });
});

describe("a code", () => {
  test("links the account that sends it, dashes and all, and what the chat had is its user's", async ({
    app,
  }) => {
    expect(await say(app, "/connect")).toEqual([expect.stringContaining("/connect CODE")]);
    await say(app, "/alert BTC above 110000");
    await tap(app, "Set");
    const { userId, browser, code } = await userWithCode(app, "alice");
    const answers = await say(app, `/connect ${code.slice(0, 4)}-${code.slice(4)}`);
    const [wallet] = await app.rows("wallets");
    expect(answers).toEqual([expect.stringContaining(wallet?.address ?? "none")]);
    const { link } = await browser.query(api.messenger.linking.status, {});
    expect(link).toMatchObject({ messengerId: String(ALICE), messengerUsername: `user_${ALICE}` });
    expect(await say(app, "/connect ABCDEFGH")).toEqual([expect.stringContaining("already linked")]);
    const { body } = await app.get(`/alerts?userId=${userId}`, { as: "alice" });
    expect(body["alerts"]).toMatchObject([{ state: "active", words: "BTC above $110,000" }]);
    expect((await say(app, "/alerts"))[0]).toContain("110,000");
  });

  test("in a link that starts the bot only asks: whoever opened another's link is linked to nobody", async ({
    app,
  }) => {
    const { userId, code } = await userWithCode(app, "mallory");
    const { account } = await browserOf(app, "mallory").mutation(api.messenger.linking.createCode, {});
    expect(await say(app, `/start ${code}`)).toEqual([UNKNOWN]);
    const next = await userWithCode(app, "mallory");
    expect((await say(app, `/start ${next.code}`))[0]).toContain(`Link this chat to ${account}?`);
    expect([await app.rows("messengerLinks"), await app.rows("wallets")]).toEqual([[], []]);
    const [button] = app.cards().at(-1)?.keyboard?.flat() ?? [];
    expect(button?.callback_data).not.toContain(next.code);
    // What stands behind the button is nothing that could be typed.
    expect(await say(app, `/${button?.callback_data}`)).toEqual([UNKNOWN]);
    const [linked] = await tap(app, "Link");
    expect(linked).toMatchObject({ method: "editMessageText", text: expect.stringContaining("Linked") });
    expect(await app.rows("messengerLinks")).toMatchObject([{ userId, confirmedAt: expect.any(Number) }]);
  });

  test("that is wrong is said to be, guesses are limited, and HTTP's count apart", async ({ app }) => {
    const { code } = await userWithCode(app, "alice");
    for (let i = 0; i < 24; i++) {
      const guess = { linkToken: `GUESS${i}`, messengerId: String(ALICE) };
      await app.post("/messenger/connect", guess, { ip: `198.51.100.${i}` });
    }
    expect(await say(app, "/connect ABCDEFGH")).toEqual([UNKNOWN]);
    const guesses = Array.from({ length: 18 }, (_, i) => `/connect GUESS${i}`);
    for (let minute = 0; minute < 2; minute++) {
      await Promise.all(guesses.map((guess) => deliver(app, updateOf(guess))));
      await app.pass(60_000, { cronsRun: false });
    }
    const texts = app.cards().map(({ text }) => text);
    expect(texts).toContain("Too many codes were tried. Wait a minute, then try again.");
    expect(await app.rows("messengerLinks")).toEqual([]);
    await app.pass(120_000, { cronsRun: false });
    expect((await say(app, `/connect ${code}`))[0]).toContain("Linked");
  });

  test("in a forwarded message binds nobody", async ({ app }) => {
    for (const [command, forwarding] of [
      ["connect", { forward_origin: { type: "user", sender_user: { id: 666 } } }],
      ["start", { forward_from: { id: 666 }, forward_date: 1 }],
    ] as const) {
      const { code } = await userWithCode(app, "mallory");
      const update = updateOf(`/${command} ${code}`);
      const [refused] = await told(app, { ...update, message: { ...update.message, ...forwarding } });
      expect([command, refused]).toEqual([
        command,
        expect.stringContaining("I do not accept that from a forwarded message"),
      ]);
    }
    expect(await app.rows("messengerLinks")).toEqual([]);
  });

  test("shown in a group, to whichever bot, is worth nothing any more", async ({ app }) => {
    for (const [name, text] of [
      ["alice", (code: string) => `/connect@${BOT_NAME} ${code}`],
      ["bob", (code: string) => `/connect ${code}`],
      ["carol", (code: string) => `/start@another_bot ${code.toLowerCase()}`],
    ] as const) {
      const { code } = await userWithCode(app, name);
      await deliver(app, updateOf(text(code), { chat: GROUP }));
      await app.settle();
      expect([name, await app.rows("codes")]).toEqual([name, []]);
      expect(await say(app, `/connect ${code}`, { from: 666 })).toEqual([UNKNOWN]);
    }
    // In a channel, too, where nothing else is answered.
    const chat = { id: -100_888, type: "channel", title: "C" };
    for (const name of ["connect", "login", `start@${BOT_NAME}`]) {
      const { code } = await userWithCode(app, `reader ${name}`);
      const before = app.cards().length;
      for (const text of [`/${name} ${code}`, `/${name} ${code}`, `/${name}`, "hello"]) {
        const { message, ...update } = updateOf(text);
        const { from: _, ...post } = { ...message, chat, sender_chat: chat };
        await deliver(app, { ...update, channel_post: post, message: undefined });
      }
      await app.settle(20);
      expect([name, await app.rows("codes"), app.cards().length - before]).toEqual([name, [], 1]);
    }
  });

  test("that nobody can check is refused at once, and no update is lost in a group", async () => {
    const app = createBotApp({ env: { WALLET_ENCRYPTION_KEY: "" } });
    expect(await say(app, "/connect ABCDEFGH")).toEqual([
      "That does not work right now. The problem has been recorded.",
    ]);
    const inGroup = await say(app, `/connect@${BOT_NAME} ABCDEFGH`, { chat: GROUP });
    expect(inGroup).toEqual([expect.stringContaining("in a private chat only")]);
  });

  test("is written down nowhere, and whoever was cut off behind the link is told of it on the next try", async ({
    app,
  }) => {
    const { code } = await userWithCode(app, "alice");
    await deliver(app, updateOf(`/connect ${code}`));
    const [work] = await underWay(app);
    expect(JSON.stringify(work?.args)).toContain(hashCode(code));
    expect(JSON.stringify(work)).not.toContain(code);
    // A server took it, linked the account, and was lost before it could say so.
    await loseScheduled(app);
    const account = { codeHash: hashCode(code), messengerId: String(ALICE), by: "account" as const };
    await app.t.mutation(internal.messenger.linking.link, account);
    await arrived(app, 1);
    expect(app.cards().map(({ text }) => text)).toEqual([expect.stringContaining("Linked")]);
    expect(await app.rows("codes")).toEqual([]);
  });
});

test("questions of one account are limited, in however many groups it asks them", async ({ app }) => {
  const caller = { identity: sha256Hex(`messenger:${ALICE}`), address: null };
  const usedUp = (app: App) =>
    app.t
      .run((ctx) => charge(ctx, "question", caller))
      .then(
        () => false,
        () => true,
      );
  for (let asked = 0; asked < 200 && !(await usedUp(app)); asked++);
  for (let group = 0; group < 8; group++)
    await deliver(app, updateOf(`/ask@${BOT_NAME} Why?`, { chat: GROUP - group }));
  await arrived(app, 8);
  const refused = app
    .cards()
    .filter(({ text }) => /^Rate limit reached: .+\. Try again in \d+ seconds?\.$/.test(text));
  expect(refused.length).toBeGreaterThanOrEqual(5);
  expect(app.standins.sent("llm").length + refused.length).toBe(8);
});

test("where an account is needed, a button leads to the web application where there is one, else words", async ({
  app,
}) => {
  for (const words of ["/portfolio", "swap 5 USDC to ETH"])
    expect(await say(app, words)).toEqual([expect.stringContaining("ownerUrl")]);
  closeApp();
  const web = createBotApp({ env: { WEB_APP_URL: "https://app.example/me?theme=dark" } });
  const [card = ""] = await say(web, "/follow SOL");
  expect(card).toContain("This needs your account: link it, and send that again.");
  expect(web.cards().at(-1)?.keyboard?.flat()).toMatchObject([
    { text: "Link my account", url: "https://app.example/me?theme=dark&link=messenger" },
    { text: "Create my wallet" },
  ]);
});
