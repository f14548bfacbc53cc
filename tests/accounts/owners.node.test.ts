import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../support/browser";
import { identityOf, type CallInit } from "../support/world";
import {
  cards,
  claimsTakeEffect,
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
  expect(card).toMatch(/uses \$25 of the \$7\d\.\d\d left of your \$100 a day/);
});

describe("the price of what is approved", () => {
  test("of a swap is that of the least it may bring, which is bound", async ({ app }) => {
    const { userId } = await owner(app);
    const swap = { userId, fromToken: "USDC", toToken: "DAI", amount: "100000000", slippageBps: 300 };
    await app.post("/mcp/defi/swap", swap, { headers: { "Idempotency-Key": "s" } });
    const card = await newest(app);
    const least = Number(/at least ([\d.]+) · fee/.exec(card)?.[1]);
    expect(least).toBeGreaterThanOrEqual(96.8);
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

/** The account of the test's owner is unlinked, and 666 linked in its place. */
async function replaceLink(app: WalletApp, browser: Awaited<ReturnType<typeof owner>>["browser"]) {
  await browser.mutation(api.messenger.linking.unlink, {});
  const { code } = await browser.mutation(api.messenger.linking.createCode, {});
  await say(app, `/connect ${code}`, 666);
  await app.settle();
}

test("a messenger account in the place of a linked one approves nothing for two hours, and from then on the one of before has no say", async ({
  app,
}) => {
  const { userId, browser } = await owner(app);
  await replaceLink(app, browser);
  expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(403);
  await say(app, "/swap 25 USDC to ETH", 666);
  expect(await newest(app, 666)).toContain("a newly linked chat waits two hours");
  await twoHoursPass(app);
  expect((await app.post("/mcp/defi/send", send(userId))).status).toBe(202);
  await say(app, "/freeze");
  expect(await browser.query(api.accounts.profile.me, {})).toMatchObject({ frozenAt: null });
});

test.for(["its own", "the token's"])(
  "a messenger account that the token has unlinked stays unlinked by a freeze, %s, and has no say after two hours",
  async (whose, { app }) => {
    const { userId, browser } = await owner(app);
    const linked = async () => (await browser.query(api.messenger.linking.status, {})).link?.messengerId;
    const frozen = async () => (await app.post("/mcp/defi/send", send(userId), { as })).status === 503;
    await replaceLink(app, browser);
    expect(await linked()).toBe("666");
    if (whose === "its own") await say(app, "/freeze");
    else await browser.mutation(api.accounts.profile.freeze, {});
    expect(await newest(app)).toContain("Your account is frozen");
    expect([await linked(), await frozen()]).toEqual(["666", true]);
    await browser.mutation(api.accounts.profile.unfreeze, {});
    await twoHoursPass(app);
    await say(app, "/freeze");
    expect([await linked(), await frozen()]).toEqual(["666", false]);
  },
);

test("a stolen phone keeps nobody out: a changed login ends its link and its say, and its freeze does not stop that", async ({
  app,
}) => {
  const { userId, browser } = await owner(app);
  const { tokenIdentifier: login } = identityOf("anew");
  const change = () =>
    app.t.mutation(internal.accounts.claims.changeLogin, { userId, login, reason: "the phone was stolen" });
  await change();
  expect(await newest(app)).toContain("a freeze from a chat does not stop it");
  await say(app, "/freeze");
  await claimsTakeEffect(app);
  const anew = browserOf(app, "anew");
  expect(await anew.query(api.accounts.profile.me, {})).toMatchObject({ userId });
  expect(await anew.query(api.messenger.linking.status, {})).toEqual({ link: null });
  await anew.mutation(api.accounts.profile.unfreeze, {});
  await twoHoursPass(app);
  await say(app, "/freeze");
  const mine = await app.post("/mcp/defi/send", send(userId), { as: "anew" });
  expect(mine.body).toMatchObject({ status: "confirmed" });
  expect(await browser.query(api.accounts.profile.me, {})).toBeNull();

  // Nor has an account a say that was unlinked right before.
  const other = await owner(app, undefined, 43);
  await other.browser.mutation(api.messenger.linking.unlink, {});
  await app.t.mutation(internal.accounts.claims.changeLogin, {
    ...{ userId: other.userId, login: identityOf("other anew").tokenIdentifier, reason: "ticket 8" },
  });
  await claimsTakeEffect(app);
  await say(app, "/freeze", 43);
  expect(await newest(app, 43)).not.toContain("Your account is frozen");
});

test("who holds the token, and who has the chat and the userId, move what the owner's limits allow together, and the chat is told", async ({
  app,
}) => {
  const { userId } = await owner(app, RICH);
  await listRecipient(app, userId);
  const order = (usd: number, fields: object, init: CallInit = {}) =>
    app.post("/mcp/defi/send", send(userId, { amount: dollars(usd), ...fields }), init);
  expect((await order(101, {})).body.error).toContain("limit of 100 USD");
  expect((await order(999, { toAddress: LISTED })).status).toBe(202);
  await tap(app, "✅ Approve");
  await app.settle();
  const toAddress = freshAddress();
  expect((await order(900, { toAddress }, { as })).status).toBe(200);
  const told = (await cards(app)).filter(({ text }) => text.includes("Ordered with your token"));
  expect(told.map(({ keyboard }) => keyboard?.flat().map(({ text }) => text))).toEqual([["🧊 Freeze"]]);
  for (const more of [await order(101, { toAddress }, { as }), await order(101, { toAddress: LISTED })])
    expect([more.status, more.body.error]).toEqual([429, expect.stringContaining("limit of 2000 USD")]);
});

test("who holds the token loosens nothing before two hours, and nothing past a freeze", async ({ app }) => {
  const { userId, browser } = await owner(app);
  const { keys, profile } = api.accounts;
  const standing = () => browser.query(profile.me, {});
  await browser.mutation(profile.setLimit, { dailyUsd: "5000" });
  expect(await standing()).toMatchObject({ dailyUsd: "2000", next: { dailyUsd: "5000" } });
  const { address } = await browser.mutation(keys.addRecipient, { address: freshAddress() });
  const wish = { name: "new", scopes: ["withdraw" as const] };
  const { key } = await browser.mutation(keys.create, wish);
  const init = { headers: { Authorization: `Bearer ${key}` } };
  const early = await app.post("/mcp/defi/send", send(userId, { toAddress: address }), init);
  expect(early.status).toBe(403);
  await say(app, "/freeze");
  expect(await standing()).toMatchObject({ recipients: [], dailyUsd: "2000", next: null });
  expect((await app.get(`/mcp/wallet/balance?userId=${userId}`, init)).status).toBe(401);
  // Nothing that loosens begins meanwhile.
  for (const looser of [
    browser.mutation(profile.setLimit, { dailyUsd: "9000" }),
    browser.mutation(keys.addRecipient, { address }),
    browser.mutation(keys.create, wish),
  ])
    await expect(looser).rejects.toMatchObject({ data: { code: "paused" } });
  // What tightens does, at once.
  await browser.mutation(profile.setLimit, { dailyUsd: "10" });
  expect(await standing()).toMatchObject({ dailyUsd: "10" });
  await browser.mutation(profile.unfreeze, {});
  await twoHoursPass(app);
  await browser.mutation(profile.setLimit, { dailyUsd: "20" });
  expect(await standing()).toMatchObject({ dailyUsd: "10", next: { dailyUsd: "20" } });
  await twoHoursPass(app);
  expect(await standing()).toMatchObject({ dailyUsd: "10", next: { dailyUsd: "20", from: 0 } });
});
