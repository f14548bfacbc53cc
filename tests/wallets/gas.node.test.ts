import { privateKeyToAddress } from "viem/accounts";
import { expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { MULTICALL3 } from "../../scripts/chain/addresses";
import { chain, etherOf, hex, usdcOf, useChain } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { cards, newest, owner, say, tap } from "../support/owners";
import { useTime } from "../invariants/harness";
import { buy, DOLLARS, fillTank, KEY, sums, test } from "./gasOrders";

/** Ether for USDC: a wallet with 20 USDC and nothing else ends with a swap and a send; what cannot be, is refused. */

useChain();
useTime();
const swap = { userId: "alice", fromToken: "USDC", toToken: "ETH", amount: "5000000" };

test("20 USDC and nothing else end with a swap and a send over HTTP", async ({ app }) => {
  const wallet = await app.fundedWallet("alice", DOLLARS);
  const { relayer, kept } = await fillTank();
  expect(await etherOf(wallet)).toBe(0n);
  const refused = await app.post("/mcp/defi/swap", swap);
  expect([refused.status, refused.body.error]).toEqual([400, expect.stringContaining("POST /mcp/defi/gas")]);
  const [, before] = await sums(relayer);
  const bought = await buy(app, { idempotencyKey: "g" });
  expect([bought.status, bought.body]).toEqual([
    200,
    expect.objectContaining({ success: true, status: "confirmed" }),
  ]);
  const [paid, got] = [BigInt(String(bought.body.paidUsdc)), BigInt(String(bought.body.gotEth))];
  expect(await sums(wallet)).toEqual([20_000_000n - paid, got]);
  const [taken, after] = await sums(relayer);
  expect([taken - kept, after < before - got]).toEqual([paid, true]);
  expect([await usdcOf(MULTICALL3), await etherOf(MULTICALL3)]).toEqual([0n, 0n]);
  // Worth what was paid, less 2 % and the fee.
  expect((await buy(app, { idempotencyKey: "g" })).body).toMatchObject({
    repeated: true,
    txHash: bought.body.txHash,
  });
  const seen = await app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(bought.body.txHash)}`);
  expect(seen.body).toMatchObject({ kind: "gas", status: "confirmed" });
  expect((await app.post("/mcp/defi/swap", swap)).body).toMatchObject({ status: "confirmed" });
  const order = { userId: "alice", token: "USDC", toAddress: freshAddress(), size: "3" };
  expect((await app.post("/mcp/defi/send", order)).body).toMatchObject({ status: "confirmed" });
  // Three a day, and what is refused moves nothing.
  for (const [fields, status] of [
    [{ usdc: "999999" }, 400],
    [{ usdc: "5000001" }, 400],
    [{ usdc: "1000000" }, 200],
    [{ usdc: "1000000" }, 200],
    [{ usdc: "1000000" }, 429],
  ] as const)
    expect([fields, (await buy(app, fields)).status]).toEqual([fields, status]);
});

test("in the chat the refusal has a button, and after Done the waiting order is one tap away", async ({
  app,
}) => {
  const { address } = await owner(app, DOLLARS);
  await fillTank();
  await say(app, "buy $5 of ETH");
  expect(await newest(app)).toContain("Insufficient ETH for the network fee");
  const offered = (await cards(app))
    .at(-1)
    ?.keyboard?.flat()
    .find(({ text }) => text.startsWith("⛽"));
  await tap(app, String(offered?.text));
  expect(await newest(app)).toMatch(/[1-5] USDC → 0\.\d+ ETH for fees · fees included · uses/);
  await tap(app, "✅ Approve");
  await tap(app, "▶ 5 USDC → ETH");
  expect(await newest(app)).toContain("5 USDC → ≈");
  await tap(app, "✅ Approve");
  expect((await app.rows("orders")).map(({ request, state }) => [request.kind, state])).toEqual(
    expect.arrayContaining([
      ["gas", "confirmed"],
      ["refuel", "confirmed"],
      ["swap", "confirmed"],
    ]),
  );
  expect(await etherOf(address)).toBeGreaterThan(0n);
});

test("what the USDC no longer pays for by the tap is not exchanged", async ({ app }) => {
  const { address } = await owner(app, DOLLARS);
  const { relayer, kept } = await fillTank();
  await say(app, "/gas 2");
  await chain.feeds.pause();
  try {
    const updatedAt = Math.floor(Date.now() / 1_000);
    await chain.feeds.set("ETH", { answer: 450_000_000_000n, updatedAt });
    await tap(app, "✅ Approve");
  } finally {
    await chain.feeds.tick();
    chain.feeds.resume();
  }
  expect(await newest(app)).toContain("The price has moved since then: nothing was signed");
  expect([await sums(address), await usdcOf(relayer)]).toEqual([[20_000_000n, 0n], kept]);
});

test("without USDC, relayer or its ether it is refused, and nothing is signed", async ({ app }) => {
  await app.fundedWallet("alice", { USDC: 500_000n, ETH: 0n });
  const { relayer } = await fillTank();
  const poor = await buy(app);
  expect([poor.status, poor.body.error]).toEqual([400, expect.stringContaining("Insufficient USDC")]);
  await chain.rpc("anvil_setBalance", [relayer, "0x1"]);
  const low = await buy(app);
  expect(low.status).toBe(503);
  const { reasons } = await app.t.query(internal.ops.health.readHealth, { now: Date.now() });
  expect(reasons).toContain("the relayer has hardly any ETH: send it some");
  expect(await app.rows("orders")).toEqual([]);
});

test("without a relayer of its own it is refused by name, and no refusal offers it", async ({ app }) => {
  const address = await app.fundedWallet("alice", DOLLARS);
  await fillTank();
  const basic = await app.post("/mcp/wallet/create", { userId: "alice" });
  await chain.fund(hex.parse(basic.body.address), DOLLARS);
  // What is bought goes to the custody wallet: it is no way for the basic one.
  const order = { userId: "alice", token: "USDC", toAddress: freshAddress(), size: "3", from: "basic" };
  const refused = await app.post("/mcp/defi/send", order);
  expect([refused.status, refused.body.error]).toEqual([400, expect.not.stringContaining("/mcp/defi/gas")]);
  for (const env of [
    { PLATFORM_WALLET_ADDRESS: privateKeyToAddress(hex.parse(KEY)) },
    { X402_RELAYER_PRIVATE_KEY: undefined },
  ]) {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const bought = await buy(app);
    expect([bought.status, bought.body.error]).toEqual([
      500,
      expect.stringContaining("X402_RELAYER_PRIVATE_KEY"),
    ]);
    const { status, body } = await app.post("/mcp/defi/swap", swap);
    expect([status, body.error]).toEqual([400, expect.stringMatching(`send it to ${address} on Base$`)]);
  }
  expect(await app.rows("orders")).toMatchObject([
    { state: "failed" },
    { state: "failed" },
    { state: "failed" },
  ]);
});
