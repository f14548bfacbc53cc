import { expect, vi } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import type { TableNames } from "../../convex/_generated/dataModel";
import { TOKENS } from "../../scripts/chain/addresses";
import { balanceOf } from "../chain/support";
import { ETHER, chain, etherOf, nonceOf, useChain, test } from "../support/chain/chain";
import { browserOf } from "../support/browser";
import { claimsTakeEffect } from "../support/owners";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** A dry run says what an order would come to, and changes nothing. */

useChain();

const plenty = { ETH: 2n * ETHER, USDC: 5_000_000_000n, DAI: 5_000n * ETHER, WETH: ETHER };

const swap = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/swap", {
    ...{ userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "1000000000" },
    ...fields,
  });
const send = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/send", {
    ...{ userId: "alice", token: "USDC", amount: "25000000", toAddress: `0x${"b0".repeat(20)}` },
    ...fields,
  });

/** What a rehearsal may not touch: all tables with money, keys or limits. */
const WATCHED: TableNames[] = ["orders", "wallets", "walletKeys"];
const rowsOf = async (app: WalletApp) => Promise.all(WATCHED.map(async (table) => app.rows(table)));

async function holdingsOf(owner: `0x${string}`) {
  const tokens = await Promise.all(Object.values(TOKENS).map((token) => balanceOf(chain, token, owner)));
  return [await etherOf(owner), ...tokens, await nonceOf(owner)];
}

test("a rehearsal of a swap says what would move, at what price beside which feed, for what fees, and moves nothing", async ({
  app,
}) => {
  vi.stubEnv("UNOWNED_DAILY_USD", "500");
  const owner = await app.fundedWallet("alice", plenty);
  const before = [await rowsOf(app), await holdingsOf(owner)];
  const { status, body } = await swap(app, { dryRun: true });
  expect([status, body]).toEqual([
    200,
    {
      success: true,
      status: "rehearsed",
      fromToken: "USDC",
      toToken: "WETH",
      sellAmount: "1000000000",
      buyAmount: expect.stringMatching(/^\d+$/),
      minBuyAmount: expect.stringMatching(/^\d+$/),
      priceChecked: true,
      warning: expect.stringContaining("ownerUrl"),
      rehearsal: {
        refusal: null,
        valueUsd: expect.closeTo(1_000, -1),
        feeEth: expect.stringMatching(/^0\.\d+$/),
        feeUsd: expect.any(Number),
        mostFeeEth: expect.stringMatching(/^0\.\d+$/),
        costBps: 15,
        leftUsd: 500,
        summary: expect.stringMatching(
          /^1000 USDC \(.* USD\) would buy about 0\.\d+ WETH \(0\.15 % below the price feeds\), at least 0\.\d+ WETH; network fees are about .*, at most .*; 500\.00 USD of its limit in 24 hours are left before it\.$/,
        ),
      },
    },
  ]);
  // Of ether, or for it, it needs no signature.
  for (const [fromToken, toToken] of [
    ["ETH", "USDC"],
    ["ETH", "WETH"],
    ["WETH", "ETH"],
  ]) {
    const told = await swap(app, { fromToken, toToken, amount: String(ETHER / 10n), dryRun: true });
    expect([told.body.success, told.body.rehearsal]).toMatchObject([true, { refusal: null }]);
  }
  expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
  // Nothing was promised either: the order is quoted, checked and carried out by itself.
  expect((await swap(app)).body.status).toBe("confirmed");
});

test("a rehearsal is a quote without funds and without a wallet as well, and says what is missing", async ({
  app,
}) => {
  const shape = z.object({
    summary: z.string(),
    feeUsd: z.number().positive(),
    feeEth: z.string(),
    mostFeeEth: z.string(),
    costBps: z.number().nullable(),
  });
  const missesWith = async (status: number, error: RegExp) => {
    for (const ask of [swap, send]) {
      const { status: answered, body } = await ask(app, { dryRun: true });
      const refusal = { status, error: expect.stringMatching(error) };
      expect([answered, body]).toMatchObject([200, { success: false, rehearsal: { refusal } }]);
      const { summary, feeEth, mostFeeEth, costBps } = shape.parse(body.rehearsal);
      expect(Number(mostFeeEth)).toBeGreaterThan(Number(feeEth));
      expect(summary).toMatch(/network fees are about .* USD .*; .* It would be refused: /);
      expect(summary).toMatch(error);
      if (ask === send) continue;
      expect([body.buyAmount, body.minBuyAmount, costBps]).toEqual([
        expect.stringMatching(/^\d+$/),
        expect.stringMatching(/^\d+$/),
        15,
      ]);
      expect(summary).toMatch(/^1000 USDC \(.* USD\) would buy about 0\.\d+ WETH .*, at least 0\.\d+ WETH/);
    }
  };
  await missesWith(404, /No wallet was found for this user: connect first/);
  expect(await app.rows("wallets")).toEqual([]);
  const owner = await app.fundedWallet("alice", { USDC: 1n });
  // The address to fund is the next step.
  await missesWith(400, new RegExp(`Insufficient USDC: .* is missing: send it to ${owner} on Base`));
  await chain.fund(owner, { USDC: 5_000_000_000n });
  await missesWith(400, /Insufficient ETH for the network fee/);
  expect([await app.rows("orders"), await nonceOf(owner)]).toEqual([[], 0]);
});

test("a rehearsal tells close to what the network takes", async ({ app }) => {
  const owner = await app.fundedWallet("alice", plenty);
  for (const ask of [send, swap]) {
    const { body } = await ask(app, { dryRun: true });
    const { feeEth, mostFeeEth } = z
      .object({ feeEth: z.string(), mostFeeEth: z.string() })
      .parse(body.rehearsal);
    const before = await etherOf(owner);
    expect((await ask(app)).body.status).toBe("confirmed");
    const spent = Number(before - (await etherOf(owner))) / 1e18;
    expect(Number(feeEth) / spent).toBeGreaterThan(0.5);
    expect(Number(feeEth) / spent).toBeLessThan(2.5);
    expect(Number(mostFeeEth)).toBeGreaterThanOrEqual(spent);
  }
});

test("ether is wrapped and unwrapped by its own contract, while the swap provider is down as well", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", { ETH: ETHER });
  intercept(({ url }, on) => (url.includes("/swap/") ? Promise.reject(new TypeError("down")) : on()));
  for (const [fromToken, toToken] of [
    ["ETH", "WETH"],
    ["WETH", "ETH"],
  ]) {
    const { body } = await swap(app, { fromToken, toToken, amount: String(ETHER / 4n) });
    expect(body).toMatchObject({ status: "confirmed", buyAmount: String(ETHER / 4n) });
  }
  expect(await balanceOf(chain, TOKENS.WETH, owner)).toBe(0n);
});

test("a rehearsal of a send is refused for what the send is refused for", async ({ app }) => {
  await app.fundedWallet("alice", plenty);
  const orders = async () => (await app.rows("orders")).length;
  for (const [name, value, fields, status, error] of [
    ["UNOWNED_DAILY_USD", "20", {}, 403, "would go beyond the limit of 20 USD in 24 hours"],
    ["UNOWNED_DAILY_USD", "20000", { amount: "9000000000" }, 400, "Insufficient USDC"],
    ["TRADING_PAUSED", "true", {}, 503, "paused"],
  ] as const) {
    vi.stubEnv(name, value);
    const before = await orders();
    const rehearsed = await send(app, { ...fields, dryRun: true });
    const refusal = { status, error: expect.stringContaining(error) };
    expect([rehearsed.status, rehearsed.body.success, rehearsed.body.rehearsal]).toMatchObject([
      200,
      false,
      { refusal },
    ]);
    expect(await orders()).toBe(before);
    const order = await send(app, fields);
    expect([order.status, order.body.error]).toEqual([status, expect.stringContaining(error)]);
  }
});

test("where money moves, a field that is not one is a 400 that names it and says what there is", async ({
  app,
}) => {
  const owner = await app.fundedWallet("alice", plenty);
  const before = [await rowsOf(app), await holdingsOf(owner)];
  for (const field of ["preview", "dry_run", "DryRun", "__proto__x"])
    for (const { status, body } of [await swap(app, { [field]: true }), await send(app, { [field]: null })]) {
      const error = expect.stringMatching(new RegExp(`^${field} is not a field .*\\bdryRun\\b`));
      expect([status, body.error]).toEqual([400, error]);
    }
  for (const dryRun of ["yes", "", 1, {}]) {
    const { status, body } = await send(app, { dryRun });
    expect([status, body.error]).toEqual([400, "dryRun must be true or false"]);
  }
  const inAddress = await app.post("/mcp/defi/send?dryRun=true", { userId: "alice" });
  expect([inAddress.status, inAddress.body.error]).toEqual([400, expect.stringContaining("in the address")]);
  expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
});

test("a rehearsal by the id alone says what the order would be refused for", async ({ app }) => {
  const userId = "an-owned-id-that-nobody-guesses-4f8Kq2";
  await app.fundedWallet(userId, plenty);
  await browserOf(app, "owner").action(api.accounts.actions.claimUserId, { userId });
  await claimsTakeEffect(app);
  const order = await send(app, { userId });
  const rehearsed = await send(app, { userId, dryRun: true });
  expect([order.status, rehearsed.status, rehearsed.body.success]).toEqual([403, 200, false]);
  expect(rehearsed.body.rehearsal).toMatchObject({
    refusal: { status: 403, error: order.body.error },
    mostFeeEth: expect.stringMatching(/^0\.000/),
  });
  const toAddress = freshAddress();
  const asked = { userId, token: "USDC", amount: "1", toAddress, dryRun: true };
  const own = await app.post("/mcp/defi/send", asked, { as: "owner" });
  expect(own.body.rehearsal).toMatchObject({ refusal: null });
  expect((await app.post("/mcp/defi/send", asked, { as: "another" })).status).toBe(403);
  const headers = { Authorization: "Bearer not-a-token" };
  expect((await app.post("/mcp/defi/send", asked, { headers })).status).toBe(401);
});

test("a rehearsal of what depends on a balance names no stand-in's address where there is no wallet", async ({
  app,
}) => {
  const userId = `walletless-${crypto.randomUUID()}`;
  for (const [path, fields] of [
    ["swap", { fromToken: "USDC", toToken: "ETH", size: "50%" }],
    ["send", { token: "ETH", size: "all", toAddress: `0x${"1".repeat(40)}` }],
  ] as const) {
    const { status, body } = await app.post(`/mcp/defi/${path}`, { userId, ...fields, dryRun: true });
    expect([path, status, body.error]).toEqual([path, 404, expect.stringContaining("No wallet was found")]);
  }
});
