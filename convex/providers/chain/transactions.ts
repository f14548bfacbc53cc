import type { Address, Hex } from "viem";
import {
  getBalance,
  getBlockNumber,
  getChainId,
  getTransactionCount,
  sendRawTransaction,
} from "viem/actions";
import * as z from "zod";
import { setting } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import {
  account,
  bigQuantity,
  chainClient,
  chainFailure,
  clientApart,
  guarded,
  hash,
  isTooLarge,
  quantity,
  refusalText,
  requireChain,
  type ChainClient,
} from "./rpc";
import { logShape, placeOf, transferOf, type TimedPlace, type TransferLog } from "./transfers";

/** Transactions by their hashes: sends signed ones, which is safe to repeat, and tells what has become of them. */

/** Words of a node that has the transaction already, or a later one of its nonce: its receipt tells which. */
const KNOWN = /already (?:imported|known)|known transaction|nonce (?:is )?too low|transaction underpriced/i;

/**
 * Sends signed bytes to the chain. Never throws, and says nothing: whatever a node answers, only a receipt tells what
 * has become of them.
 */
export async function broadcast(raw: Hex): Promise<void> {
  try {
    await sendRawTransaction(chainClient(), { serializedTransaction: raw });
  } catch (error) {
    const text = refusalText(error);
    if (text !== null && KNOWN.test(text)) return;
    log.warn("chain.not broadcast", { reason: messageOf(chainFailure(error)) });
  }
}

export type Mined = {
  kind: "mined";
  /** The hash that was mined. */
  hash: string;
  succeeded: boolean;
  blockNumber: number;
  transfers: LoggedTransfer[];
  /** What its sender has paid besides its value, in wei: gas, and the fee for L1 data. */
  fee: bigint;
};

export type Standing =
  | Mined
  /** In a node's pool; `mined` of its sender's transactions are mined. */
  | { kind: "pending"; mined: number }
  /** Neither mined nor pending, and its nonce is still free. */
  | { kind: "missing"; mined: number }
  /** Its nonce is used as of some blocks back, and no transaction of these hashes is mined. */
  | { kind: "used"; mined: number }
  /** The node's answers do not go together yet: it lags, or tells of a block that nobody has. */
  | { kind: "unsure" };

/**
 * The state of a signed transaction. Mined means that the chain's block of that number holds the receipt's hash.
 * @param hashes Of all bytes that were signed at its nonce: at most one of them is ever mined.
 * @throws AppError `upstream`
 */
export async function standingOf(from: Address, nonce: number, hashes: readonly Hex[]): Promise<Standing> {
  const client = chainClient();
  return guarded(async () => {
    // A missing transaction is polled every half second: viem's own functions would make an error of each answer.
    const [receipts, transactions, mined] = await Promise.all([
      receiptsOf(client, hashes),
      Promise.all(
        hashes.map((hash) => client.request({ method: "eth_getTransactionByHash", params: [hash] })),
      ),
      getTransactionCount(client, { address: from, blockTag: "latest" }),
    ]);
    const found = receipts.find((one) => one !== null) ?? null;
    if (found !== null) {
      const block = await placeOf(client, found.blockNumber);
      return block?.hash === found.blockHash ? asMined(found) : { kind: "unsure" };
    }
    if (mined > nonce) {
      const back = await countBack(client, from);
      return back > nonce ? { kind: "used", mined: back } : { kind: "unsure" };
    }
    return { kind: transactions.some((one) => one !== null) ? "pending" : "missing", mined };
  });
}

/** How many of an account's transactions were mined as of some blocks back, which no chain drops any more. */
async function countBack(client: ChainClient, address: Address): Promise<number> {
  const head = await getBlockNumber(client);
  const back = BigInt(setting("CONFIRMATIONS"));
  return getTransactionCount(client, { address, blockNumber: head > back ? head - back : 0n });
}

function receiptsOf(client: ChainClient, hashes: readonly Hex[]): Promise<(Receipt | null)[]> {
  return Promise.all(
    hashes.map(async (txHash) => {
      const receipt = await client.request({ method: "eth_getTransactionReceipt", params: [txHash] });
      return receiptShapeOf(txHash).parse(receipt);
    }),
  );
}

function asMined(receipt: Receipt): Mined {
  return {
    kind: "mined",
    hash: receipt.transactionHash,
    succeeded: receipt.status === 1,
    blockNumber: receipt.blockNumber,
    transfers: transfersIn(receipt),
    fee: receipt.gasUsed * receipt.effectiveGasPrice + receipt.l1Fee,
  };
}

/**
 * How many of an account's transactions are mined.
 * @throws AppError `upstream`
 */
export async function readMined(address: Address): Promise<number> {
  return guarded(() => getTransactionCount(chainClient(), { address, blockTag: "latest" }));
}

/** Whether a second answer is the same: answers differ between nodes and moments. */
export async function countedAgain(address: Address, mined: number): Promise<boolean> {
  return (await readMined(address)) === mined;
}

/**
 * How much of the chain's own coin an account gained in a block, in wei; negative for a loss. `null` if it sent more
 * than one transaction in that block: their effects cannot be separated.
 * @throws AppError `upstream`, also if the node no longer has the block's state.
 */
export async function gainedIn(blockNumber: number, address: Address): Promise<bigint | null> {
  const client = chainClient();
  const of = (block: bigint) => {
    const place = { address, blockNumber: block };
    return Promise.all([getBalance(client, place), getTransactionCount(client, place)]);
  };
  return guarded(async () => {
    const [[after, nonceAfter], [before, nonceBefore]] = await Promise.all([
      of(BigInt(blockNumber)),
      of(BigInt(blockNumber) - 1n),
    ]);
    return nonceAfter - nonceBefore > 1 ? null : after - before;
  });
}

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
  gasUsed: bigQuantity,
  effectiveGasPrice: bigQuantity,
  /** OP-stack chains add it to their receipts. */
  l1Fee: bigQuantity.catch(0n),
  logs: z.array(logShape.extend({ removed: z.boolean().nullish() })),
});
export type Receipt = z.output<typeof receiptShape>;

const ANOTHER = "it is another transaction's";

/** Whether a receipt is the one that was asked for, with the logs of its own block: a node can confuse them. */
function isOf(txHash: string, { logs, ...receipt }: Receipt): boolean {
  return (
    receipt.transactionHash === txHash.toLowerCase() &&
    logs.every(
      ({ transactionHash, blockHash, removed }) =>
        transactionHash === receipt.transactionHash && blockHash === receipt.blockHash && removed !== true,
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
      if (!isTooLarge(error)) throw error;
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
