import { expect, vi } from "vitest";
import { api } from "../../convex/_generated/api";
import { useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../support/browser";
import { keyOf, LISTED, listRecipient, newest, owner, say, send, signed, tap, test } from "../support/owners";

/** A userId that has leaked. */

useChain();

/** Of each kind of request that takes a `userId`. */
const requests = (userId: string): [string, object | null][] => [
  ["/mcp/chat", { userId, question: "How is ETH?" }],
  ["/mcp/research", { userId }],
  ["/webhooks", { userId, url: "https://example.com/hook" }],
  ["/user/messenger", { userId, messengerChatId: "5" }],
  ["/mcp/wallet/create", { userId }],
  [`/mcp/wallet/balance?userId=${userId}`, null],
  ["/mcp/defi/connect", { userId }],
  ["/mcp/defi/send", send(userId)],
  ["/mcp/defi/send", send(userId, { dryRun: true })],
  ["/mcp/defi/swap", { userId, fromToken: "USDC", toToken: "DAI", amount: "1000000" }],
];

const ask = (app: WalletApp, [path, body]: [string, object | null], as?: string) => {
  const init = as === undefined ? {} : { as };
  return body === null ? app.get(path, init) : app.post(path, body, init);
};

test("a userId that was replaced is 404 everywhere, whoever names it; everything goes on under the new one", async ({
  app,
}) => {
  const { userId, browser, address } = await owner(app);
  const { init: byKey } = await keyOf(app, browser, ["withdraw"]);
  const waiting = await app.post("/mcp/defi/send", send(userId, { idempotencyKey: "w" }));
  expect(waiting.status).toBe(202);
  const replaced = await browser.mutation(api.accounts.profile.replaceUserId, {});
  expect(replaced.userId).toMatch(/^usr_[0-9a-f]{32}$/);
  expect(await newest(app)).toContain("Your account has a new id");
  const error = "This userId is no longer valid, because its owner has replaced it: use the new one";
  for (const request of requests(userId)) {
    const { status, body } = await ask(app, request);
    expect([request[0], status, body]).toEqual([request[0], 404, { error }]);
    expect([request[0], (await ask(app, request, "person-42")).status]).toEqual([request[0], 404]);
  }
  // Nobody takes it over, by a claim or by a link for an owner; nor the new one.
  const mallory = browserOf(app, "mallory");
  for (const [id, code] of [
    [userId, "not_found"],
    [replaced.userId, "conflict"],
  ] as const) {
    const claim = mallory.action(api.accounts.actions.claimUserId, { userId: id });
    await expect(claim).rejects.toMatchObject({ data: { code } });
  }
  // The look-up, the profile and a later sign-in tell the new one.
  vi.stubEnv("MESSENGER_CONNECT_SECRET", "a-secret-of-the-bot-host");
  const secret = { headers: { Authorization: "Bearer a-secret-of-the-bot-host" } };
  const found = await app.get("/messenger/wallet?messengerId=42", secret);
  expect(found.body).toMatchObject({ linked: true, userId: replaced.userId, walletAddress: address });
  expect(await browser.query(api.accounts.profile.me, {})).toMatchObject(replaced);
  expect(await browser.mutation(api.accounts.profile.signIn, {})).toEqual(replaced);
  // What was asked before is void; the owner, a key and a tap go on.
  await tap(app, "✅ Approve");
  expect(await signed(app)).toEqual([]);
  const now = replaced.userId;
  expect((await app.post("/mcp/defi/send", send(now), { as: "person-42" })).status).toBe(200);
  await listRecipient(app, userId);
  expect((await app.post("/mcp/defi/send", send(now, { toAddress: LISTED }), byKey)).status).toBe(200);
  expect((await app.post("/mcp/defi/send", send(now))).status).toBe(202);
  await tap(app, "✅ Approve");
  await app.settle();
  expect(await signed(app)).toHaveLength(3);

  // It is replaced again, by a tap in the bot.
  await say(app, "/newid yes");
  expect(await browser.query(api.accounts.profile.me, {})).toMatchObject(replaced);
  await tap(app, "🔁 Replace");
  await say(app, "/ai");
  const [last = ""] = /usr_[0-9a-f]{32}/.exec(await newest(app)) ?? [];
  const ids = [userId, now, last];
  const answers = await Promise.all(ids.map((id) => app.get(`/mcp/defi/portfolio?userId=${id}`)));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 200]);
  expect(answers[2]?.body).toMatchObject({ address });
});
