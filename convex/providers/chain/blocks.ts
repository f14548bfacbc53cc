import { erc20Abi, toEventSelector, type Address, type Hex } from "viem";
import { getBlock, getBlockNumber, getChainId, readContract } from "viem/actions";
import * as z from "zod";
import { AppError } from "../../lib/errors";
import { inRanges } from "./ranges";
import {
  chainClient,
  chainFailure,
  guarded,
  refusalText,
  requireChain,
  type ChainClient,
} from "./rpc/client";
import { amountIn, etherOf, readMany } from "./rpc/reads";
import { account, bigQuantity, hash, hexData, quantity, toQuantity } from "./rpc/shapes";

/**
 * What a reader that follows the chain needs: its safe head, the logs of token transfers, and the ether that transactions
 * carry. Ether that contracts send one another is in no block's transactions, and not seen.
 */

/** `time`: epoch ms. */
export type TimedPlace = { number: number; hash: string; time: number };

/** Ether that one transaction of a block carries. Addresses in lower case, wei. */
type Payment = { txHash: string; from: string; to: string; amount: bigint };

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

/** What is looked for: transfers of these tokens, and ether, from or to these addresses (in lower case). */
export type Wanted = {
  tokens: readonly string[];
  parties: readonly string[];
  /** Wei: blocks in which the balance of an address changes by less are not read. */
  leastEther: bigint;
};

export type Moved = { logs: TransferLog[]; payments: Payment[] };

/** Full blocks per request: they are some hundred kilobytes each. */
const AT_ONCE = 5;

/** How nodes say that they have dropped the state of a block. */
const NO_STATE =
  /missing trie node|historical state|state .*(?:not available|unavailable|pruned)|archive|distance to target block|BlockOutOfRange/i;

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");

const headerShape = z.object({ number: quantity, hash, timestamp: quantity });
const blockShape = z.object({
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

type ChainState = {
  /** The block's page. */
  url: string;
  /** Epoch ms: the block's time. */
  observedAt: number;
  transactions: number;
  /** Gwei. */
  baseFee: number;
  /** Of the token, in its smallest unit. */
  supply: bigint;
};

/** The latest block, and the supply of a token on it. @throws AppError `upstream` if the chain cannot be reached. */
export async function readChainState(token: Address, timeoutMs: number): Promise<ChainState> {
  const client = chainClient(timeoutMs);
  return guarded(async () => {
    const [block, supply] = await Promise.all([
      getBlock(client, { blockTag: "latest" }),
      readContract(client, { address: token, abi: erc20Abi, functionName: "totalSupply" }),
    ]);
    return {
      url: `https://basescan.org/block/${block.number}`,
      observedAt: Number(block.timestamp) * 1_000,
      transactions: block.transactions.length,
      baseFee: Number(block.baseFeePerGas ?? 0n) / 1e9,
      supply,
    };
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
 * What moved in blocks `first` to `last`, in pieces of at most `span`: half as many after a node refuses so many. The
 * logs come first. Whether ether moved, one call tells for all addresses: full blocks are read only where a balance
 * changed, which is found by halving. A node that has dropped the state of these blocks is asked for each of them.
 * @throws AppError `upstream`
 */
export async function* movedIn(
  range: { first: number; last: number; span: number },
  wanted: Wanted,
): AsyncGenerator<{ last: number; value: Moved }> {
  const client = chainClient();
  try {
    yield* inRanges(range, async (first, last) => ({
      logs: await transferLogs(client, first, last, wanted),
      payments: await paymentsIn(client, first, last, wanted),
    }));
  } catch (error) {
    throw error instanceof AppError ? error : chainFailure(error);
  }
}

async function paymentsIn(
  client: ChainClient,
  first: number,
  last: number,
  { parties, leastEther }: Wanted,
): Promise<Payment[]> {
  const reads = parties.map((one) => etherOf(hexOf(one)));
  const balancesAt = async (number: number) =>
    (await readMany(client, reads, { blockNumber: BigInt(number) })).map(amountIn);
  type Held = { at: number; balances: bigint[] };
  /** The blocks after `from`, up to `to`, in which a balance changed so much. */
  const changedIn = async (from: Held, to: Held): Promise<number[]> => {
    const hasChanged = to.balances.some((after, i) => {
      const change = after - (from.balances[i] ?? 0n);
      return change >= leastEther || -change >= leastEther;
    });
    if (!hasChanged) return [];
    if (to.at - from.at === 1) return [to.at];
    const at = Math.floor((from.at + to.at) / 2);
    const between = { at, balances: await balancesAt(at) };
    return [...(await changedIn(from, between)), ...(await changedIn(between, to))];
  };
  const looked = async () => {
    const [before, after] = await Promise.all([balancesAt(first - 1), balancesAt(last)]);
    return changedIn({ at: first - 1, balances: before }, { at: last, balances: after });
  };
  const changed = await looked().catch((error: unknown) => {
    if (!NO_STATE.test(refusalText(error) ?? "")) throw error;
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
  const payments: Payment[] = [];
  for (let next = 0; next < changed.length; next += AT_ONCE) {
    const numbers = changed.slice(next, next + AT_ONCE);
    const found = await Promise.all(numbers.map((one) => paymentsOf(client, one, parties)));
    payments.push(...found.flat());
  }
  return payments;
}

async function paymentsOf(
  client: ChainClient,
  number: number,
  parties: readonly string[],
): Promise<Payment[]> {
  const params: [Hex, true] = [toQuantity(number), true];
  const block = blockShape.parse(await client.request({ method: "eth_getBlockByNumber", params }));
  return block.transactions.flatMap(({ hash: txHash, from, to, value }): Payment[] => {
    if (to === null || to === undefined || value === 0n) return [];
    return parties.includes(from) || parties.includes(to) ? [{ txHash, from, to, amount: value }] : [];
  });
}

/** Transfers from or to one of the addresses; a transfer between two of them occurs once. */
async function transferLogs(
  client: ChainClient,
  first: number,
  last: number,
  { tokens, parties }: Wanted,
): Promise<TransferLog[]> {
  const topics = parties.map(topicOf);
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
