import { getFunctionName, type FunctionReference } from "convex/server";
import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { type App, test } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "../support/browser";

const paginationOpts = { numItems: 5, cursor: null };
const call = (app: Pick<App["t"], "query" | "mutation" | "action">) => {
  const { accounts, credits, chat, messenger, social, wallets } = api;
  const query = (one: FunctionReference<"query">, args = {}) => [one, () => app.query(one, args)] as const;
  const mutation = (one: FunctionReference<"mutation">, args = {}) =>
    [one, () => app.mutation(one, args)] as const;
  const action = (one: FunctionReference<"action">, args = {}) => [one, () => app.action(one, args)] as const;
  return [
    query(accounts.profile.me),
    mutation(accounts.profile.signIn),
    mutation(accounts.profile.replaceUserId),
    mutation(accounts.profile.setLimit, { dailyUsd: "1" }),
    mutation(accounts.profile.freeze),
    mutation(accounts.profile.unfreeze),
    mutation(accounts.profile.unlinkAddress, { address: `0x${"ab".repeat(20)}` }),
    action(accounts.actions.challenge, { address: `0x${"ab".repeat(20)}` }),
    action(accounts.actions.linkAddress, { address: "0x", issuedAt: 0, signature: "0x" }),
    action(accounts.actions.claimUserId, { userId: "somebody" }),
    mutation(accounts.keys.create, { name: "one", scopes: ["read"] }),
    mutation(accounts.keys.addRecipient, { address: `0x${"ab".repeat(20)}` }),
    mutation(accounts.keys.removeRecipient, { address: `0x${"ab".repeat(20)}` }),
    mutation(accounts.data.erase),
    query(accounts.data.page, { section: "credits", paginationOpts }),
    query(credits.app.balance),
    mutation(credits.app.openGame),
    mutation(chat.runs.start, { question: "Why?" }),
    mutation(messenger.linking.createCode),
    query(messenger.linking.status),
    mutation(messenger.linking.unlink),
    mutation(social.app.startProof, { handle: "alice" }),
    query(social.app.settings),
    mutation(social.app.setTrading, { authorId: "1", enabled: true }),
    mutation(social.app.unlink, { authorId: "1" }),
    action(wallets.app.view),
  ];
};

describe("every public function", () => {
  test("refuses a caller without a token", async ({ app }) => {
    for (const [reference, run] of call(app.t)) {
      const code: unknown = await run().then(
        () => "answered",
        (error: unknown) => (error instanceof Error && "data" in error ? error.data : error),
      );
      expect([getFunctionName(reference), code]).toMatchObject([
        getFunctionName(reference),
        { code: "unauthorized" },
      ]);
    }
  });
});

describe("signing in", () => {
  test("gives a user one random userId, however often and however many at once", async ({ app }) => {
    const alice = browserOf(app, "alice");
    expect(await alice.query(api.accounts.profile.me, {})).toBeNull();
    const all = await Promise.all(
      Array.from({ length: 5 }, () => alice.mutation(api.accounts.profile.signIn, {})),
    );
    const userId = all[0]?.userId;
    expect(userId).toMatch(/^usr_[0-9a-f]{32}$/);
    expect(all).toEqual(all.map(() => ({ userId })));
    const bob = await browserOf(app, "bob").mutation(api.accounts.profile.signIn, {});
    expect(bob.userId).not.toBe(userId);
    expect(await alice.query(api.accounts.profile.me, {})).toMatchObject({
      userId,
      claimed: false,
      addresses: [],
    });
  });

  test("is needed before anything else", async ({ app }) => {
    const early = browserOf(app, "alice").mutation(api.accounts.profile.freeze, {});
    await expect(early).rejects.toMatchObject({ data: { code: "not_found" } });
  });
});

describe("an id that somebody owns", () => {
  /** What callers with the id alone, or with a token, are answered. Past the guard there is no wallet, or no chain. */
  async function answersTo(app: App, userId: string, init: CallInit = {}): Promise<Record<string, number>> {
    const order = { userId, token: "ETH", toAddress: `0x${"1".repeat(40)}`, amount: "1" };
    const swap = { userId, fromToken: "ETH", toToken: "USDC", amount: "1" };
    const answers = {
      send: await app.post("/mcp/defi/send", order, init),
      swap: await app.post("/mcp/defi/swap", swap, init),
      settings: await app.post("/user/messenger", { userId, messengerChatId: "666" }, init),
      legacy: await app.post("/user/telegram", { userId, telegramChatId: "666" }, init),
      notify: await app.post("/user/telegram/notify", { userId, message: "tap Approve" }, init),
      webhook: await app.post("/webhooks", { userId, url: "https://hooks.example.com/a" }, init),
      balance: await app.get(`/mcp/wallet/balance?userId=${userId}`, init),
      start: await app.post("/mcp/research/start", { userId, token: "BTC" }, init),
      stop: await app.post("/mcp/research/stop", { userId }, init),
      status: await app.get(`/mcp/research/status?userId=${userId}`, init),
    };
    return Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]));
  }
  const HOOK = { url: "https://hooks.example.com/market" };
  const refused = { send: 403, swap: 403, settings: 403, legacy: 403, notify: 403, webhook: 403 };

  test("answers to the id alone what reads and researches; orders and delivery need its owner", async ({
    app,
  }) => {
    await browserOf(app, "alice").action(api.accounts.actions.claimUserId, { userId: "alice" });
    await browserOf(app, "mallory").mutation(api.accounts.profile.signIn, {});
    const reads = { balance: 404, start: 200, stop: 200, status: 200 };
    expect(await answersTo(app, "alice")).toEqual({ ...refused, ...reads });
    const foreign = { balance: 403, start: 403, stop: 403, status: 200 };
    expect(await answersTo(app, "alice", { as: "mallory" })).toEqual({ ...refused, ...foreign });
    const wrong = { headers: { Authorization: "Bearer nonsense" } };
    expect((await app.get("/mcp/wallet/balance?userId=alice", wrong)).status).toBe(401);
    for (const path of ["/user/messenger", "/webhooks"])
      expect([path, (await app.post(path, { userId: "alice", ...HOOK }, wrong)).status]).toEqual([path, 401]);
    const own = await answersTo(app, "alice", { as: "alice" });
    expect(own).toMatchObject({ send: 404, settings: 200, legacy: 200, balance: 404, start: 200 });
    const ways = await app.post("/user/messenger", { userId: "alice", messengerChatId: "666" });
    expect(ways.body.error).toMatch(/owner's token.*a key with the scope withdraw/);
  });

  test("says so with its wallet to whoever names it and proves nothing else", async ({ app }) => {
    await browserOf(app, "alice").action(api.accounts.actions.claimUserId, { userId: "alice" });
    for (const path of ["/mcp/wallet/create", "/mcp/defi/connect"]) {
      const { body } = await app.post(path, { userId: "alice" });
      expect(body).toMatchObject({
        owned: true,
        ownedNote: expect.stringContaining("only its owner can move"),
      });
      expect(body).not.toHaveProperty("warning");
      expect((await app.post(path, { userId: "alice" }, { as: "alice" })).body).not.toHaveProperty("owned");
      expect((await app.post(path, { userId: "bob" })).body).not.toHaveProperty("owned");
    }
  });
});

describe("moving funds over HTTP", () => {
  const send = { token: "ETH" as const, toAddress: `0x${"1".repeat(40)}`, amount: "1" };
  test("is decided in the transaction that opens it: a userId claimed meanwhile counts", async ({ app }) => {
    const userId = "kq3vX9tLw2bTz7RfYh5MnP";
    await browserOf(app, "alice").action(api.accounts.actions.claimUserId, { userId });
    await app.post("/mcp/defi/connect", { userId });
    const [wallet] = await app.rows("wallets");
    await browserOf(app, "mallory").mutation(api.accounts.profile.signIn, {});
    const open = (as: Pick<App["t"], "mutation">) =>
      as.mutation(internal.wallets.orders.placing.place, {
        idempotencyKey: "rent",
        userId: wallet?.userId ?? "",
        walletId: wallet?.walletId ?? "",
        request: { kind: "send", ...send },
        address: null,
        value: "1000000",
        etherPrice: "0",
      });
    await expect(open(app.t)).rejects.toMatchObject({ data: { code: "forbidden" } });
    await expect(open(browserOf(app, "mallory"))).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
    expect(await app.rows("orders")).toEqual([]);
    await open(browserOf(app, "alice"));
    await open(browserOf(app, "alice"));
    expect(await app.rows("orders")).toHaveLength(1);
  });
});
