import { describe, expect } from "vitest";
import * as z from "zod";
import { chain, useChain } from "../../support/chain/chain";
import { answering } from "../../support/chain/rpc";
import { ONE } from "../authorizations";
import { balanceOf, cronsRun, notify, payLinked, test } from "./depositSupport";

useChain();

const INVENTED = `0x${"ab".repeat(32)}`;
const ELSEWHERE = `0x${"22".repeat(32)}`;

const receiptShape = z.looseObject({ logs: z.array(z.looseObject({})) });

/** The chain's receipt of a transaction, which the node is made to answer for a transaction with changes. */
async function misanswered(of: string, asked: string, change: (log: object) => object = (log) => log) {
  const receipt = receiptShape.parse(await chain.rpc("eth_getTransactionReceipt", [of]));
  const result = { ...receipt, logs: receipt.logs.map(change) };
  return answering(({ method, params }) =>
    method === "eth_getTransactionReceipt" && params[0] === asked ? { result } : null,
  );
}

describe("a receipt", () => {
  test("of another transaction than the one asked for credits no transfer a second time", async ({ app }) => {
    const { txHash } = await payLinked(app, ONE);
    await notify(app, { txHash });
    const mend = await misanswered(txHash, INVENTED);
    expect((await notify(app, { txHash: INVENTED })).body.pending).toEqual([{ txHash: INVENTED }]);
    mend();
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(100);
    expect(await app.rows("deposits")).toMatchObject([{ txHash }]);
  });

  test.for([
    ["of another transaction", { transactionHash: INVENTED }],
    ["of another block", { blockHash: ELSEWHERE }],
    ["that the chain has dropped", { removed: true }],
  ] as const)("with a log %s is looked up again", async ([, fields], { app }) => {
    const { txHash } = await payLinked(app, ONE);
    const mend = await misanswered(txHash, txHash, (log) => ({ ...log, ...fields }));
    expect((await notify(app, { txHash })).body.pending).toEqual([{ txHash }]);
    expect(await app.rows("deposits")).toEqual([]);
    mend();
    await cronsRun(app);
    expect(await balanceOf(app)).toBe(100);
  });
});
