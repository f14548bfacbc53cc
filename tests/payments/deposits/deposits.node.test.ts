import { createHmac } from "node:crypto";
import { describe, expect } from "vitest";
import { internal } from "../../../convex/_generated/api";
import { newWallet, sendAs, transferTo } from "../../chain/support";
import { hex, chain, useChain } from "../../support/chain/chain";
import { ONE, PLATFORM } from "../authorizations";
import {
  balanceOf,
  batchOf,
  breakChain,
  createApp,
  credited,
  cronsRun,
  ignored,
  link,
  notify,
  pay,
  UNMATCHED,
  test,
  payLinked,
} from "./depositSupport";

useChain();

describe("POST /indexer/deposit", () => {
  test.for([
    ["plain", (txHash: string) => ({ txHash })],
    [
      "Alchemy's",
      (txHash: string, logIndex: number) => ({
        type: "ADDRESS_ACTIVITY",
        event: {
          network: "BASE_MAINNET",
          activity: [{ hash: txHash, category: "token", log: { logIndex: `0x${logIndex.toString(16)}` } }],
        },
      }),
    ],
    [
      "QuickNode's",
      (txHash: string, logIndex: number) => ({
        data: [[{ transactionHash: txHash, logIndex: `0x${logIndex.toString(16)}` }]],
        metadata: { network: "base-mainnet", blocks_reorged: null },
      }),
    ],
    [
      "Coinbase's, of a wallet,",
      (txHash: string, logIndex: number) => ({
        eventType: "wallet.activity.detected",
        data: { transactionHash: txHash, logIndex },
      }),
    ],
    [
      "Coinbase's",
      (txHash: string, logIndex: number) => ({
        event_name: "Transfer",
        transaction_hash: txHash,
        log_index: logIndex,
        parameters: { value: "999999999999" },
      }),
    ],
  ] as const)(
    "a deposit in %s payload is credited by what the chain says",
    async ([_name, payload], { app }) => {
      const { wallet, txHash, logIndex } = await payLinked(app, 2_345_678n);
      const { status, body } = await notify(app, payload(txHash, logIndex));
      expect([status, body]).toEqual([200, credited(txHash, logIndex, "2.345678", 234)]);
      expect(await balanceOf(app)).toBe(234);
      const [entry] = await app.rows("creditTransactions");
      expect(entry).toMatchObject({
        userId: "alice",
        type: "deposit",
        source: "usdc",
        amount: 234,
        key: `deposit:${txHash}:0`,
      });
      expect(await app.rows("spentTransfers")).toMatchObject([
        { txHash, position: 0, amount: "2345678", from: wallet.address.toLowerCase() },
      ]);
    },
  );

  test.for([
    ["create", "/mcp/wallet/create"],
    ["connect", "/mcp/defi/connect"],
  ] as const)(
    "a deposit from a wallet of the service's own (%s) is its user's",
    async ([_name, path], { app }) => {
      const { body: wallet } = await app.post(path, { userId: "alice" });
      const address = hex.parse(wallet.address);
      await chain.fund(address, { ETH: 10n ** 18n, USDC: ONE });
      const call = { to: chain.addresses.tokens.USDC, data: transferTo(PLATFORM, ONE) };
      const receipt = await sendAs(chain, address, call);
      const { body } = await notify(app, {
        txHash: receipt.transactionHash.toUpperCase().replace("0X", "0x"),
      });
      expect(body.credited).toMatchObject([{ txHash: receipt.transactionHash, credits: 100 }]);
      expect(await balanceOf(app)).toBe(100);
    },
  );

  test("twenty copies at once, and one later, credit once", async ({ app }) => {
    const { txHash, logIndex } = await payLinked(app, 5n * ONE);
    // Three of one address are waited for at once.
    const copy = (_: unknown, n: number) => notify(app, { txHash }, { ip: `198.51.100.${n}` });
    const answers = await Promise.all(Array.from({ length: 20 }, copy));
    for (const { status, body } of [...answers, await notify(app, { txHash, logIndex })]) {
      expect([status, body]).toEqual([200, credited(txHash, logIndex, "5", 500)]);
    }
    expect(await balanceOf(app)).toBe(500);
    expect(await app.rows("creditTransactions")).toHaveLength(1);
    expect(await app.rows("deposits")).toHaveLength(1);
  });

  test("one round trip to the chain per deposit, none for a duplicate", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    let trips = 0;
    breakChain((forward) => {
      trips++;
      return forward();
    });
    await notify(app, { txHash });
    await notify(app, { txHash });
    expect(trips).toBe(1);
  });

  test("an unknown sender's deposit waits, and is credited when the address is linked", async ({ app }) => {
    const { wallet, txHash, logIndex } = await pay(3n * ONE);
    expect((await notify(app, { txHash })).body).toEqual(ignored(txHash, UNMATCHED));
    expect(await app.rows("deposits")).toMatchObject([{ state: "unmatched", amount: "3000000" }]);
    await cronsRun(app);
    expect(await app.rows("creditTransactions")).toEqual([]);

    await link(app, wallet.address);
    await app.t.mutation(internal.payments.deposits.owners.creditAddress, { address: wallet.address });
    await app.t.mutation(internal.payments.deposits.owners.creditAddress, { address: wallet.address });
    expect(await balanceOf(app)).toBe(300);
    expect((await notify(app, { txHash })).body).toEqual(credited(txHash, logIndex, "3", 300));
    expect(await app.rows("creditTransactions")).toHaveLength(1);
  });

  test("the cron credits unmatched deposits too", async ({ app }) => {
    const { wallet, txHash } = await pay(3n * ONE);
    await notify(app, { txHash });
    await link(app, wallet.address);
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(300);
  });

  test("two transfers in one transaction are credited each, though only one was named", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: 5n * ONE });
    await link(app, wallet.address);
    const batch = await batchOf(wallet, [2n * ONE, 3n * ONE]);
    const [first, second] = batch.logs.map(({ logIndex }) => logIndex);
    const txHash = batch.transactionHash;
    const { body } = await notify(app, { txHash, logIndex: first });
    expect(body).toEqual({
      success: true,
      credited: [
        { txHash, logIndex: first, amountUsdc: "2", credits: 200 },
        { txHash, logIndex: second, amountUsdc: "3", credits: 300 },
      ],
      pending: [],
      ignored: [],
    });
    await notify(app, { txHash, logIndex: second });
    expect(await balanceOf(app)).toBe(500);
  });

  test("credits many transfers in one transaction, and many transactions in one call", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: 200n * ONE });
    await link(app, wallet.address);
    const batch = await batchOf(
      wallet,
      Array.from({ length: 120 }, () => ONE),
    );
    const single = [];
    for (let i = 0; i < 30; i++) single.push((await pay(ONE, wallet)).txHash);
    const named = [batch.transactionHash, ...single].map((txHash) => ({ txHash }));
    const { body } = await notify(app, { data: [...named, ...named] });
    expect([body.pending, body.ignored]).toEqual([[], []]);
    expect(body.credited).toHaveLength(150);
    expect(await balanceOf(app)).toBe(15_000);
  });

  test("payloads in the wrong form are refused and leave nothing", async ({ app }) => {
    for (const [body, error] of [
      [{}, "txHash is required"],
      [{ txHash: "0x12" }, "txHash must be a transaction hash: 0x and 64 hex digits"],
      [{ txHash: `0x${"1".repeat(64)}`, logIndex: -1 }, "logIndex must be the log's index"],
      [{ event: { activity: [{ hash: 1 }] } }, "event.activity.0.hash must be a string"],
    ] as const) {
      const answer = await notify(app, body);
      expect([answer.status, answer.body.error]).toEqual([400, error]);
    }
    expect(await app.rows("depositHints")).toEqual([]);
  });

  test("without a platform wallet it is 500", async () => {
    const app = createApp({ PLATFORM_WALLET_ADDRESS: undefined });
    const { status, body } = await notify(app, { txHash: `0x${"1".repeat(64)}` });
    expect([status, body]).toEqual([500, { error: "PLATFORM_WALLET_ADDRESS is not configured" }]);
    expect(await app.rows("depositHints")).toEqual([]);
  });
});

describe("the signature", () => {
  const SECRET = "whsec_of_the_webhook";
  const sign = (text: string) => createHmac("sha256", SECRET).update(text).digest("hex");

  test("is demanded when there is a secret; a forged webhook writes nothing", async () => {
    const app = createApp({ DEPOSIT_WEBHOOK_SECRET: SECRET });
    const { txHash, logIndex } = await payLinked(app, ONE);
    const body = JSON.stringify({ txHash });
    for (const headers of [
      {},
      { "X-Webhook-Signature": sign(`${body} `) },
      { "X-Alchemy-Signature": createHmac("sha256", "another secret").update(body).digest("hex") },
      { "X-QN-Signature": sign(body), "X-QN-Nonce": "n", "X-QN-Timestamp": "1700000000" },
      { "X-Hook0-Signature": `t=1700000000,v0=${sign(`1700000000.${body}`)}` },
    ]) {
      const answer = await notify(app, { txHash }, { headers });
      expect([answer.status, answer.body]).toEqual([
        401,
        { error: "The webhook's signature is missing or wrong" },
      ]);
    }
    expect((await app.call("POST", "/indexer/deposit", { body: "{" })).status).toBe(401);
    expect([...(await app.rows("depositHints")), ...(await app.rows("deposits"))]).toEqual([]);

    const seconds = String(Math.floor(Date.now() / 1000));
    for (const headers of [
      { "X-Webhook-Signature": sign(body) },
      { "X-Alchemy-Signature": sign(body) },
      { "X-QN-Signature": sign(`n${seconds}${body}`), "X-QN-Nonce": "n", "X-QN-Timestamp": seconds },
      { "X-Hook0-Signature": `t=${seconds},v0=${sign(`${seconds}.${body}`)},h=,v1=00` },
    ]) {
      const answer = await notify(app, { txHash }, { headers });
      expect([answer.status, answer.body]).toEqual([200, credited(txHash, logIndex, "1", 100)]);
    }
    expect(await balanceOf(app)).toBe(100);
  });
});
