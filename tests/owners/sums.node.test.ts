import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { records } from "../../convex/schema";
import { tablesOf } from "../../convex/lib/records/records";
import { accountNamed } from "../../convex/users/names";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../web/support";
import {
  cards,
  dollars,
  LISTED,
  listRecipient,
  owner,
  RICH,
  say,
  send as sends,
  tap,
  test as ownersTest,
} from "./support";

/** What docs/access.md says in USD: who has a copy of the database, the chat with the id, many addresses. */

useChain();

const env = { MESSENGER_BOT_NAME: "service_bot", UNOWNED_DAILY_USD: "500" };
const test = ownersTest.extend({ settings: { env } });

const NOBODYS = "kq3vX9tLw2bTz7RfYh5MnP";
const CLAIMED = "Wc8rT2mVx6pLz4NqYh7KdJ";
const TAPPED = "Zb5nG9sQw3kFj7XrTv2MhC";

const send = (userId: string, usd = 25, fields: object = {}) =>
  sends(userId, { amount: dollars(usd), ...fields });

/** Every text in every row, whole and in pieces. */
async function textsIn(app: WalletApp): Promise<Set<string>> {
  const rows = await Promise.all(tablesOf(records).map((table) => app.rows(table)));
  const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string")
      for (const text of [value, ...value.split(/[^\w-]+/)]) if (text !== "") texts.add(text);
    if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value)) [key, inner].forEach(collect);
  };
  [rows, jobs].forEach(collect);
  return texts;
}

test("no id, code or key in it moves money, but an id that anybody could guess: 500 USD a day", async ({
  app,
}) => {
  await app.fundedWallet(NOBODYS, RICH);
  await app.fundedWallet(CLAIMED, RICH);
  await app.fundedWallet(TAPPED, RICH);
  await app.fundedWallet("alice", RICH);
  // Each leaves as many traces as it can.
  for (const userId of [NOBODYS, CLAIMED, TAPPED, "alice"]) {
    expect((await app.post("/mcp/defi/send", send(userId))).body).toMatchObject({ success: true });
    await app.post("/user/messenger", { userId, messengerChatId: "5" });
    await app.post("/mcp/research/start", { userId, token: "ETH" });
    await app.post("/mcp/chat", { userId, question: "How is ETH?" });
  }
  const { browser } = await owner(app);
  const { key } = await browser.mutation(api.account.keys.create, { name: "bot", scopes: ["withdraw"] });
  await browserOf(app, "person-7").action(api.account.claims.claimUserId, { userId: CLAIMED });
  const { body } = await app.post("/mcp/defi/connect", { userId: TAPPED });
  const code = /own_\w+/.exec(String(body.ownerUrl))?.[0] ?? "";
  await say(app, `/start ${code}`, 9);
  const { body: open } = await app.post("/mcp/defi/connect", { userId: NOBODYS });
  await app.settle();
  const texts = await textsIn(app);
  for (const secret of [NOBODYS, key, code, /own_\w+/.exec(String(open.ownerUrl))?.[0] ?? ""])
    expect(Array.from(texts).filter((text) => text.includes(secret))).toEqual([]);
  await tap(app, "🔐 Own", { from: 9, chat: 9 });
  expect((await cards(app, 9)).at(-1)?.text).toContain("It is yours");
  const moving: string[] = [];
  for (const text of [...texts, ...(await textsIn(app))]) {
    const userId = await app.t.run((ctx) => accountNamed(ctx, text));
    if (userId === null) continue;
    const wallet = await app.t.query(internal.wallets.wallets.find, { userId, kind: "custody" });
    if (wallet === null) continue;
    const may = app.t.query(internal.users.access.may, { userId, deed: "send", now: Date.now() });
    if (await may.then(Boolean, () => false)) moving.push(text);
  }
  expect([...new Set(moving)]).toEqual(["alice"]);
  // 25 USD have left it.
  const taken = await app.post("/mcp/defi/send", send("alice", 474));
  expect(taken.body).toMatchObject({ success: true });
  const more = await app.post("/mcp/defi/send", send("alice", 2));
  expect([more.status, more.body.error]).toEqual([400, expect.stringContaining("limit of 500 USD")]);
  // Who knows the id goes on as before.
  expect((await app.post("/mcp/defi/send", send(NOBODYS))).body).toMatchObject({ success: true });
});

test("an account's own name is nobody's until it has an owner", async ({ app }) => {
  const address = await app.fundedWallet(NOBODYS, RICH);
  const [wallet] = await app.rows("wallets");
  const account = wallet?.userId ?? "";
  expect(account).toMatch(/^acc_[0-9a-f]{64}$/);
  expect((await app.post("/mcp/defi/send", send(account))).status).toBe(404);
  expect((await app.get(`/mcp/defi/portfolio?userId=${account}`)).status).toBe(404);
  const browser = browserOf(app, "person-7");
  await browser.mutation(api.users.profile.signIn, {});
  await expect(browser.action(api.account.claims.claimUserId, { userId: account })).rejects.toMatchObject({
    data: { code: "not_found" },
  });
  expect(await browser.action(api.account.claims.claimUserId, { userId: NOBODYS })).toMatchObject({
    userId: NOBODYS,
  });
  expect(await browser.query(api.users.profile.me, {})).toMatchObject({ userId: NOBODYS });
  expect((await app.get(`/mcp/defi/portfolio?userId=${NOBODYS}`)).body).toMatchObject({ address });
  const { userId } = await browser.mutation(api.users.access.replaceUserId, {});
  expect((await app.get(`/mcp/defi/portfolio?userId=${userId}`)).body).toMatchObject({ address });
  for (const gone of [NOBODYS, account])
    expect((await app.get(`/mcp/defi/portfolio?userId=${gone}`)).status).toBe(404);
});

test("a wallet of before ids were hashed stays its user's", async ({ app }) => {
  const address = await app.fundedWallet(NOBODYS, RICH);
  await app.t.run(async (ctx) => {
    for (const { _id } of await ctx.db.query("wallets").collect())
      await ctx.db.patch("wallets", _id, { userId: NOBODYS });
  });
  expect((await app.post("/mcp/defi/connect", { userId: NOBODYS })).body).toMatchObject({
    ...{ address, existing: true },
  });
});

test("a chat that an id had before hears of its owner, whether its claim waits or not", async ({ app }) => {
  await app.fundedWallet(NOBODYS, RICH);
  await app.post("/user/messenger", { userId: NOBODYS, messengerChatId: "5" });
  await browserOf(app, "person-7").action(api.account.claims.claimUserId, { userId: NOBODYS });
  expect((await cards(app, 5)).at(-1)?.text).toContain("Your account id has an owner now");
});

test("the chat that is set hears of the owner by its own bot, and of nothing later", async ({ app }) => {
  const bots = ["111111", "222222"].map((number) => `${number}:${"a".repeat(30)}`);
  const name = (chat: number, messengerBotToken: string | undefined) =>
    app.post("/user/messenger", { userId: "alice", messengerChatId: String(chat), messengerBotToken });
  await name(5, bots[0]);
  await name(6, bots[1]);
  const { browser } = await owner(app);
  await browserOf(app, "person-7").action(api.account.claims.claimUserId, { userId: "alice" });
  const told = (chat: number) =>
    app.standins
      .sent("messenger")
      .filter(({ chatId, text }) => chatId === String(chat) && text.includes("has an owner now"))
      .map(({ botToken }) => botToken);
  await app.settle();
  expect([told(5), told(6)]).toEqual([[], [bots[1]]]);
  // Nothing later is theirs to know.
  const mine = browserOf(app, "person-7");
  await mine.mutation(api.account.levels.set, { level: "closed" });
  const sent = (await cards(app, 5)).length + (await cards(app, 6)).length;
  await mine.mutation(api.account.freezes.freeze, {});
  expect((await cards(app, 5)).length + (await cards(app, 6)).length).toBe(sent);
  expect(await browser.query(api.account.freezes.mine, {})).toBeNull();
});

test("an owner's day counts what left before the id had an owner", async ({ app }) => {
  const userId = "kq3vX9tLw2bTz7RfYh5MnP-drained";
  await app.fundedWallet(userId, RICH);
  expect((await app.post("/mcp/defi/send", send(userId, 499))).status).toBe(200);
  await browserOf(app, "drainer").action(api.account.claims.claimUserId, { userId });
  const [wallet] = await app.rows("wallets");
  await listRecipient(app, String(wallet?.userId));
  const pay = (usd: number) =>
    app.post("/mcp/defi/send", send(userId, usd, { toAddress: LISTED }), { as: "drainer" });
  expect((await pay(1_499)).status).toBe(200);
  const third = await pay(10);
  expect([third.status, third.body.error]).toEqual([
    400,
    expect.stringContaining("limit of 2000 USD in 24 hours"),
  ]);
});

describe("who has the chat and the userId", () => {
  test("moves what the owner's limits allow, 2,000 USD a day, and raises nothing", async ({ app }) => {
    const { userId } = await owner(app, RICH);
    await listRecipient(app, userId);
    const order = (usd: number, fields: object = {}) => app.post("/mcp/defi/send", send(userId, usd, fields));
    expect((await order(101)).body.error).toContain("limit of 100 USD");
    for (const usd of [999, 1_000]) {
      expect((await order(usd, { toAddress: LISTED })).status).toBe(202);
      await tap(app, "✅ Approve");
      await app.settle();
    }
    const more = await order(2, { toAddress: LISTED });
    expect([more.status, more.body.error]).toEqual([400, expect.stringContaining("limit of 2000 USD")]);
    await say(app, "/send 1 USDC to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
    expect(await app.rows("orders")).toHaveLength(2);
    expect(await app.rows("accountLevels")).toMatchObject([{ setting: { level: "guarded" } }]);
  });
});

describe("many network addresses", () => {
  test("move what one does, and ask an owner no more often", async ({ app }) => {
    await app.fundedWallet(NOBODYS, RICH);
    await app.fundedWallet("alice", RICH);
    const { userId } = await owner(app, RICH);
    const order = (from: number, id: string, usd: number) =>
      app.post("/mcp/defi/send", send(id, usd), { ip: `203.0.113.${from}` });
    for (const [id, half, limit] of [
      [NOBODYS, 249, "500"],
      ["alice", 249, "500"],
    ] as const) {
      expect([(await order(1, id, half)).status, (await order(2, id, half)).status]).toEqual([200, 200]);
      const { status, body } = await order(3, id, 3);
      expect([id, status, body.error]).toEqual([id, 400, expect.stringContaining(`limit of ${limit} USD`)]);
    }
    const asked = [];
    for (const address of [1, 2, 3, 4, 5]) asked.push((await order(address, userId, 25)).status);
    expect(asked).toEqual([202, 429, 429, 429, 429]);
  });
});
