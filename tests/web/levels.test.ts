import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { linkedUser, userWithCode } from "../bot/support";
import { createApp, type App, test } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "./support";

/** How far an account goes with whoever names its `userId` alone: the level that its owner sets. */

const HOUR = 3_600_000;
const LONG = "kq3vX9tLw2bTz7RfYh5MnP";
const send = { token: "ETH", toAddress: `0x${"1".repeat(40)}`, amount: "1" };
const swap = { fromToken: "ETH", toToken: "USDC", amount: "1" };

/** What callers with the id alone, or with a token, are answered. Past the guard there is no wallet, or no chain. */
async function answersTo(app: App, userId: string, init: CallInit = {}): Promise<Record<string, number>> {
  const calls = {
    send: () => app.post("/mcp/defi/send", { userId, ...send }, init),
    swap: () => app.post("/mcp/defi/swap", { userId, ...swap }, init),
    settings: () => app.post("/user/messenger", { userId, messengerChatId: "666" }, init),
    legacySettings: () => app.post("/user/telegram", { userId, telegramChatId: "666" }, init),
    notify: () => app.post("/user/telegram/notify", { userId, message: "tap Approve" }, init),
    balance: () => app.get(`/mcp/wallet/balance?userId=${userId}`, init),
    start: () => app.post("/mcp/research/start", { userId, token: "BTC" }, init),
    stop: () => app.post("/mcp/research/stop", { userId }, init),
    status: () => app.get(`/mcp/research/status?userId=${userId}`, init),
  };
  const found: Record<string, number> = {};
  for (const [name, run] of Object.entries(calls)) found[name] = (await run()).status;
  return found;
}

const READS = { balance: 404, start: 200, stop: 200, status: 200 };
const refused = (status: number) => ({
  ...{ send: status, swap: status, settings: status, legacySettings: status, notify: status },
});

/** A user whose id is a long one that they brought along. */
async function owner(app: App) {
  const alice = browserOf(app, "alice");
  await alice.action(api.account.claims.claimUserId, { userId: LONG });
  return alice;
}

describe("a level", () => {
  test("is guarded where nothing is set: reads, research and stop go on, orders and delivery name the ways out", async ({
    app,
  }) => {
    const alice = await owner(app);
    expect(await alice.query(api.account.levels.mine, {})).toEqual({
      ...{ level: "guarded", capUsd: null, next: null, openRefusal: null },
      ...{ mostUsd: "1000", dailyUsd: "2000", lossPercent: 5 },
    });
    expect(await answersTo(app, LONG)).toEqual({ ...READS, ...refused(403) });
    await browserOf(app, "mallory").mutation(api.users.profile.signIn, {});
    expect(await answersTo(app, LONG, { as: "mallory" })).toEqual({
      ...{ ...refused(403), balance: 403, start: 403, stop: 403, status: 200 },
    });
    await app.post("/mcp/research/start", { userId: LONG });
    expect((await app.post("/mcp/research/stop", { userId: LONG })).body).toEqual({
      ...{ success: true, stopped: 1, owner: { level: "guarded" } },
    });
    const { body } = await app.post("/mcp/defi/send", { userId: LONG, ...send });
    expect(body.error).toBe(
      "This userId has an owner, and its level is guarded: orders and delivery settings need the owner's token (Authorization: Bearer <token>), or a tap in the owner's chat, which has to be linked with the service's bot; or the owner sets the level to open in the web application (account/levels:set)",
    );
    expect(await answersTo(app, LONG, { as: "alice" })).toEqual({
      ...{ ...READS, send: 404, swap: 404, settings: 200, legacySettings: 200, notify: 200 },
    });
  });

  test("closed keeps orders, delivery, holdings, starts and stops from whoever has no token, at once", async ({
    app,
  }) => {
    const alice = await owner(app);
    await app.post("/user/messenger", { userId: LONG, messengerChatId: "7" }, { as: "alice" });
    const set = await alice.mutation(api.account.levels.set, { level: "closed" });
    expect(set).toMatchObject({ level: "closed", next: null });
    expect(await answersTo(app, LONG)).toEqual({
      ...refused(403),
      ...{ balance: 401, start: 401, stop: 401, status: 200 },
    });
    expect((await app.get(`/mcp/defi/portfolio?userId=${LONG}`)).status).toBe(401);
    // What a transaction has moved is told as holdings are.
    const transaction = `/mcp/defi/transaction?userId=${LONG}&txHash=0x${"ab".repeat(32)}`;
    expect((await app.get(transaction)).status).toBe(401);
    expect((await app.get(transaction, { as: "alice" })).status).toBe(404);
    // A card is told to its owner alone.
    expect((await app.get(`/mcp/whale-alerts?userId=${LONG}`)).body.messengerSent).not.toBe(true);
    expect((await app.post("/mcp/research/start", { userId: LONG }, { as: "alice" })).status).toBe(200);
    await app.settle();
    expect(app.cards().map(({ text }) => text)).toContainEqual(expect.stringContaining("closed"));
  });

  test("open waits two hours and is told on every channel; setting another one takes it back", async ({
    app,
  }) => {
    const { browser, userId } = await linkedUser(app, "alice", 42, { confirmed: true });
    await browser.mutation(api.messenger.linking.unlink, {});
    await app.post("/user/messenger", { userId, messengerChatId: "7" }, { as: "alice" });
    const open = { level: "open", capUsd: "100" } as const;
    const { level, next } = await browser.mutation(api.account.levels.set, open);
    expect([level, next]).toMatchObject(["guarded", { level: "open", capUsd: "100" }]);
    expect((next?.from ?? 0) - Date.now() - 2 * HOUR).toBeLessThan(1_000);
    expect((next?.from ?? 0) - Date.now()).toBeGreaterThanOrEqual(2 * HOUR);
    await app.settle();
    // The account that was linked until a moment ago hears of it, too.
    const text = expect.stringMatching(/From .* on its level is open: .*100 USD in 24 hours/);
    expect(app.cards().slice(-2)).toMatchObject([
      { chatId: "7", text },
      { chatId: "42", text },
    ]);
    await app.pass(1.9 * HOUR, { cronsRun: false });
    expect((await app.post("/mcp/defi/send", { userId, ...send })).status).toBe(403);
    await app.pass(0.2 * HOUR, { cronsRun: false });
    expect((await answersTo(app, userId)).settings).toBe(200);
    // A higher cap waits, a lower one does not, and neither does going back.
    expect(await browser.mutation(api.account.levels.set, { ...open, capUsd: "200" })).toMatchObject({
      ...{ capUsd: "100", next: { capUsd: "200" } },
    });
    expect(await browser.mutation(api.account.levels.set, { ...open, capUsd: "50" })).toMatchObject({
      ...{ capUsd: "50", next: null },
    });
    await browser.mutation(api.account.levels.set, { level: "guarded" });
    expect((await answersTo(app, userId)).settings).toBe(403);
    await app.pass(3 * HOUR, { cronsRun: false });
    expect((await answersTo(app, userId)).settings).toBe(403);
  });

  test.for([
    [{ level: "open" }, "invalid_request"],
    [{ level: "open", capUsd: "0" }, "invalid_request"],
    [{ level: "open", capUsd: "a lot" }, "invalid_request"],
    [{ level: "closed", capUsd: "1" }, "invalid_request"],
  ] as const)("%j is refused", async ([wish, code], { app }) => {
    const alice = await owner(app);
    await expect(alice.mutation(api.account.levels.set, wish)).rejects.toMatchObject({ data: { code } });
    expect(await app.rows("accountLevels")).toMatchObject([{ setting: { level: "guarded" } }]);
  });
});

describe("open", () => {
  const open = { level: "open", capUsd: "100" } as const;

  test("is not for an id that could be guessed", async ({ app }) => {
    const alice = browserOf(app, "alice");
    await alice.action(api.account.claims.claimUserId, { userId: "alice" });
    await expect(alice.mutation(api.account.levels.set, open)).rejects.toMatchObject({
      data: { code: "conflict" },
    });
    const { body } = await app.post("/mcp/defi/send", { userId: "alice", ...send });
    expect(body.error).not.toContain("open");
  });

  test("is not for an account whose id the look-up tells, unless bots have the operator's secret", async ({
    app,
  }) => {
    const { browser } = await linkedUser(app, "alice", 42, { confirmed: false });
    await expect(browser.mutation(api.account.levels.set, open)).rejects.toMatchObject({
      data: { code: "conflict" },
    });
  });

  test("counts as guarded once a link is made, also when it was set before and the link ends again", async ({
    app,
  }) => {
    const { browser, userId, code } = await userWithCode(app, "alice");
    await browser.mutation(api.account.levels.set, open);
    await app.pass(2 * HOUR, { cronsRun: false });
    expect((await answersTo(app, userId)).settings).toBe(200);
    const next = await browser.mutation(api.messenger.linking.createCode, {});
    expect(code).not.toBe(next.code);
    await app.post("/messenger/connect", { linkToken: next.code, messengerId: "42" });
    expect((await answersTo(app, userId)).settings).toBe(403);
    await browser.mutation(api.messenger.linking.unlink, {});
    expect((await answersTo(app, userId)).settings).toBe(403);
  });

  test("goes with a link where bots have the operator's secret", async () => {
    const secret = "a-secret-for-the-bots-that-link";
    const app = createApp({ env: { MESSENGER_CONNECT_SECRET: secret } });
    const { browser, userId, code } = await userWithCode(app, "alice");
    const init = { headers: { Authorization: `Bearer ${secret}` } };
    await app.post("/messenger/connect", { linkToken: code, messengerId: "42" }, init);
    await browser.mutation(api.account.levels.set, open);
    await app.pass(2 * HOUR, { cronsRun: false });
    expect((await answersTo(app, userId)).settings).toBe(200);
  });
});
