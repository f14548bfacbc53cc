import { describe, expect } from "vitest";
import * as z from "zod";
import { api, internal } from "../../convex/_generated/api";
import { creditDeposit } from "../../convex/credits/model";
import { toMessengerLogin } from "../../convex/identity/model";
import { derivePseudonym } from "../../convex/lib/crypto";
import { HOUR } from "../../convex/lib/time";
import { linkedUser } from "../bot/support";
import { createApp, test } from "../support/app";
import { browserOf } from "../support/browser";

const row = z.record(z.string(), z.unknown());

/** Alice with a finished shift, a run, credits, a wallet, messenger settings; and Bob with a running shift of his own. */
async function lived() {
  const app = createApp();
  const alice = browserOf(app, "alice");
  const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
  await app.t.run((ctx) => creditDeposit(ctx, { userId, amount: 100, key: "given", source: "usdc" }));
  await app.post("/mcp/defi/connect", { userId });
  const settings = { userId, messengerBotToken: "1234567:own-bot-token", messengerChatId: "42" };
  await alice.fetch("/user/messenger", { method: "POST", body: JSON.stringify(settings) });
  await app.post("/mcp/research/start", { userId, token: "BTC" }, { as: "alice" });
  await app.post("/mcp/research/start", { userId: "bob", token: "BTC" });
  await alice.mutation(api.chat.runs.start, { question: "How is the market?" });
  await app.t.run(async (ctx) => {
    const transfer = { txHash: "0xab", position: 0, logIndex: 0, from: "0xcd", amount: "1000000" };
    const deposit = { ...transfer, state: "credited", credits: 100 } as const;
    const paid = { state: "delivered" } as const;
    for (const owner of [userId, "bob"]) {
      await ctx.db.insert("transfers", { ...deposit, userId: owner });
      await ctx.db.insert("paymentClaims", {
        ...paid,
        key: `auth:0xcd:${owner}`,
        order: { userId: owner, focus: "BTC" },
        presentedHash: `hash of ${owner}`,
        payer: "0xcd",
        createdAt: 1,
      });
    }
  });
  await app.pass(2.4 * HOUR, { cronsRun: false });
  await app.pass(HOUR / 4);
  return { app, alice, userId };
}

describe("export and deletion", () => {
  const sections = [
    "credits",
    "deposits",
    "runs",
    "reports",
    "shifts",
    "wallets",
    "messengerSettings",
    "messages",
  ] as const;

  test("hand out every section page by page, without secrets; erase what is the user's, keep what money depends on, and leave others alone", async () => {
    const { app, alice, userId } = await lived();
    for (const section of sections) {
      const lines: string[] = [];
      for (let cursor: string | null = null, done = false; !done;) {
        const paginationOpts: { numItems: number; cursor: string | null } = { numItems: 1, cursor };
        const page = await alice.query(api.accounts.data.page, { section, paginationOpts });
        lines.push(...page.page);
        [cursor, done] = [page.continueCursor, page.isDone];
      }
      expect([section, lines.length > 0]).toEqual([section, true]);
      for (const line of lines) expect(row.parse(JSON.parse(line))).toMatchObject({ userId });
      expect(lines.join("\n")).not.toMatch(/sealed|own-bot-token|driver/);
    }
    const bob = browserOf(app, "bob");
    await bob.mutation(api.accounts.profile.signIn, {});
    const paginationOpts = { numItems: 10, cursor: null };
    for (const section of [...sections, "payments", "trades", "keys"] as const) {
      expect(await bob.query(api.accounts.data.page, { section, paginationOpts })).toMatchObject({
        page: [],
      });
    }

    const before = await app.rows("creditTransactions");
    await alice.mutation(api.accounts.data.erase, {});
    await app.pass(HOUR / 4);
    const status = await alice.query(api.accounts.profile.me, {});
    expect(status?.erasingSince).toBeNull();
    for (const table of ["reports", "agentRuns", "messages", "messengerConfigs", "shifts"] as const) {
      const left = await app.rows(table);
      expect([table, left.filter((one) => one.userId === userId)]).toEqual([table, []]);
    }
    expect((await app.rows("reports")).map((one) => one.userId)).toEqual(["bob"]);
    expect(await app.rows("creditTransactions")).toEqual(before);
    expect(await app.rows("wallets")).toHaveLength(1);

    // Money rows stay, without the name; what only limits the present day stays with it.
    expect((await app.rows("transfers")).map((one) => one.userId)).toEqual([undefined, "bob"]);
    expect((await app.rows("paymentClaims")).map(({ order }) => order)).toEqual([
      { focus: "BTC" },
      { userId: "bob", focus: "BTC" },
    ]);
    expect(await alice.query(api.accounts.profile.me, {})).toMatchObject({ userId });

    // Bob's reports rest on the same observations, and go on.
    await app.pass(2.5 * HOUR);
    expect((await app.rows("reports")).filter((one) => one.userId === "bob")).toHaveLength(2);
    expect((await app.rows("reports")).filter((one) => one.userId === userId)).toEqual([]);
  });

  test("come as a file that is whole and names no id, however short or odd that is", async ({ app }) => {
    for (const [index, userId] of ["1", 'an id of "many" letters \\'].entries()) {
      const messengerId = String(70 + index);
      await app.t.run(async ({ db }) => {
        await db.insert("accounts", { userId, login: toMessengerLogin(messengerId), claimed: true });
        await db.insert("messengerLinks", { userId, messengerId, linkedAt: 1, confirmedAt: 1 });
      });
      const made = await app.t.action(internal.accounts.actions.exportData, { subject: messengerId });
      const file: unknown = JSON.parse(new TextDecoder().decode(made ?? undefined));
      const account = derivePseudonym(userId);
      expect(file).toMatchObject({ pseudonym: account, messengerLinks: [{ userId: account, linkedAt: 1 }] });
    }
  });

  test("by whoever holds the login is told to the chat that it unlinks, as was what came before", async ({
    app,
  }) => {
    const { browser } = await linkedUser(app, "alice", 42);
    await app.settle();
    const before = app.cards().length;
    await browser.mutation(api.accounts.keys.create, { name: "new", scopes: ["trade"] });
    await browser.mutation(api.accounts.data.erase, {});
    await app.pass(HOUR / 4);
    const told = app.cards().slice(before);
    expect(told.map(({ chatId }) => chatId)).toEqual(["42", "42"]);
    expect(told[0]?.text).toContain("new key");
    expect(told[1]?.text).toContain("is unlinked from your account");
    expect((await browser.query(api.accounts.profile.me, {}))?.erasingSince).toBeNull();
    expect(await app.rows("messages")).toEqual([]);
  });

  test("goes batch by batch, waits for a run under way, and is one at a time", async ({ app }) => {
    const alice = browserOf(app, "alice");
    const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
    const run = { userId, agentId: "a", title: "t", startedAt: Date.now() };
    await app.t.run(async (ctx) => {
      for (let i = 0; i < 250; i++) await ctx.db.insert("agentRuns", { ...run, status: "completed" });
      await ctx.db.insert("agentRuns", { ...run, status: "running" });
    });
    for (let i = 0; i < 2; i++) await alice.mutation(api.accounts.data.erase, {});
    await app.settle(40);
    const left = await app.rows("agentRuns");
    expect(left).toMatchObject([{ status: "running" }]);
    const status = await alice.query(api.accounts.profile.me, {});
    expect(status?.erasingSince).toBeGreaterThan(0);
    await app.t.run(async (ctx) => {
      for (const { _id } of left) await ctx.db.patch("agentRuns", _id, { status: "failed" });
    });
    await app.pass(2 * 60_000, { cronsRun: false });
    expect(await app.rows("agentRuns")).toEqual([]);
    expect((await alice.query(api.accounts.profile.me, {}))?.erasingSince).toBeNull();
  });
});
