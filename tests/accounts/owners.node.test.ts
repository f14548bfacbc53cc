import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { ALICE, userWithCode } from "../bot/support";
import { useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import {
  cards,
  dollars,
  LISTED,
  listRecipient,
  newest,
  owner,
  RICH,
  say,
  send,
  signed,
  tap,
  test,
  twoHoursPass,
} from "../support/owners";

/** Who knows a userId, holds its token or had its chat, and wants what the owner would not. */

useChain();

const as = "person-42";

test("a recipient that looks like the user's own wallet, or one on the list, is told apart", async ({
  app,
}) => {
  const { userId, address, browser } = await owner(app);
  const known = freshAddress();
  await browser.mutation(api.accounts.keys.addRecipient, { address: known });
  const likeKnown = `${known.slice(0, 6)}${"5".repeat(32)}${known.slice(-4)}`;
  await app.post("/mcp/defi/send", send(userId, { toAddress: likeKnown }));
  expect((await newest(app)).toLowerCase()).toContain(`made to look like ${known}`);
  await tap(app, "✅ Approve");
  await app.settle();
  const alike = `${address.slice(0, 6)}${"7".repeat(32)}${address.slice(-4)}`.toLowerCase();
  await app.post("/mcp/defi/send", send(userId, { toAddress: alike }));
  const card = await newest(app);
  expect(card).toContain(`made to look like ${address}, your own custody wallet`);
  expect(card).toMatch(/Left for today: 7\d\.\d\d USD/);
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
    expect(Math.abs(100 - least - cost)).toBeLessThan(0.2);
    await tap(app, "✅ Approve");
    const done = await app.post("/mcp/defi/swap", swap, { headers: { "Idempotency-Key": "s" } });
    expect([done.status, done.body.success]).toEqual([200, true]);
    expect(Number(done.body.minBuyAmount) / 1e18).toBeGreaterThanOrEqual(least);
  });

  test("holds its fees: what costs more by then is not signed", async ({ app }) => {
    const { userId } = await owner(app);
    await app.post("/mcp/defi/send", send(userId, { idempotencyKey: "f" }));
    await app.chain.rpc("anvil_setNextBlockBaseFeePerGas", ["0x12a05f200"]);
    await app.chain.rpc("evm_mine", []);
    await tap(app, "✅ Approve");
    expect(await signed(app)).toEqual([]);
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
    await replaceLink(app, browser);
    const early = await app.post("/mcp/defi/send", send(userId));
    expect(early.status).toBe(403);
    await say(app, "/swap 25 USDC to ETH", 666);
    expect(await newest(app, 666)).toContain("or not for two hours yet");
    await say(app, "/freeze");
    expect(await newest(app, 666)).toContain("not linked any more");
    const found = await app.get("/messenger/wallet?messengerId=42");
    expect(found.body).toMatchObject({ linked: true, userId });
    expect((await app.post("/mcp/defi/send", send(userId), { as })).status).toBe(503);
  });

  test("approves once the two hours are over, and then the one of before has no say", async ({ app }) => {
    const { userId, browser } = await owner(app);
    await replaceLink(app, browser);
    await twoHoursPass(app);
    expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(202);
    await say(app, "/freeze");
    expect(await browser.query(api.accounts.profile.me, {})).toMatchObject({ frozenAt: null });
  });
});

describe("an account that the owner's token has unlinked", () => {
  /** Whoever holds the token ends the link, and reports the account as linked to a user of their own. */
  async function reportedElsewhere(app: WalletApp) {
    const { userId, browser } = await owner(app);
    await browser.mutation(api.messenger.linking.unlink, {});
    const { code } = await userWithCode(app, "mallory");
    const reported = { linkToken: code, messengerId: String(ALICE) };
    expect((await app.post("/messenger/connect", reported)).status).toBe(200);
    const linked = async () => (await app.get(`/messenger/wallet?messengerId=${ALICE}`)).body;
    return { userId, browser, linked };
  }

  test("takes its link back by a freeze, whatever a stranger has reported about it", async ({ app }) => {
    const { userId, linked } = await reportedElsewhere(app);
    await say(app, "/freeze");
    expect(await linked()).toMatchObject({ confirmed: true, userId });
  });

  test("does not lose its say by a freeze of the token's", async ({ app }) => {
    const { userId, browser, linked } = await reportedElsewhere(app);
    await browser.mutation(api.accounts.profile.freeze, {});
    expect(await newest(app)).toContain("Your account is frozen");
    expect(await linked()).toMatchObject({ confirmed: true, userId });
  });
});

describe("who holds the owner's token", () => {
  test("moves two thousand dollars a day, and is told of at the linked chat", async ({ app }) => {
    const { userId } = await owner(app, RICH);
    const toAddress = freshAddress();
    const order = (usd: number) =>
      app.post("/mcp/defi/send", send(userId, { toAddress, amount: dollars(usd) }), { as });
    expect([(await order(900)).status, (await order(900)).status]).toEqual([200, 200]);
    const third = await order(900);
    expect([third.status, third.body.error]).toEqual([429, expect.stringContaining("limit of 2000 USD")]);
    const told = (await cards(app)).filter(({ text }) => text.includes("Ordered with your token"));
    expect(told).toHaveLength(2);
    expect(told[0]?.keyboard?.flat().map(({ text }) => text)).toEqual(["🧊 Freeze"]);
  });

  test("loosens nothing before two hours, and nothing past a freeze", async ({ app }) => {
    const { userId, browser } = await owner(app);
    const standing = () => browser.query(api.accounts.profile.me, {});
    await browser.mutation(api.accounts.profile.setLimit, { dailyUsd: "5000" });
    expect(await standing()).toMatchObject({ dailyUsd: "2000", next: { dailyUsd: "5000" } });
    const { address } = await browser.mutation(api.accounts.keys.addRecipient, { address: freshAddress() });
    const { key } = await browser.mutation(api.accounts.keys.create, { name: "new", scopes: ["withdraw"] });
    const init = { headers: { Authorization: `Bearer ${key}` } };
    const early = await app.post("/mcp/defi/send", send(userId, { toAddress: address }), init);
    expect(early.status).toBe(403);
    await say(app, "/freeze");
    expect(await standing()).toMatchObject({ recipients: [] });
    expect(await browser.query(api.accounts.profile.me, {})).toMatchObject({
      dailyUsd: "2000",
      next: null,
    });
    expect((await app.get(`/mcp/wallet/balance?userId=${userId}`, init)).status).toBe(401);
    // Nothing that loosens begins meanwhile.
    const frozen = { data: { code: "paused" } };
    await expect(browser.mutation(api.accounts.profile.setLimit, { dailyUsd: "9000" })).rejects.toMatchObject(
      frozen,
    );
    await expect(browser.mutation(api.accounts.keys.addRecipient, { address })).rejects.toMatchObject(frozen);
    const wish = { name: "two", scopes: ["withdraw" as const] };
    await expect(browser.mutation(api.accounts.keys.create, wish)).rejects.toMatchObject(frozen);
    // What tightens does, at once.
    await browser.mutation(api.accounts.profile.setLimit, { dailyUsd: "10" });
    expect(await standing()).toMatchObject({ dailyUsd: "10" });
  });
});

test("what was asked ends when its user's data go", async ({ app }) => {
  const { userId, browser } = await owner(app);
  await app.post("/mcp/defi/send", send(userId));
  await browser.mutation(api.accounts.data.erase, {});
  const [approval] = await app.rows("orders");
  await say(app, `/approve ${String(approval?._id)}`);
  expect(await signed(app)).toEqual([]);
});

test("who has the chat and the userId moves what the owner's limits allow, and raises nothing", async ({
  app,
}) => {
  const { userId } = await owner(app, RICH);
  await listRecipient(app, userId);
  const order = (usd: number, fields: object = {}) =>
    app.post("/mcp/defi/send", send(userId, { amount: dollars(usd), ...fields }));
  expect((await order(101)).body.error).toContain("limit of 100 USD");
  for (const usd of [999, 1_000]) {
    expect((await order(usd, { toAddress: LISTED })).status).toBe(202);
    await tap(app, "✅ Approve");
    await app.settle();
  }
  const more = await order(2, { toAddress: LISTED });
  expect([more.status, more.body.error]).toEqual([429, expect.stringContaining("limit of 2000 USD")]);
});

test("many network addresses ask an owner no more often", async ({ app }) => {
  const { userId } = await owner(app, RICH);
  const asked = [];
  for (const from of [1, 2, 3])
    asked.push((await app.post("/mcp/defi/send", send(userId), { ip: `203.0.113.${from}` })).status);
  expect(asked).toEqual([202, 429, 429]);
});
