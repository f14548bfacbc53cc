import {
  decodeFunctionData,
  encodeAbiParameters,
  keccak256,
  numberToHex,
  pad,
  parseAbi,
  parseAbiParameters,
  stringToHex,
  toEventSelector,
  type Address,
} from "viem";
import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { NEVER } from "../../convex/lib/time";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { getServiceAddress } from "../../convex/wallets/custody/signatures";
import { TOKENS } from "../../scripts/chain/addresses";
import { chain, ETHER, etherOf, hex, usdcOf, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { freshAddress, unreachDeadlines, type WalletApp } from "../support/chain/walletApp";
import { dieAt, type Moment } from "../support/crashes";
import { spoiled } from "../support/outside";
import { until } from "../support/waits";
import { RUNS, timePassing, useTime } from "../invariants/harness";
import { buy, DOLLARS, fillTank, sums, test } from "./gasOrders";

/** The exchange of USDC for ether, where the relayer, a node or a stranger is in its way: nothing is lost on either side. */

useChain();
useTime();
const RESULTS = parseAbiParameters("(bool success, bytes returnData)[]");
const USED = toEventSelector("AuthorizationUsed(address,bytes32)");
const OTHER_KEY = `0x${"6".repeat(64)}` as const;

describe("when the exchange does not come about", () => {
  /** The node has not seen any transaction. */
  const unseen = () =>
    answering(({ method }) =>
      /^eth_getTransaction(?:Receipt|ByHash)$/.test(method) ? { result: null } : null,
    );
  /** A gas order whose authorization is stored, while the relayer's half is not mined. */
  async function authorized(app: WalletApp) {
    const wallet = await app.fundedWallet("alice", DOLLARS);
    const tank = await fillTank();
    await chain.miner.pause();
    deadlines.receipt = 100;
    const { body } = await buy(app, { usdc: "2000000" });
    const row = (await app.rows("orders")).find(({ request }) => request.kind === "gas");
    if (row?.exchange === undefined || row.request.kind !== "gas") throw new Error(JSON.stringify(body));
    return { ...tank, wallet, row, ether: BigInt(row.request.ether) };
  }
  async function gasOrder(app: WalletApp, n = 0) {
    const row = (await app.rows("orders")).filter(({ request }) => request.kind === "gas")[n];
    if (row === undefined) throw new Error("There is no such order");
    return row;
  }
  type GasOrder = Awaited<ReturnType<typeof gasOrder>>;
  const multicallAbi = parseAbi([
    "struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }",
    "function aggregate3Value(Call3Value[] calls) payable",
  ]);
  /** Anybody may use an authorization that they have seen. */
  async function useAsStranger(app: WalletApp, wallet: Address, { exchange }: GasOrder): Promise<void> {
    const half = (await app.rows("orders")).find(({ _id }) => _id === exchange?.serviceId);
    // What the relayer signs shows the authorization to everybody, also when nobody mines it.
    const signed = half?.request.kind === "refuel" ? half.request.data : "0x";
    const { args } = decodeFunctionData({ abi: multicallAbi, data: hex.parse(signed) });
    const data = args[0][0]?.callData;
    const from = chain.accounts[8];
    await chain.rpc("eth_sendTransaction", [{ from, to: TOKENS.USDC, data, gas: "0x493e0" }]);
    await chain.miner.mine();
    expect(await sums(wallet)).toEqual([18_000_000n, 0n]);
  }
  /** What the node says of an authorization's use; the balance beside it is whatever it was. */
  const claimingUse = (used: boolean) =>
    answering(({ method, params }) => {
      if (method !== "eth_call" || !JSON.stringify(params).includes("e94a0102")) return null;
      const words = [used ? 1n : 0n, 20_000_000n].map((one) => numberToHex(one, { size: 32 }));
      return {
        result: encodeAbiParameters(RESULTS, [words.map((one) => ({ success: true, returnData: one }))]),
      };
    });
  const check = async (app: WalletApp, orderId: string) => {
    await app.t.action(internal.wallets.actions.checkSigned, { orderId: orderId as never });
    return (await app.rows("orders")).find(({ _id }) => _id === orderId);
  };

  test("a stranger's use of the authorization is answered with the ether alone, once", async ({ app }) => {
    const pass = timePassing(app);
    const { relayer, kept, wallet, row, ether } = await authorized(app);
    await chain.rpc("anvil_dropAllTransactions", []);
    chain.miner.resume();
    await useAsStranger(app, wallet, row);
    for (let look = 0; look < 4; look++) {
      await check(app, row._id);
      await chain.miner.mine();
    }
    // A node that shows no receipt of it, for minutes, has the ether given once all the same.
    const end = unseen();
    await pass(8);
    end();
    expect(await sums(wallet)).toEqual([18_000_000n, ether]);
    const ended = await check(app, row._id);
    expect([ended?.state, (await usdcOf(relayer)) - kept]).toEqual(["confirmed", 2_000_000n]);
    for (let look = 0; look < 3; look++) await check(app, row._id);
    expect(await sums(wallet)).toEqual([18_000_000n, ether]);
  });

  test("a crash after any step goes on with the same bytes, and one exchange is made", async ({ app }) => {
    const { relayer, kept, wallet, row, ether } = await authorized(app);
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

  /** The relayer's call would fail, says the node. */
  const refusingEstimates = () =>
    answering(({ method }) =>
      method === "eth_estimateGas" ? { error: { code: 3, message: "execution reverted" } } : null,
    );

  test("an authorization that ends unused moves nothing, is told once, and blocks the wallet no longer", async ({
    app,
  }) => {
    const wallet = await app.fundedWallet("alice", DOLLARS);
    await fillTank();
    const pass = timePassing(app);
    deadlines.receipt = 100;
    const stop = refusingEstimates();
    const { status } = await buy(app, { usdc: "2000000" });
    const row = await gasOrder(app);
    // The node's time alone does not end it.
    const lie = spoiled(/./, (text) =>
      text.replaceAll(/"timestamp":"0x[0-9a-f]+"/g, '"timestamp":"0xfffffffff"'),
    );
    await check(app, row._id);
    lie();
    await pass(8);
    expect([status, (await check(app, row._id))?.state]).toEqual([202, "signed"]);
    await pass(4);
    const ended = await check(app, row._id);
    expect([ended?.state, ended?.error]).toEqual(["failed", expect.stringContaining("nothing was moved")]);
    expect(await sums(wallet)).toEqual([20_000_000n, 0n]);
    // It is looked at once more, and then left.
    await pass(2);
    expect((await gasOrder(app)).nextCheckAt).toBe(NEVER);
    // Late steps of another look change nothing.
    for (const step of [
      { kind: "expired" },
      { kind: "again" },
      { kind: "sent", txHash: "0x1" },
      { kind: "done", txHash: "0x1" },
    ] as const)
      await app.t.mutation(internal.wallets.orders.unsignedSteps.advanceExchange, { orderId: row._id, step });
    expect((await gasOrder(app)).endedAt).toBe(ended?.endedAt);
    stop();
    unreachDeadlines();
    expect((await buy(app, { usdc: "2000000" })).body.status).toBe("confirmed");
    const done = await gasOrder(app, 1);
    for (const step of [{ kind: "expired" }, { kind: "sent", txHash: "0x1" }] as const)
      await app.t.mutation(internal.wallets.orders.unsignedSteps.advanceExchange, {
        orderId: done._id,
        step,
      });
    const after = await gasOrder(app, 1);
    expect([after.state, after.endedAt, after.txHash]).toEqual(["confirmed", done.endedAt, done.txHash]);
  });

  test("a node that invents a use of the authorization, with another's transaction, has no ether given", async ({
    app,
  }) => {
    const wallet = await app.fundedWallet("alice", DOLLARS);
    const { relayer, stranger, kept } = await fillTank();
    deadlines.receipt = 100;
    const stop = refusingEstimates();
    await buy(app, { usdc: "2000000" });
    const row = await gasOrder(app);
    const transactionHash = await chain.rpc("eth_sendTransaction", [{ from: stranger, to: stranger }]);
    await chain.miner.mine();
    const topics = [USED, pad(wallet), keccak256(stringToHex(row._id))];
    const place = { blockNumber: "0x1", blockHash: pad("0x1"), transactionIndex: "0x0", logIndex: "0x0" };
    const used = { address: TOKENS.USDC, topics, data: "0x", transactionHash, ...place, removed: false };
    const endClaim = claimingUse(true);
    const endLogs = answering(({ method }) => (method === "eth_getLogs" ? { result: [used] } : null));
    for (let look = 0; look < 3; look++) {
      await check(app, row._id);
      await chain.miner.mine();
    }
    expect(await sums(wallet)).toEqual([20_000_000n, 0n]);
    expect((await app.rows("orders")).filter(({ request }) => request.kind === "refuel")).toHaveLength(1);
    endLogs();
    endClaim();
    stop();
    await until(async () => {
      await chain.miner.mine();
      return (await check(app, row._id))?.state === "confirmed";
    });
    const [held, got] = await sums(wallet);
    expect([held, got > 0n, (await usdcOf(relayer)) - kept]).toEqual([18_000_000n, true, 2_000_000n]);
  });

  test("a use that a node hides until the end is answered behind it: once, also where the relayer fails first, and has another key by then", async ({
    app,
  }) => {
    const wallet = await app.fundedWallet("alice", DOLLARS);
    const { relayer } = await fillTank();
    const pass = timePassing(app);
    deadlines.receipt = 100;
    const stop = refusingEstimates();
    await buy(app, { usdc: "2000000" });
    const row = await gasOrder(app);
    await useAsStranger(app, wallet, row);
    const reveal = claimingUse(false);
    await pass(12);
    expect((await gasOrder(app)).state).toBe("failed");
    reveal();
    const halves = async () =>
      (await app.rows("orders")).flatMap(({ request, address, state }) =>
        request.kind === "refuel" ? [[address === relayer, state]] : [],
      );
    for (let look = 0; look < 4; look++) {
      await check(app, row._id);
      await chain.miner.mine();
    }
    // The relayer's payment fails unsigned, and is the same one each time.
    expect([(await gasOrder(app)).state, (await halves()).length]).toEqual(["signed", 2]);
    vi.stubEnv("X402_RELAYER_PRIVATE_KEY", OTHER_KEY);
    await chain.rpc("anvil_setBalance", [getServiceAddress("relayer"), numberToHex(ETHER)]);
    stop();
    await until(async () => {
      await chain.miner.mine();
      return (await check(app, row._id))?.state === "confirmed";
    });
    for (let look = 0; look < 3; look++) await check(app, row._id);
    const ether = row.request.kind === "gas" ? BigInt(row.request.ether) : 0n;
    expect(await sums(wallet)).toEqual([18_000_000n, ether]);
    expect(await halves()).toEqual([
      [true, "failed"],
      [true, "failed"],
      [false, "confirmed"],
    ]);
    expect((await gasOrder(app)).error).toBeUndefined();
  });

  test("two orders of the same USDC make one exchange, and the wallet is free at once", async ({ app }) => {
    const wallet = await app.fundedWallet("alice", { USDC: 2_000_000n, ETH: 0n });
    const { relayer, kept } = await fillTank();
    const both = await Promise.all([1, 2].map(() => buy(app, { usdc: "2000000" })));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
    expect((await app.rows("orders")).filter(({ state }) => state === "signed")).toEqual([]);
    expect([await usdcOf(wallet), (await usdcOf(relayer)) - kept]).toEqual([0n, 2_000_000n]);
  });

  test("a process that dies at any of its calls leaves one exchange, or none that has moved anything", async ({
    app,
  }) => {
    const { relayer } = await fillTank();
    const pass = timePassing(app);
    let died = 0;
    for (let n = 2; ; n += RUNS > 2 ? 1 : 9) {
      const moment: Moment = n % 2 === 0 ? "before" : "after";
      const userId = `owner-${crypto.randomUUID()}`;
      const wallet = await app.fundedWallet(userId, DOLLARS, `198.51.100.${n}`);
      const before = await usdcOf(relayer);
      const order = () => buy(app, { userId, usdc: "2000000", idempotencyKey: "g" });
      const death = dieAt(n, moment);
      const isReached = await Promise.race([death.dead, order().then(() => false)]);
      death.revive();
      if (!isReached) break;
      died++;
      await pass(3);
      const again = await order();
      const context = `${moment} ${n}: ${again.status} ${JSON.stringify(again.body)}`;
      expect([context, again.body.status]).toEqual([context, "confirmed"]);
      const given = [18_000_000n, BigInt(String(again.body.gotEth))];
      expect([context, ...(await sums(wallet))]).toEqual([context, ...given]);
      expect([context, (await usdcOf(relayer)) - before]).toEqual([context, 2_000_000n]);
    }
    expect(died).toBeGreaterThan(2);
  });
});
