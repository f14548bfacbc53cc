import fc from "fast-check";
import { describe, expect } from "vitest";
import type { TableNames } from "../../convex/_generated/dataModel";
import { SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { balanceOf } from "../chain/support";
import { ETHER, chain, etherOf, nonceOf, useChain, test } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";

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

describe("a rehearsal of a swap", () => {
  test("says what would move, at what price beside which feed, for what fees, and moves nothing", async () => {
    const app = createWalletApp(chain, { env: { UNOWNED_DAILY_USD: "500" } });
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
          mostFeeEth: expect.stringMatching(/^0\.\d+$/),
          costBps: 115,
          leftUsd: 500,
        },
      },
    ]);
    expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
    // Nothing was promised either: the order is quoted, checked and carried out by itself.
    expect((await swap(app)).body.status).toBe("confirmed");
  });

  test.for([
    ["ETH", "USDC", ETHER / 10n],
    ["ETH", "WETH", ETHER / 10n],
    ["WETH", "ETH", ETHER / 10n],
  ] as const)("%s to %s needs no signature", async ([fromToken, toToken, amount], { app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    const before = [await rowsOf(app), await holdingsOf(owner)];
    const { body } = await swap(app, { fromToken, toToken, amount: amount.toString(), dryRun: true });
    expect([body.success, body.rehearsal]).toMatchObject([true, { refusal: null }]);
    expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
  });

  test("that would be refused says so, with the status and the words of the order's own answer", async ({
    app,
  }) => {
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 5_000_000n });
    const amount = { amount: "9000000" };
    const { status, body } = await swap(app, { ...amount, dryRun: true });
    const order = await swap(app, amount);
    expect([status, body.success, body.rehearsal]).toMatchObject([
      ...[200, false],
      { refusal: { status: order.status, error: order.body.error }, mostFeeEth: null },
    ]);
    expect(order.status).toBe(400);
  });
});

describe("a rehearsal of a send", () => {
  test("says what it would cost, and moves nothing", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    const before = [await rowsOf(app), await holdingsOf(owner)];
    const { status, body } = await send(app, { dryRun: true });
    expect([status, body]).toMatchObject([
      200,
      {
        ...{ success: true, status: "rehearsed", token: "USDC", amount: "25000000" },
        rehearsal: { refusal: null, mostFeeEth: expect.stringMatching(/^0\.\d+$/) },
      },
    ]);
    expect(body).not.toHaveProperty("txHash");
    expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
  });

  test.for([
    [{ TRADING_PAUSED: "true" }, {}, 503, "paused"],
    [{ UNOWNED_DAILY_USD: "20" }, {}, 403, "would go beyond the limit of 20 USD in 24 hours"],
    [{}, { amount: "9000000000" }, 400, "Insufficient USDC"],
    [{}, { toAddress: SETTLER }, 400, "the swap provider's contract"],
  ] as const)("where %o, of %o, it is refused", async ([env, fields, status, error]) => {
    const app = createWalletApp(chain, { env });
    await app.fundedWallet("alice", plenty);
    const before = await rowsOf(app);
    const { status: answered, body } = await send(app, { ...fields, dryRun: true });
    const refusal = { status, error: expect.stringContaining(error) };
    expect([answered, body.success, body.rehearsal]).toMatchObject([200, false, { refusal }]);
    expect(await rowsOf(app)).toEqual(before);
    const order = await send(app, fields);
    expect([order.status, order.body.error]).toEqual([status, expect.stringContaining(error)]);
  });

  test("without a wallet is 404, and makes none", async ({ app }) => {
    const { status } = await send(app, { dryRun: true });
    expect([status, await app.rows("wallets")]).toEqual([404, []]);
  });
});

describe("where money moves, a field that is not one", () => {
  test.for(["preview", "simulate", "dry_run", "DryRun", "from_token", "__proto__x"])(
    "%s is a 400 that names it and says what there is",
    async (field, { app }) => {
      const owner = await app.fundedWallet("alice", plenty);
      const before = [await rowsOf(app), await holdingsOf(owner)];
      for (const { status, body } of [
        await swap(app, { [field]: true }),
        await send(app, { [field]: true }),
        await send(app, { [field]: null }),
      ]) {
        expect([status, body.error]).toEqual([
          400,
          expect.stringMatching(new RegExp(`^${field} is not a field .*\\bdryRun\\b`)),
        ]);
      }
      expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
    },
  );

  test("is one that says neither yes nor no to a dry run", async ({ app }) => {
    for (const dryRun of ["yes", "", 1, {}]) {
      const { status, body } = await send(app, { dryRun });
      expect([status, body.error]).toEqual([400, "dryRun must be true or false"]);
    }
  });
});

test("whatever is rehearsed, no row and no balance changes", async () => {
  const app = createWalletApp(chain);
  const owner = await app.fundedWallet("alice", plenty);
  const before = [await rowsOf(app), await holdingsOf(owner)];
  const token = fc.constantFrom("ETH", "USDC", "USDT", "DAI", "WETH");
  const amount = fc.bigInt({ min: 1n, max: 10n * ETHER }).map(String);
  const orders = fc.oneof(
    fc.record({
      path: fc.constant("/mcp/defi/send"),
      fields: fc.record({
        token,
        amount,
        toAddress: fc.constantFrom(freshAddress(), SETTLER, owner, TOKENS.USDC),
        from: fc.constantFrom("custody", "basic"),
      }),
    }),
    fc.record({
      path: fc.constant("/mcp/defi/swap"),
      fields: fc.record({
        fromToken: token,
        toToken: token,
        amount,
        slippageBps: fc.nat(1_000),
        acceptUnpriced: fc.boolean(),
      }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(orders, fc.option(fc.uuid(), { nil: undefined }), async ({ path, fields }, key) => {
      const headers = key === undefined ? {} : { "Idempotency-Key": key };
      const { status, body } = await app.post(
        path,
        { userId: "alice", ...fields, dryRun: true },
        { headers },
      );
      expect(status === 200 ? body.status : status).toBeOneOf(["rehearsed", 400, 404, 429]);
    }),
    { numRuns: 40 },
  );
  expect([await rowsOf(app), await holdingsOf(owner)]).toEqual(before);
});
