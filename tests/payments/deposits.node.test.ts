import { encodeFunctionData, erc20Abi, maxUint256, toHex, type Address } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { createHmac } from "node:crypto";
import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { getCreditBalance as creditsOf } from "../../convex/credits/model";
import { newWallet, send, sendAs, together, transferTo } from "../chain/support";
import { hex, chain, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { answering, type RpcAnswer } from "../support/chain/rpc";
import { intercept, spoiled } from "../support/outside";
import { replace } from "../support/world";
import { ONE, PLATFORM } from "./authorizations";
import { createDepositApp, minute, test } from "./depositor";

/** Deposits: read from the chain each minute, and at once when a webhook says so. */

useChain();

const notify = (app: WalletApp, body: unknown, init: Parameters<WalletApp["post"]>[2] = {}) =>
  app.post("/indexer/deposit", body, init);

async function pay(amount: bigint, payer?: PrivateKeyAccount) {
  const wallet = payer ?? (await newWallet(chain, { USDC: amount }));
  const { tokens } = chain.addresses;
  const receipt = await send(chain, wallet, { to: tokens.USDC, data: transferTo(PLATFORM, amount) });
  return { wallet, txHash: receipt.transactionHash, logIndex: receipt.logs[0]?.logIndex ?? -1 };
}

async function link(app: WalletApp, address: string, userId = "alice") {
  await app.t.run((ctx) => ctx.db.insert("addresses", { address: address.toLowerCase(), userId }));
  await app.t.mutation(internal.payments.deposits.creditAddress, { address });
  await app.settle();
}

async function payLinked(app: WalletApp, amount: bigint, userId?: string) {
  const wallet = await newWallet(chain, { USDC: amount });
  await link(app, wallet.address, userId);
  return pay(amount, wallet);
}

/** What a user may spend. */
async function balanceOf(app: WalletApp, userId = "alice"): Promise<number> {
  return app.t.run((ctx) => creditsOf(ctx, userId));
}

const credited = (txHash: string, logIndex: number, amountUsdc: string, credits: number) => ({
  success: true,
  credited: [{ txHash, logIndex, amountUsdc, credits }],
  pending: [],
  ignored: [],
});

/** Transfers to the platform in one transaction, through a contract that was allowed to take them. */
async function batchOf(wallet: PrivateKeyAccount, amounts: readonly bigint[], to: Address = PLATFORM) {
  const { multicall3, tokens } = chain.addresses;
  const allowance = { abi: erc20Abi, functionName: "approve", args: [multicall3, maxUint256] } as const;
  await send(chain, wallet, { to: tokens.USDC, data: encodeFunctionData(allowance) });
  const calls = amounts.map((amount) => {
    const args = [wallet.address, to, amount] as const;
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "transferFrom", args });
    return { to: tokens.USDC, data };
  });
  return send(chain, wallet, { ...together(calls), gas: 9_000_000n });
}

describe("a deposit", () => {
  test("that no webhook names is credited within a minute, once", async ({ app }) => {
    await payLinked(app, 2_345_678n);
    await minute(app);
    await minute(app);
    expect(await balanceOf(app)).toBe(234);
  });

  test("is credited at once, and once, by a webhook in any form, however many name it", async ({ app }) => {
    const FORMS: [string, (txHash: string) => unknown][] = [
      ["plain", (txHash) => ({ txHash })],
      ["an indexer's", (txHash) => ({ event: { activity: [{ hash: txHash, log: { data: "0x" } }] } })],
      ["another indexer's", (txHash) => ({ data: [[{ transactionHash: txHash.toUpperCase() }]] })],
    ];
    for (const [userId, payload] of FORMS) {
      const { txHash, logIndex } = await payLinked(app, 2_345_678n, userId);
      const { status, body } = await notify(app, payload(txHash));
      expect([userId, status, body]).toEqual([userId, 200, credited(txHash, logIndex, "2.345678", 234)]);
      expect([userId, await balanceOf(app, userId)]).toEqual([userId, 234]);
    }
    const { txHash, logIndex } = await payLinked(app, 5n * ONE);
    const copy = (_: unknown, n: number) => notify(app, { txHash }, { ip: `198.51.100.${n}` });
    const answers = await Promise.all(Array.from({ length: 20 }, copy));
    for (const { status, body } of answers)
      expect([status, body]).toEqual([200, credited(txHash, logIndex, "5", 500)]);
    expect(await balanceOf(app)).toBe(500);
  });

  test("from a wallet of the service's own is its user's, and each transfer of a transaction counts", async ({
    app,
  }) => {
    for (const path of ["/mcp/wallet/create", "/mcp/defi/connect"]) {
      const { body: wallet } = await app.post(path, { userId: "alice" });
      const address = hex.parse(wallet.address);
      await chain.fund(address, { ETH: 10n ** 18n, USDC: ONE });
      await sendAs(chain, address, { to: chain.addresses.tokens.USDC, data: transferTo(PLATFORM, ONE) });
    }
    const wallet = await newWallet(chain, { USDC: 200n * ONE });
    await link(app, wallet.address, "bob");
    // Of less than one credit, of nothing, or to somebody else brings nothing.
    await batchOf(wallet, [...new Array<bigint>(120).fill(ONE), 9_999n, 0n]);
    await batchOf(wallet, [ONE], wallet.address);
    await minute(app);
    expect([await balanceOf(app), await balanceOf(app, "bob")]).toEqual([200, 12_000]);
    expect(await app.rows("transfers")).toHaveLength(122);
  });

  test("of an unknown sender waits, and is credited when the address is linked", async ({ app }) => {
    const { wallet, txHash, logIndex } = await pay(3n * ONE);
    const reason = "unmatched: it is credited once its sending address is linked";
    const { body } = await notify(app, { txHash });
    expect(body).toEqual({ success: true, credited: [], pending: [], ignored: [{ txHash, reason }] });
    await link(app, wallet.address);
    expect((await notify(app, { txHash })).body).toEqual(credited(txHash, logIndex, "3", 300));
    expect(await balanceOf(app)).toBe(300);
  });
});

/** The node is out of reach. @returns Ends that. */
const unreached = () =>
  intercept(({ url }, pass) =>
    url.startsWith(chain.url) ? Promise.resolve(new Response("", { status: 503 })) : pass(),
  );

const logsShape = z.array(z.looseObject({ transactionHash: z.string() }));
type Logs = z.infer<typeof logsShape>;

/** The node lists other logs than those that there are, or tells them in a receipt. @returns Ends that. */
const listing = (change: (logs: Logs) => Logs, field: "result" | "logs" = "result") =>
  spoiled(/./, (text) =>
    text.replace(
      new RegExp(`"${field}":(\\[\\{.*?\\}\\])`),
      (_, logs: string) => `"${field}":${JSON.stringify(change(logsShape.parse(JSON.parse(logs))))}`,
    ),
  );

describe("reading", () => {
  test("waits for the confirmations", async ({ settings }) => {
    const app = createDepositApp({ ...settings.env, CONFIRMATIONS: "3" });
    await minute(app);
    await chain.miner.mine();
    await chain.miner.mine();
    const { txHash } = await payLinked(app, ONE);
    expect((await notify(app, { txHash })).body).toMatchObject({ credited: [], pending: [{ txHash }] });
    await chain.miner.mine();
    await chain.miner.mine();
    await minute(app);
    expect(await balanceOf(app)).toBe(100);
  });

  test.for([
    ["at DEPOSITS_FROM_BLOCK", true, 300],
    ["with what comes next where none is named", false, 200],
  ] as const)("begins %s", async ([_name, isNamed, credits]) => {
    const first = Number(await chain.rpc("eth_blockNumber", [])) + 1;
    const wallet = await newWallet(chain, { USDC: 3n * ONE });
    await pay(ONE, wallet);
    const app = createDepositApp(isNamed ? { DEPOSITS_FROM_BLOCK: String(first) } : {});
    await minute(app);
    await link(app, wallet.address);
    await pay(2n * ONE, wallet);
    await minute(app);
    expect(await balanceOf(app)).toBe(credits);
  });

  test("halves the range for a node that allows few blocks, reads one that it does not list by its transactions, and goes on where a failure has stopped it", async ({
    app,
  }) => {
    const range = z.object({ fromBlock: z.string(), toBlock: z.string() });
    const allowing = (most: number, tooMuch: RpcAnswer) =>
      answering(({ method, params }) => {
        if (method !== "eth_getLogs") return null;
        const { fromBlock, toBlock } = range.parse(params[0]);
        return Number(toBlock) - Number(fromBlock) + 1 <= most ? null : tooMuch;
      });
    const error = { code: -32600, message: "eth_getLogs is limited" };
    const NODES: Record<string, () => () => void> = {
      "allows 10": () => allowing(10, { error }),
      "allows 1": () => allowing(1, { error }),
      // For a dollar anybody fills a block with transfers of nothing.
      "allows none": () => allowing(0, { error }),
      "allows none, and tells a receipt's logs twice": () => {
        const [refusing, doubling] = [allowing(0, { error }), listing((logs) => [...logs, ...logs], "logs")];
        return () => [doubling, refusing].forEach((heal) => heal());
      },
      "lists too many": () => allowing(0, { result: "x".repeat(11_000_000) }),
      "is out of reach": unreached,
    };
    for (const [node, begin] of Object.entries(NODES)) {
      await payLinked(app, ONE, node);
      const blocks = node === "allows 10" ? 12 : 2;
      for (let i = 0; i < blocks; i++) await chain.miner.mine();
      const heal = begin();
      await minute(app);
      heal();
      const credits = node === "is out of reach" ? 0 : 100;
      expect([node, await balanceOf(app, node)]).toEqual([node, credits]);
    }
    await minute(app);
    expect(await balanceOf(app, "is out of reach")).toBe(100);
  });

  // For a dollar anybody fills a block with them.
  test("goes over a block of thousands of transfers of nothing a few times, not once for each", async ({
    app,
  }) => {
    const NOTHINGS = 3_000;
    const { txHash } = await payLinked(app, ONE);
    const filled = listing((logs) => [
      ...logs,
      ...Array.from({ length: NOTHINGS }, (_, i) => ({
        ...{ ...logs[0], transactionHash: toHex(i + 1, { size: 32 }) },
        ...{ logIndex: toHex(i + 1_000), data: toHex(0, { size: 32 }) },
      })),
    ]);
    let seen = 0;
    for (const name of ["filter", "find", "findIndex", "some", "includes"] as const)
      replace(
        Array.prototype,
        name,
        new Proxy(Array.prototype[name], {
          apply: (method, self: unknown[], given) => {
            seen += self.length;
            const result: unknown = Reflect.apply(method, self, given);
            return result;
          },
        }),
      );
    await minute(app);
    filled();
    expect(seen).toBeGreaterThan(NOTHINGS);
    expect(seen).toBeLessThan(100 * NOTHINGS);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ txHash, credits: 100 }]);
  });

  test("credits a transfer once, whatever else a node lists", async ({ app }) => {
    const OTHER = toHex(9n, { size: 32 });
    const LIES: Record<string, object> = {
      "the same again": {},
      "the same in another block": { blockHash: OTHER, logIndex: "0x7" },
      "one of a dropped block": { transactionHash: OTHER, removed: true },
      "one of a later block": { transactionHash: OTHER, blockNumber: "0xfffff" },
    };
    for (const [name, lie] of Object.entries(LIES)) {
      await payLinked(app, ONE, name);
      const honest = listing((logs) => [...logs, ...logs.map((one) => ({ ...one, ...lie }))]);
      await minute(app);
      honest();
      await minute(app);
      expect([name, await balanceOf(app, name)]).toEqual([name, 100]);
    }
  });

  test("finds within an hour what a lagging node has hidden", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    await payLinked(app, 2n * ONE, "bob");
    const heal = listing((logs) => logs.filter(({ transactionHash }) => transactionHash !== txHash));
    await minute(app);
    heal();
    await minute(app);
    expect([await balanceOf(app), await balanceOf(app, "bob")]).toEqual([0, 200]);
    await app.t.run(async (ctx) => {
      for (const { _id } of await ctx.db.query("depositCursors").collect())
        await ctx.db.patch("depositCursors", _id, { rereadAt: 0 });
    });
    // One that fails is made again.
    const end = unreached();
    await minute(app);
    end();
    await minute(app);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ txHash, credits: 100 }]);
  });
});

describe("POST /indexer/deposit", () => {
  test("believes nothing: an invented hash only causes a reading, and a malformed one is named", async ({
    app,
  }) => {
    const txHash = toHex(7n, { size: 32 });
    const { status, body } = await notify(app, { txHash, value: "0x1000000" });
    const nothing = { success: true, credited: [], pending: [{ txHash }], ignored: [] };
    expect([status, body]).toEqual([200, nothing]);
    expect(await app.rows("transfers")).toEqual([]);
    const malformed = await notify(app, { txHash: "0x12" });
    expect([malformed.status, malformed.body.error]).toEqual([
      400,
      "txHash must be a transaction hash: 0x and 64 hex digits",
    ]);
    vi.stubEnv("PLATFORM_WALLET_ADDRESS", "");
    const unset = await notify(app, {});
    expect([unset.status, unset.body]).toEqual([500, { error: "PLATFORM_WALLET_ADDRESS is not configured" }]);
  });

  test("demands the signature where there is a secret", async ({ app }) => {
    const secret = "whsec_of_the_webhook";
    vi.stubEnv("DEPOSIT_WEBHOOK_SECRET", secret);
    const { txHash, logIndex } = await payLinked(app, ONE);
    const body = JSON.stringify({ txHash });
    const sign = (text: string, key = secret) => createHmac("sha256", key).update(text).digest("hex");
    const wrong = [
      {},
      { "X-Webhook-Signature": sign(`${body} `) },
      { "X-Alchemy-Signature": sign(body, "x") },
    ];
    for (const headers of wrong) expect((await notify(app, { txHash }, { headers })).status).toBe(401);
    for (const name of ["X-Webhook-Signature", "X-Alchemy-Signature"]) {
      const answer = await notify(app, { txHash }, { headers: { [name]: sign(body) } });
      expect([answer.status, answer.body]).toEqual([200, credited(txHash, logIndex, "1", 100)]);
    }
  });
});
