import { getFunctionName, type FunctionReference } from "convex/server";
import { describe, expect } from "vitest";
import * as z from "zod";
import { api, internal } from "../../convex/_generated/api";
import { type App, test } from "../support/app";
import type { CallInit } from "../support/world";
import { browserOf } from "./support";

const paginationOpts = { numItems: 5, cursor: null };
const row = z.looseObject({});
const call = (app: Pick<App["t"], "query" | "mutation" | "action">) => {
  const { users, account, credits, chat, messenger, runs, research, social, wallets } = api;
  const query = (one: FunctionReference<"query">, args = {}) => [one, () => app.query(one, args)] as const;
  const mutation = (one: FunctionReference<"mutation">, args = {}) =>
    [one, () => app.mutation(one, args)] as const;
  const action = (one: FunctionReference<"action">, args = {}) => [one, () => app.action(one, args)] as const;
  return [
    query(users.profile.me),
    mutation(users.profile.signIn),
    mutation(users.addresses.challenge, { address: `0x${"ab".repeat(20)}` }),
    mutation(users.addresses.unlink, { address: `0x${"ab".repeat(20)}` }),
    action(users.linking.linkAddress, { signature: "0x" }),
    action(account.claims.claimUserId, { userId: "somebody" }),
    action(account.claims.findLeftovers, { userId: "somebody" }),
    query(account.levels.mine),
    mutation(account.levels.set, { level: "closed" }),
    mutation(account.deletion.request),
    query(account.deletion.status),
    query(account.export.page, { section: "credits", paginationOpts }),
    query(credits.app.balance),
    query(credits.app.history, { paginationOpts }),
    mutation(credits.app.openGame),
    mutation(chat.runs.start, { question: "Why?" }),
    mutation(messenger.linking.createCode),
    query(messenger.linking.status),
    mutation(messenger.linking.unlink),
    query(runs.app.mine, { paginationOpts }),
    query(research.app.reports, { paginationOpts }),
    mutation(social.app.startProof, { handle: "alice" }),
    query(social.app.settings),
    mutation(social.app.setTrading, { authorId: "1", enabled: true }),
    mutation(social.app.unlink, { authorId: "1" }),
    mutation(social.app.setLimits, { perTradeUsd: "1", perDayUsd: "1" }),
    mutation(account.recipients.add, { address: `0x${"ab".repeat(20)}` }),
    mutation(account.recipients.remove, { address: `0x${"ab".repeat(20)}` }),
    query(social.app.mentions, { paginationOpts }),
    query(research.app.shifts, { paginationOpts }),
    action(wallets.app.view),
  ];
};

describe("every public function", () => {
  test("refuses a caller without a token", async ({ app }) => {
    for (const [reference, run] of call(app.t)) {
      const code: unknown = await run().then(
        () => "answered",
        (error: unknown) => (error instanceof Error && "data" in error ? error.data : error),
      );
      expect([getFunctionName(reference), code]).toMatchObject([
        getFunctionName(reference),
        { code: "unauthorized" },
      ]);
    }
  });
});

describe("signing in", () => {
  test("gives a user one random userId, however often and however many at once", async ({ app }) => {
    const alice = browserOf(app, "alice");
    expect(await alice.query(api.users.profile.me, {})).toBeNull();
    const all = await Promise.all(
      Array.from({ length: 5 }, () => alice.mutation(api.users.profile.signIn, {})),
    );
    const userId = all[0]?.userId;
    expect(userId).toMatch(/^usr_[0-9a-f]{32}$/);
    expect(all).toEqual(all.map(() => ({ userId })));
    const bob = await browserOf(app, "bob").mutation(api.users.profile.signIn, {});
    expect(bob.userId).not.toBe(userId);
    expect(await alice.query(api.users.profile.me, {})).toMatchObject({
      userId,
      claimed: false,
      addresses: [],
    });
  });

  test("is needed before anything else", async ({ app }) => {
    const early = browserOf(app, "alice").query(api.runs.app.mine, { paginationOpts });
    await expect(early).rejects.toMatchObject({ data: { code: "not_found" } });
  });
});

describe("a userId the user already has", () => {
  const claim = (app: App, subject: string, userId: string) =>
    browserOf(app, subject).action(api.account.claims.claimUserId, { userId });

  test("is theirs for good once claimed, first come", async ({ app }) => {
    await browserOf(app, "alice").mutation(api.users.profile.signIn, {});
    const hers = { userId: "my-secret-id", found: expect.any(Object), pendingUntil: null };
    expect(await claim(app, "alice", " my-secret-id ")).toEqual(hers);
    expect(await claim(app, "alice", "my-secret-id")).toEqual(hers);
    await expect(claim(app, "alice", "another")).rejects.toMatchObject({ data: { code: "conflict" } });
    await expect(claim(app, "mallory", "my-secret-id")).rejects.toMatchObject({ data: { code: "conflict" } });
    await expect(claim(app, "mallory", "a\u0000b")).rejects.toMatchObject({
      data: { code: "invalid_request" },
    });
    expect(await claim(app, "carol", "at-first-sight")).toMatchObject({ userId: "at-first-sight" });
  });

  test("can be tried for twenty times an hour, counting what was refused", async ({ app }) => {
    await claim(app, "alice", "hers");
    const guesses = [];
    for (let i = 0; i < 21; i++) {
      guesses.push(await claim(app, "mallory", "hers").catch((error: unknown) => error));
    }
    const codes = guesses.map((error) => row.parse(row.parse(error).data).code);
    expect(codes).toEqual([...Array.from({ length: 20 }, () => "conflict"), "rate_limited"]);
    expect(await claim(app, "carol", "another")).toMatchObject({ userId: "another" });
  });

  test("does not take the place of an account in use", async ({ app }) => {
    const uses: Record<string, (browser: ReturnType<typeof browserOf>, userId: string) => Promise<unknown>> =
      {
        games: (browser) => browser.mutation(api.credits.app.openGame, {}),
        shifts: (_browser, userId) =>
          app.post("/mcp/research/start", { userId, token: "BTC" }, { as: "shifts" }),
        settings: (browser, userId) =>
          browser.fetch("/user/messenger", {
            method: "POST",
            body: JSON.stringify({ userId, messengerChatId: "42" }),
          }),
      };
    for (const [name, use] of Object.entries(uses)) {
      const browser = browserOf(app, name);
      const { userId } = await browser.mutation(api.users.profile.signIn, {});
      await use(browser, userId);
      await expect(claim(app, name, `old-${name}`)).rejects.toMatchObject({ data: { code: "conflict" } });
    }
  });
});

describe("research of a signed-in user's userId", () => {
  test("runs at most 3 of its 10 shifts for callers with the id alone", async ({ app }) => {
    const { userId } = await browserOf(app, "alice").mutation(api.users.profile.signIn, {});
    const start = (init: CallInit = {}) => app.post("/mcp/research/start", { userId, token: "BTC" }, init);
    for (let i = 0; i < 3; i++) expect((await start()).status).toBe(200);
    const fourth = await start();
    expect([fourth.status, fourth.body.error]).toEqual([
      429,
      "At most 3 research shifts can be active at once by userId alone",
    ]);
    for (let i = 0; i < 7; i++) expect((await start({ as: "alice" })).status).toBe(200);
    expect((await start({ as: "alice" })).body.error).toBe(
      "At most 10 research shifts can be active at once",
    );
  });
});

describe("moving funds over HTTP", () => {
  const send = { token: "ETH" as const, toAddress: `0x${"1".repeat(40)}`, amount: "1" };
  test("is decided in the transaction that opens it: a userId claimed meanwhile counts", async ({ app }) => {
    const userId = "kq3vX9tLw2bTz7RfYh5MnP";
    await app.post("/mcp/defi/connect", { userId });
    const [wallet] = await app.rows("wallets");
    await browserOf(app, "alice").action(api.account.claims.claimUserId, { userId });
    await browserOf(app, "mallory").mutation(api.users.profile.signIn, {});
    const open = (as: Pick<App["t"], "mutation">) =>
      as.mutation(internal.wallets.orders.rows.open, {
        userId: wallet?.userId ?? "",
        walletId: wallet?.walletId ?? "",
        request: { kind: "send", ...send },
        address: null,
        value: "1000000",
        etherPrice: "0",
      });
    await expect(open(app.t)).rejects.toMatchObject({ data: { code: "forbidden" } });
    await expect(open(browserOf(app, "mallory"))).rejects.toMatchObject({
      data: { code: "forbidden" },
    });
    expect(await app.rows("orders")).toEqual([]);
    await open(browserOf(app, "alice"));
    expect(await app.rows("orders")).toHaveLength(1);
  });
});
