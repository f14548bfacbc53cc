import type { Hex } from "viem";
import { getChainId } from "viem/actions";
import * as z from "zod";
import { chainClient, guarded, requireChain } from "./chain";
import { logShape, placeOf, transferOf, type BlockPlace } from "./chainBlocks";
import { account, bigQuantity, hash, quantity } from "./chainShapes";

/** What mined transactions have moved. */

/** One Transfer log of a transaction. Addresses in lower case, the amount in the token's smallest unit. */
type LoggedTransfer = {
  token: string;
  from: string;
  to: string;
  amount: bigint;
  /** Among the transaction's logs, from 0: the same in whatever block. */
  position: number;
};

export type Outcome = {
  succeeded: boolean;
  block: BlockPlace & {
    /** Epoch ms. */
    time: number;
  };
  /** The ether it carried, in wei, to an address; `null` where it made a contract. */
  payment: { from: string; to: string; amount: bigint } | null;
  /** None of a transaction that failed. */
  transfers: LoggedTransfer[];
};

const receiptShape = z.object({
  status: quantity,
  blockNumber: quantity,
  blockHash: hash,
  logs: z.array(logShape),
});
const transactionShape = z.object({
  from: account,
  to: account.nullable().optional(),
  value: bigQuantity,
  blockHash: hash.nullable(),
});

/**
 * Looks transactions up by hash, in two round trips for all.
 * @returns In the order asked; `null` for one that is in no block, or in none on which the node's answers agree.
 * @throws AppError `upstream` when the chain cannot be asked, or is another one.
 */
export async function readOutcomes(hashes: readonly Hex[]): Promise<(Outcome | null)[]> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, ...found] = await Promise.all([
      getChainId(client),
      ...hashes.map(async (txHash) => {
        const [receipt, transaction] = await Promise.all([
          client.request({ method: "eth_getTransactionReceipt", params: [txHash] }),
          client.request({ method: "eth_getTransactionByHash", params: [txHash] }),
        ]);
        return {
          receipt: receiptShape.nullable().parse(receipt),
          transaction: transactionShape.nullable().parse(transaction),
        };
      }),
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
      const first = receipt.logs[0]?.logIndex ?? 0;
      return {
        succeeded: receipt.status === 1,
        block,
        payment: to === null || to === undefined ? null : { from, to, amount: value },
        transfers:
          receipt.status === 1
            ? receipt.logs
                .flatMap(transferOf)
                .map(({ token, from: sender, to: receiver, amount, logIndex }) => ({
                  ...{ token, from: sender, to: receiver, amount },
                  position: logIndex - first,
                }))
            : [],
      };
    });
  });
}
