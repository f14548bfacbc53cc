import { encodeFunctionData, erc20Abi, maxUint256, toHex, type Address } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { createHmac } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import { balanceOf as creditsOf } from "../../convex/credits/model";
import { beginReading } from "../../convex/payments/deposits";
import { newWallet, send, sendAs, together, transferTo } from "../chain/support";
import { hex, chain, test as chainTest, useChain } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { ONE, PLATFORM } from "./authorizations";

/** Deposits: read from the chain each minute, and at once when a webhook says so. */

useChain();

const createApp = (env: Record<string, string | undefined> = {}) =>
  createWalletApp(chain, { env: { PLATFORM_WALLET_ADDRESS: PLATFORM, CONFIRMATIONS: "1", ...env } });

/** An app that has begun to read. */
const test = chainTest.extend<{ app: WalletApp }>({
  // The second argument is the test runner's own.
  app: async ({ settings }, use) => {
    const app = createApp(settings.env);
    await minute(app);
    await use(app);
  },
});

/** The cron's minute. */
async function minute(app: WalletApp): Promise<void> {
  await app.t.run(beginReading);
  await app.settle();
}

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

async function payLinked(app: WalletApp, amount: bigint) {
  const wallet = await newWallet(chain, { USDC: amount });
  await link(app, wallet.address);
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

  test.for([
    ["plain", (txHash: string) => ({ txHash })],
    ["an indexer's", (txHash: string) => ({ event: { activity: [{ hash: txHash, log: { data: "0x" } }] } })],
    ["another indexer's", (txHash: string) => ({ data: [[{ transactionHash: txHash.toUpperCase() }]] })],
  ] as const)("is credited at once by a webhook: %s payload", async ([_name, payload], { app }) => {
    const { txHash, logIndex } = await payLinked(app, 2_345_678n);
    const { status, body } = await notify(app, payload(txHash));
    expect([status, body]).toEqual([200, credited(txHash, logIndex, "2.345678", 234)]);
    expect(await balanceOf(app)).toBe(234);
  });

  test("is read whatever a webhook's body is", async ({ app }) => {
    await payLinked(app, 3n * ONE);
    const body = gzipSync(JSON.stringify({ activity: [] }));
    const headers = { "Content-Encoding": "gzip" };
    await app.call("POST", "/indexer/deposit", { body, headers });
    await minute(app);
    expect(await balanceOf(app)).toBe(300);
  });

  test.for([["/mcp/wallet/create"], ["/mcp/defi/connect"]] as const)(
    "from a wallet of the service's own (%s) is its user's",
    async ([path], { app }) => {
      const { body: wallet } = await app.post(path, { userId: "alice" });
      const address = hex.parse(wallet.address);
      await chain.fund(address, { ETH: 10n ** 18n, USDC: ONE });
      await sendAs(chain, address, { to: chain.addresses.tokens.USDC, data: transferTo(PLATFORM, ONE) });
      await minute(app);
      expect(await balanceOf(app)).toBe(100);
    },
  );

  test("that twenty webhooks name at once is credited once", async ({ app }) => {
    const { txHash, logIndex } = await payLinked(app, 5n * ONE);
    const copy = (_: unknown, n: number) => notify(app, { txHash }, { ip: `198.51.100.${n}` });
    const answers = await Promise.all(Array.from({ length: 20 }, copy));
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([200, credited(txHash, logIndex, "5", 500)]);
    }
    expect(await balanceOf(app)).toBe(500);
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

  test("counts for each transfer of a transaction, however many", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: 200n * ONE });
    await link(app, wallet.address);
    await batchOf(
      wallet,
      Array.from({ length: 120 }, () => ONE),
    );
    await minute(app);
    expect(await balanceOf(app)).toBe(12_000);
  });

  test("of less than one credit, of nothing, or to somebody else brings nothing", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: 10n * ONE });
    await link(app, wallet.address);
    await batchOf(wallet, [9_999n, 0n]);
    await batchOf(wallet, [ONE], wallet.address);
    await minute(app);
    expect(await balanceOf(app)).toBe(0);
  });
});

describe("reading", () => {
  test("waits for the confirmations", async ({ settings }) => {
    const app = createApp({ ...settings.env, CONFIRMATIONS: "3" });
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
    const app = createApp(isNamed ? { DEPOSITS_FROM_BLOCK: String(first) } : {});
    await minute(app);
    await link(app, wallet.address);
    await pay(2n * ONE, wallet);
    await minute(app);
    expect(await balanceOf(app)).toBe(credits);
  });

  test.for([500, 10, 1])("halves the range for a node that allows %i blocks", async (most, { app }) => {
    await payLinked(app, ONE);
    for (let i = 0; i < 25; i++) await chain.miner.mine();
    const range = z.object({
      method: z.literal("eth_getLogs"),
      params: z.tuple([z.object({ fromBlock: z.string(), toBlock: z.string() })]),
    });
    intercept(async ({ url, body }, pass) => {
      if (!url.startsWith(chain.url)) return pass();
      const calls: unknown = JSON.parse(body);
      for (const call of Array.isArray(calls) ? calls : [calls]) {
        const asked = range.safeParse(call).data?.params[0];
        if (asked === undefined) continue;
        if (Number(asked.toBlock) - Number(asked.fromBlock) + 1 <= most) continue;
        const error = { code: -32600, message: `eth_getLogs is limited to a ${most} range` };
        return Response.json(
          z
            .object({ id: z.number() })
            .array()
            .parse([calls].flat())
            .map(({ id }) => ({ jsonrpc: "2.0", id, error })),
        );
      }
      return pass();
    });
    await minute(app);
    expect(await balanceOf(app)).toBe(100);
  });

  test("goes on where a node's failure has stopped it", async ({ app }) => {
    await payLinked(app, ONE);
    const heal = intercept(({ url }, pass) =>
      url.startsWith(chain.url) ? Promise.resolve(new Response("", { status: 503 })) : pass(),
    );
    await notify(app, {});
    heal();
    await minute(app);
    expect(await balanceOf(app)).toBe(100);
  });

  test("finds within an hour what a lagging node has hidden", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    const heal = intercept(async ({ url, body }, pass) => {
      const answer = await pass();
      if (!url.startsWith(chain.url) || !body.includes("eth_getLogs")) return answer;
      const text = await answer.text();
      return new Response(text.replace(/"result":\[\{.*?\}\]/, '"result":[]'), answer);
    });
    for (let i = 0; i < 301; i++) await chain.miner.mine();
    await minute(app);
    heal();
    await minute(app);
    expect(await balanceOf(app)).toBe(0);
    await app.t.run(async (ctx) => {
      for (const { _id } of await ctx.db.query("depositCursors").collect())
        await ctx.db.patch("depositCursors", _id, { rereadAt: 0 });
    });
    await minute(app);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ txHash, credits: 100 }]);
  });
});

describe("POST /indexer/deposit", () => {
  test("believes nothing: an invented hash only causes a reading", async ({ app }) => {
    const txHash = toHex(7n, { size: 32 });
    const { status, body } = await notify(app, { txHash, value: "0x1000000" });
    expect([status, body]).toEqual([
      200,
      { success: true, credited: [], pending: [{ txHash }], ignored: [] },
    ]);
    expect(await balanceOf(app)).toBe(0);
  });

  test("names what is wrong with a plain hash", async ({ app }) => {
    const answer = await notify(app, { txHash: "0x12" });
    expect([answer.status, answer.body.error]).toEqual([
      400,
      "txHash must be a transaction hash: 0x and 64 hex digits",
    ]);
  });

  test("is 500 without a platform wallet", async () => {
    const { status, body } = await notify(createApp({ PLATFORM_WALLET_ADDRESS: undefined }), {});
    expect([status, body]).toEqual([500, { error: "PLATFORM_WALLET_ADDRESS is not configured" }]);
  });

  test("demands the signature where there is a secret", async () => {
    const secret = "whsec_of_the_webhook";
    const app = createApp({ DEPOSIT_WEBHOOK_SECRET: secret });
    await minute(app);
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
