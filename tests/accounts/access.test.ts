import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { type App, test } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "../support/browser";

test("the first sign-in gives a user one random userId, however many at once, and is needed before anything else", async ({
  app,
}) => {
  const { profile } = api.accounts;
  const alice = browserOf(app, "alice");
  expect(await alice.query(profile.me, {})).toBeNull();
  await expect(alice.mutation(profile.freeze, {})).rejects.toMatchObject({ data: { code: "not_found" } });
  const all = await Promise.all(Array.from({ length: 5 }, () => alice.mutation(profile.signIn, {})));
  const userId = all[0]?.userId;
  expect(userId).toMatch(/^usr_[0-9a-f]{32}$/);
  expect(all).toEqual(all.map(() => ({ userId })));
  expect((await browserOf(app, "bob").mutation(profile.signIn, {})).userId).not.toBe(userId);
  expect(await alice.query(profile.me, {})).toMatchObject({ userId, claimed: false, addresses: [] });
});

test("a thief of the token who uses up its limit of changes does not keep the owner from freezing", async ({
  app,
}) => {
  const { profile } = api.accounts;
  const browser = browserOf(app, "alice");
  await browser.mutation(profile.signIn, {});
  const limited = { data: { code: "rate_limited" } };
  const changes = Array.from({ length: 61 }, () => browser.mutation(profile.setLimit, { dailyUsd: "1" }));
  await expect(Promise.all(changes)).rejects.toMatchObject(limited);
  await browser.mutation(profile.freeze, {});
  expect(await browser.query(profile.me, {})).toMatchObject({ frozenAt: expect.any(Number), thawsAt: null });
  // Once nothing is left to stop, it is a change as any other.
  await expect(browser.mutation(profile.freeze, {})).rejects.toMatchObject(limited);
});

test("what an account is told of itself stays true as time passes: its answer is kept until the account changes", async ({
  app,
}) => {
  const alice = browserOf(app, "alice");
  await alice.mutation(api.accounts.profile.signIn, {});
  await alice.mutation(api.accounts.profile.setLimit, { dailyUsd: "3000" });
  await alice.mutation(api.accounts.profile.freeze, {});
  await alice.mutation(api.accounts.profile.setLimit, { dailyUsd: "100" });
  const thawsAt = await alice.mutation(api.accounts.profile.unfreeze, {});
  const before = await alice.query(api.accounts.profile.me, {});
  expect(before).toMatchObject({ dailyUsd: "100", next: null, frozenAt: expect.any(Number), thawsAt });
  await app.pass(3 * 3_600_000, { cronsRun: false });
  expect(await alice.query(api.accounts.profile.me, {})).toEqual(before);
  await alice.mutation(api.accounts.profile.setLimit, { dailyUsd: "150" });
  const waiting = await alice.query(api.accounts.profile.me, {});
  expect(waiting).toMatchObject({ dailyUsd: "100", next: { dailyUsd: "150", from: expect.any(Number) } });
  await app.pass(3 * 3_600_000, { cronsRun: false });
  expect(await alice.query(api.accounts.profile.me, {})).toEqual(waiting);
});

describe("an id that somebody owns", () => {
  /** What a caller is answered. Past the guard there is no wallet, or no chain. */
  async function answersTo(app: App, init: CallInit = {}): Promise<Record<string, number>> {
    const userId = "alice";
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
  const refused = { send: 403, swap: 403, settings: 403, legacy: 403, notify: 403, webhook: 403 };

  test("answers to the id alone what reads and researches; orders and delivery need its owner", async ({
    app,
  }) => {
    await browserOf(app, "alice").action(api.accounts.actions.claimUserId, { userId: "alice" });
    await browserOf(app, "mallory").mutation(api.accounts.profile.signIn, {});
    const reads = { balance: 404, start: 200, stop: 200, status: 200 };
    expect(await answersTo(app)).toEqual({ ...refused, ...reads });
    const foreign = { balance: 403, start: 403, stop: 403, status: 200 };
    expect(await answersTo(app, { as: "mallory" })).toEqual({ ...refused, ...foreign });
    expect(await answersTo(app, { as: "alice" })).toMatchObject({
      ...{ send: 404, settings: 200, legacy: 200, balance: 404, start: 200 },
    });
    // A wrong credential is none, and never falls back to the id; for an id without an owner nobody looks at it.
    for (const wrong of ["nonsense", `mk_${"x".repeat(64)}`]) {
      const init = { headers: { Authorization: `Bearer ${wrong}` } };
      const answers = [
        await app.get("/mcp/wallet/balance?userId=alice", init),
        await app.get("/mcp/research/status?userId=alice", init),
        await app.post("/user/messenger", { userId: "alice", messengerChatId: "666" }, init),
        await app.post("/webhooks", { userId: "alice", url: "https://hooks.example.com/a" }, init),
        await app.get("/mcp/wallet/balance?userId=bob", init),
      ];
      expect([wrong, ...answers.map(({ status }) => status)]).toEqual([wrong, 401, 401, 401, 401, 404]);
    }
    const ways = await app.post("/user/messenger", { userId: "alice", messengerChatId: "666" });
    expect(ways.body.error).toMatch(/owner's token.*a key with the scope withdraw/);
    // Whoever proves nothing else is told so with its wallet.
    for (const path of ["/mcp/wallet/create", "/mcp/defi/connect"]) {
      const { body } = await app.post(path, { userId: "alice" });
      const ownedNote: unknown = expect.stringContaining("only its owner can move");
      expect(body).toMatchObject({ owned: true, ownedNote });
      expect(body).not.toHaveProperty("warning");
      expect((await app.post(path, { userId: "alice" }, { as: "alice" })).body).not.toHaveProperty("owned");
      expect((await app.post(path, { userId: "bob" })).body).not.toHaveProperty("owned");
    }
  });
});

test("an order is judged in the transaction that opens it: a userId claimed meanwhile counts", async ({
  app,
}) => {
  const userId = "kq3vX9tLw2bTz7RfYh5MnP";
  await browserOf(app, "alice").action(api.accounts.actions.claimUserId, { userId });
  await app.post("/mcp/defi/connect", { userId });
  const [wallet] = await app.rows("wallets");
  await browserOf(app, "mallory").mutation(api.accounts.profile.signIn, {});
  const open = (as: Pick<App["t"], "mutation">) =>
    as.mutation(internal.wallets.orders.placing.placeOrder, {
      idempotencyKey: "rent",
      userId: wallet?.userId ?? "",
      walletId: wallet?.walletId ?? "",
      request: { kind: "send", token: "ETH", toAddress: `0x${"1".repeat(40)}`, amount: "1" },
      address: null,
      value: "1000000",
      etherPrice: "0",
    });
  for (const as of [app.t, browserOf(app, "mallory")])
    await expect(open(as)).rejects.toMatchObject({ data: { code: "forbidden" } });
  expect(await app.rows("orders")).toEqual([]);
  for (let i = 0; i < 2; i++) await open(browserOf(app, "alice"));
  expect(await app.rows("orders")).toHaveLength(1);
});
