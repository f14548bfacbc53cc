import { describe, expect } from "vitest";
import * as z from "zod";
import { internal } from "../../../convex/_generated/api";
import { deadlines } from "../../../convex/lib/outside/deadlines";
import { NEVER } from "../../../convex/lib/time";
import { clientOf, mined, newWallet, signed, transferTo } from "../../chain/support";
import { silence } from "../../support/outside";
import { expireLeases } from "../../support/rows/leases";
import { until } from "../../support/waits";
import { chain, useChain } from "../../support/chain/chain";
import type { WalletApp } from "../../support/chain/walletApp";
import { ONE, PLATFORM } from "../authorizations";
import {
  balanceOf,
  becomeDue,
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

  test("a batch that was lost with its server goes on, and what it has stored is not looked up again", async ({
    app,
  }) => {
    deadlines.deposit = 100;
    const [stored, other] = [await payLinked(app, ONE), await payLinked(app, 2n * ONE)];
    const revive = breakChain(silence);
    await notify(app, { data: [{ txHash: stored.txHash }, { txHash: other.txHash }] });
    const { work: listed } = await app.t.query(internal.ops.work.list, { now: Date.now() });
    expect(listed).toMatchObject([{ run: "payments/deposits/desk:check", state: "running", attempt: 1 }]);
    const [hint] = await app.rows("depositHints");
    if (hint?.attempt === undefined) throw new Error("Nothing was named");
    const { _id: hintId, attempt } = hint;
    // What the lost attempt said of the first; the chain would say something else.
    const finding = { kind: "mined" as const, succeeded: true, transfers: [], confirmations: 1 };
    const block = { blockNumber: 1, blockHash: `0x${"ee".repeat(32)}` };
    const store = () =>
      app.t.mutation(internal.payments.deposits.checks.reconcile, {
        ...{ hintId, attempt },
        finding: { ...finding, ...block },
      });
    await store();
    const ended = await app.row("depositHints", hintId);
    expect(ended).toMatchObject({ txHash: stored.txHash, state: "settled" });
    revive();
    await expireLeases(app);
    await until(async () => (await app.rows("work")).length === 0);
    await store();
    expect(await app.row("depositHints", hintId)).toEqual(ended);
    expect(await balanceOf(app)).toBe(200);
  });

  test("the second look at a credited deposit survives its server, and a chain that does not answer", async ({
    app,
  }) => {
    const { txHash } = await payLinked(app, ONE);
    await notify(app, { txHash });
    const hint = async () => (await app.rows("depositHints"))[0];
    expect(await hint()).toMatchObject({ state: "settled", checks: 0 });
    const revive = breakChain(silence);
    await becomeDue(app);
    await until(async () => (await app.rows("work")).some(({ state }) => state === "running"));
    revive();
    const mend = breakChain(() => Promise.reject(new TypeError("fetch failed")));
    await expireLeases(app);
    await until(async () => (await app.rows("work")).length === 0);
    const put = await hint();
    expect(put).toMatchObject({ state: "settled", checks: 0 });
    expect(put?.nextCheckAt).toBeLessThan(Date.now() + 61_000);
    mend();
    await cronsRun(app);
    expect(await hint()).toMatchObject({ state: "settled", checks: 1 });
    await cronsRun(app);
    expect(await hint()).toMatchObject({ state: "settled", checks: 2, nextCheckAt: NEVER });
  });

  test("a check of an earlier version, which kept its lease on the hint, is taken up when that has run out", async ({
    app,
  }) => {
    const { txHash } = await payLinked(app, ONE);
    const fresh = { txHash, state: "checking" as const, attempt: 1, checks: 0, openedAt: Date.now() };
    await app.t.run((ctx) => ctx.db.insert("depositHints", { ...fresh, nextCheckAt: Date.now() }));
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ credits: 100 }]);
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

  test("that is told while a second look is under way is what counts, not what that look saw", async ({
    app,
  }) => {
    const { txHash, drop } = await payInHead(app, 4n * ONE);
    await notify(app, { txHash });
    let deliver = () => {};
    const late = new Promise<void>((resolve) => (deliver = resolve));
    let isSeen = false;
    const mend = breakChain(async (forward) => {
      const answer = await forward();
      isSeen = true;
      await late;
      return answer;
    });
    await becomeDue(app);
    await until(() => isSeen);
    mend();
    await drop();
    await notify(app, { txHash, removed: true });
    expect(await app.rows("deposits")).toMatchObject([{ state: "reversed" }]);
    deliver();
    await app.settle();
    expect(await app.rows("deposits")).toMatchObject([{ state: "reversed" }]);
    expect(await balanceOf(app)).toBe(0);
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
    const { _id: hintId } = hint;
    const reconcile = async (transfers: { position: number; amount: string }[]) =>
      app.t.mutation(internal.payments.deposits.checks.reconcile, {
        hintId,
        attempt: (await app.row("depositHints", hintId))?.attempt ?? 0,
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
