import { toHex } from "viem";
import { expect, test } from "vitest";
import { startMiner } from "../../scripts/chain/miner";
import type { Rpc } from "../../scripts/chain/rpc";
import { until } from "../support/waits";

/** A node that has lost some transactions in its queue, which the real one does now and then but not on demand. */
function nodeWith(queued: Record<string, number[]>, nextNonce: number) {
  const left = new Map(Object.entries(queued));
  const sent: string[] = [];
  const answer = (method: string, params: readonly unknown[]): unknown => {
    switch (method) {
      case "txpool_status":
        return { pending: "0x0", queued: toHex([...left.values()].flat().length) };
      case "txpool_content": {
        const bySender = [...left].map(([sender, nonces]) => [
          sender,
          // Keys that look like numbers come in their order, so these do not.
          Object.fromEntries(
            nonces.map((nonce) => [`n${nonce}`, { hash: toHex(nonce), nonce: toHex(nonce) }]),
          ),
        ]);
        return { pending: {}, queued: Object.fromEntries(bySender) };
      }
      case "eth_getTransactionCount":
        return toHex(nextNonce);
      case "eth_getRawTransactionByHash":
        return params[0];
      case "anvil_removePoolTransactions":
        left.delete(String(params[0]));
        return null;
      case "eth_sendRawTransaction":
        sent.push(String(params[0]));
        return params[0];
      case "eth_getBlockByNumber":
        return { timestamp: "0x1" };
      default:
        return null;
    }
  };
  let looks = 0;
  const rpc: Rpc = {
    call: (method, params = []) => {
      if (method === "txpool_status") looks++;
      return Promise.resolve(answer(method, params));
    },
    batch: (calls) => Promise.all(calls.map(([method, params = []]) => rpc.call(method, params))),
  };
  return { rpc, sent, looks: () => looks };
}

function minerOf(rpc: Rpc) {
  return startMiner({
    rpc,
    clock: () => 1,
    speed: 1,
    log: (message) => {
      throw new Error(message);
    },
  });
}

test("transactions the node has forgotten in its queue are sent again, in order", async () => {
  const node = nodeWith({ "0xa": [9, 7, 8] }, 7);
  const miner = minerOf(node.rpc);
  await until(() => node.sent.length > 0);
  await miner.stop();
  expect(node.sent).toEqual([toHex(7), toHex(8), toHex(9)]);
});

test("transactions that wait for a nonce are left alone", async () => {
  const node = nodeWith({ "0xa": [9] }, 7);
  const miner = minerOf(node.rpc);
  await until(() => node.looks() > 12);
  await miner.stop();
  expect(node.sent).toEqual([]);
});
