import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { chain, useChain, test } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { counting, noPrices } from "../support/outside";
import { browserOf } from "../support/browser";

useChain();

describe("POST /mcp/wallet/create", () => {
  test("keeps no key in clear, anywhere", async ({ app }) => {
    await app.post("/mcp/wallet/create", { userId: "alice" });
    const everything = JSON.stringify([await app.rows("wallets"), await app.rows("walletKeys")]);
    expect(everything).not.toMatch(/0x[0-9a-f]{64}/i);
    const [key] = await app.rows("walletKeys");
    expect(key?.sealedKey).toMatch(/^v1\./);
  });
});

describe("GET /mcp/wallet/balance", () => {
  test("tells exact decimals of the basic wallet, else of the custody wallet", async ({ app }) => {
    const custody = await app.fundedWallet("kq3vX9tLw2bTz7RfYh5MnP", {
      ETH: 1_500_000_000_000_000_001n,
      USDC: 25_500_001n,
    });
    const first = await app.get("/mcp/wallet/balance?userId=kq3vX9tLw2bTz7RfYh5MnP");
    const onCustody = {
      kind: "custody",
      address: custody,
      eth: "1.500000000000000001",
      usdc: "25.500001",
    };
    expect(first.body).toEqual({ ...onCustody, network: "base" });
    const { body } = await app.post("/mcp/wallet/create", { userId: "kq3vX9tLw2bTz7RfYh5MnP" });
    expect(body.address).not.toBe(custody);
    const second = await app.get("/mcp/wallet/balance?userId=kq3vX9tLw2bTz7RfYh5MnP");
    expect(second.body).toEqual({
      ...{ kind: "basic", address: body.address, eth: "0", usdc: "0", network: "base" },
    });
  });
});

describe("GET /mcp/defi/portfolio", () => {
  test("agrees with the chain, token by token, and adds up", async ({ app }) => {
    await app.fundedWallet("alice", {
      ETH: 2n * 10n ** 18n,
      USDC: 100_000_000n,
      USDT: 50_000_000n,
      DAI: 25n * 10n ** 18n,
      WETH: 10n ** 17n,
    });
    const { body } = await app.get("/mcp/defi/portfolio?userId=alice");
    const balances = body.balances as {
      token: string;
      raw: string;
      balance: string;
      priceUsd: number;
      valueUsd: number;
    }[];
    expect(balances.map(({ token, raw, balance }) => [token, raw, balance])).toEqual([
      ["ETH", "2000000000000000000", "2"],
      ["USDC", "100000000", "100"],
      ["USDT", "50000000", "50"],
      ["DAI", "25000000000000000000", "25"],
      ["WETH", "100000000000000000", "0.1"],
    ]);
    for (const { balance, priceUsd, valueUsd } of balances) {
      expect(valueUsd).toBeCloseTo(Number(balance) * priceUsd, 3);
    }
    expect(body.totalValueUsd).toBeCloseTo(
      balances.reduce((sum, { valueUsd }) => sum + valueUsd, 0),
      3,
    );
  });

  test("is shown to its owner in the web application without empty holdings, and without dust unless asked", async ({
    app,
  }) => {
    const alice = browserOf(app, "alice");
    const { userId } = await alice.mutation(api.accounts.profile.signIn, {});
    const view = (args = {}) => alice.action(api.wallets.app.view, args);
    expect(await view()).toEqual([]);
    await app.fundedWallet(userId, { ETH: 10n ** 18n, USDC: 5_000_000n, DAI: 10n ** 17n });
    const [clean] = await view();
    const [all] = await view({ showDust: true });
    const tokens = [clean, all].map((one) => one?.balances.map(({ token }) => token));
    expect(tokens).toEqual([
      ["ETH", "USDC"],
      ["ETH", "USDC", "DAI"],
    ]);
    expect(clean).toMatchObject({ kind: "custody", hidden: 1, totalValueUsd: all?.totalValueUsd });
    expect(all?.hidden).toBe(0);
  });

  test("a portfolio asks the chain once", async ({ app }) => {
    await app.post("/mcp/defi/connect", { userId: "alice" });
    const requests = counting();
    await app.get("/mcp/defi/portfolio?userId=alice");
    expect(requests()).toBe(1);
  });

  describe("without a live feed", () => {
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

    const stale = (now: number) =>
      chain.feeds.set("ETH", { answer: 300_000_000_000n, updatedAt: now - 1_400 });

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
});

describe("without WALLET_ENCRYPTION_KEY", () => {
  test.each([
    ["POST", "/mcp/wallet/create", { userId: "a" }],
    ["POST", "/mcp/defi/connect", { userId: "a" }],
    ["GET", "/mcp/defi/portfolio?userId=a", undefined],
    ["POST", "/mcp/defi/send", { userId: "a", toAddress: `0x${"11".repeat(20)}`, token: "ETH", amount: "1" }],
  ] as const)("%s %s is 500 and makes nothing", async (method, path, body) => {
    const app = createWalletApp(chain, { env: { WALLET_ENCRYPTION_KEY: "" } });
    const answer = await app.call(method, path, body === undefined ? {} : { body: JSON.stringify(body) });
    expect([answer.status, answer.body]).toEqual([500, { error: "WALLET_ENCRYPTION_KEY is not configured" }]);
    expect(await app.rows("wallets")).toEqual([]);
  });
});
