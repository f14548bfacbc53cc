import { describe, expect } from "vitest";
import { FEEDS } from "../../convex/market/feeds";
import { ETHER, hex, chain, etherOf, nonceOf, useChain, test } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { noPrices } from "../support/outside";

useChain();

const BOB = `0x${"b0".repeat(20)}` as const;

const send = (app: WalletApp, fields: object, headers: Record<string, string> = {}, ip?: string) =>
  app.post(
    "/mcp/defi/send",
    { userId: "alice", toAddress: BOB, token: "ETH", amount: "1", ...fields },
    { headers, ...(ip === undefined ? {} : { ip }) },
  );
/** Two of one address may wait at once: racing calls come from many. */
const addressOf = (n: number) => `198.51.100.${n}`;

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

  test.for([
    ["USDC", 6],
    ["USDT", 6],
    ["DAI", 18],
    ["WETH", 18],
  ] as const)("sends %s", async ([token, decimals], { app }) => {
    const one = 10n ** BigInt(decimals);
    await app.fundedWallet("alice", { ETH: ETHER, [token]: 5n * one });
    const to = freshAddress();
    const { status, body } = await send(app, {
      toAddress: to,
      token: token.toLowerCase(),
      amount: (2n * one).toString(),
    });
    expect([status, body.status, body.token]).toEqual([200, "confirmed", token]);
    const data = `0x70a08231${to.slice(2).padStart(64, "0")}`;
    const held = await chain.rpc("eth_call", [{ to: chain.addresses.tokens[token], data }, "latest"]);
    expect(BigInt(hex.parse(held))).toBe(2n * one);
  });

  test("asks the chain for nothing twice, and of the price feeds once", async () => {
    const app = createWalletApp(chain);
    await app.fundedWallet("alice", { ETH: ETHER });
    const asked: { method: string; targets: number }[] = [];
    const done = answering(({ method, params }) => {
      const targets = Object.values(FEEDS).filter(({ address }) =>
        JSON.stringify(params).toLowerCase().includes(address.slice(2).toLowerCase()),
      );
      asked.push({ method, targets: targets.length });
      return null;
    });
    expect((await send(app, {})).body.status).toBe("confirmed");
    done();
    const methods = asked.map(({ method }) => method);
    expect(methods.slice(0, methods.indexOf("eth_sendRawTransaction") + 1).sort()).toEqual([
      "eth_call", // the price
      "eth_call", // whether the recipient is the swap provider's contract or a token
      "eth_call", // the balances, and the fee for its L1 data
      "eth_chainId",
      "eth_estimateGas",
      "eth_getBlockByNumber", // the base fee
      "eth_getCode", // whether the recipient is a person's account with a delegate
      "eth_getTransactionCount",
      "eth_maxPriorityFeePerGas",
      "eth_sendRawTransaction",
    ]);
    expect(methods).toContain("eth_getTransactionReceipt");
    expect(asked.map(({ targets }) => targets).filter((targets) => targets > 0)).toEqual([1]);
  });

  test("without a custody wallet is 404, also where there is a basic one", async ({ app }) => {
    await app.post("/mcp/wallet/create", { userId: "alice" });
    const { status, body } = await send(app, {});
    expect([status, body.error]).toEqual([404, "No wallet was found for this user: connect first"]);
  });

  test.for([
    [{ amount: "1.5" }, "amount must be in the token's smallest unit, without a decimal point"],
    [{ amount: "01" }, "amount must be a positive whole number"],
    [{ amount: (2n ** 256n).toString() }, "amount must be at most 2^256 - 1, the largest amount"],
    [{ memo: "x", fee: 1 }, "memo, fee are not fields here, where money moves: there are userId, toAddress"],
    [{ amount: 5 }, "amount must be a string of digits"],
    [
      { toAddress: "0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02914" },
      "toAddress must be checksummed correctly, or all in one case",
    ],
    [{ from: "hosted" }, "from must be custody or basic"],
  ] as const)("refuses %o: %s", async ([fields, error], { app }) => {
    const { status, body } = await send(app, fields);
    expect([status, body.error]).toEqual([400, expect.stringContaining(error)]);
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
    const again = await send(app, { toAddress: to, amount: "10" }, key);
    const inBody = await send(app, { toAddress: to, amount: "10", idempotencyKey: "k-1" });
    const repeated = { ...first.body, repeated: true };
    expect(again.body).toEqual(repeated);
    expect(inBody.body).toEqual(repeated);
    const both = await send(app, { toAddress: to, amount: "10", idempotencyKey: "k-1" }, key);
    expect(both.body).toEqual(repeated);
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

describe("8 racing sends from one wallet", () => {
  test("all confirm, with nonces without a gap", async ({ app }) => {
    const wallet = await app.fundedWallet("alice", { ETH: ETHER });
    const to = freshAddress();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        send(app, { toAddress: to, amount: "1" }, { "Idempotency-Key": `k${i}` }, addressOf(i)),
      ),
    );
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(
      Array.from({ length: 8 }, () => [200, "confirmed"]),
    );
    expect(new Set(answers.map(({ body }) => body.txHash)).size).toBe(8);
    const nonces = (await app.rows("orders")).map(({ nonce }) => nonce ?? -1).sort((a, b) => a - b);
    expect(nonces).toEqual(Array.from({ length: 8 }, (_, i) => i));
    expect(await etherOf(to)).toBe(8n);
    expect(await nonceOf(wallet)).toBe(8);
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
