import type { FunctionArgs } from "convex/server";
import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { sha256Hex } from "../../convex/lib/security/digests";
import { useChain } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { cards, dollars, LISTED, listRecipient, newest, owner, send, tap, test } from "./support";

/** Keys that an owner gives to programs: what each opens, and nothing else. */

useChain();

type Browser = Awaited<ReturnType<typeof owner>>["browser"];
type Wish = Partial<FunctionArgs<typeof api.account.keys.create>>;

const made = (browser: Browser, wish: Wish) =>
  browser.mutation(api.account.keys.create, { name: "my script", scopes: [], ...wish });

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });

const swap = (userId: string, usd = 30) => ({
  ...{ userId, fromToken: "USDC", toToken: "DAI", amount: dollars(usd) },
});

describe("a key", () => {
  test("trades and withdraws by its scopes, and a scope too small is 403 and no fallback", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const { key: trading } = await made(browser, { scopes: ["trade"] });
    const { key: paying } = await made(browser, { scopes: ["withdraw", "read"] });
    expect(trading).toMatch(/^mk_[A-Za-z0-9_-]{43}$/);
    expect((await app.post("/mcp/defi/swap", swap(userId), bearer(trading))).status).toBe(200);
    const wrong = await app.post("/mcp/defi/send", send(userId), bearer(trading));
    expect([wrong.status, wrong.body.error]).toEqual([403, "This key lacks the scope withdraw"]);
    await listRecipient(app, userId);
    const listed = send(userId, { toAddress: LISTED });
    expect((await app.post("/mcp/defi/send", listed, bearer(paying))).status).toBe(200);
    expect((await app.post("/mcp/research/start", { userId, token: "BTC" }, bearer(paying))).status).toBe(
      403,
    );
    // A closed account shows its holdings to the key with the scope, and to no other.
    await browser.mutation(api.account.levels.set, { level: "closed" });
    const balance = `/mcp/wallet/balance?userId=${userId}`;
    expect((await app.get(balance, bearer(paying))).status).toBe(200);
    expect((await app.get(balance, bearer(trading))).status).toBe(403);
    expect((await app.get(balance)).status).toBe(401);
  });

  test("says nothing where its owner's cards go, is one user's, and ends when it is revoked or late", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const other = await owner(app, { ETH: 1n }, 43);
    const { key, keyId } = await made(browser, { scopes: ["read", "research", "trade", "withdraw"] });
    const delivery = await app.post("/user/messenger", { userId, messengerChatId: "-5" }, bearer(key));
    expect([delivery.status, delivery.body.error]).toEqual([
      403,
      expect.stringContaining("No key does this"),
    ]);
    expect((await app.post("/mcp/defi/send", send(other.userId), bearer(key))).status).toBe(403);
    expect((await app.post("/mcp/defi/send", send(userId), bearer(`mk_${"x".repeat(43)}`))).status).toBe(401);
    await browser.mutation(api.account.keys.revoke, { keyId });
    const after = await app.post("/mcp/defi/send", send(userId), bearer(key));
    expect([after.status, after.body.error]).toEqual([401, expect.stringContaining("revoked")]);
    const { key: short, keyId: shortId } = await made(browser, { scopes: ["withdraw"], days: 1 });
    await app.t.run((ctx) => ctx.db.patch("apiKeys", shortId, { expiresAt: Date.now() - 1 }));
    expect((await app.post("/mcp/defi/send", send(userId), bearer(short))).status).toBe(401);
    expect(await app.rows("orders")).toEqual([]);
  });

  test("moves no more in a day than it may, and nothing to strangers without a tap", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await listRecipient(app, userId);
    const { key } = await made(browser, { scopes: ["trade", "withdraw"], dailyUsd: "60" });
    const pay = (amount: string) =>
      app.post("/mcp/defi/send", send(userId, { amount, toAddress: LISTED }), bearer(key));
    expect([(await pay("40000000")).status, (await pay("19000000")).status]).toEqual([200, 200]);
    const third = await pay("1000000");
    expect([third.status, third.body.error]).toEqual([
      400,
      expect.stringContaining("limit of 60 USD in 24 hours by the key my script"),
    ]);
    const { key: free } = await made(browser, { scopes: ["withdraw"] });
    // Strangers get nothing by a key: the owner is asked.
    const stranger = send(userId, { amount: "60000000", idempotencyKey: "one" });
    expect((await app.post("/mcp/defi/send", stranger, bearer(free))).status).toBe(202);
    expect(await newest(app)).toContain("Your key my script has asked for this. Nothing moves");
    await tap(app, "✅ Approve");
    expect((await app.post("/mcp/defi/send", stranger, bearer(free))).body.status).toBe("confirmed");
  });

  test("opens no more than its cap in a race of two hundred", async ({ app }) => {
    const { userId, browser } = await owner(app);
    const { key } = await made(browser, { scopes: ["withdraw"], dailyUsd: "60" });
    await listRecipient(app, userId);
    const wallet = (await app.rows("wallets")).find(({ kind }) => kind === "custody");
    const opened = await Promise.allSettled(
      Array.from({ length: 200 }, () =>
        app.t.mutation(internal.wallets.orders.rows.open, {
          userId,
          walletId: wallet?.walletId ?? "",
          address: null,
          request: { kind: "send", token: "USDC", amount: "1000000", toAddress: LISTED },
          value: "1000000",
          etherPrice: "0",
          keyHash: sha256Hex(key),
        }),
      ),
    );
    expect(opened.filter(({ status }) => status === "fulfilled")).toHaveLength(60);
    expect(await app.rows("orders")).toHaveLength(60);
  });

  test("is shown once, stored as a hash, listed with its last use, and told of, as is its end", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const { key, keyId } = await made(browser, { scopes: ["read"] });
    await app.get(`/mcp/wallet/balance?userId=${userId}`, bearer(key));
    expect(await browser.query(api.account.keys.mine, {})).toMatchObject([
      { keyId, name: "my script", scopes: ["read"], dailyUsd: null, lastUsedAt: expect.any(Number) },
    ]);
    expect(await newest(app)).toContain("my script: read, until you revoke it");
    const everything = await app.t.run(async (ctx) =>
      Promise.all(
        (["apiKeys", "messages", "auditEvents", "accountLevels", "orders"] as const).map((table) =>
          ctx.db.query(table).collect(),
        ),
      ),
    );
    expect(JSON.stringify(everything)).not.toContain(key);
    await browser.mutation(api.account.keys.revoke, { keyId });
    expect(await newest(app)).toContain("my script opens nothing any more");
    const { address } = await browser.mutation(api.account.recipients.add, { address: freshAddress() });
    await browser.mutation(api.account.recipients.remove, { address });
    const [added, removed] = (await cards(app)).slice(-2).map(({ text }) => text);
    expect([added, removed]).toEqual([
      expect.stringContaining("new recipient"),
      expect.stringContaining(`removed from your list</b>\n\n${address}`),
    ]);
    const wrong: Wish[] = [{ scopes: [] }, { scopes: ["read"], name: "<b>" }, { scopes: ["read"], days: 0 }];
    for (const wish of wrong)
      await expect(made(browser, wish)).rejects.toMatchObject({ data: { code: "invalid_request" } });
  });

  test("is not looked at for an id that nobody owns", async ({ app }) => {
    await app.fundedWallet("kq3vX9tLw2bTz7RfYh5MnP", { ETH: 10n ** 18n, USDC: 1_000_000_000n });
    const { status } = await app.post(
      "/mcp/defi/send",
      send("kq3vX9tLw2bTz7RfYh5MnP"),
      bearer(`mk_${"x".repeat(43)}`),
    );
    expect(status).toBe(200);
  });
});
