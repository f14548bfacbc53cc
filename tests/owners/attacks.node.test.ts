import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { cards, listsCount, newest, owner, RICH, say, send, signed, tap, test } from "./support";

/** Who knows a userId, holds its token or had its chat, and wants the owner to approve what they would not. */

useChain();

const HOUR = 3_600_000;

describe("a recipient", () => {
  test("is not known for what others have sent to it before the id had an owner", async ({ app }) => {
    const toAddress = freshAddress();
    await app.fundedWallet("a-long-and-unguessable-id", { ETH: 10n ** 18n, USDC: 1_000_000_000n });
    const planted = await app.post(
      "/mcp/defi/send",
      send("a-long-and-unguessable-id", { toAddress, amount: "1" }),
    );
    expect(planted.status).toBe(200);
    const { browser } = await owner(app);
    await browser
      .action(api.account.claims.claimUserId, { userId: "a-long-and-unguessable-id" })
      .catch(() => null);
    const { userId } = await owner(app, { ETH: 10n ** 18n, USDC: 1_000_000_000n }, 77);
    await app.t.run(async (ctx) => {
      for (const trade of await ctx.db.query("trades").collect())
        await ctx.db.patch("trades", trade._id, { userId });
    });
    await app.post("/mcp/defi/send", send(userId, { toAddress }));
    expect(await newest(app, 77)).toContain("New: it is not on your list");
  });

  test("that looks like the user's own wallet, or one on the list, is told apart", async ({ app }) => {
    const { userId, address, browser } = await owner(app);
    const known = freshAddress();
    const { address: listed } = await browser.mutation(api.account.recipients.add, { address: known });
    const paid = await app.post("/mcp/defi/send", send(userId, { toAddress: listed }), { as: "person-42" });
    expect(paid.status).toBe(200);
    const likeKnown = `${known.slice(0, 6)}${"5".repeat(32)}${known.slice(-4)}`;
    await app.post("/mcp/defi/send", send(userId, { toAddress: likeKnown }));
    expect((await newest(app)).toLowerCase()).toContain(`made to look like ${known}`);
    await tap(app, "✅ Approve");
    await app.settle();
    const alike = `${address.slice(0, 6)}${"7".repeat(32)}${address.slice(-4)}`.toLowerCase();
    await app.post("/mcp/defi/send", send(userId, { toAddress: alike }));
    const card = await newest(app);
    expect(card).toContain(`made to look like ${address}, your own custody wallet`);
    expect(card).toContain(`From your custody wallet ${address}`);
    expect(card).toContain("Moved in the last 24 hours: 50");
  });
});

describe("the price of what is approved", () => {
  test("of a swap is that of the least it may bring, which is bound", async ({ app }) => {
    const { userId } = await owner(app);
    const swap = { userId, fromToken: "USDC", toToken: "DAI", amount: "100000000", slippageBps: 300 };
    await app.post("/mcp/defi/swap", swap, { headers: { "Idempotency-Key": "s" } });
    const card = await newest(app);
    const least = Number(/for at least ([\d.]+) DAI/.exec(card)?.[1]);
    const cost = Number(/costs at most ([\d.]+)\s%/.exec(card)?.[1]);
    expect(least).toBeGreaterThanOrEqual(96.8);
    expect(cost).toBeGreaterThan(2.9);
    expect(Math.abs(100 - least - cost)).toBeLessThan(0.2);
    await tap(app, "✅ Approve");
    const done = await app.post("/mcp/defi/swap", swap, { headers: { "Idempotency-Key": "s" } });
    expect([done.status, done.body.success]).toEqual([200, true]);
    expect(Number(done.body.minBuyAmount) / 1e18).toBeGreaterThanOrEqual(least);
  });

  test("holds its fees: what costs more by then is not signed", async ({ app }) => {
    const { userId } = await owner(app);
    await app.post("/mcp/defi/send", send(userId, { idempotencyKey: "f" }));
    const shown = /Network fees: at most [\d.]+ USD \(([\d.]+) ETH\)/.exec(await newest(app))?.[1];
    const [asked] = await app.rows("orders");
    expect(asked?.mostFee).toBe(String(BigInt(Math.round(Number(shown) * 1e18))));
    await app.chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x12a05f200"]);
    await app.chain.rpc("evm_mine", []);
    await tap(app, "✅ Approve");
    expect(await app.rows("orders")).toMatchObject([
      { state: "failed", error: expect.stringMatching(/^The network fee could reach/) },
    ]);
    expect(await newest(app)).toMatch(/⚠️ Not done[^]*The network fee could reach/);
  });
});

describe("a linked account that is replaced", () => {
  /** The account of the test's owner is unlinked, and 666 linked in its place. */
  async function replaceLink(app: WalletApp, browser: Awaited<ReturnType<typeof owner>>["browser"]) {
    await browser.mutation(api.messenger.linking.unlink, {});
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await say(app, `/connect ${code}`, 666);
    await app.settle();
  }

  test("approves nothing for two hours, and the one of before can take it back", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await browser.mutation(api.messenger.linking.unlink, {});
    expect(await newest(app)).toContain("A messenger account is unlinked");
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await say(app, `/connect ${code}`, 666);
    await app.settle();
    expect(await newest(app)).toContain("Another messenger account is linked");
    const early = await app.post("/mcp/defi/send", send(userId));
    expect([early.status, early.body.error]).toEqual([
      403,
      expect.stringMatching(/level is guarded.*\. The messenger account that is linked now approves from /),
    ]);
    await say(app, "/swap 25 USDC to ETH", 666);
    expect(await newest(app, 666)).toMatch(/cannot order yet\. The messenger account .* approves from \d+ /);
    await say(app, "/freeze");
    expect(await app.rows("messengerLinks")).toMatchObject([{ messengerId: "42", userId }]);
    expect(await newest(app, 666)).toContain("not linked any more");
    expect((await app.post("/mcp/defi/send", send(userId), { as: "person-42" })).status).toBe(503);
  });

  test("approves once the two hours are over", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await replaceLink(app, browser);
    const [row] = await app.rows("accountLevels");
    expect(row?.formerLink?.until).toBeGreaterThan(Date.now() + 1.9 * HOUR);
    await app.t.run((ctx) =>
      row === undefined
        ? Promise.resolve()
        : ctx.db.patch("accountLevels", row._id, {
            formerLink: { messengerId: "42", until: Date.now() - 1 },
          }),
    );
    expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(202);
    await say(app, "/freeze");
    expect(await browser.query(api.account.freezes.mine, {})).toBeNull();
  });

  test("is put back by a freeze of what is frozen already, and nothing was loosened meanwhile", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    await say(app, "/freeze");
    // Nothing that loosens begins meanwhile.
    const looser = { level: "guarded" as const, dailyUsd: "9000" };
    await expect(browser.mutation(api.account.levels.set, looser)).rejects.toThrow("frozen this account");
    const recipient = { address: freshAddress() };
    await expect(browser.mutation(api.account.recipients.add, recipient)).rejects.toThrow(
      "frozen this account",
    );
    const key = { name: "script", scopes: ["withdraw" as const] };
    await expect(browser.mutation(api.account.keys.create, key)).rejects.toThrow("frozen this account");
    await replaceLink(app, browser);
    await say(app, "/freeze");
    expect(await newest(app)).toContain("Your account is frozen");
    expect(await app.rows("messengerLinks")).toMatchObject([{ messengerId: "42", userId }]);
    expect(await browser.query(api.account.levels.mine, {})).toMatchObject({ dailyUsd: "2000", next: null });
  });

  test("ends what was asked when its user's data go", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await app.post("/mcp/defi/send", send(userId));
    await browser.mutation(api.account.deletion.request, {});
    const [approval] = await app.rows("orders");
    await say(app, `/approve ${String(approval?._id)}`);
    expect(await signed(app)).toEqual([]);
  });
});

describe("who holds the owner's token", () => {
  const as = "person-42";

  test("rehearses no order of a frozen account as one that would go through", async ({ app }) => {
    const { userId } = await owner(app);
    await say(app, "/freeze");
    for (const init of [{ as }, {}]) {
      const { status, body } = await app.post("/mcp/defi/send", send(userId, { dryRun: true }), init);
      expect([status, body.success, body.rehearsal]).toMatchObject([
        200,
        false,
        { refusal: { status: 503, error: "The owner has frozen this account" } },
      ]);
    }
  });

  test("moves two thousand dollars a day, and is told of at the linked chat", async ({ app }) => {
    const { userId, browser } = await owner(app, RICH);
    const toAddress = freshAddress();
    const { address } = await browser.mutation(api.account.recipients.add, { address: toAddress });
    await listsCount(app);
    const order = (usd: number) =>
      app.post("/mcp/defi/send", send(userId, { toAddress, amount: String(usd * 1_000_000) }), { as });
    expect([(await order(900)).status, (await order(900)).status]).toEqual([200, 200]);
    const third = await order(900);
    expect([third.status, third.body.error]).toEqual([400, expect.stringContaining("limit of 2000 USD")]);
    const told = (await cards(app)).filter(({ text }) => text.includes("Ordered with your token"));
    expect(told).toHaveLength(2);
    expect(told[0]?.text).toContain(`To ${address}`);
    expect(told[0]?.keyboard?.flat().map(({ text }) => text)).toEqual(["🧊 Freeze"]);
  });

  test("raises a limit in two hours, and not past a freeze", async ({ app }) => {
    const { browser } = await owner(app);
    const wish = { level: "guarded" as const, mostUsd: "5000", dailyUsd: "100" };
    expect(await browser.mutation(api.account.levels.set, wish)).toMatchObject({
      ...{ mostUsd: "1000", dailyUsd: "100" },
      next: { mostUsd: "5000", dailyUsd: "100" },
    });
    await browser.mutation(api.account.recipients.add, { address: freshAddress() });
    await say(app, "/freeze");
    expect(await browser.query(api.account.recipients.mine, {})).toEqual([]);
    expect(await browser.query(api.account.levels.mine, {})).toMatchObject({
      ...{ mostUsd: "1000", dailyUsd: "100", next: null },
    });
  });
});
