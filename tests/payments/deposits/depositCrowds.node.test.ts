import { createHmac } from "node:crypto";
import { describe, expect } from "vitest";
import * as z from "zod";
import { newWallet } from "../../chain/support";
import { chain, useChain } from "../../support/chain/chain";
import { ONE } from "../authorizations";
import { balanceOf, batchOf, createApp, credited, notify, payLinked, test } from "./depositSupport";

/** Payloads that name much: providers put a whole block into one, whoever its transactions belong to. */

useChain();

const SECRET = "whsec_of_the_webhook";
const hashes = (count: number) =>
  Array.from({ length: count }, (_, index) => `0x${(index + 1).toString(16).padStart(64, "0")}`);
const activityOf = (hash: string, logIndex: number) => ({
  hash,
  category: "token",
  log: { logIndex: `0x${logIndex.toString(16)}`, removed: false },
});
const answerShape = z.object({
  credited: z.array(z.object({ txHash: z.string() })),
  pending: z.array(z.object({ txHash: z.string() })),
});

describe("one payload for a whole block", () => {
  test("a stranger's transaction with many logs keeps nobody's deposit out", async ({ app }) => {
    const stranger = await newWallet(chain, { USDC: 150n * ONE });
    const noisy = await batchOf(
      stranger,
      Array.from({ length: 130 }, () => ONE),
    );
    const { txHash, logIndex } = await payLinked(app, 2n * ONE);
    const activity = noisy.logs.map((log) => activityOf(noisy.transactionHash, log.logIndex));
    const { status, body } = await notify(app, {
      event: { activity: [...activity, activityOf(txHash, logIndex)] },
    });
    expect([status, body.credited]).toEqual([200, credited(txHash, logIndex, "2", 200).credited]);
    expect(body.ignored).toHaveLength(130);
    expect(await balanceOf(app)).toBe(200);
  });

  test("many transactions keep nobody's deposit out, and are all looked up", async () => {
    const app = createApp({ DEPOSIT_WEBHOOK_SECRET: SECRET });
    const { txHash } = await payLinked(app, 2n * ONE);
    const named = [...hashes(650), txHash];
    const payload = { event: { activity: named.map((hash, index) => activityOf(hash, index)) } };
    const signature = createHmac("sha256", SECRET).update(JSON.stringify(payload)).digest("hex");
    const told = () => notify(app, payload, { headers: { "X-Alchemy-Signature": signature } });
    const first = await told();
    expect(first.status).toBe(200);
    const answer = answerShape.parse(first.body);
    expect([...answer.pending, ...answer.credited].map((one) => one.txHash).sort()).toEqual(
      [...named].sort(),
    );
    expect((await app.rows("depositHints")).map((row) => row.txHash).sort()).toEqual([...named].sort());
    await app.settle();
    const again = answerShape.parse((await told()).body);
    expect([again.credited.map((one) => one.txHash), again.pending.length]).toEqual([[txHash], 650]);
    expect([(await app.rows("depositHints")).length, await balanceOf(app)]).toEqual([651, 200]);
  });

  test("an unsigned one that was refused goes on where it was, and known transactions count nothing", async ({
    app,
  }) => {
    const { txHash, logIndex } = await payLinked(app, ONE);
    const payload = { data: [{ transactions: [txHash, ...hashes(650)] }] };
    const refused = await notify(app, payload);
    expect([refused.status, refused.body.error]).toEqual([
      429,
      expect.stringContaining("deposits named for the first time (600 in 10 minutes)"),
    ]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(100);
    // What was taken stays, so a repetition names less that is new.
    expect(await app.rows("depositHints")).toHaveLength(600);
    const again = await notify(app, payload, { ip: "10.0.0.77" });
    expect([again.status, again.body.credited]).toEqual([200, credited(txHash, logIndex, "1", 100).credited]);
    expect(await app.rows("depositHints")).toHaveLength(651);
  });

  test("a body above the limit is refused whole, and says why", async ({ app }) => {
    const { status, body } = await notify(app, { data: [{ transactions: hashes(16_000) }] });
    expect([status, body.error]).toEqual([413, "The request body must not be larger than 1 MiB"]);
    expect(await app.rows("depositHints")).toEqual([]);
  });
});

describe("a block of QuickNode's", () => {
  test.for([
    ["its transactions", true, false],
    ["hashes alone", false, false],
    ["its receipts as well", true, true],
  ] as const)(
    "with %s is read for its transactions",
    async ([_name, includeTransactions, hasReceipts], { app }) => {
      const { txHash, logIndex, receipt } = await payLinked(app, 3n * ONE);
      const { blockNumber } = receipt;
      const block = await chain.rpc("eth_getBlockByNumber", [
        `0x${blockNumber.toString(16)}`,
        includeTransactions,
      ]);
      const data = hasReceipts ? [{ block, receipts: [{ transactionHash: txHash }] }] : [block];
      const { body } = await notify(app, { data, metadata: { network: "base-mainnet" } });
      expect(body).toEqual(credited(txHash, logIndex, "3", 300));
      expect((await app.rows("depositHints")).map((row) => row.txHash)).toEqual([txHash]);
    },
  );
});
