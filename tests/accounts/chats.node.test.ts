import { expect, vi } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { derivePseudonym } from "../../convex/lib/crypto";
import { MINUTE } from "../../convex/lib/time";
import { BOT_NAME, GROUP } from "../bot/support";
import { browserOf } from "../support/browser";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import {
  cards,
  claimsTakeEffect,
  LISTED,
  listRecipient,
  newest,
  say,
  send,
  signed,
  tap,
  test,
  twoHoursPass,
} from "../support/owners";

/** An account that a private chat has made by a tap: whose it is, what it may, and what nobody else may. */

useChain();

const [ALICE, OTHER, STRANGER] = [42, 43, 666];
const CODE = /<code>([2-9A-HJ-NP-Z]{8})<\/code>/;

/** Alice makes a wallet by a tap, and gets money. */
async function withWallet(app: WalletApp) {
  await say(app, "/swap 5 USDC to ETH");
  await tap(app, "Create my wallet");
  const card = await newest(app);
  const [address = ""] = /0x[0-9a-fA-F]{40}/.exec(card) ?? [];
  const own = (await app.rows("accounts")).find(({ login }) => login?.endsWith("|42"));
  return { card, address: address as `0x${string}`, userId: own?.userId ?? "" };
}

const watches = async (app: WalletApp) =>
  (await app.rows("work")).filter(({ run }) => run === "bot/service:lookAtWallet");

/** Lets the planned look at a wallet happen now, so long after the first. */
async function look(app: WalletApp, later = 0): Promise<void> {
  const [row] = await watches(app);
  if (row === undefined) throw new Error("No look is planned");
  const args = { ...row.args, since: Number(row.args.since) - later };
  await app.t.run((ctx) => ctx.db.patch("work", row._id, { at: 0, args }));
  await app.t.mutation(internal.platform.work.resumeWork, { workId: row._id });
  await app.settle();
}

test("a tap makes a wallet that is the chat's from the first second, and the id that nobody is shown orders nothing", async ({
  app,
}) => {
  // What a stranger has linked over HTTP, without a word of the account's, hinders nothing.
  const mallory = browserOf(app, "mallory");
  await mallory.mutation(api.accounts.profile.signIn, {});
  const { code } = await mallory.mutation(api.messenger.linking.createCode, {});
  await app.post("/messenger/connect", { linkToken: code, messengerId: String(ALICE) });
  for (const [words, from, chat] of [
    ["/wallet new", ALICE, ALICE],
    ["/wallet", ALICE, GROUP],
  ] as const)
    await say(app, words, from, chat);
  expect((await app.rows("accounts")).filter(({ login }) => login?.endsWith("|42"))).toEqual([]);

  const { card, address, userId } = await withWallet(app);
  expect(userId).toMatch(/^usr_[0-9a-f]{32}$/);
  for (const part of [
    "loses the wallet",
    "waits two hours",
    "/login",
    "from no other network",
    "basescan.org/address/0x",
  ])
    expect(card).toContain(part);
  await tap(app, "Create my wallet");
  expect(await newest(app)).toContain(address);
  expect((await app.rows("wallets")).map((row) => [row.userId, row.address])).toContainEqual([
    userId,
    address,
  ]);
  const found = await app.get(`/messenger/wallet?messengerId=${ALICE}`);
  const pseudonym = derivePseudonym(userId);
  expect(found.body).toMatchObject({
    linked: true,
    confirmed: true,
    walletAddress: address,
    userId: pseudonym,
  });
  vi.stubEnv("MESSENGER_CONNECT_SECRET", "a-secret-of-the-bot-host");
  const secret = { headers: { Authorization: "Bearer a-secret-of-the-bot-host" } };
  expect((await app.get(`/messenger/wallet?messengerId=${ALICE}`, secret)).body.userId).toBe(pseudonym);
  vi.stubEnv("MESSENGER_CONNECT_SECRET", "");
  for (const path of ["/mcp/defi/portfolio", "/mcp/defi/connect"])
    expect(await app.get(`${path}?userId=${pseudonym}`)).toMatchObject({
      ...{ status: 400, body: { error: expect.stringContaining("public name") } },
    });

  // Arrivals are told once each, and not what an order brings.
  await app.chain.fund(address, { USDC: 20_000_000n });
  await look(app);
  expect(await newest(app)).toMatch(/20 USDC arrived.*has 20 USDC and 0 ETH/s);
  await app.chain.fund(address, { ETH: 10n ** 18n });
  await look(app);
  expect(await newest(app)).toContain("1 ETH arrived");
  const told = (await cards(app)).length;
  await look(app);
  expect(await cards(app)).toHaveLength(told);

  // The id alone reads, and asks.
  const order = send(userId, { amount: "1000000", idempotencyKey: "k" });
  expect((await app.get(`/mcp/wallet/balance?userId=${userId}`)).body).toMatchObject({ owned: true });
  expect((await app.post("/mcp/defi/send", order)).status).toBe(202);
  expect((await app.post("/user/messenger", { userId, messengerChatId: "7" })).status).toBe(403);
  await expect(mallory.action(api.accounts.actions.claimUserId, { userId })).rejects.toMatchObject({
    data: { code: "conflict" },
  });
  await tap(app, "✅ Approve");
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  await say(app, "/swap 5 USDC to ETH");
  await tap(app, "✅ Approve");
  expect(await newest(app)).toContain("✅ Done");
  await look(app);
  await look(app);
  expect(await newest(app)).toContain("✅ Done");
  // The looks end after half an hour.
  expect(await watches(app)).toHaveLength(1);
  await look(app, 31 * MINUTE);
  expect(await watches(app)).toEqual([]);
  await say(app, "/limits");
  expect(await newest(app)).toMatch(/\$1,99\d\.\d\d left of \$2,000\.00[^]*\$9\d\.\d\d left of \$100\.00/);
  await say(app, "/limits 3000");
  expect((await app.rows("accounts")).find((row) => row.userId === userId)?.limits).toHaveLength(2);
  const shown = JSON.stringify(app.standins.sent("messenger"));
  expect(shown).not.toContain(userId);
});

test("strangers, groups and used codes can do none of it; a freeze cancels a change of login", async ({
  app,
}) => {
  const { userId, address } = await withWallet(app);
  await app.chain.fund(address, { USDC: 99_000_000n, ETH: 10n ** 18n });
  await say(app, "/login");
  const [, code = ""] = CODE.exec(await newest(app)) ?? [];
  expect(JSON.stringify([await app.rows("messages"), await app.rows("codes")])).not.toContain(code);
  for (const words of ["/ai", "/limits", "/export", "/delete yes", "/unfreeze", "/portfolio"]) {
    await say(app, words, STRANGER);
    expect([words, await newest(app, STRANGER)]).toEqual([
      words,
      expect.stringContaining("This needs an account"),
    ]);
    await say(app, `${words.split(" ")[0]}@${BOT_NAME}`, ALICE, GROUP);
    expect([words, await newest(app, GROUP)]).toEqual([words, expect.stringContaining("private chat only")]);
  }
  // Wrong codes count, and a code that a group has read is worth nothing.
  await say(app, "/login 23456789", STRANGER);
  expect(await newest(app, STRANGER)).toContain("unknown, used or older");
  await say(app, `/login ${code}`, ALICE, GROUP);
  await say(app, `/login ${code}`, STRANGER);
  expect(await newest(app, STRANGER)).toContain("unknown, used or older");

  const codeOf = async () => {
    await say(app, "/login");
    return CODE.exec(await newest(app))?.[1] ?? "";
  };
  await say(app, `/login ${await codeOf()}`, OTHER);
  expect(await newest(app, OTHER)).toContain(`the login of ${derivePseudonym(userId)}?`);
  await tap(app, "🔐 Yes, mine", { from: OTHER, chat: OTHER });
  expect(await newest(app, OTHER)).toContain("unless a freeze cancels it");
  expect(await newest(app)).toMatch(/will get another login[^]*This chat stays linked/);
  const second = await codeOf();
  const web = browserOf(app, "web");
  await expect(web.action(api.accounts.actions.useLoginCode, { code: second })).rejects.toMatchObject({
    data: { code: "conflict" },
  });
  await tap(app, "🧊 Freeze");
  await claimsTakeEffect(app);
  await expect(web.action(api.accounts.actions.useLoginCode, { code: second })).rejects.toMatchObject({
    data: { code: "not_found" },
  });
  await say(app, "/login");
  expect(await newest(app)).toContain("frozen");
  expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(503);
  await say(app, "/unfreeze");
  await twoHoursPass(app);
  // An operator's change stands against a freeze from the chat, and ends what the chat could do.
  const login = "https://issuer.example|found-again";
  await app.t.mutation(internal.accounts.claims.changeLogin, { userId, login, reason: "a stolen phone" });
  await say(app, "/freeze");
  await say(app, "/login");
  await claimsTakeEffect(app);
  for (const words of ["/portfolio", "/freeze", "/ai"]) {
    await say(app, words);
    expect([words, await newest(app)]).toEqual([words, expect.not.stringContaining(address)]);
    expect([words, await newest(app)]).toEqual([words, expect.not.stringMatching(/usr_|is frozen/)]);
  }
});

test("the web application or another chat becomes the login two hours later, and the chat that asked stays linked", async ({
  app,
}) => {
  const { userId, address } = await withWallet(app);
  await app.chain.fund(address, { USDC: 20_000_000n, ETH: 10n ** 18n });
  await say(app, "/login");
  const [, code = ""] = CODE.exec(await newest(app)) ?? [];
  await say(app, `/login ${code}`, OTHER);
  await tap(app, "🔐 Yes, mine", { from: OTHER, chat: OTHER });
  await say(app, "/portfolio", OTHER);
  expect(await newest(app, OTHER)).toContain("is yours from");
  await claimsTakeEffect(app);
  expect(await newest(app, OTHER)).toContain("is yours now");
  // The chat that asked orders on, and may go; the new login takes the link by a tap.
  expect(
    (await app.post("/mcp/defi/send", send(userId, { amount: "1000000", idempotencyKey: "1" }))).status,
  ).toBe(202);
  await tap(app, "✅ Approve");
  await say(app, "/limits 5");
  expect(await newest(app)).toContain("not the account's login");
  await say(app, "/start", OTHER);
  // The chat was linked to somebody else's account meanwhile: that link ends as by /unlink, with what hung on it.
  const friend = browserOf(app, "friend");
  const { userId: theirs } = await friend.mutation(api.accounts.profile.signIn, {});
  const { code: linking } = await friend.mutation(api.messenger.linking.createCode, {});
  await say(app, `/connect ${linking}`, OTHER);
  const rulesOf = async () => (await app.rows("accounts")).find((row) => row.userId === theirs)?.version ?? 0;
  const before = await rulesOf();
  await tap(app, "Use my account here", { from: OTHER, chat: OTHER });
  expect(await newest(app, OTHER)).toContain(address);
  expect([(await friend.query(api.messenger.linking.status, {})).link, await rulesOf()]).toEqual([
    null,
    before + 1,
  ]);
  await twoHoursPass(app);
  expect(
    (await app.post("/mcp/defi/send", send(userId, { amount: "1000000", idempotencyKey: "2" }))).status,
  ).toBe(202);
  await tap(app, "✅ Approve", { from: OTHER, chat: OTHER });
  await app.settle();
  expect(await signed(app)).toHaveLength(2);
  await say(app, "/portfolio");
  expect(await newest(app)).toContain("This needs an account");

  await say(app, "/login", OTHER);
  const [, again = ""] = CODE.exec(await newest(app, OTHER)) ?? [];
  const web = browserOf(app, "web");
  await web.mutation(api.accounts.profile.signIn, {});
  const { from } = await web.action(api.accounts.actions.useLoginCode, { code: again });
  expect(from).toBeGreaterThan(Date.now() + 119 * MINUTE);
  expect(await web.action(api.accounts.actions.useLoginCode, { code: again })).toMatchObject({ from });
  await claimsTakeEffect(app);
  expect(await web.query(api.accounts.profile.me, {})).toMatchObject({ userId });
  expect((await app.post("/mcp/defi/send", send(userId, { amount: "1000000" }), { as: "web" })).status).toBe(
    200,
  );
  await say(app, "/portfolio", OTHER);
  expect(await newest(app, OTHER)).toContain(address);
});

test("/ai alone shows the id and makes keys; the data come as a file without either; a deletion keeps the wallet and its login", async ({
  app,
}) => {
  const { userId, address } = await withWallet(app);
  await app.chain.fund(address, { USDC: 20_000_000n, ETH: 10n ** 18n });
  await say(app, "/ai");
  expect(await newest(app)).toContain(`<code>${userId}</code>`);
  await say(app, "/ai withdraw");
  expect(await app.rows("keys")).toEqual([]);
  await tap(app, "Key that reads");
  const [key = ""] = /mk_[0-9a-f]{64}/.exec(await newest(app)) ?? [];
  expect(JSON.stringify(await app.rows("messages"))).not.toContain(key);
  const byKey = { headers: { Authorization: `Bearer ${key}` } };
  expect((await app.get(`/mcp/wallet/balance?userId=${userId}`, byKey)).body).not.toHaveProperty("owned");
  expect((await app.post("/mcp/defi/send", send(userId), byKey)).status).toBe(403);
  await tap(app, "Key that sends");
  const [sends = ""] = /mk_[0-9a-f]{64}/.exec(await newest(app)) ?? [];
  await listRecipient(app, userId);
  const order = () =>
    app.post("/mcp/defi/send", send(userId, { toAddress: LISTED, amount: "1000000" }), {
      headers: { Authorization: `Bearer ${sends}` },
    });
  expect((await order()).status).toBe(403);
  await twoHoursPass(app);
  expect((await order()).status).toBe(200);
  await say(app, "/ai");
  await tap(app, "Revoke withdraw from the bot");
  expect((await order()).status).toBe(401);

  await say(app, "/export");
  await app.settle();
  const { document } =
    app.standins.sent("messenger").findLast(({ method }) => method === "sendDocument") ?? {};
  const data: unknown = JSON.parse(document?.text ?? "");
  expect(data).toMatchObject({
    pseudonym: derivePseudonym(userId),
    wallets: [{ address }],
    trades: [{}],
    isComplete: true,
  });
  for (const secret of [userId, key, sends, "sealed"]) expect(document?.text).not.toContain(secret);

  await say(app, "/delete yes");
  expect((await app.rows("messages")).length).toBeGreaterThan(5);
  expect(await newest(app)).toMatch(/your keys and this login stay[^]*\/ai revokes keys/);
  await tap(app, "🗑 Delete");
  await app.settle();
  expect((await app.rows("messengerLinks")).map(({ messengerId }) => messengerId)).toEqual([String(ALICE)]);
  await say(app, "/portfolio");
  expect(await newest(app)).toContain(address);
  // Where the link is gone whatever the cause, a tap restores it.
  await app.t.run(async ({ db }) => {
    for (const { _id } of await db.query("messengerLinks").collect()) await db.delete("messengerLinks", _id);
  });
  await say(app, "/start");
  await tap(app, "Use my account here");
  expect(await newest(app)).toContain(address);
});

test("ids that everybody can read are nobody's, with the reason; the contract's are anybody's", async ({
  app,
}) => {
  for (const userId of [
    "YOUR-LONG-ID",
    "123e4567-e89b-12d3-a456-426614174000",
    "3F0C2A9E-6d1b-4c7e-9a54-b2f1d8e0c6a7",
    // As it stands in the documents' commands.
    "…",
  ])
    for (const path of ["/mcp/defi/connect", "/mcp/research/start", "/mcp/wallet/create"])
      expect(await app.post(path, { userId })).toMatchObject({
        ...{ status: 400, body: { error: expect.stringContaining("an example that everybody can read") } },
      });
  expect((await app.post("/mcp/defi/connect", { userId: "alice" })).status).toBe(200);
});
