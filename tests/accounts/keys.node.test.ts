import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import {
  dollars,
  keyOf,
  LISTED,
  listRecipient,
  newest,
  owner,
  send,
  test,
  twoHoursPass,
} from "../support/owners";

/** Keys that an owner gives to programs: what each opens, and nothing else. */

useChain();

const bearer = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
const swap = (userId: string, usd = 30) => ({
  ...{ userId, fromToken: "USDC", toToken: "DAI", amount: dollars(usd) },
});

describe("a key", () => {
  test("trades and withdraws by its scopes from two hours on, and a scope too small is 403 and no fallback", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    await listRecipient(app, userId);
    const { key } = await browser.mutation(api.accounts.keys.create, { name: "new", scopes: ["trade"] });
    expect(key).toMatch(/^mk_[0-9a-f]{64}$/);
    const early = await app.post("/mcp/defi/swap", swap(userId), bearer(key));
    expect([early.status, early.body.error]).toEqual([
      403,
      expect.stringMatching(/only reads until .*: try again then$/),
    ]);
    const balance = `/mcp/wallet/balance?userId=${userId}`;
    expect((await app.get(balance, bearer(key))).status).toBe(200);
    await twoHoursPass(app);
    expect((await app.post("/mcp/defi/swap", swap(userId), bearer(key))).status).toBe(200);
    const wrong = await app.post("/mcp/defi/send", send(userId), bearer(key));
    expect([wrong.status, wrong.body.error]).toEqual([
      403,
      expect.stringMatching(/^This key lacks the scope withdraw: use one with it/),
    ]);
    const delivery = { userId, messengerChatId: "-5" };
    expect((await app.post("/user/messenger", delivery, bearer(key))).status).toBe(403);
    const paying = (await keyOf(app, browser, ["withdraw"])).init;
    const told: [string, object][] = [
      ["/webhooks", { userId, url: "https://hooks.example.com/" }],
      ["/alerts", { userId, text: "BTC above 100k" }],
      ["/user/telegram/notify", { userId, message: "Hello" }],
    ];
    for (const [path, body] of told) {
      expect([path, (await app.post(path, body)).status]).toEqual([path, 403]);
      expect([path, (await app.post(path, body, paying)).status]).toEqual([path, 200]);
    }
    const listed = send(userId, { toAddress: LISTED });
    expect((await app.post("/mcp/defi/send", listed, paying)).status).toBe(200);
    expect((await app.post("/user/messenger", delivery, paying)).status).toBe(200);
    expect((await app.post("/mcp/defi/swap", swap(userId), paying)).status).toBe(403);
    // Another owner's key opens nothing here.
    const { browser: another } = await owner(app, undefined, 43);
    const theirs = (await keyOf(app, another, ["trade", "withdraw"])).init;
    const foreign = await app.post("/mcp/defi/send", listed, theirs);
    expect([foreign.status, foreign.body.error]).toEqual([403, expect.stringContaining("another user")]);
  });

  test("moves no more in a day than it may, and nothing to strangers", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await listRecipient(app, userId);
    const { init } = await keyOf(app, browser, ["trade", "withdraw"], "60");
    const pay = (amount: string) =>
      app.post("/mcp/defi/send", send(userId, { amount, toAddress: LISTED }), init);
    expect([(await pay("40000000")).status, (await pay("19000000")).status]).toEqual([200, 200]);
    const third = await pay("1000000");
    expect([third.status, third.body.error]).toEqual([
      429,
      expect.stringContaining("limit of 60 USD in 24 hours by the key my script"),
    ]);
    const order = send(userId, { amount: "1" });
    const toStranger = () => app.post("/mcp/defi/send", order, init);
    const stranger = await toStranger();
    expect([stranger.status, stranger.body.error]).toEqual([403, expect.stringContaining("owner's list")]);
    // Whom its owner adds is none for two hours.
    await browser.mutation(api.accounts.keys.addRecipient, { address: order.toAddress });
    const early = await toStranger();
    expect([early.status, early.body.error]).toEqual([403, expect.stringContaining("counts from")]);
    await twoHoursPass(app);
    expect((await toStranger()).status).toBe(200);
    // What no wait makes fit is no 429, whatever else is used up.
    await app.t.run(async ({ db }) => {
      const [account] = await db.query("accounts").collect();
      if (account !== undefined)
        await db.patch("accounts", account._id, {
          limits: [{ dailyMicroUsd: "60000000", countsFrom: 0 }],
        });
    });
    expect((await pay("61000000")).status).toBe(403);
  });

  test("is shown once, listed, and told of until it is revoked or late; a wrong wish is refused", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const { key, keyId } = await keyOf(app, browser, ["read"]);
    expect(await newest(app)).toContain("my script: read, until you revoke it");
    const paginationOpts = { numItems: 9, cursor: null };
    const { page } = await browser.query(api.accounts.data.page, { section: "keys", paginationOpts });
    expect(page.map((row): unknown => JSON.parse(row))).toEqual([
      expect.objectContaining({ _id: keyId, name: "my script", scopes: ["read"] }),
    ]);
    expect(page.join()).not.toContain("keyHash");
    for (const table of ["keys", "messages", "accounts"] as const)
      expect(JSON.stringify(await app.rows(table))).not.toContain(key);
    await browser.mutation(api.accounts.keys.revoke, { keyId });
    expect(await newest(app)).toContain("my script opens nothing any more");
    const short = await keyOf(app, browser, ["withdraw"]);
    await app.t.run((ctx) => ctx.db.patch("keys", short.keyId, { expiresAt: Date.now() - 1 }));
    for (const late of [key, short.key]) {
      const answer = await app.post("/mcp/defi/send", send(userId), bearer(late));
      expect([answer.status, answer.body.error]).toEqual([
        401,
        expect.stringContaining("revoked, expired or unknown"),
      ]);
    }
    for (const wish of [{ scopes: [] }, { name: "<b>" }, { days: 0 }]) {
      const made = browser.mutation(api.accounts.keys.create, { name: "one", scopes: ["read"], ...wish });
      await expect(made).rejects.toMatchObject({ data: { code: "invalid_request" } });
    }
  });
});
