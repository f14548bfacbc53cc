import { HttpRequestError, type Address, type Hex } from "viem";
import { getBlockNumber, getChainId } from "viem/actions";
import * as z from "zod";
import { USDC } from "../../lib/money/base";
import {
  account,
  causeOf,
  chainClient,
  guarded,
  hash,
  hexData,
  isTooLarge,
  quantity,
  refusal,
  requireChain,
  toQuantity,
  TRANSFER,
  type ChainClient,
} from "./rpc";

/** What blocks have moved, by the logs of token transfers, in pieces that a node allows. */

/** `time`: epoch ms. */
export type TimedPlace = { number: number; hash: string; time: number };

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

export const logShape = z.object({
  address: account,
  topics: z.array(hash),
  data: hexData,
  transactionHash: hash,
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
});
type Log = z.output<typeof logShape>;

/** The transfer in a log; none for a token without amounts, whose third topic is an id. */
export function transferOf(log: Log): TransferLog[] {
  const [event, from, to, id] = log.topics;
  if (event !== TRANSFER || from === undefined || to === undefined || id !== undefined) return [];
  if (log.data.length !== 66) return [];
  const { address: token, transactionHash: txHash, logIndex, blockNumber, blockHash } = log;
  const [payer, payee] = [addressIn(from), addressIn(to)];
  return [
    { token, from: payer, to: payee, amount: BigInt(log.data), txHash, logIndex, blockNumber, blockHash },
  ];
}

function addressIn(topic: string): string {
  return `0x${topic.slice(26)}`;
}

/** The transfers of tokens in blocks, in their order. To be called inside `guarded`. */
export async function transferLogs(
  client: ChainClient,
  { first, last }: { first: number; last: number },
  address: Address[] | Address,
  { from = null, to = null }: { from?: Hex[] | null; to?: Hex[] | null },
): Promise<TransferLog[]> {
  const [fromBlock, toBlock] = [toQuantity(first), toQuantity(last)];
  const topics: (Hex | Hex[] | null)[] = [TRANSFER, from, to];
  const filter = { address, topics, fromBlock, toBlock };
  const answer = await client.request({ method: "eth_getLogs", params: [filter] });
  return z
    .array(logShape)
    .parse(answer)
    .flatMap(transferOf)
    .toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

export function topicOf(address: string): Hex {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

/** The height of the chain. @throws AppError `upstream` if the chain cannot be reached, or is another one. */
export async function readHeight(): Promise<number> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, height] = await Promise.all([getChainId(client), getBlockNumber(client)]);
    requireChain(chainId);
    return Number(height);
  });
}

const headerShape = z.object({ number: quantity, hash, timestamp: quantity });

/** A block of the chain; `null` if it has none of that number. To be called inside `guarded`. */
export async function placeOf(client: ChainClient, number: number | "safe"): Promise<TimedPlace | null> {
  const params: [Hex | "safe", false] = [number === "safe" ? number : toQuantity(number), false];
  const answer = headerShape
    .nullable()
    .parse(await client.request({ method: "eth_getBlockByNumber", params }));
  return answer === null
    ? null
    : { number: answer.number, hash: answer.hash, time: answer.timestamp * 1_000 };
}

/** Refusals for asking too often, which asking for less does not cure. */
const TOO_OFTEN = /\brate\b|per second|throughput|capacity|credits|quota|daily/i;
/**
 * How nodes say that a range, or its content, is too large. Their words, from their issues and documents: "query
 * returned more than 10000 results", "range 1000000 exceeds limit of 10000" (Infura), "Log response size exceeded", "up
 * to a 500 block range" (Alchemy), "query exceeds max results 20000" and "query exceeds max block range 100000" (reth),
 * "eth_getLogs is limited to a 10,000 range" (QuickNode), "ranges over 10000 blocks are not supported" (dRPC), "range
 * is bigger than range limit" (Tenderly), "block range is larger than max block range", "range is too large", "query
 * timeout".
 */
const TOO_MUCH =
  /\branges?\b|more than \d|max(?:imum)? results|response size|too (?:many|large)|time(?:d )?out/i;

/**
 * Reads blocks `first` to `last`, both included, in pieces of at most `span`: half as many after a node refuses so many.
 * @throws what `read` throws for other reasons, or for a single block
 */
export async function* inRanges<Value>(
  { first, last, span }: { first: number; last: number; span: number },
  read: (first: number, last: number) => Promise<Value>,
): AsyncGenerator<{ last: number; value: Value }> {
  let size = span;
  for (let next = first; next <= last;) {
    const until = Math.min(next + size - 1, last);
    try {
      const value = await read(next, until);
      yield { last: until, value };
      next = until + 1;
    } catch (error) {
      if (until === next || !isTooMuch(error)) throw error;
      size = Math.floor((until - next + 1) / 2);
    }
  }
}

/** Whether a node refuses because of how much was asked for. */
function isTooMuch(error: unknown): boolean {
  if (isTooLarge(error)) return true;
  const answered = causeOf(error, HttpRequestError);
  if (answered !== null) {
    return answered.status === 413 || (answered.status === 400 && saysTooMuch(answered.details));
  }
  const refused = refusal(error);
  return refused !== null && saysTooMuch(`${refused.details} ${JSON.stringify(refused.data ?? "")}`);
}

function saysTooMuch(words: string): boolean {
  return TOO_MUCH.test(words) && !TOO_OFTEN.test(words);
}

/** A transfer of more than nothing from somebody else. Hashes and addresses in lower case. */
export type IncomingTransfer = {
  txHash: string;
  /**
   * Its index among the transaction's transfers of USDC to the address, from 0: a reorganisation does not change it,
   * and a search for these transfers alone shows it.
   */
  position: number;
  /** Its log's index in the block, which indexers name. */
  logIndex: number;
  from: string;
  /** USDC's smallest unit. */
  amount: bigint;
};

/** Blocks per request; half as many after a node refuses. */
const SPAN = 500;

/** Numbers a transaction's USDC transfers to an address, in the order of their logs. @param to In lower case. */
export function incoming<One extends { from: string; to: string; amount: bigint }>(
  transfers: readonly One[],
  to: string,
): (One & { position: number })[] {
  return (
    transfers
      .filter((one) => one.to === to)
      .map((one, position) => ({ ...one, position }))
      // Anybody can transfer zero, from anybody.
      .filter(({ from, amount }) => from !== to && amount > 0n)
  );
}

/**
 * The transfers to an address in blocks `first` to `last`, range by range.
 * @throws AppError `upstream`
 */
export async function* transfersTo(
  to: Address,
  first: number,
  last: number,
): AsyncGenerator<{ last: number; value: IncomingTransfer[] }> {
  const client = chainClient();
  const payee = to.toLowerCase();
  const pieces = inRanges({ first, last, span: SPAN }, async (from, until) => {
    const logs = await transferLogs(client, { first: from, last: until }, USDC, { to: [topicOf(payee)] });
    const ours = logs.filter(({ token }) => token === USDC.toLowerCase());
    const hashes = [...new Set(ours.map(({ txHash }) => txHash))];
    return hashes.flatMap((hash) => {
      const own = ours.filter(({ txHash }) => txHash === hash);
      return incoming(own, payee).map(({ txHash, position, logIndex, from, amount }) => {
        return { txHash, position, logIndex, from, amount };
      });
    });
  });
  for (;;) {
    const piece = await guarded(() => pieces.next());
    if (piece.done === true) return;
    yield piece.value;
  }
}
