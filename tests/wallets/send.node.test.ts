import { expect } from "vitest";
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

test("a send of any token arrives, once under a key, and the answer tells its transaction", async ({
  app,
}) => {
  const one = { USDC: 10n ** 6n, USDT: 10n ** 6n, DAI: ETHER, WETH: ETHER };
  await app.fundedWallet("alice", { ...one, ETH: ETHER });
  const to = freshAddress();
  const order = { toAddress: to, amount: "250000000000000000" };
  const key = { "Idempotency-Key": "k-1" };
  const { status, body } = await send(app, order, key);
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
  const { txHash } = body;
  expect(await app.rows("orders")).toMatchObject([
    { action: "send", source: "web", state: "confirmed", txHash, userId: "alice" },
  ]);
  const seenBy = (userId: string) =>
    app.get(`/mcp/defi/transaction?userId=${userId}&txHash=${String(txHash)}`);
  expect((await seenBy("alice")).body).toMatchObject({ txHash, status: "confirmed", kind: "send" });
  expect((await seenBy("bob")).status).toBe(404);

  expect((await send(app, { ...order, idempotencyKey: "k-1" }, key)).body).toEqual({
    ...body,
    repeated: true,
  });
  for (const [fields, refused, error] of [
    [
      { idempotencyKey: "k-2" },
      400,
      "idempotencyKey differs from the Idempotency-Key header: send one of them, or the same in both",
    ],
    [
      { amount: "11" },
      409,
      "This idempotency key was used for another request: send a new key for a new request",
    ],
  ] as const) {
    const answer = await send(app, { ...order, ...fields }, key);
    expect([answer.status, answer.body]).toEqual([refused, { error }]);
  }
  expect(await etherOf(to)).toBe(ETHER / 4n);

  for (const token of ["USDC", "USDT", "DAI", "WETH"] as const) {
    const sent = await send(app, { toAddress: to, token, amount: one[token].toString() });
    expect([sent.body.status, sent.body.token]).toEqual(["confirmed", token]);
    expect(await balanceOf(chain, chain.addresses.tokens[token], to)).toBe(one[token]);
  }
});

test("a send of what is no order, without a wallet or without enough says why, and moves nothing", async ({
  app,
}) => {
  const refuses = async (fields: object, status: number, error: string) => {
    const answer = await send(app, fields);
    expect([fields, answer.status, answer.body.error]).toEqual([
      fields,
      status,
      expect.stringContaining(error),
    ]);
  };
  const digits = "amount must be a whole number of digits";
  for (const amount of ["01", (2n ** 256n).toString(), 1.5]) await refuses({ amount }, 400, digits);
  await refuses({ amount: 2 ** 60 }, 400, "amount is too large for a JSON number");
  for (const [fields, error] of [
    [{ memo: "x", fee: 1 }, "memo, fee are not fields here, where money moves: there are userId, toAddress"],
    [{ toAddress: "0x833589FCD6eDb6E08f4c7C32D4f71b54bdA02914" }, "toAddress must be checksummed correctly"],
    [{ from: "hosted" }, "from must be custody or basic"],
  ] as const)
    await refuses(fields, 400, error);
  const { body: basic } = await app.post("/mcp/wallet/create", { userId: "alice" });
  await refuses({}, 404, "No wallet was found for this user: connect first");
  expect(await app.rows("orders")).toEqual([]);

  const owner = await app.fundedWallet("alice", { USDC: 1_000_000n });
  await refuses(
    { token: "USDC", amount: "2500000" },
    400,
    `Insufficient USDC: 2.5 needed, the wallet holds 1, 1.5 is missing: send it to ${owner} on Base`,
  );
  await refuses({ token: "USDC", amount: "1000000" }, 400, "Insufficient ETH for the network fee");
  await chain.fund(owner, { ETH: 1_000n });
  await refuses({ amount: "1000" }, 400, "Insufficient ETH for the network fee");
  // The other wallet is named where that holds enough.
  await chain.fund(hex.parse(basic.address), { USDC: 9_000_000n });
  await refuses(
    { token: "USDC", amount: "9000000" },
    400,
    `The user's basic wallet ${String(basic.address)} holds 9 USDC: a send with from: "basic" spends it`,
  );
  expect(await nonceOf(owner)).toBe(0);
  expect(new Set((await app.rows("orders")).map(({ state }) => state))).toEqual(new Set(["failed"]));
});

test("what leaves the wallets of an id without an owner is weighed by ether's price from the tickers while its feed is stale; without a live price it is refused", async () => {
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
    for (const order of [worth(5), { token: "USDC", amount: "1000000" }]) {
      const { status, body } = await send(app, order);
      expect([status, body.error]).toEqual([502, expect.stringContaining("No live price")]);
    }
  } finally {
    await chain.feeds.tick();
    chain.feeds.resume();
  }
});
