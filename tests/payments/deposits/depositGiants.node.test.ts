import { describe, expect } from "vitest";
import { NEVER } from "../../../convex/lib/time";
import { readMined } from "../../../convex/providers/chain/transactions";
import { sightTransfers } from "../../../convex/providers/chain/transfers";
import { useChain } from "../../support/chain/chain";
import { answering } from "../../support/chain/rpc";
import { counting, intercept } from "../../support/outside";
import { ONE, PLATFORM } from "../authorizations";
import {
  balanceOf,
  breakChain,
  credited,
  cronsRun,
  ignored,
  notify,
  payLinked,
  test,
} from "./depositSupport";

useChain();

const GIANT = `0x${"ab".repeat(32)}` as const;
const TOO_LARGE = "its receipt is too large to be read";

/** Receipts of 14 MB, as 16.7 million gas of empty logs make them. @returns Stops that. */
function swell(txHash: string = GIANT): () => void {
  const block = { blockNumber: "0x1", blockHash: `0x${"22".repeat(32)}` };
  const place = { ...block, transactionHash: txHash, logIndex: "0x0" };
  const log = { ...place, address: `0x${"11".repeat(20)}`, topics: [], data: "0x" };
  const result = { ...block, transactionHash: txHash, status: "0x1", logs: Array(45_000).fill(log) };
  return answering(({ method, params }) =>
    method === "eth_getTransactionReceipt" && params[0] === txHash ? { result } : null,
  );
}

describe("a transaction with a giant receipt", () => {
  test("keeps no deposit waiting that is named with it, and is not looked up again until it is named", async ({
    app,
  }) => {
    const paid = [await payLinked(app, ONE), await payLinked(app, 2n * ONE)];
    const shrink = swell();
    const asked = counting("eth_getTransactionReceipt");
    const named = { data: [{ txHash: GIANT }, ...paid.map(({ txHash }) => ({ txHash }))] };
    const { body } = await notify(app, named);
    expect(body).toMatchObject({ credited: [{ credits: 100 }, { credits: 200 }], pending: [] });
    expect(body.ignored).toEqual([{ txHash: GIANT, reason: TOO_LARGE }]);
    const before = asked();
    await app.settle();
    expect([await balanceOf(app), asked()]).toEqual([300, before]);
    shrink();
    expect((await notify(app, { txHash: GIANT })).body.pending).toEqual([{ txHash: GIANT }]);
  });

  test("holds up no deposit that falls due with it after an outage", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    swell();
    const mend = breakChain(() => Promise.reject(new TypeError("fetch failed")));
    await notify(app, { txHash: GIANT });
    await notify(app, { txHash });
    mend();
    await cronsRun(app);
    expect((await notify(app, { txHash })).body.credited).toMatchObject([{ credits: 100 }]);
    expect(await app.rows("depositHints")).toMatchObject([{ reason: TOO_LARGE }, { state: "settled" }]);
  });

  test("takes no deposit back: what was credited stands until the chain says otherwise", async ({ app }) => {
    const { txHash, logIndex } = await payLinked(app, ONE);
    await notify(app, { txHash });
    const shrink = swell(txHash);
    await cronsRun(app);
    expect([await balanceOf(app), await app.rows("deposits")]).toMatchObject([100, [{ state: "credited" }]]);
    shrink();
    expect((await notify(app, { txHash })).body).toEqual(credited(txHash, logIndex, "1", 100));
  });

  test("fails no other request of the same moment", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    swell();
    const [giant, own, mined] = await Promise.all([
      sightTransfers([{ txHash: GIANT }], PLATFORM),
      sightTransfers([{ txHash }], PLATFORM),
      readMined(PLATFORM),
    ]);
    expect([giant, own, mined]).toMatchObject([[{ kind: "too large" }], [{ kind: "mined" }], 0]);
  });
});

describe("a transaction with thousands of transfers", () => {
  test("is listed with all of them, and all are reversed when the chain drops it", async ({ app }) => {
    const COUNT = 2_101;
    const txHash = `0x${"cd".repeat(32)}`;
    const reason = "it is worth less than one credit";
    const dropped = { blockNumber: 1, blockHash: `0x${"22".repeat(32)}` };
    await app.t.run(async (ctx) => {
      const times = { openedAt: Date.now(), nextCheckAt: NEVER };
      await ctx.db.insert("depositHints", { ...times, txHash, state: "settled", attempt: 2, checks: 0 });
      for (let position = 0; position < COUNT; position++) {
        const place = { txHash, position, logIndex: position, from: PLATFORM.toLowerCase(), amount: "1" };
        const state = position % 2 === 0 ? ("ignored" as const) : ("unmatched" as const);
        const rest = { creditings: 0, seenAt: Date.now(), nextMatchAt: NEVER };
        await ctx.db.insert("deposits", { ...place, ...dropped, ...rest, state, reason });
      }
    });
    const { ignored: listed } = (await notify(app, { txHash })).body;
    expect(Array.isArray(listed) && listed.length).toBe(COUNT);
    expect((await notify(app, { txHash, removed: true })).status).toBe(200);
    await app.settle();
    const states = new Set((await app.rows("deposits")).map(({ state }) => state));
    expect([...states]).toEqual(["reversed"]);
  });
});

describe("a node", () => {
  const paidWith = async (app: Parameters<typeof payLinked>[0]) => {
    const { txHash, logIndex } = await payLinked(app, ONE);
    const name = () => notify(app, { data: [{ txHash: GIANT }, { txHash }] });
    return { txHash, logIndex, name };
  };

  test("that refuses all lookups together for one of them is asked about each", async ({ app }) => {
    const { logIndex, txHash, name } = await paidWith(app);
    const refusal = { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "batch refused" } };
    intercept(({ body }, pass) => (body.includes(GIANT) ? Promise.resolve(Response.json(refusal)) : pass()));
    expect((await name()).body).toEqual({
      ...credited(txHash, logIndex, "1", 100),
      pending: [{ txHash: GIANT }],
    });
  });

  test("that cuts its answer off after a giant is asked about each", async ({ app }) => {
    const { logIndex, txHash, name } = await paidWith(app);
    let batches = 0;
    const error = { code: -32_003, message: "response too large" };
    const spare = answering(({ method, params }) => {
      if (params[0] === GIANT) batches++;
      return method === "eth_getTransactionReceipt" && batches <= 1 ? { error } : null;
    });
    expect((await name()).body.credited).toEqual(credited(txHash, logIndex, "1", 100).credited);
    spare();
    answering(({ params }) => (params[0] === GIANT ? { error } : null));
    expect((await notify(app, { txHash: GIANT })).body).toEqual(ignored(GIANT, TOO_LARGE));
  });

  test.for([503, 429, 401])(
    "that answers everybody with status %i is asked once",
    async (status, { app }) => {
      const { name } = await paidWith(app);
      const mend = breakChain(() => Promise.resolve(new Response("no", { status })));
      const asked = counting("eth_getTransactionReceipt");
      expect((await name()).body.pending).toHaveLength(2);
      expect(asked()).toBe(1);
      mend();
      await cronsRun(app);
      expect(await balanceOf(app)).toBe(100);
    },
  );
});
