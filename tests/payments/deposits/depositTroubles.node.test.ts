import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../../convex/_generated/api";
import { deadlines } from "../../../convex/lib/outside/deadlines";
import { clientOf, mined, newWallet, signed, transferTo } from "../../chain/support";
import { until } from "../../support/waits";
import { chain, useChain } from "../../support/chain/chain";
import type { WalletApp } from "../../support/chain/walletApp";
import { ONE, PLATFORM } from "../authorizations";
import {
  balanceOf,
  breakChain,
  createApp,
  credited,
  cronsRun,
  link,
  notify,
  test,
  payLinked,
} from "./depositSupport";

useChain();

describe("time and trouble", () => {
  test("confirmations are waited for, and then it is credited without another webhook", async () => {
    const app = createApp({ CONFIRMATIONS: "3" });
    const { txHash } = await payLinked(app, ONE);
    expect((await notify(app, { txHash })).body).toEqual({
      success: true,
      credited: [],
      pending: [{ txHash }],
      ignored: [],
    });
    expect(await app.rows("deposits")).toMatchObject([{ state: "pending" }]);
    await chain.miner.mine();
    await chain.miner.mine();
    await until(async () => (await balanceOf(app)) === 100);
  });

  test("a transaction that the chain does not know yet is found when it is mined", async ({ app }) => {
    const wallet = await newWallet(chain, { USDC: ONE });
    await link(app, wallet.address);
    const to = chain.addresses.tokens.USDC;
    const raw = await signed(chain, wallet, { to, data: transferTo(PLATFORM, ONE) });
    await chain.miner.pause();
    const hash = await clientOf(chain).sendRawTransaction({ serializedTransaction: raw });
    expect((await notify(app, { txHash: hash })).body.pending).toEqual([{ txHash: hash }]);
    chain.miner.resume();
    await mined(chain, hash);
    expect((await notify(app, { txHash: hash })).body.credited).toMatchObject([{ credits: 100 }]);
  });

  test("while the chain is down deposits are kept, and the cron credits them", async ({ app }) => {
    const { txHash, logIndex } = await payLinked(app, ONE);
    const mend = breakChain(() => Promise.reject(new TypeError("fetch failed")));
    const { status, body } = await notify(app, { txHash });
    expect([status, body.pending, body.credited]).toEqual([200, [{ txHash }], []]);
    await cronsRun(app);
    expect(await app.rows("depositHints")).toMatchObject([{ state: "waiting" }]);
    mend();
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(100);
    expect((await notify(app, { txHash })).body).toEqual(credited(txHash, logIndex, "1", 100));
  });

  test("a slow chain is not waited for: the work goes on behind", async ({ app }) => {
    deadlines.deposit = 150;
    const { txHash } = await payLinked(app, ONE);
    let answer = () => {};
    const slow = new Promise<void>((resolve) => (answer = resolve));
    breakChain((forward) => slow.then(forward));
    expect((await notify(app, { txHash })).body.pending).toEqual([{ txHash }]);
    expect(await balanceOf(app)).toBe(0);
    answer();
    await until(async () => (await balanceOf(app)) === 100);
  });

  test("a check that died is taken over by the cron", async ({ app }) => {
    deadlines.deposit = 100;
    const { txHash } = await payLinked(app, ONE);
    const revive = breakChain(() => new Promise<Response>(() => undefined));
    expect((await notify(app, { txHash })).body.pending).toEqual([{ txHash }]);
    revive();
    await app.t.run(async (ctx) => {
      const row = await ctx.db.query("depositHints").first();
      if (row !== null) await ctx.db.patch("depositHints", row._id, { nextCheckAt: 0 });
    });
    await app.t.mutation(internal.payments.deposits.checks.checkDue, {});
    await until(async () => (await balanceOf(app)) === 100);
  });
});

describe("a reorganisation", () => {
  /** A wallet that alice has linked pays in a block of its own, which is the newest one. */
  async function payInHead(app: WalletApp, amount: bigint) {
    const wallet = await newWallet(chain, { USDC: amount });
    await link(app, wallet.address);
    const to = chain.addresses.tokens.USDC;
    const raw = await signed(chain, wallet, { to, data: transferTo(PLATFORM, amount) });
    await chain.miner.pause();
    const txHash = await clientOf(chain).sendRawTransaction({ serializedTransaction: raw });
    await chain.miner.mine();
    const drop = () => chain.rpc("anvil_reorg", [1, []]);
    const mineAgain = async () => {
      await clientOf(chain).sendRawTransaction({ serializedTransaction: raw });
      await chain.miner.mine();
    };
    return { txHash, drop, mineAgain };
  }

  test("takes a credited deposit back once, and credits it again when it is mined again", async ({ app }) => {
    const { txHash, drop, mineAgain } = await payInHead(app, 4n * ONE);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ credits: 400 }]);

    await drop();
    const removal = { txHash, removed: true };
    expect((await notify(app, removal)).body).toMatchObject({ credited: [], pending: [{ txHash }] });
    await Promise.all([notify(app, removal), notify(app, removal), cronsRun(app)]);
    expect(await balanceOf(app)).toBe(0);
    expect(await app.rows("deposits")).toMatchObject([{ state: "reversed" }]);
    const types = (await app.rows("creditTransactions")).map(({ type, amount }) => [type, amount]);
    expect(types).toEqual([
      ["deposit", 400],
      ["deduction", 400],
    ]);
    expect(await app.rows("spentTransfers")).toEqual([]);

    await mineAgain();
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ credits: 400 }]);
    await notify(app, { txHash });
    expect(await balanceOf(app)).toBe(400);
    expect(await app.rows("creditTransactions")).toHaveLength(3);
  });

  test("is noticed by the re-check without a webhook, as is the transaction's return", async ({ app }) => {
    const { txHash, drop, mineAgain } = await payInHead(app, 4n * ONE);
    await notify(app, { txHash });
    const [hint] = await app.rows("depositHints");
    expect((hint?.nextCheckAt ?? 0) - Date.now()).toBeLessThanOrEqual(60_000);
    await drop();
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(0);
    await mineAgain();
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(400);
  });

  test("that changes a transaction's transfers credits those, and takes back the former", async ({ app }) => {
    const { txHash } = await payInHead(app, 4n * ONE);
    await notify(app, { txHash });
    const [deposit] = await app.rows("deposits");
    const [hint] = await app.rows("depositHints");
    if (deposit === undefined || hint?.attempt === undefined) throw new Error("Nothing was credited");
    const { _id: hintId, attempt } = hint;
    const reconcile = (transfers: { position: number; amount: string }[]) =>
      app.t.mutation(internal.payments.deposits.checks.reconcile, {
        hintId,
        attempt,
        finding: {
          kind: "mined",
          succeeded: true,
          blockNumber: deposit.blockNumber + 1,
          blockHash: `0x${"ee".repeat(32)}`,
          confirmations: 1,
          transfers: transfers.map((transfer) => ({ ...transfer, logIndex: 9, from: deposit.from })),
        },
      });
    const { position } = deposit;
    const moved = position + 3;
    for (const [transfers, credits] of [
      [[{ position: moved, amount: "4000000" }], 400],
      [[{ position: moved, amount: "2500000" }], 250],
      [
        [
          { position, amount: "1000000" },
          { position: moved, amount: "2500000" },
        ],
        350,
      ],
    ] as const) {
      await reconcile([...transfers]);
      await reconcile([...transfers]);
      expect([transfers, await balanceOf(app)]).toEqual([transfers, credits]);
    }
    const spent = await app.rows("spentTransfers");
    expect(spent.map((row) => row.amount).sort()).toEqual(["1000000", "2500000"]);
  });

  test("that is only claimed changes nothing", async ({ app }) => {
    const { txHash } = await payInHead(app, 4n * ONE);
    await notify(app, { txHash });
    expect((await notify(app, { txHash, removed: true })).body.credited).toMatchObject([{ credits: 400 }]);
    expect(await balanceOf(app)).toBe(400);
    expect(await app.rows("creditTransactions")).toHaveLength(1);
  });

  test("is not believed of a node that lags: it still shows the block", async ({ app }) => {
    const { txHash } = await payInHead(app, 4n * ONE);
    await notify(app, { txHash });
    const mend = breakChain(async (forward) => {
      const answer: unknown = JSON.parse(await (await forward()).text());
      const hide = (one: unknown) => {
        const { result, ...rest } = z.looseObject({ result: z.unknown() }).parse(one);
        const isReceipt =
          typeof result === "object" && result !== null && "logsBloom" in result && "logs" in result;
        return { ...rest, result: isReceipt ? null : result };
      };
      return Response.json(Array.isArray(answer) ? answer.map(hide) : hide(answer));
    });
    const { body } = await notify(app, { txHash, removed: true });
    expect(body.pending).toEqual([{ txHash }]);
    expect(await balanceOf(app)).toBe(400);
    mend();
    await cronsRun(app);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ credits: 400 }]);
    expect(await app.rows("creditTransactions")).toHaveLength(1);
  });

  test("after the last re-check a settled deposit is left alone", async ({ app }) => {
    const { txHash } = await payInHead(app, ONE);
    await notify(app, { txHash });
    await cronsRun(app);
    await cronsRun(app);
    const [hint] = await app.rows("depositHints");
    expect(hint).toMatchObject({ state: "settled", checks: 2, nextCheckAt: Number.MAX_SAFE_INTEGER });
    expect(await balanceOf(app)).toBe(100);
  });
});
