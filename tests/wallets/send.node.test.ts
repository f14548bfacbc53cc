import { describe, expect } from "vitest";
import { balanceOf } from "../chain/support";
import { ETHER, hex, chain, etherOf, nonceOf, useChain, test } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { noPrices } from "../support/outside";

useChain();

const BOB = `0x${"b0".repeat(20)}` as const;

const send = (app: WalletApp, fields: object, headers: Record<string, string> = {}) =>
  app.post(
    "/mcp/defi/send",
    { userId: "alice", toAddress: BOB, token: "ETH", amount: "1", ...fields },
    { headers },
  );

describe("POST /mcp/defi/send", () => {
  test("a send of ETH arrives, and the answer tells its transaction", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    const { status, body } = await send(app, { toAddress: to, amount: "250000000000000000" });
    expect([status, body]).toEqual([
      200,
      {
        success: true,
        txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        status: "confirmed",
        token: "ETH",
        toAddress: expect.stringMatching(new RegExp(`^${to}$`, "i")),
        amount: "250000000000000000",
        explorerUrl: `https://basescan.org/tx/${String(body.txHash)}`,
        warning: expect.stringContaining("ownerUrl"),
      },
    ]);
    expect(await etherOf(to)).toBe(ETHER / 4n);
    const [trade] = await app.rows("orders");
    expect(trade).toMatchObject({
      action: "send",
      source: "web",
      state: "confirmed",
      txHash: body.txHash,
      userId: "alice",
    });
    const seen = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.txHash)}`);
    expect(seen.body).toMatchObject({ txHash: body.txHash, status: "confirmed", kind: "send" });
    expect((await app.get(`/mcp/defi/transaction?userId=bob&txHash=${String(body.txHash)}`)).status).toBe(
      404,
    );
  });

  test("sends every token", async ({ app }) => {
    const one = { USDC: 10n ** 6n, USDT: 10n ** 6n, DAI: ETHER, WETH: ETHER };
    await app.fundedWallet("alice", { ...one, ETH: ETHER });
    const to = freshAddress();
    for (const token of ["USDC", "USDT", "DAI", "WETH"] as const) {
      const { body } = await send(app, { toAddress: to, token, amount: one[token].toString() });
      expect([body.status, body.token]).toEqual(["confirmed", token]);
      expect(await balanceOf(chain, chain.addresses.tokens[token], to)).toBe(one[token]);
    }
  });

  test("without a custody wallet is 404, also where there is a basic one", async ({ app }) => {
    await app.post("/mcp/wallet/create", { userId: "alice" });
    const { status, body } = await send(app, {});
    expect([status, body.error]).toEqual([404, "No wallet was found for this user: connect first"]);
  });

  test("refuses what is no order by the field's name", async ({ app }) => {
    for (const [fields, error] of [
      [{ amount: "01" }, "amount must be a whole number of digits"],
      [{ amount: (2n ** 256n).toString() }, "amount must be a whole number of digits"],
      [{ amount: 5 }, "amount must be a whole number of digits"],
      [
        { memo: "x", fee: 1 },
        "memo, fee are not fields here, where money moves: there are userId, toAddress",
      ],
      [
        { toAddress: "0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02914" },
        "toAddress must be checksummed correctly",
      ],
      [{ from: "hosted" }, "from must be custody or basic"],
    ] as const) {
      const { status, body } = await send(app, fields);
      expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
    }
    expect(await app.rows("orders")).toEqual([]);
  });

  test("without enough says what is missing, and moves nothing", async ({ app }) => {
    await app.fundedWallet("alice", { USDC: 1_000_000n });
    const token = await send(app, { token: "USDC", amount: "2500000" });
    expect([token.status, token.body.error]).toEqual([
      400,
      "Insufficient USDC: 2.5 needed, the wallet holds 1, 1.5 is missing",
    ]);
    const gas = await send(app, { token: "USDC", amount: "1000000" });
    expect([gas.status, gas.body.error]).toEqual([
      400,
      expect.stringMatching(/^Insufficient ETH for the network fee: .* is missing$/),
    ]);
    const all = await app.fundedWallet("carol", { ETH: 1_000n });
    const whole = await app.post("/mcp/defi/send", {
      userId: "carol",
      toAddress: BOB,
      token: "ETH",
      amount: "1000",
    });
    expect([whole.status, whole.body.error]).toEqual([
      400,
      expect.stringContaining("Insufficient ETH for the network fee"),
    ]);
    expect(await nonceOf(all)).toBe(0);
    expect((await app.rows("orders")).map(({ state }) => state)).toEqual(["failed", "failed", "failed"]);
  });

  test("names the other wallet when that holds enough", async ({ app }) => {
    await app.post("/mcp/defi/connect", { userId: "alice" });
    const { body } = await app.post("/mcp/wallet/create", { userId: "alice" });
    await chain.fund(hex.parse(body.address), { USDC: 9_000_000n });
    const refused = await send(app, { token: "USDC", amount: "9000000" });
    expect(refused.body.error).toContain(
      `The user's basic wallet ${String(body.address)} holds 9 USDC: a send with from: "basic" spends it`,
    );
  });
});

describe("an idempotency key", () => {
  test("makes a repeat return the first outcome; another request with it is 409", async ({ app }) => {
    await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    const key = { "Idempotency-Key": "k-1" };
    const first = await send(app, { toAddress: to, amount: "10" }, key);
    const both = await send(app, { toAddress: to, amount: "10", idempotencyKey: "k-1" }, key);
    expect(both.body).toEqual({ ...first.body, repeated: true });
    const torn = await send(app, { toAddress: to, amount: "10", idempotencyKey: "k-2" }, key);
    expect([torn.status, torn.body]).toEqual([
      400,
      {
        error:
          "idempotencyKey differs from the Idempotency-Key header: send one of them, or the same in both",
      },
    ]);
    const other = await send(app, { toAddress: to, amount: "11" }, key);
    expect([other.status, other.body]).toEqual([
      409,
      { error: "This idempotency key was used for another request" },
    ]);
    expect(await etherOf(to)).toBe(10n);
  });
});

describe("what leaves the wallets of an id without an owner", () => {
  const dollars = (usd: number) => ({ token: "USDC", amount: String(usd * 1_000_000) });

  test("takes ether's price from the tickers while its feed is stale; without a live price it is refused", async () => {
    const app = createWalletApp(chain, { env: { UNOWNED_DAILY_USD: "60" } });
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 10_000_000n });
    const worth = (usd: number) => {
      const wei = (usd / app.standins.market.coin("ETH").price) * 1e18;
      return { token: "ETH", amount: BigInt(Math.round(wei)).toString() };
    };
    await chain.feeds.pause();
    try {
      const updatedAt = Math.floor(Date.now() / 1000) - 1_400;
      await chain.feeds.set("ETH", { answer: 1n, updatedAt });
      expect((await send(app, worth(66))).body.error).toContain("would go beyond the limit of 60 USD");
      expect((await send(app, worth(30))).status).toBe(200);
      noPrices(app);
      await chain.feeds.set("USDC", { answer: 100_000_000n, updatedAt: 1_000 });
      for (const order of [worth(5), dollars(1)]) {
        const { status, body } = await send(app, order);
        expect([status, body.error]).toEqual([502, expect.stringContaining("No live price")]);
      }
    } finally {
      await chain.feeds.tick();
      chain.feeds.resume();
    }
  });
});
