import { describe, expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { until } from "../support/waits";
import type { Chain } from "../../scripts/chain";
import { ETHER, holdingsOf, chain, test as chainTest, useChain, usdcOf } from "../support/chain/chain";
import { expireLeases, leasesOf } from "../support/rows/leases";
import { cronsComeBy, dieAt } from "../support/crashes";
import { closeApp } from "../support/world";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { ALICE, countAtOnce, linkedUser, mention, SECRET } from "./support";
import { beforeFirst } from "../support/outside";

useChain();

/** A linked author with money in their wallet, and what became of their mentions. */
const plenty = { ETH: ETHER, USDC: 5_000_000_000n, DAI: 5_000n * ETHER };

async function world({
  env = {},
  amounts = plenty,
}: { env?: Record<string, string>; amounts?: Parameters<Chain["fund"]>[1] } = {}) {
  const app = createWalletApp(chain, { env: { SOCIAL_WEBHOOK_SECRET: SECRET, ...env } });
  const user = await linkedUser(app);
  await app.fundedWallet(user.userId, amounts);
  return { app, ...user };
}

const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ task: _task }, use) => use((await world()).app),
});

/** Waits until no mention is pending and every card is out; returns the newest, its trade, and the orders. */
async function outcome(app: WalletApp) {
  await until(async () => {
    const told = (await app.rows("messages")).every(({ state }) => state !== "queued" && state !== "sending");
    return told && (await app.rows("mentions")).every(({ status }) => status !== "pending");
  });
  const row = (await app.rows("mentions")).at(-1);
  const transactions = await app.rows("orders");
  return { row, trade: transactions.find(({ _id }) => _id === row?.tradeId), transactions };
}

/** Puts an address on the user's list, where it counts at once. */
async function allow(
  { app, browser }: Pick<Awaited<ReturnType<typeof world>>, "app" | "browser">,
  address: string,
): Promise<void> {
  await browser.mutation(api.accounts.keys.addRecipient, { address });
  await countAtOnce(app);
}

describe("a linked author's mention", () => {
  test("buys, sells and swaps: with the post's id as key, linked both ways, told to the user", async ({
    app,
  }) => {
    const [account] = await app.rows("accounts");
    const userId = account?.userId ?? "";
    const before = await holdingsOf(app, userId);
    const tweetId = await mention(app, "buy $10 of DAI");
    const { row, trade, transactions } = await outcome(app);
    expect(row).toMatchObject({ tweetId, status: "processed", userId, tradeId: trade?._id });
    const request = { kind: "swap", fromToken: "USDC", toToken: "DAI" };
    const known = {
      action: "buy",
      source: "x",
      mentionId: row?._id,
      idempotencyKey: `swap post x:${tweetId}`,
    };
    expect(transactions).toMatchObject([{ userId, ...known, request, state: "confirmed" }]);
    const bought = await holdingsOf(app, userId);
    const given = (before.USDC ?? 0n) - (bought.USDC ?? 0n);
    expect(trade?.request).toMatchObject({ amount: given.toString() });
    // Ten dollars' worth by the feed, which may stand a little off one dollar.
    expect(Number(given) / 1e6).toBeGreaterThan(9.8);
    expect(Number(given) / 1e6).toBeLessThan(10.2);
    expect((bought.DAI ?? 0n) > (before.DAI ?? 0n)).toBe(true);
    const card = app.standins.sent("messenger").at(-1);
    expect(card).toMatchObject({ chatId: "77" });
    expect(card?.text).toMatch(/was executed[\s\S]*buy[\s\S]*USDC → DAI[\s\S]*basescan/);

    for (const [text, fromToken, toToken, amount] of [
      ["sell 0.01 ETH", "ETH", "USDC", ETHER / 100n],
      ["swap 25.5 usdc to eth", "USDC", "ETH", 25_500_000n],
    ] as const) {
      await mention(app, text);
      const { row, trade } = await outcome(app);
      expect([text, row?.status, row?.reason]).toEqual([text, "processed", undefined]);
      const request = { fromToken, toToken, amount: amount.toString() };
      expect(trade).toMatchObject({ request, state: "confirmed" });
    }
    // An amount of what it buys is found by both prices.
    await mention(app, "buy 20 dai");
    expect((await outcome(app)).row?.status).toBe("processed");
    const gained = ((await holdingsOf(app, userId)).DAI ?? 0n) - (bought.DAI ?? 0n);
    expect(gained).toBeGreaterThan(19n * ETHER);
    expect(gained).toBeLessThan(21n * ETHER);
  });

  test("sends to an allowed address, and to no other", async () => {
    const { app, browser } = await world();
    const friend = freshAddress();
    const sent = async () => {
      await mention(app, `send 5 usdc to ${friend}`);
      const { row, trade } = await outcome(app);
      return [row?.status, row?.reason, trade?.state, await usdcOf(friend)];
    };
    const reason =
      "The recipient is not on the user's list, or was added less than two hours ago: add it, and wait two hours";
    expect(await sent()).toEqual(["ignored", reason, undefined, 0n]);
    await allow({ app, browser }, friend);
    expect(await sent()).toEqual(["processed", undefined, "confirmed", 5_000_000n]);
    await browser.mutation(api.accounts.keys.removeRecipient, { address: friend });
    expect(await sent()).toEqual(["ignored", reason, undefined, 5_000_000n]);
  });
});

test("limits hold per trade by the live price", async () => {
  const { app } = await world();
  for (const text of ["sell $100.01 of ETH", "sell 0.9 ETH"]) {
    await mention(app, text);
    expect((await outcome(app)).row).toMatchObject({
      status: "ignored",
      reason: "A trade by mention may be worth at most 100 USD: post a smaller one",
    });
  }
});

test.for([
  ["sends", (friend: string) => `send $95 of dai to ${friend}`],
  ["swaps", () => "buy $95 of DAI"],
] as const)("limits hold per day for %s, also for mentions that race", async ([_name, order]) => {
  const { app, browser } = await world();
  const friend = freshAddress();
  await allow({ app, browser }, friend);
  await Promise.all(Array.from({ length: 6 }, () => mention(app, order(friend))));
  await outcome(app);
  const rows = (await app.rows("mentions")).slice(-6);
  expect(rows.filter(({ status }) => status === "processed")).toHaveLength(3);
  expect(
    rows.filter(({ reason }) => reason?.includes("limit of 300 USD in 24 hours by mention") === true),
  ).toHaveLength(3);
  expect(await app.rows("orders")).toHaveLength(3);
});

describe("what moves nothing", () => {
  test("an order on its way whose author is switched off, or unlinked, before it is signed", async () => {
    const { app, browser } = await world();
    const authorId = ALICE.id;
    const { setTrading, unlink } = api.social.app;
    for (const ends of [
      () => browser.mutation(setTrading, { authorId, enabled: false }),
      () => browser.mutation(unlink, { authorId }),
    ]) {
      await browser.mutation(setTrading, { authorId, enabled: true });
      beforeFirst("eth_getTransactionCount", ends);
      await mention(app, "buy 10 USD of ETH");
      const { row, trade } = await outcome(app);
      expect([row?.status, trade?.state, trade?.tries]).toEqual(["failed", "failed", []]);
    }
  });

  test("a swap whose quote cannot be held against the price feeds", async ({ app }) => {
    await chain.feeds.pause();
    try {
      // The feed of Ether is not heard of, and the tickers still value it.
      const updatedAt = Math.floor(Date.now() / 1000) - 86_400;
      await chain.feeds.set("ETH", { answer: 250_000_000_000n, updatedAt });
      await mention(app, "sell 0.01 ETH");
      const { row, transactions } = await outcome(app);
      expect(row).toMatchObject({
        status: "failed",
        reason: "There is no live price to check the quote against: nothing was swapped, so try again later",
      });
      expect(transactions.map(({ state, tries }) => [state, tries])).toEqual([["failed", []]]);
    } finally {
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  });
});

describe("dying at any call to the outside", () => {
  /** Lets the leases of what has died run out and the crons come by until all has ended. */
  async function timePasses(app: WalletApp): Promise<void> {
    const dead = await leasesOf(app);
    await app.t.run(async (ctx) => {
      // An order whose caller has died is dropped once it has waited for two minutes.
      for (const row of await ctx.db.query("orders").collect()) {
        if (row.state === "prepared") await ctx.db.patch("orders", row._id, { nextCheckAt: 0 });
      }
    });
    const crons = async () => {
      await app.t.run(async (ctx) => {
        for (const row of await ctx.db.query("orders").collect()) {
          const open = row.endedAt === undefined && row.state !== "prepared";
          if (open) await ctx.db.patch("orders", row._id, { nextCheckAt: 0 });
        }
      });
      await expireLeases(app, dead);
      await app.t.mutation(internal.wallets.orders.steps.takeUpDue, {});
    };
    await cronsComeBy(crons, () => ended(app));
  }

  const ended = async (app: WalletApp) =>
    (await app.rows("mentions")).every(({ status }) => status !== "pending");

  test("moves the money at most once, and the mention says what the chain says", async () => {
    let moved = 0;
    let died = 0;
    for (; ; died++) {
      const { app, browser } = await world({ amounts: { ETH: ETHER, USDC: 10_000_000n } });
      const friend = freshAddress();
      await allow({ app, browser }, friend);
      // What was asked has been done, and nobody hears of it.
      const death = dieAt(died + 1, "after");
      await mention(app, `send 3 usdc to ${friend}`);
      const over = until(() => ended(app)).then(() => false);
      const reached = await Promise.race([death.dead, over]);
      death.revive();
      if (reached) await timePasses(app);
      const row = (await app.rows("mentions")).at(-1);
      const context = `call ${died + 1}: ${row?.status} ${row?.reason ?? ""}`;
      const isDone = row?.status === "processed";
      expect([context, await usdcOf(friend)]).toEqual([context, isDone ? 3_000_000n : 0n]);
      const state = isDone ? "confirmed" : "failed";
      expect([context, await app.rows("orders")]).toMatchObject([
        context,
        [{ _id: row?.tradeId, mentionId: row?._id, state }],
      ]);
      if (isDone) moved++;
      closeApp();
      if (!reached) break;
    }
    expect(died).toBeGreaterThanOrEqual(4);
    expect(moved).toBeGreaterThanOrEqual(3);
  });
});
