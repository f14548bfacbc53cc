import type { Hex } from "viem";
import { getChainId } from "viem/actions";
import * as z from "zod";
import { clientApart, guarded, misanswer, requireChain, type ChainClient } from "./rpc/client";
import { logShape, placeOf, transferOf, type TimedPlace, type TransferLog } from "./blocks";
import { account, bigQuantity, hash, hexData, quantity } from "./rpc/shapes";

/** What mined transactions have moved. */

export type LoggedTransfer = Pick<TransferLog, "token" | "from" | "to" | "amount" | "logIndex"> & {
  /** Its index among the transaction's logs, from 0: the same in any block. */
  position: number;
};

export type Outcome = {
  succeeded: boolean;
  block: TimedPlace;
  /** Ether that it carried to an address, in wei; `null` if it created a contract. */
  payment: { from: string; to: string; amount: bigint } | null;
  /** None if the transaction failed. */
  transfers: LoggedTransfer[];
};

const receiptShape = z.object({
  transactionHash: hash,
  status: quantity,
  blockNumber: quantity,
  blockHash: hash,
  logs: z.array(logShape.extend({ removed: z.boolean().nullish() })),
});
export type Receipt = z.output<typeof receiptShape>;

const ANOTHER = "it is another transaction's";

type Place = { transactionHash: string; blockHash: string };
type PlacedLog = {
  transactionHash: string | null;
  blockHash: string | null;
  removed?: boolean | null | undefined;
};

/** Whether a receipt is the one that was asked for, with the logs of its own block: a node can confuse them. */
export function isOf(txHash: string, { logs, ...receipt }: Place & { logs: readonly PlacedLog[] }): boolean {
  const [asked, block] = [txHash.toLowerCase(), receipt.blockHash.toLowerCase()];
  return (
    receipt.transactionHash.toLowerCase() === asked &&
    logs.every(
      ({ transactionHash, blockHash, removed }) =>
        transactionHash?.toLowerCase() === asked && blockHash?.toLowerCase() === block && removed !== true,
    )
  );
}

/** What a node may answer for a transaction's receipt: `null`, or that transaction's own. */
const receiptShapeOf = (txHash: Hex) =>
  receiptShape.refine((receipt) => isOf(txHash, receipt), ANOTHER).nullable();

const transactionShape = z.object({
  hash,
  from: account,
  to: account.nullable().optional(),
  value: bigQuantity,
  input: hexData,
  blockHash: hash.nullable(),
});

/** What a node knows of a transaction; each part is `null` if it has none. To be called inside `guarded`. */
export async function lookUp(client: ChainClient, txHash: Hex) {
  const [receipt, transaction] = await Promise.all([
    client.request({ method: "eth_getTransactionReceipt", params: [txHash] }),
    client.request({ method: "eth_getTransactionByHash", params: [txHash] }),
  ]);
  return {
    receipt: receiptShapeOf(txHash).parse(receipt),
    transaction: transactionShape
      .refine((one) => one.hash === txHash.toLowerCase(), ANOTHER)
      .nullable()
      .parse(transaction),
  };
}

/** The transfers in a receipt, in the order of their logs; none if the transaction failed. */
export function transfersIn({ status, logs }: Receipt): LoggedTransfer[] {
  const first = logs[0]?.logIndex ?? 0;
  return (status === 1 ? logs : []).flatMap(transferOf).map(({ token, from, to, amount, logIndex }) => {
    return { token, from, to, amount, logIndex, position: logIndex - first };
  });
}

/**
 * Looks up transactions by hash, in two round trips for all; each for itself if the answer is larger than what is read.
 * @returns In the order asked; `null` for one that is in no block, or about which the node's answers disagree.
 * @throws AppError `upstream` if the chain cannot be reached, or is another one.
 */
export async function readOutcomes(hashes: readonly Hex[]): Promise<(Outcome | "too large" | null)[]> {
  return guarded(async () => {
    try {
      return await outcomesOf(hashes);
    } catch (error) {
      if (misanswer(error) !== "too large") throw error;
      if (hashes.length === 1) return ["too large"];
    }
    const apart: (Outcome | "too large" | null)[] = [];
    for (const txHash of hashes) apart.push(...(await readOutcomes([txHash])));
    return apart;
  });
}

async function outcomesOf(hashes: readonly Hex[]): Promise<(Outcome | null)[]> {
  const client = clientApart();
  const [chainId, ...found] = await Promise.all([
    getChainId(client),
    ...hashes.map((txHash) => lookUp(client, txHash)),
  ]);
  requireChain(chainId);
  const numbers = [
    ...new Set(found.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.blockNumber]))),
  ];
  const blocks = await Promise.all(numbers.map((number) => placeOf(client, number)));
  return found.map(({ receipt, transaction }): Outcome | null => {
    const block = blocks.find((one) => one !== null && one.hash === receipt?.blockHash) ?? null;
    if (receipt === null || transaction === null || block === null) return null;
    if (transaction.blockHash !== block.hash) return null;
    const { from, to, value } = transaction;
    return {
      succeeded: receipt.status === 1,
      block,
      payment: to === null || to === undefined ? null : { from, to, amount: value },
      transfers: transfersIn(receipt),
    };
  });
}
