import { encodeFunctionData, keccak256, numberToHex, stringToHex, type Address } from "viem";
import { describe, expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { getServiceAddress } from "../../convex/wallets/custody/signatures";
import { usdcAbi } from "../../scripts/chain/abis";
import { MULTICALL3, TOKENS } from "../../scripts/chain/addresses";
import { chain, ETHER, etherOf, hex, usdcOf, useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { until } from "../support/waits";
import { cards, newest, owner, say, tap, test } from "../support/owners";

/** Ether for USDC: a wallet with 20 USDC and nothing else ends with a swap and a send; nothing is lost on either side. */

useChain();
const KEY = `0x${"5".repeat(64)}`;
test.override({ settings: { env: { X402_RELAYER_PRIVATE_KEY: KEY, CONFIRMATIONS: "1" } } });

let relayer: Address;
/** Of earlier tests. */
let kept = 0n;

async function setUp(): Promise<void> {
  const address = getServiceAddress("relayer");
  if (address === null) throw new Error("There is no relayer");
  relayer = address;
  await chain.rpc("anvil_setBalance", [relayer, numberToHex(ETHER)]);
  kept = await usdcOf(relayer);
}

const DOLLARS = { USDC: 20_000_000n, ETH: 0n };
const buy = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/gas", { userId: "alice", ...fields });
const sums = async (of: Address) => [await usdcOf(of), await etherOf(of)] as const;
const swap = { userId: "alice", fromToken: "USDC", toToken: "ETH", amount: "5000000" };

test("20 USDC and nothing else end with a swap and a send over HTTP", async ({ app }) => {
  const wallet = await app.fundedWallet("alice", DOLLARS);
  await setUp();
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
  await setUp();
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

describe("when the exchange does not come about", () => {
  /** A gas order whose authorization is stored, while the relayer's half is not mined. */
  async function authorized(app: WalletApp) {
    const wallet = await app.fundedWallet("alice", DOLLARS);
    await setUp();
    await chain.miner.pause();
    deadlines.receipt = 100;
    const { body } = await buy(app, { usdc: "2000000" });
    const row = (await app.rows("orders")).find(({ request }) => request.kind === "gas");
    if (row?.exchange === undefined || row.request.kind !== "gas") throw new Error(JSON.stringify(body));
    return { wallet, row, exchange: row.exchange, ether: BigInt(row.request.ether) };
  }
  const check = async (app: WalletApp, orderId: string) => {
    await app.t.action(internal.wallets.actions.checkSigned, { orderId: orderId as never });
    return (await app.rows("orders")).find(({ _id }) => _id === orderId);
  };

  test("a stranger's use of the authorization is answered with the ether alone, once", async ({ app }) => {
    const { wallet, row, exchange, ether } = await authorized(app);
    // What the relayer has signed, but nobody mines, shows the authorization to everybody.
    const service = (await app.rows("orders")).find(({ _id }) => _id === exchange.serviceId);
    const sent = service?.request.kind === "refuel" ? service.request.data : "0x";
    const nonce = keccak256(stringToHex(row._id));
    const terms = [wallet, relayer, 2_000_000n, 0n, BigInt(exchange.validBefore), nonce] as const;
    const args = [...terms, hex.parse(exchange.signature)] as const;
    const data = encodeFunctionData({ abi: usdcAbi, functionName: "transferWithAuthorization", args });
    expect(sent).toContain(data.slice(10, 74));
    await chain.rpc("anvil_dropAllTransactions", []);
    const [stranger = wallet] = chain.accounts.slice(8);
    await chain.rpc("eth_sendTransaction", [{ from: stranger, to: TOKENS.USDC, data, gas: "0x493e0" }]);
    chain.miner.resume();
    await chain.miner.mine();
    expect(await sums(wallet)).toEqual([18_000_000n, 0n]);
    for (let look = 0; look < 8; look++) {
      await check(app, row._id);
      await chain.miner.mine();
    }
    expect(await sums(wallet)).toEqual([18_000_000n, ether]);
    const ended = await check(app, row._id);
    expect([ended?.state, (await usdcOf(relayer)) - kept]).toEqual(["confirmed", 2_000_000n]);
    for (let look = 0; look < 3; look++) await check(app, row._id);
    expect(await sums(wallet)).toEqual([18_000_000n, ether]);
  });

  test("a crash after any step goes on with the same bytes, and one exchange is made", async ({ app }) => {
    const { wallet, row, ether } = await authorized(app);
    await chain.rpc("anvil_dropAllTransactions", []);
    // A frozen account no longer recalls what is signed; another order of the wallet waits behind it.
    deadlines.transaction = 1_000;
    const blocked = await app.post("/mcp/defi/send", {
      userId: "alice",
      token: "USDC",
      toAddress: freshAddress(),
      size: "1",
    });
    expect(blocked.body.txHash).toBeUndefined();
    chain.miner.resume();
    await Promise.all([check(app, row._id), check(app, row._id)]);
    await until(async () => {
      await chain.miner.mine();
      return (await check(app, row._id))?.state === "confirmed";
    });
    expect((await check(app, row._id))?.state).toBe("confirmed");
    expect([await usdcOf(wallet), (await usdcOf(relayer)) - kept]).toEqual([18_000_000n, 2_000_000n]);
    expect(await etherOf(wallet)).toBe(ether);
  });

  test("an authorization that ends unused moves nothing", async ({ app }) => {
    const { wallet, row, exchange } = await authorized(app);
    await chain.rpc("anvil_dropAllTransactions", []);
    await app.t.run(async ({ db }) => {
      await db.patch("orders", exchange.serviceId, { state: "failed", tries: [], endedAt: Date.now() });
      await db.patch("orders", row._id, { exchange: { ...exchange, validBefore: 1 } });
    });
    const ended = await check(app, row._id);
    expect([ended?.state, ended?.error]).toEqual(["failed", expect.stringContaining("nothing was moved")]);
    expect(await sums(wallet)).toEqual([20_000_000n, 0n]);
  });

  test("without USDC, relayer or its ether it is refused, and nothing is signed", async ({ app }) => {
    await app.fundedWallet("alice", { USDC: 500_000n, ETH: 0n });
    await setUp();
    const poor = await buy(app);
    expect([poor.status, poor.body.error]).toEqual([400, expect.stringContaining("Insufficient USDC")]);
    await chain.rpc("anvil_setBalance", [relayer, "0x1"]);
    const low = await buy(app);
    expect(low.status).toBe(503);
    const { reasons } = await app.t.query(internal.ops.health.readHealth, { now: Date.now() });
    expect(reasons).toContain("the relayer has hardly any ETH: send it some");
    expect(await app.rows("orders")).toEqual([]);
  });
});
