import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { nonceOf, useChain, usdcOf } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { browserOf } from "../web/support";
import {
  cards,
  LISTED,
  listRecipient,
  newest,
  owner,
  say,
  send,
  signed,
  tap,
  test as ownersTest,
} from "./support";

/** A userId that has leaked, and a deployment that was set back to a backup. */

useChain();

const env = { PLATFORM_WALLET_ADDRESS: `0x${"7".repeat(40)}` };
const test = ownersTest.extend({ settings: { env } });

/** Of each kind of request that takes a `userId`. */
const requests = (userId: string): [string, object | null][] => [
  ["/mcp/chat", { userId, question: "How is ETH?" }],
  ["/mcp/research", { userId }],
  ["/mcp/research/start", { userId }],
  ["/mcp/research/stop", { userId }],
  [`/mcp/research/status?userId=${userId}`, null],
  [`/mcp/signals/latest?userId=${userId}`, null],
  [`/mcp/whale-alerts?userId=${userId}`, null],
  [`/alerts?userId=${userId}`, null],
  [`/webhooks?userId=${userId}`, null],
  ["/webhooks", { userId, url: "https://example.com/hook" }],
  ["/agent/research/paid", { userId, token: "BTC" }],
  ["/user/messenger", { userId, messengerChatId: "5" }],
  ["/mcp/wallet/create", { userId }],
  [`/mcp/wallet/balance?userId=${userId}`, null],
  ["/mcp/defi/connect", { userId }],
  [`/mcp/defi/portfolio?userId=${userId}`, null],
  ["/mcp/defi/send", send(userId)],
  ["/mcp/defi/send", send(userId, { dryRun: true })],
  ["/mcp/defi/swap", { userId, fromToken: "USDC", toToken: "DAI", amount: "1000000" }],
  [`/mcp/defi/transaction?userId=${userId}&txHash=0x${"1".repeat(64)}`, null],
  [`/mcp/defi/approval?userId=${userId}&approvalId=x`, null],
];

const ask = (app: WalletApp, [path, body]: [string, object | null], as?: string) => {
  const init = as === undefined ? {} : { as };
  return body === null ? app.get(path, init) : app.post(path, body, init);
};

describe("a userId that was replaced", () => {
  test("is 404 everywhere, whoever names it; everything goes on under the new one", async ({ app }) => {
    const { userId, browser, address } = await owner(app);
    const { key } = await browser.mutation(api.account.keys.create, { name: "bot", scopes: ["withdraw"] });
    const waiting = await app.post("/mcp/defi/send", send(userId, { idempotencyKey: "w" }));
    expect(waiting.status).toBe(202);
    const replaced = await browser.mutation(api.users.access.replaceUserId, {});
    expect(replaced.userId).toMatch(/^usr_[0-9a-f]{32}$/);
    expect(await newest(app)).toContain("Your account has a new id");
    for (const request of requests(userId)) {
      const { status, body } = await ask(app, request);
      expect([request[0], status, body]).toEqual([
        request[0],
        404,
        { error: "There is no such userId: its owner has replaced it with another one" },
      ]);
      expect([request[0], (await ask(app, request, "person-42")).status]).toEqual([request[0], 404]);
    }
    // Nobody takes it over, by a claim or by a link for an owner; nor the new one.
    const mallory = browserOf(app, "mallory");
    for (const [id, code] of [
      [userId, "not_found"],
      [replaced.userId, "conflict"],
    ] as const) {
      const claim = mallory.action(api.account.claims.claimUserId, { userId: id });
      await expect(claim).rejects.toMatchObject({ data: { code } });
    }
    // The look-up, the profile and a later sign-in tell the new one.
    const found = await app.get("/messenger/wallet?messengerId=42");
    expect(found.body).toMatchObject({ linked: true, userId: replaced.userId, walletAddress: address });
    expect(await browser.query(api.users.profile.me, {})).toMatchObject(replaced);
    expect(await browser.mutation(api.users.profile.signIn, {})).toEqual(replaced);
    // What was asked before is void; the owner, a key and a tap go on.
    await tap(app, "✅ Approve");
    expect(await signed(app)).toEqual([]);
    const now = replaced.userId;
    expect((await app.get(`/mcp/wallet/balance?userId=${now}`)).body).toMatchObject({ address });
    const signedIn = await app.post("/mcp/defi/send", send(now), { as: "person-42" });
    expect(signedIn.status).toBe(200);
    const headers = { Authorization: `Bearer ${key}` };
    const toAddress = LISTED;
    await listRecipient(app, String((await app.rows("wallets"))[0]?.userId));
    expect((await app.post("/mcp/defi/send", send(now, { toAddress }), { headers })).status).toBe(200);
    expect((await app.post("/mcp/defi/send", send(now, { idempotencyKey: "t" }))).status).toBe(202);
    await tap(app, "✅ Approve");
    const tapped = await app.post("/mcp/defi/send", send(now, { idempotencyKey: "t" }));
    expect(tapped.status).toBe(409);
    expect(await app.rows("trades")).toHaveLength(3);
  });

  test("is replaced by a tap in the bot, and again; an old one that could be guessed warns no more", async ({
    app,
  }) => {
    const start = (await app.post("/mcp/defi/connect", { userId: "alice" })).body;
    expect(start.warning).toContain("could be guessed");
    await app.fundedWallet("alice", { ETH: 10n ** 18n });
    const browser = browserOf(app, "person-42");
    await browser.action(api.account.claims.claimUserId, { userId: "alice" });
    const [claim] = await app.rows("pendingClaims");
    if (claim === undefined) throw new Error("A claim of such an id waits");
    await app.t.run((ctx) => ctx.db.patch("pendingClaims", claim._id, { dueAt: 0 }));
    await app.t.mutation(internal.account.pendingClaims.carryOut, { claimId: claim._id });
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await say(app, `/connect ${code}`);
    const named: string[] = ["alice"];
    for (let times = 0; times < 2; times++) {
      await say(app, "/newid yes");
      expect(await app.rows("userNames")).toHaveLength(times);
      await tap(app, "🔁 Replace");
      named.push(/usr_[0-9a-f]{32}/.exec((await cards(app)).at(-1)?.text ?? "")?.[0] ?? "");
    }
    const answers = await Promise.all(
      named.map((userId) => app.get(`/mcp/defi/portfolio?userId=${userId}`, {})),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 200]);
    expect(answers[2]?.body).not.toHaveProperty("warning");
    expect(await browser.query(api.account.levels.mine, {})).toMatchObject({
      openRefusal: expect.stringContaining("messenger account is linked"),
    });
  });
});

describe("a backup that is put back", () => {
  /** What it holds of a time before any order: its rows. */
  const backUp = async (app: WalletApp) => ({
    orders: await app.rows("orders"),
    wallets: await app.rows("wallets"),
  });

  /** As an import does it: the rows of before, and nothing of what is scheduled. */
  async function putBack(app: WalletApp, { orders, wallets }: Awaited<ReturnType<typeof backUp>>) {
    await app.t.run(async (ctx) => {
      for (const { _id } of await ctx.db.query("trades").collect()) await ctx.db.delete("trades", _id);
      for (const { _id, _creationTime: _, ...row } of orders) await ctx.db.replace("orders", _id, row);
      for (const { _id, _creationTime: _, ...row } of wallets) await ctx.db.replace("wallets", _id, row);
    });
  }

  test("pays nothing twice for a question that has had its answer, and revives no wallet that has moved since", async ({
    app,
  }) => {
    const { userId, address } = await owner(app);
    const to = freshAddress();
    const order = (idempotencyKey: string) => send(userId, { idempotencyKey, toAddress: to });
    await app.post("/mcp/defi/send", order("a"));
    const [asked] = await app.rows("orders");
    const before = await backUp(app);
    await tap(app, "✅ Approve");
    expect(await nonceOf(address)).toBe(1);
    await putBack(app, before);
    await say(app, `/approve ${String(asked?._id)}`);
    await app.settle();
    expect(await newest(app)).toMatch(/Not done[^]*nothing was moved/);
    // Whatever the rows believe, the chain knows better, and nothing is signed.
    for (const as of ["person-42", "person-42"]) {
      const { status, body } = await app.post("/mcp/defi/send", send(userId, { toAddress: to }), { as });
      expect([status, body.error]).toEqual([
        503,
        expect.stringContaining("until the operator has read it back"),
      ]);
    }
    expect([await usdcOf(to), await nonceOf(address)]).toEqual([25_000_000n, 1]);
    await app.t.action(internal.wallets.orders.actions.repair, { address });
    const after = await app.post("/mcp/defi/send", send(userId, { toAddress: to }), { as: "person-42" });
    expect([after.status, after.body.status]).toEqual([200, "confirmed"]);
    expect([await usdcOf(to), await nonceOf(address)]).toEqual([50_000_000n, 2]);
  });
});
