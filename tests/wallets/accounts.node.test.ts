import { describe, expect } from "vitest";
import { chain, useChain, test } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { counting, noPrices } from "../support/outside";

useChain();

test("no key is kept in clear, anywhere", async ({ app }) => {
  await app.post("/mcp/wallet/create", { userId: "alice" });
  const everything = JSON.stringify([await app.rows("wallets"), await app.rows("walletKeys")]);
  expect(everything).not.toMatch(/0x[0-9a-f]{64}/i);
  expect((await app.rows("walletKeys"))[0]?.sealedKey).toMatch(/^v1\./);
});

test("a portfolio asks the chain once", async ({ app }) => {
  await app.post("/mcp/defi/connect", { userId: "alice" });
  const requests = counting();
  await app.get("/mcp/defi/portfolio?userId=alice");
  expect(requests()).toBe(1);
});

describe("a portfolio without a live feed", () => {
  type Holding = {
    token: string;
    priceUsd: number | null;
    priceSource: string | null;
    valueUsd: number | null;
  };

  /** Feeds as they are in the test's trouble, and the holdings it leaves. */
  async function inTrouble(app: WalletApp, trouble: (now: number) => Promise<void>) {
    await app.fundedWallet("alice", { ETH: 10n ** 18n, USDC: 100_000_000n });
    const now = Math.floor(Date.now() / 1000);
    await chain.feeds.pause();
    try {
      await trouble(now);
      const { status, body } = await app.get("/mcp/defi/portfolio?userId=alice");
      expect(status).toBe(200);
      const holdings = body.balances as Holding[];
      return {
        total: Number(body.totalValueUsd),
        of: (token: string) => holdings.find((one) => one.token === token),
      };
    } finally {
      await chain.feeds.set("SEQUENCER", { answer: 0n, updatedAt: now - 86_400 });
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  }

  const stale = (now: number) => chain.feeds.set("ETH", { answer: 300_000_000_000n, updatedAt: now - 1_400 });

  test("prices Ether by the tickers and says so", async ({ app }) => {
    const { of, total } = await inTrouble(app, stale);
    const price = app.standins.market.coin("ETH").price;
    for (const token of ["ETH", "WETH"]) {
      expect(of(token)).toMatchObject({ priceSource: "coinbase", priceUsd: expect.closeTo(price, -1) });
    }
    expect(of("USDC")).toMatchObject({ priceSource: "chainlink" });
    expect(total).toBeCloseTo(100 + price, -1);
  });

  test.for([
    ["down", (now: number) => ({ answer: 1n, updatedAt: now - 9_999 })],
    ["just back", (now: number) => ({ answer: 0n, updatedAt: now - 600 })],
  ] as const)(
    "because the sequencer is %s, prices what the tickers know, and nothing by a model",
    async ([_name, status], { app }) => {
      const { of } = await inTrouble(app, (now) => chain.feeds.set("SEQUENCER", status(now)));
      expect(of("ETH")).toMatchObject({ priceSource: "coinbase" });
      for (const token of ["USDC", "USDT", "DAI"])
        expect(of(token)).toMatchObject({ priceSource: null, priceUsd: null });
      expect(app.standins.sent("llm")).toEqual([]);
    },
  );

  test("and with nobody to ask leaves the token out of the total", async ({ app }) => {
    noPrices(app);
    const { of, total } = await inTrouble(app, stale);
    expect(of("ETH")).toMatchObject({ priceUsd: null, priceSource: null, valueUsd: null });
    expect(total).toBeCloseTo(100, 0);
  });
});

test("without WALLET_ENCRYPTION_KEY nothing is made", async () => {
  const app = createWalletApp(chain, { env: { WALLET_ENCRYPTION_KEY: "" } });
  const send = { userId: "a", toAddress: `0x${"11".repeat(20)}`, token: "ETH", amount: "1" };
  for (const answer of [
    await app.post("/mcp/wallet/create", { userId: "a" }),
    await app.post("/mcp/defi/connect", { userId: "a" }),
    await app.get("/mcp/defi/portfolio?userId=a"),
    await app.post("/mcp/defi/send", send),
  ])
    expect([answer.status, answer.body]).toEqual([500, { error: "WALLET_ENCRYPTION_KEY is not configured" }]);
  expect(await app.rows("wallets")).toEqual([]);
});
