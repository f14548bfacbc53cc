import { erc20Abi, type Address, type Hex } from "viem";
import { getBlock, getChainId, readContract } from "viem/actions";
import * as z from "zod";
import { AppError } from "../../lib/errors";
import { unusableFailure } from "../call";
import { amountIn, etherOf, readMany } from "./accounts";
import {
  account,
  bigQuantity,
  chainClient,
  chainFailure,
  guarded,
  hash,
  refusalText,
  requireChain,
  toQuantity,
  UPSTREAM,
  type ChainClient,
} from "./rpc";
import { inRanges, placeOf, topicOf, transferLogs, type TimedPlace, type TransferLog } from "./transfers";

/**
 * What a reader that follows the chain needs: its safe head, the logs of token transfers, and the ether that transactions
 * carry. Ether that contracts send one another is in no block's transactions, and not seen.
 */

/** Ether that one transaction of a block carries. Addresses in lower case, wei. */
type Payment = { txHash: string; from: string; to: string; amount: bigint };

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

const blockShape = z.object({
  transactions: z.array(
    z.object({ hash, from: account, to: account.nullable().optional(), value: bigQuantity }),
  ),
});

/** The last block that the chain will not drop again, as its node says. @throws AppError `upstream` */
export async function readSafe(): Promise<TimedPlace> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, safe] = await Promise.all([getChainId(client), placeOf(client, "safe")]);
    requireChain(chainId);
    if (safe === null) throw unusableFailure(UPSTREAM);
    return safe;
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
      logs: await logsIn(client, { first, last }, wanted),
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
async function logsIn(
  client: ChainClient,
  range: { first: number; last: number },
  { tokens, parties }: Wanted,
): Promise<TransferLog[]> {
  const [addresses, topics] = [tokens.map(hexOf), parties.map(topicOf)];
  const answers = await Promise.all(
    [{ from: topics }, { to: topics }].map((one) => transferLogs(client, range, addresses, one)),
  );
  return [...new Map(answers.flat().map((one) => [`${one.blockHash} ${one.logIndex}`, one])).values()];
}

function hexOf(address: string): Hex {
  return `0x${address.slice(2)}`;
}
