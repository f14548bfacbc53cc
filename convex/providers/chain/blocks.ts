import { toEventSelector, type Hex } from "viem";
import { getBlockNumber, getChainId } from "viem/actions";
import * as z from "zod";
import { isTooMuch } from "./ranges";
import { chainClient, guarded, requireChain, type ChainClient } from "./rpc/client";
import { account, bigQuantity, hash, hexData, quantity, toQuantity } from "./rpc/shapes";

/**
 * Blocks for a reader that follows the chain: their place, the ether of their transactions, and the logs of token
 * transfers. Ether that contracts send one another is in no block's transactions, and not seen.
 */

/** `time`: epoch ms. */
export type TimedPlace = { number: number; hash: string; time: number };

/** Ether that one transaction of a block carries. Addresses in lower case, wei. */
type Payment = { txHash: string; from: string; to: string; amount: bigint };

export type Block = TimedPlace & { parentHash: string; payments: Payment[] };

/** One Transfer log. Addresses in lower case, the amount in the token's smallest unit. */
export type TransferLog = {
  token: string;
  from: string;
  to: string;
  amount: bigint;
  txHash: string;
  /** Among the block's logs. */
  logIndex: number;
  blockNumber: number;
  blockHash: string;
};

export type Reading =
  | { kind: "read"; blocks: Block[]; logs: TransferLog[] }
  /** The node does not answer for so many blocks, or so much content, in one request. */
  | { kind: "too much" };

/** Blocks per request: with all their transactions they are some hundred kilobytes each. */
const AT_ONCE = 5;

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");

const headerShape = z.object({ number: quantity, hash, timestamp: quantity });
const blockShape = headerShape.extend({
  parentHash: hash,
  transactions: z.array(
    z.object({ hash, from: account, to: account.nullable().optional(), value: bigQuantity }),
  ),
});

export const logShape = z.object({
  address: account,
  topics: z.array(hash),
  data: hexData,
  transactionHash: hash,
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
});
export type Log = z.output<typeof logShape>;

/** The height of the chain. @throws AppError `upstream` if the chain cannot be reached, or is another one. */
export async function readHeight(): Promise<number> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, height] = await Promise.all([getChainId(client), getBlockNumber(client)]);
    requireChain(chainId);
    return Number(height);
  });
}

/** The last block that the chain will not drop again, as its node says. @throws AppError `upstream` */
export async function readSafe(): Promise<TimedPlace> {
  const client = chainClient();
  return guarded(async () => {
    const params: ["safe", false] = ["safe", false];
    const [chainId, answer] = await Promise.all([
      getChainId(client),
      client.request({ method: "eth_getBlockByNumber", params }),
    ]);
    requireChain(chainId);
    const { number, hash: name, timestamp } = headerShape.parse(answer);
    return { number, hash: name, time: timestamp * 1_000 };
  });
}

/** To be called inside `guarded`. */
export async function placeOf(client: ChainClient, number: number): Promise<TimedPlace | null> {
  const params: [Hex, false] = [toQuantity(number), false];
  const answer = headerShape
    .nullable()
    .parse(await client.request({ method: "eth_getBlockByNumber", params }));
  return answer === null
    ? null
    : { number: answer.number, hash: answer.hash, time: answer.timestamp * 1_000 };
}

/**
 * Blocks `first` to `last`, with the token transfers and ether payments that touch one of some addresses.
 * @throws AppError `upstream`, also if the node does not have all of them.
 */
export async function readBlocks(
  first: number,
  last: number,
  wanted: { tokens: readonly string[]; parties: ReadonlySet<string> },
): Promise<Reading> {
  const client = chainClient();
  return guarded(async () => {
    try {
      const logs = await transferLogs(client, first, last, wanted);
      const blocks: Block[] = [];
      for (let next = first; next <= last; next += AT_ONCE) {
        const numbers = range(next, Math.min(next + AT_ONCE - 1, last));
        blocks.push(...(await Promise.all(numbers.map((one) => readBlock(client, one, wanted.parties)))));
      }
      return { kind: "read", blocks, logs };
    } catch (error) {
      if (isTooMuch(error)) return { kind: "too much" };
      throw error;
    }
  });
}

async function readBlock(client: ChainClient, number: number, parties: ReadonlySet<string>): Promise<Block> {
  const params: [Hex, true] = [toQuantity(number), true];
  const block = blockShape.parse(await client.request({ method: "eth_getBlockByNumber", params }));
  const payments = block.transactions.flatMap(({ hash: txHash, from, to, value }): Payment[] => {
    if (to === null || to === undefined || value === 0n) return [];
    return parties.has(from) || parties.has(to) ? [{ txHash, from, to, amount: value }] : [];
  });
  return { number, hash: block.hash, parentHash: block.parentHash, time: block.timestamp * 1_000, payments };
}

/** Transfers from or to one of the addresses; a transfer between two of them occurs once. */
async function transferLogs(
  client: ChainClient,
  first: number,
  last: number,
  { tokens, parties }: { tokens: readonly string[]; parties: ReadonlySet<string> },
): Promise<TransferLog[]> {
  const topics = [...parties].map(topicOf);
  const filters = [
    [TRANSFER, topics],
    [TRANSFER, null, topics],
  ];
  const answers = await Promise.all(
    filters.map((one) =>
      client.request({
        method: "eth_getLogs",
        params: [
          {
            address: tokens.map(hexOf),
            topics: one,
            fromBlock: toQuantity(first),
            toBlock: toQuantity(last),
          },
        ],
      }),
    ),
  );
  const found = new Map<string, TransferLog>();
  for (const log of answers.flatMap((answer) => z.array(logShape).parse(answer))) {
    for (const one of transferOf(log)) found.set(`${one.blockHash} ${one.logIndex}`, one);
  }
  return [...found.values()];
}

/** The transfer in a log; `undefined` for a token without amounts, whose third topic is an id. */
export function transferOf(log: Log): TransferLog[] {
  const [event, from, to, id] = log.topics;
  if (event !== TRANSFER || from === undefined || to === undefined || id !== undefined) return [];
  if (log.data.length !== 66) return [];
  return [
    {
      token: log.address,
      from: `0x${from.slice(26)}`,
      to: `0x${to.slice(26)}`,
      amount: BigInt(log.data),
      txHash: log.transactionHash,
      logIndex: log.logIndex,
      blockNumber: log.blockNumber,
      blockHash: log.blockHash,
    },
  ];
}

function topicOf(address: string): Hex {
  return `0x${address.slice(2).padStart(64, "0")}`;
}

function hexOf(address: string): Hex {
  return `0x${address.slice(2)}`;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
