import { describe, expect } from "vitest";
import { ETHER, hex, holdingsOf, beforehand, chain, useChain, test } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { onChain } from "../support/outside";

useChain();

const plenty = {
  ETH: 2n * ETHER,
  USDC: 5_000_000_000n,
  USDT: 5_000_000_000n,
  DAI: 5_000n * ETHER,
  WETH: ETHER,
};

const swap = (app: WalletApp, fields: object, headers: Record<string, string> = {}) =>
  app.post(
    "/mcp/defi/swap",
    { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: "1000000000", ...fields },
    { headers },
  );

async function allowance(owner: string, token: `0x${string}`): Promise<bigint> {
  const word = (address: string) => address.slice(2).toLowerCase().padStart(64, "0");
  const data = `0xdd62ed3e${word(owner)}${word(chain.addresses.permit2)}`;
  return BigInt(hex.parse(await chain.rpc("eth_call", [{ to: token, data }, "latest"])));
}

/** An allowance from before, which the wallet's owner gave elsewhere. */
async function allow(owner: string, token: `0x${string}`, amount: bigint): Promise<void> {
  const word = (value: bigint) => value.toString(16).padStart(64, "0");
  const data = `0x095ea7b3${chain.addresses.permit2.slice(2).toLowerCase().padStart(64, "0")}${word(amount)}`;
  await beforehand(chain, hex.parse(owner), [{ to: token, data: hex.parse(data) }]);
  expect(await allowance(owner, token)).toBe(amount);
}

describe("POST /mcp/defi/swap", () => {
  test("approves what it needs, permits, swaps, and pays out at least the minimum", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    const before = await holdingsOf(app);
    const { status, body } = await swap(app, {});
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        status: "confirmed",
        fromToken: "USDC",
        toToken: "WETH",
        sellAmount: "1000000000",
        buyAmount: expect.stringMatching(/^\d+$/),
        minBuyAmount: expect.stringMatching(/^\d+$/),
        approvalTxHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        priceChecked: true,
        explorerUrl: `https://basescan.org/tx/${String(body.txHash)}`,
        warning: expect.stringContaining("ownerUrl"),
      },
    ]);
    const after = await holdingsOf(app);
    expect((before.USDC ?? 0n) - (after.USDC ?? 0n)).toBe(1_000_000_000n);
    // What was bought, not what was quoted.
    expect((after.WETH ?? 0n) - (before.WETH ?? 0n)).toBe(BigInt(String(body.buyAmount)));
    expect(BigInt(String(body.buyAmount))).toBeGreaterThanOrEqual(BigInt(String(body.minBuyAmount)));
    expect(await allowance(owner, chain.addresses.tokens.USDC)).toBe(0n);
    expect(
      (await app.rows("orders")).map(({ state, tries }) => [
        state,
        tries.map(({ kind, nonce }) => [kind, nonce]),
      ]),
    ).toEqual([
      [
        "confirmed",
        [
          ["approve", 0],
          ["call", 1],
        ],
      ],
    ]);
    expect(await app.rows("orders")).toMatchObject([{ action: "swap", source: "web" }]);
    const seen = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.approvalTxHash)}`);
    expect(seen.body).toMatchObject({ txHash: body.txHash, status: "confirmed", kind: "swap" });
  });

  test.for([
    ["ETH", "USDC", ETHER / 2n, false],
    ["USDC", "ETH", 500_000_000n, true],
    ["DAI", "USDT", 100n * ETHER, true],
    ["USDT", "DAI", 100_000_000n, true],
    ["ETH", "WETH", ETHER / 10n, false],
    ["WETH", "ETH", ETHER / 10n, false],
  ] as const)("%s to %s", async ([fromToken, toToken, amount, approves], { app }) => {
    await app.fundedWallet("alice", plenty);
    const before = await holdingsOf(app);
    const { status, body } = await swap(app, { fromToken, toToken, amount: amount.toString() });
    expect([status, body.status]).toEqual([200, "confirmed"]);
    expect(body.approvalTxHash !== undefined).toBe(approves);
    const after = await holdingsOf(app);
    const gain = (after[toToken] ?? 0n) - (before[toToken] ?? 0n);
    // What ether gained has paid for gas as well.
    const gas = toToken === "ETH" ? ETHER / 1_000n : 0n;
    expect(gain + gas).toBeGreaterThanOrEqual(BigInt(String(body.minBuyAmount)));
  });

  test("clears an old allowance first where the token insists", async ({ app }) => {
    const owner = await app.fundedWallet("alice", plenty);
    await allow(owner, chain.addresses.tokens.USDT, 5n);
    const { body } = await swap(app, { fromToken: "USDT", toToken: "DAI", amount: "100000000" });
    expect(body.status).toBe("confirmed");
    const [row] = await app.rows("orders");
    expect(row?.tries.map(({ kind }) => kind)).toEqual(["approve", "approve", "call"]);
  });

  test.for([
    [{ toToken: "USDC" }, "toToken must differ from fromToken"],
    [{ slippageBps: 1_001 }, "slippageBps must be 0 to 1000"],
    [{ slippageBps: 1.5 }, "slippageBps must be whole"],
  ] as const)("refuses %o: %s", async ([fields, error], { app }) => {
    const { status, body } = await swap(app, fields);
    expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
  });

  test("without SWAP_API_KEY is 500 before anything happens", async () => {
    const app = createWalletApp(chain, { env: { SWAP_API_KEY: "" } });
    const { status, body } = await swap(app, {});
    expect([status, body]).toEqual([500, { error: "SWAP_API_KEY is not configured" }]);
    expect(await app.rows("orders")).toEqual([]);
  });

  test("without enough says what is missing before it approves anything", async ({ app }) => {
    const owner = await app.fundedWallet("alice", { ETH: ETHER, USDC: 5_000_000n });
    const { status, body } = await swap(app, { amount: "9000000" });
    expect([status, body.error]).toEqual([
      400,
      "Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing",
    ]);
    expect(await allowance(owner, chain.addresses.tokens.USDC)).toBe(0n);
  });

  test("beyond the liquidity is a clear 400", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 10n ** 16n });
    const { status, body } = await swap(app, { toToken: "DAI", amount: (10n ** 16n).toString() });
    expect([status, body.error]).toEqual([
      400,
      expect.stringContaining("There is no liquidity for this swap"),
    ]);
  });

  test("is 409 for another swap with the same key, and the first outcome for the same", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    const key = { "Idempotency-Key": "swap-1" };
    const first = await swap(app, { amount: "1000000" }, key);
    const again = await swap(app, { amount: "1000000" }, key);
    expect(again.body).toEqual({ ...first.body, repeated: true });
    expect((await swap(app, { amount: "1000001" }, key)).status).toBe(409);
  });
});

describe("two swaps of one token at once", () => {
  test.for([
    ["USDC", 0n],
    ["USDT", 0n],
    ["USDC", 12_999_999n],
    ["USDC", 13_000_000n],
  ] as const)(
    "%s, %s of it allowed: both are carried out, and no allowance is left",
    async ([fromToken, allowed], { app }) => {
      const owner = await app.fundedWallet("alice", plenty);
      const token = chain.addresses.tokens[fromToken];
      if (allowed > 0n) await allow(owner, token, allowed);
      const before = await holdingsOf(app);
      const ask = (amount: string) => swap(app, { fromToken, toToken: "DAI", amount });
      const answers = await Promise.all([ask("9000000"), ask("4000000")]);
      expect(answers.map(({ status, body }) => [status, body.status])).toEqual([
        [200, "confirmed"],
        [200, "confirmed"],
      ]);
      const after = await holdingsOf(app);
      expect((before[fromToken] ?? 0n) - (after[fromToken] ?? 0n)).toBe(13_000_000n);
      expect(await allowance(owner, token)).toBeLessThanOrEqual(allowed);
    },
  );
});

describe("the price of a swap", () => {
  test("worse than slippage and impact allow is refused", async () => {
    const app = createWalletApp(chain, { env: { MAX_PRICE_IMPACT_BPS: "0" } });
    await app.fundedWallet("alice", plenty);
    const { status, body } = await swap(app, { slippageBps: 0 });
    expect([status, body.error]).toEqual([
      400,
      expect.stringContaining("worse than the market price allows"),
    ]);
  });

  test("without a live price nothing is swapped on the word of an id alone", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    await chain.feeds.pause();
    try {
      const now = Math.floor(Date.now() / 1000);
      await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: now - 60 });
      for (const fields of [{}, { acceptUnpriced: true }]) {
        const { status, body } = await swap(app, { amount: "1000000", ...fields });
        expect([status, body.error]).toEqual([502, expect.stringContaining("No live price is known")]);
      }
    } finally {
      await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: 1_700_000_000 });
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  });
});

describe("a chain with another id", () => {
  test("a chain with another id gets no signature", async ({ app }) => {
    await app.fundedWallet("alice", plenty);
    onChain(1);
    const { status, body } = await swap(app, { fromToken: "ETH", toToken: "WETH", amount: "1" });
    expect([status, body.error]).toEqual([
      502,
      "The chain RPC serves chain 1 rather than 8453: nothing was signed",
    ]);
    expect((await app.rows("orders"))[0]).not.toHaveProperty("txHash");
  });
});
