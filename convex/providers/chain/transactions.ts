import type { Address, Hex } from "viem";
import { getBalance, getBlockNumber, getTransactionCount, sendRawTransaction } from "viem/actions";
import * as z from "zod";
import { getSetting } from "../../lib/env";
import { getErrorMessage } from "../../lib/errors";
import { log } from "../../lib/log";
import { logShape, readBlock, parseTransfer, type TimedPlace, type TransferLog } from "./blocks";
import {
  account,
  bigQuantity,
  createChainClient,
  toChainError,
  withChainErrors,
  hash,
  asHexText,
  isTooLarge,
  quantity,
  findRefusal,
  requireChain,
  type ChainClient,
} from "./rpc";
import { findAuthorizationBefore } from "./usdc";

/** Transactions by their hashes: broadcasts signed ones, which is safe to repeat, and reads their status. */

/**
 * Broadcasts signed bytes. Never throws and returns nothing: a node refuses bytes that it already has, and whatever it
 * answers, only a receipt shows the outcome.
 */
export async function broadcastTransaction(raw: Hex): Promise<void> {
  try {
    await sendRawTransaction(createChainClient(), { serializedTransaction: raw });
  } catch (error) {
    if (findRefusal(error) === null)
      log.warn("chain.not broadcast", { reason: getErrorMessage(toChainError(error)) });
  }
}

/** A mined transaction, in a block that the chain still has. Hashes and addresses in lower case. */
export type Mined = {
  kind: "mined";
  hash: string;
  succeeded: boolean;
  block: TimedPlace;
  /** In log order; empty if the transaction failed. */
  transfers: LoggedTransfer[];
  /** The sender's cost besides the value, in wei: gas and the L1 data fee; `null` if the node omits it. */
  fee: bigint | null;
  /** The transaction's ether value in wei, and its recipient; `null` if it created a contract. */
  payment: { from: string; to: string; amount: bigint } | null;
};

type LoggedTransfer = TransferLog & {
  /** Index among the transaction's logs, from 0: the same in any block. */
  position: number;
  /** The nonce of the executed authorization (EIP-3009). */
  authorization?: string;
};

type ObservedTransaction =
  | Mined
  /** In a node's pool, but in no block. */
  | { kind: "pending" }
  | { kind: "missing" }
  /** The node's answers contradict each other: it lags, or names a block that the chain does not have. */
  | { kind: "unsure" };

const receiptShape = z.object({
  transactionHash: hash,
  status: quantity,
  blockNumber: quantity,
  blockHash: hash,
  gasUsed: bigQuantity,
  /** Omitted by some nodes. */
  effectiveGasPrice: bigQuantity.nullish().catch(null),
  /** Added to receipts by OP-stack chains. */
  l1Fee: bigQuantity.catch(0n),
  logs: z.array(logShape),
});
type Receipt = z.output<typeof receiptShape>;

const transactionShape = z.object({
  hash,
  from: account,
  to: account.nullish(),
  value: bigQuantity,
  blockHash: hash.nullable(),
});

const ANOTHER = "it is another transaction's";

/** Whether a receipt is the requested one, with the logs of its own block, each once: a node can mix them up. */
function isMatchingReceipt(txHash: string, { logs, transactionHash, blockHash }: Receipt): boolean {
  const isOwn = (log: Receipt["logs"][number], i: number) =>
    log.transactionHash === transactionHash &&
    log.blockHash === blockHash &&
    log.removed !== true &&
    log.logIndex === (logs[0]?.logIndex ?? 0) + i;
  return transactionHash === txHash.toLowerCase() && logs.every(isOwn);
}

/**
 * A node's view of a transaction, in two round trips. "Mined" means that the chain's block of that number has the
 * receipt's block hash. To be called inside `withChainErrors`.
 */
async function readTransactionState(client: ChainClient, txHash: string): Promise<ObservedTransaction> {
  // A missing transaction is polled every half second: viem's own functions would throw for each missing answer.
  const [first, second] = await Promise.all([
    client.request({ method: "eth_getTransactionReceipt", params: [asHexText(txHash)] }),
    client.request({ method: "eth_getTransactionByHash", params: [asHexText(txHash)] }),
  ]);
  const receipt = receiptShape
    .refine((one) => isMatchingReceipt(txHash, one), ANOTHER)
    .nullable()
    .parse(first);
  const transaction = transactionShape
    .refine((one) => one.hash === txHash.toLowerCase(), ANOTHER)
    .nullable()
    .parse(second);
  if (receipt === null) return { kind: transaction === null ? "missing" : "pending" };
  const block = await readBlock(client, receipt.blockNumber);
  if (block?.hash !== receipt.blockHash || transaction?.blockHash !== block.hash) return { kind: "unsure" };
  const { from, to, value } = transaction;
  const { gasUsed, effectiveGasPrice: price, l1Fee } = receipt;
  return {
    kind: "mined",
    hash: receipt.transactionHash,
    succeeded: receipt.status === 1,
    block,
    transfers: listLoggedTransfers(receipt),
    fee: price === null || price === undefined ? null : gasUsed * price + l1Fee,
    payment: to === null || to === undefined ? null : { from, to, amount: value },
  };
}

function listLoggedTransfers({ status, logs }: Receipt): LoggedTransfer[] {
  if (status !== 1) return [];
  return logs.flatMap((log, position) =>
    parseTransfer(log).map((one) => ({
      ...one,
      position,
      ...findAuthorizationBefore(log, logs[position - 1]),
    })),
  );
}

export type TransactionStatus =
  | Mined
  /** In a node's pool; `mined` is the sender's count of mined transactions. */
  | { kind: "pending"; mined: number }
  /** Neither mined nor pending, and its nonce is still free. */
  | { kind: "missing"; mined: number }
  /** The nonce was used some blocks back, and no transaction of these hashes is mined. */
  | { kind: "used"; mined: number }
  | { kind: "unsure" };

/**
 * The status of a signed transaction.
 * @param hashes Of all bytes signed at its nonce: at most one of them is ever mined.
 * @throws AppError `upstream`
 */
export async function getTransactionStatus(
  from: Address,
  nonce: number,
  hashes: readonly string[],
): Promise<TransactionStatus> {
  return withChainErrors(async (client) => {
    const [mined, ...states] = await Promise.all([
      getTransactionCount(client, { address: from, blockTag: "latest" }),
      ...hashes.map((one) => readTransactionState(client, one)),
    ]);
    const found = states.find((one) => one.kind === "mined") ?? states.find((one) => one.kind === "unsure");
    if (found !== undefined) return found;
    if (mined > nonce) {
      // A block this far back is safe from reorgs.
      const [head, back] = [await getBlockNumber(client), BigInt(getSetting("CONFIRMATIONS"))];
      const blockNumber = head > back ? head - back : 0n;
      const then = await getTransactionCount(client, { address: from, blockNumber });
      return then > nonce ? { kind: "used", mined: then } : { kind: "unsure" };
    }
    return { kind: states.some(({ kind }) => kind === "pending") ? "pending" : "missing", mined };
  });
}

/** An account's count of mined transactions. @throws AppError `upstream` */
export async function readMined(address: Address): Promise<number> {
  return withChainErrors((client) => getTransactionCount(client, { address, blockTag: "latest" }));
}

/**
 * An account's gain of ether in a block, in wei; negative for a loss. `null` if it sent more than one transaction in
 * that block: their effects cannot be separated.
 * @throws AppError `upstream`, also if the node no longer has the block's state.
 */
export async function getGainInBlock(blockNumber: number, address: Address): Promise<bigint | null> {
  return withChainErrors(async (client) => {
    const readAt = (block: number) => {
      const place = { address, blockNumber: BigInt(block) };
      return Promise.all([getBalance(client, place), getTransactionCount(client, place)]);
    };
    const [after, before] = await Promise.all([readAt(blockNumber), readAt(blockNumber - 1)]);
    return after[1] - before[1] > 1 ? null : after[0] - before[0];
  });
}

/**
 * A transaction's current state on the chain. An oversized answer affects no other request, because the client is not
 * shared.
 * @throws AppError `upstream`, also if the RPC serves another chain.
 */
export async function readTransaction(txHash: string): Promise<ObservedTransaction | { kind: "too large" }> {
  const client = createChainClient();
  try {
    const [states] = await Promise.all([readTransactionState(client, txHash), requireChain(client)]);
    return states;
  } catch (error) {
    if (isTooLarge(error)) return { kind: "too large" };
    throw toChainError(error);
  }
}
