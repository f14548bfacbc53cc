import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { useChain, usdcOf } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { cards, dollars, listsCount, newest, owner, RICH, say, send, tap, test } from "./support";

/** From one end to the other: what people and those who rob them live through, by the sums of docs/access.md. */

useChain();

const sends = (userId: string, toAddress: string, usd: number, fields: object = {}) =>
  send(userId, { toAddress, amount: dollars(usd), ...fields });

test("a trading script has a key, which is stolen: it takes 100 USD by bad prices, and nothing else, until it is revoked", async ({
  app,
}) => {
  const { userId, browser } = await owner(app, RICH);
  const { key, keyId } = await browser.mutation(api.account.keys.create, {
    name: "script",
    scopes: ["trade"],
    dailyUsd: "100",
  });
  const headers = { Authorization: `Bearer ${key}` };
  const swap = (usd: number) =>
    app.post(
      "/mcp/defi/swap",
      { userId, fromToken: "USDC", toToken: "DAI", amount: dollars(usd), slippageBps: 1_000 },
      { headers },
    );
  expect((await swap(900)).body.success).toBe(true);
  // The thief has it now: 11 % of 900 USD count, and no more than 100 USD may ever be lost in a day.
  const again = await swap(900);
  expect([again.status, again.body.error]).toEqual([
    400,
    expect.stringContaining("limit of 100 USD in 24 hours by the key script"),
  ]);
  const thiefs = freshAddress();
  for (const [path, body] of [
    ["/mcp/defi/send", sends(userId, thiefs, 1)],
    ["/user/messenger", { userId, messengerChatId: "666" }],
    ["/webhooks", { userId, url: "https://example.com/hook" }],
  ] as const)
    expect([path, (await app.post(path, body, { headers })).status]).toEqual([path, 403]);
  await browser.mutation(api.account.keys.revoke, { keyId });
  expect((await swap(1)).status).toBe(401);
  expect(await usdcOf(thiefs)).toBe(0n);
});

test("a new recipient: the assistant is refused by a refusal, and paid by a tap", async ({ app }) => {
  const { userId } = await owner(app, RICH);
  const landlord = freshAddress();
  const order = (idempotencyKey: string) =>
    app.post("/mcp/defi/send", sends(userId, landlord, 60, { idempotencyKey }));
  expect(await order("first")).toMatchObject({
    status: 202,
    body: {
      ...{ success: false, status: "awaiting_approval", idempotencyKey: "first" },
      ...{ approvalId: expect.any(String), expiresAt: expect.any(String), amount: "60000000" },
      error: expect.stringMatching(/^Waiting for your approval in the chat/),
    },
  });
  await tap(app, "✖ Refuse");
  expect((await order("first")).body.error).toBe("The owner has refused this");
  await app.t.run(async ({ db }) => {
    for (const { _id, question } of await db.query("orders").collect())
      if (question !== undefined)
        await db.patch("orders", _id, { question: { ...question, decidedAt: Date.now() - 3_600_001 } });
  });
  const asked = await order("second");
  expect(await newest(app)).toContain("New: it is not on your list");
  const follow = `/mcp/defi/approval?userId=${userId}&approvalId=${String(asked.body.approvalId)}`;
  expect((await app.get(follow)).body.status).toBe("awaiting_approval");
  await tap(app, "✅ Approve");
  expect((await app.get(follow)).body).toMatchObject({ status: "approved", kind: "send" });
  expect((await order("second")).body).toMatchObject({ success: true, status: "confirmed" });
  expect(await usdcOf(landlord)).toBe(60_000_000n);
});

test("a lost phone: its finder moves money to the list at most, within the day's limit, and the owner, signed in, ends that", async ({
  app,
}) => {
  const { userId, browser } = await owner(app, RICH);
  const friend = freshAddress();
  await browser.mutation(api.account.recipients.add, { address: friend });
  await listsCount(app);
  const finders = freshAddress();
  await say(app, `/send 50 USDC to ${finders}`);
  for (const usd of [1_500, 600]) {
    await say(app, `/send ${usd} USDC to ${friend}`);
    await tap(app, "✅ Approve");
  }
  await app.settle();
  await say(app, "/unfreeze");
  expect([await usdcOf(finders), await usdcOf(friend)]).toEqual([0n, 1_500_000_000n]);
  await browser.mutation(api.account.freezes.freeze, {});
  const known = (await cards(app)).length;
  await say(app, `/send 1 USDC to ${friend}`);
  // The chat may be told only now how an earlier order ended.
  const answers = (await cards(app)).slice(known).map(({ text }) => text);
  expect(answers).toContainEqual(expect.stringContaining("frozen"));
  const order = await app.post("/mcp/defi/send", sends(userId, friend, 1), { as: "person-42" });
  expect(order.status).toBe(503);
  await browser.mutation(api.account.freezes.unfreeze, {});
  await browser.mutation(api.messenger.linking.unlink, {});
  await say(app, `/send 1 USDC to ${friend}`);
  expect(await newest(app)).toContain("needs an account");
  expect((await app.post("/mcp/defi/send", sends(userId, friend, 1), { as: "person-42" })).status).toBe(200);
});

test("a plain client calls itself alice, has no owner and no token, and everything works as the contract says", async ({
  app,
}) => {
  const address = await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  const to = freshAddress();
  const wrong = { headers: { Authorization: "Bearer not-a-token" } };
  const sent = await app.post("/mcp/defi/send", sends("alice", to, 25), wrong);
  expect(sent).toMatchObject({ status: 200, body: { success: true, status: "confirmed" } });
  const swapped = await app.post("/mcp/defi/swap", {
    ...{ userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "100000000" },
  });
  expect(swapped).toMatchObject({ status: 200, body: { success: true } });
  expect((await app.post("/user/messenger", { userId: "alice", messengerChatId: "5" })).body).toMatchObject({
    success: true,
  });
  const { body } = await app.get("/mcp/wallet/balance?userId=alice");
  expect(body).not.toHaveProperty("owner");
  expect((await app.get("/mcp/defi/portfolio?userId=alice")).body.address).toBe(address);
  expect(await usdcOf(to)).toBe(25_000_000n);
});
