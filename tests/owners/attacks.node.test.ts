import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { cards, listsCount, newest, owner, RICH, say, send, tap, test } from "./support";

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

  test("that looks like the user's own wallet, one on the list or one that is asked about is told apart", async ({
    app,
  }) => {
    const { userId, address } = await owner(app);
    const known = freshAddress();
    const paid = await app.post("/mcp/defi/send", send(userId, { toAddress: known }), { as: "person-42" });
    expect(paid.status).toBe(200);
    const likeKnown = `${known.slice(0, 6)}${"5".repeat(32)}${known.slice(-4)}`;
    await app.post("/mcp/defi/send", send(userId, { toAddress: likeKnown }));
    expect((await newest(app)).toLowerCase()).toContain(`made to look like ${known}`);
    await tap(app, "✖ Refuse");
    const alike = `${address.slice(0, 6)}${"7".repeat(32)}${address.slice(-4)}`.toLowerCase();
    await app.post("/mcp/defi/send", send(userId, { toAddress: alike }));
    const card = await newest(app);
    expect(card).toContain(`made to look like ${address}, your own custody wallet`);
    expect(card).toContain(`From your custody wallet ${address}`);
    expect(card).toContain("Moved in the last 24 hours: 25 USD");
    const asked = freshAddress();
    await app.post("/mcp/defi/send", send(userId, { toAddress: asked }));
    const other = `${asked.slice(0, 6)}${"8".repeat(32)}${asked.slice(-4)}`;
    await app.post("/mcp/defi/send", send(userId, { toAddress: other }));
    expect((await newest(app)).toLowerCase()).toContain(
      `made to look like ${asked}, about which you are asked`,
    );
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
    const shown = /Network fees: at most ([\d.]+) ETH/.exec(await newest(app))?.[1];
    const [approval] = await app.rows("approvals");
    expect(approval?.wish).toMatchObject({ mostFee: String(BigInt(Math.round(Number(shown) * 1e18))) });
    await app.chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x12a05f200"]);
    await app.chain.rpc("evm_mine", []);
    await tap(app, "✅ Approve");
    expect(await app.rows("transactions")).toMatchObject([
      { state: "failed", error: expect.stringMatching(/^The network fee could reach/) },
    ]);
    expect(await newest(app)).toMatch(/⚠️ Not done[^]*The network fee could reach/);
  });
});

describe("a question about a bot", () => {
  const bot = (letter: string) => `777777:${letter.repeat(30)}`;

  test("is about one token under one key, and shows the bot's id", async ({ app }) => {
    const { userId } = await owner(app);
    const headers = { "Idempotency-Key": "bot" };
    const ask = (letter: string) =>
      app.post("/user/messenger", { userId, messengerBotToken: bot(letter) }, { headers });
    expect((await ask("a")).status).toBe(202);
    expect(await newest(app)).toContain("by the bot with the id 777777");
    expect((await ask("b")).status).toBe(409);
    const inBody = { userId, messengerBotToken: bot("b"), idempotencyKey: "bot" };
    expect((await app.post("/user/messenger", inBody)).status).toBe(409);
    await tap(app, "✅ Approve");
    expect(await ask("a")).toMatchObject({ status: 200, body: { success: true } });
    expect(await newest(app)).not.toContain(bot("a"));
    // No sealed token outlives its question.
    expect(JSON.stringify(await app.rows("approvals"))).not.toContain("sealedBotToken");
    expect(await app.rows("messengerConfigs")).toMatchObject([{ sealedBotToken: expect.any(String) }]);
  });

  test("is forgotten with its time", async ({ app }) => {
    const { userId } = await owner(app);
    await app.post("/user/messenger", { userId, messengerBotToken: bot("a") });
    expect(JSON.stringify(await app.rows("approvals"))).toContain("sealedBotToken");
    const jobs = await app.t.run((ctx) => ctx.db.system.query("_scheduled_functions").collect());
    const closing = jobs.find(({ name }) => name.includes("proposals:close"));
    const [approval] = await app.rows("approvals");
    expect(closing?.scheduledTime).toBe(approval?.expiresAt);
  });

  test("holds no word of the caller's, and is not asked for nothing", async ({ app }) => {
    const { userId } = await owner(app);
    const named = await app.post("/user/messenger", { userId, messengerChatId: "@Support_please_approve" });
    expect([named.status, named.body.error]).toEqual([400, expect.stringContaining("numeric chat id")]);
    expect(await app.post("/user/messenger", { userId })).toMatchObject({ status: 200 });
    expect(await app.rows("approvals")).toEqual([]);
  });

  test("is told about once it is tapped, at the chat of before too", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await app.post("/user/messenger", { userId, messengerChatId: "42" }, { as: "person-42" });
    await app.post("/user/messenger", { userId, messengerChatId: "-777" });
    await tap(app, "✅ Approve");
    await app.settle();
    const sent = app.standins.sent("messenger").filter(({ chatId }) => chatId === "42");
    expect(sent.some(({ text }) => text.includes("Your cards go elsewhere"))).toBe(true);
    const actions = (await app.rows("auditEvents")).map(({ action }) => action);
    expect(actions).toContain("delivery changed");
    expect(await browser.query(api.account.freezes.mine, {})).toBeNull();
  });
});

describe("an account that is open", () => {
  test("asks beyond its cap", async ({ app }) => {
    const { userId } = await owner(app);
    const [row] = await app.rows("accountLevels");
    if (row === undefined) throw new Error("A link leaves a row of the account's rules");
    // As with an operator's secret for bots, or without a link when it was set.
    const setting = { level: "open" as const, capMicroUsd: "10000000" };
    await app.t.run((ctx) => ctx.db.patch("accountLevels", row._id, { setting, linked: false }));
    const within = await app.post("/mcp/defi/send", send(userId, { amount: "5000000" }));
    expect(within.status).toBe(200);
    const beyond = await app.post("/mcp/defi/send", send(userId));
    expect([beyond.status, beyond.body.status]).toEqual([202, "awaiting_approval"]);
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
    const delivery = app.post("/user/messenger", { userId, messengerChatId: "-7" });
    for (const early of [await app.post("/mcp/defi/send", send(userId)), await delivery])
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
    const [approval] = await app.rows("approvals");
    await say(app, `/approve ${String(approval?._id)}`);
    expect(await app.rows("transactions")).toEqual([]);
  });
});

describe("who holds the owner's token", () => {
  const as = "person-42";

  test("sends little to strangers, and more only where the owner has put them on the list, or taps", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app);
    const toAddress = freshAddress();
    const little = await app.post("/mcp/defi/send", send(userId, { toAddress, amount: "50000000" }), { as });
    expect(little.status).toBe(200);
    // It is on the list since then, and counts in two hours: until then the chat is asked.
    const more = await app.post("/mcp/defi/send", send(userId, { toAddress, amount: "60000000" }), { as });
    expect([more.status, more.body.status]).toEqual([202, "awaiting_approval"]);
    expect(await newest(app)).toContain("on your list it counts from");
    expect(await newest(app)).toContain("Somebody with your login has asked for this");
    await browser.mutation(api.messenger.linking.unlink, {});
    const alone = await app.post("/mcp/defi/send", send(userId, { amount: "60000000" }), { as });
    expect([alone.status, alone.body.error]).toEqual([
      403,
      expect.stringContaining("its owner adds it in the web application"),
    ]);
  });

  test("sends fifty dollars a day to all strangers together, however small the orders", async ({ app }) => {
    const { userId } = await owner(app);
    const pay = (amount: string) => app.post("/mcp/defi/send", send(userId, { amount }), { as });
    expect([(await pay("30000000")).status, (await pay("20000000")).status]).toEqual([200, 200]);
    const more = await pay("1000000");
    expect([more.status, more.body.status]).toEqual([202, "awaiting_approval"]);
  });

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

  test("moves a thousand dollars an order, two thousand a day, and is told of at the linked chat", async ({
    app,
  }) => {
    const { userId, browser } = await owner(app, RICH);
    const toAddress = freshAddress();
    const { address } = await browser.mutation(api.account.recipients.add, { address: toAddress });
    await listsCount(app);
    const order = (usd: number) =>
      app.post("/mcp/defi/send", send(userId, { toAddress, amount: String(usd * 1_000_000) }), { as });
    expect((await order(1_001)).body.error).toContain("at most 1000 USD");
    expect([(await order(900)).status, (await order(900)).status]).toEqual([200, 200]);
    const third = await order(900);
    expect([third.status, third.body.error]).toEqual([400, expect.stringContaining("limit of 2000 USD")]);
    const told = (await cards(app)).filter(({ text }) => text.includes("Ordered with your token"));
    expect(told).toHaveLength(2);
    expect(told[0]?.text).toContain(`To ${address}`);
    expect(told[0]?.keyboard?.flat().map(({ text }) => text)).toEqual(["🧊 Freeze"]);
  });

  test("loses a twentieth of that in swaps at most", async ({ app }) => {
    const { userId } = await owner(app, RICH);
    const swap = (usd: number) =>
      app.post(
        "/mcp/defi/swap",
        { userId, fromToken: "USDC", toToken: "DAI", amount: String(usd * 1_000_000), slippageBps: 1_000 },
        { as },
      );
    const first = await swap(950);
    expect([first.status, first.body.error]).toEqual([
      400,
      expect.stringMatching(/lose 104\.5 USD.*limit of 100 USD/),
    ]);
    expect((await swap(900)).status).toBe(200);
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
