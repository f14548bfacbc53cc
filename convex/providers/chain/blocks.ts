import { HttpRequestError, numberToHex, type Address, type Hex } from "viem";
import * as z from "zod";
import { AppError } from "../../lib/errors";
import { log } from "../../lib/log";
import { USDC } from "../../lib/money/base";
import { groupBy } from "../../lib/objects";
import { findHeadProblem, noteHead } from "../../platform/outside/calls";
import { unusableAnswerError } from "../call";
import { findPayments, type Payment, type RequestedCoins } from "./ether";
import {
  account,
  bytes,
  findCause,
  createChainClient,
  toChainError,
  withChainErrors,
  hash,
  asHexText,
  isThrottled,
  isTooLarge,
  quantity,
  findRefusal,
  requireChain,
  UPSTREAM,
  type ChainClient,
} from "./rpc";

/**
 * Transfers in blocks, read in ranges that a node accepts: the logs of token transfers, and the ether of transactions
 * (`./ether`).
 */

/** `time`: epoch ms. */
export type TimedPlace = { number: number; hash: string; time: number };

/** One Transfer log. Addresses in lower case, the amount in the token's smallest unit. */
export type TransferLog = {
  token: string;
  from: string;
  to: string;
  amount: bigint;
  txHash: string;
  /** The log's index in the block. */
  logIndex: number;
  blockNumber: number;
  blockHash: string;
};

export const logShape = z.object({
  address: account,
  topics: z.array(hash),
  data: bytes,
  transactionHash: hash,
  logIndex: quantity,
  blockNumber: quantity,
  blockHash: hash,
  removed: z.boolean().nullish(),
});
export type Log = z.output<typeof logShape>;

/** `Transfer(address,address,uint256)` of tokens. */
const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** Parses the transfer in a log; an empty list for a token without amounts (ERC-721), whose third topic is an id. */
export function parseTransfer({
  topics,
  data,
  address: token,
  transactionHash,
  ...place
}: Log): TransferLog[] {
  const [event, from, to, id] = topics;
  if (event !== TRANSFER || from === undefined || to === undefined || id !== undefined) return [];
  if (data.length !== 66) return [];
  const { logIndex, blockNumber, blockHash } = place;
  const [payer, payee] = [parseTopicAddress(from), parseTopicAddress(to)];
  const moved = { token, from: payer, to: payee, amount: BigInt(data) };
  return [{ ...moved, txHash: transactionHash, logIndex, blockNumber, blockHash }];
}

function parseTopicAddress(topic: string): string {
  return `0x${topic.slice(26)}`;
}

function toTopic(address: string): Hex {
  return `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;
}

type Range = { first: number; last: number };

/** A filter of transfers: from these topics, or to these. */
type Side = { from?: Hex[]; to?: Hex[] };

/** The token transfers in a range of blocks, in order. To be called inside `readInRanges`. */
async function readTransferLogs(
  client: ChainClient,
  { first, last }: Range,
  tokens: readonly string[],
  sides: readonly Side[],
): Promise<TransferLog[]> {
  const address = tokens.map(asHexText);
  const range = { fromBlock: numberToHex(first), toBlock: numberToHex(last) };
  const answers = await Promise.all(
    sides.map(({ from = null, to = null }) => {
      const topics: (Hex | Hex[] | null)[] = [TRANSFER, from, to];
      return client.request({ method: "eth_getLogs", params: [{ address, topics, ...range }] });
    }),
  );
  return readTransfers(z.array(logShape).parse(answers.flat()), { first, last }).filter(({ token }) =>
    tokens.some((one) => one.toLowerCase() === token),
  );
}

/**
 * Parses the transfers in logs of a range, deduplicated and in order: a node may return a log twice, logs of reorged
 * blocks, and logs outside the requested range.
 */
function readTransfers(logs: readonly Log[], { first, last }: Range): TransferLog[] {
  const requestedLogs = logs.filter(
    ({ removed, blockNumber: at }) => removed !== true && at >= first && at <= last,
  );
  const blocks = new Map(requestedLogs.map(({ transactionHash, blockHash }) => [transactionHash, blockHash]));
  if (requestedLogs.some((one) => blocks.get(one.transactionHash) !== one.blockHash))
    throw unusableAnswerError(UPSTREAM);
  return [...new Map(requestedLogs.map((one) => [`${one.blockHash} ${one.logIndex}`, one])).values()]
    .flatMap(parseTransfer)
    .toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/**
 * The newest block according to the node, whatever its time.
 * @throws AppError `upstream` if the chain cannot be reached, or is another one.
 */
export async function readHead(): Promise<TimedPlace> {
  return withChainErrors(async (client) => {
    const [head] = await Promise.all([readBlock(client, "latest"), requireChain(client)]);
    if (head === null) throw unusableAnswerError(UPSTREAM);
    return head;
  });
}

/**
 * The newest block. A head with a stale time is reported to the operator.
 * @throws AppError `upstream` for a stale head, or as `readHead`.
 */
export async function readFreshHead(): Promise<TimedPlace> {
  const head = await readHead();
  const trouble = findHeadProblem(head.time, Date.now());
  noteHead(trouble === null ? null : head.time);
  if (trouble !== null) throw new AppError("upstream", `${UPSTREAM} is not up to date: ${trouble}`);
  return head;
}

/** The newest block that is safe from reorgs. @throws AppError `upstream`, as `readFreshHead` */
export async function readSafeHead(): Promise<TimedPlace> {
  const [safe] = await Promise.all([withChainErrors((client) => readBlock(client, "safe")), readFreshHead()]);
  if (safe === null) throw unusableAnswerError(UPSTREAM);
  return safe;
}

const headerShape = z.object({ number: quantity, hash, timestamp: quantity });

/** A block of the chain; `null` if there is no block of that number. To be called inside `withChainErrors`. */
export async function readBlock(client: ChainClient, at: number | "latest" | "safe") {
  const params: [Hex | "latest" | "safe", false] = [typeof at === "string" ? at : numberToHex(at), false];
  const answer = await client.request({ method: "eth_getBlockByNumber", params });
  const header = headerShape.nullable().parse(answer);
  return header && { number: header.number, hash: header.hash, time: header.timestamp * 1_000 };
}

/**
 * Reads blocks `first` to `last`, both included, in ranges of at most `span`, halved after each refusal of the node.
 * @throws AppError `upstream` if the node refuses for other reasons, or refuses a single block
 */
export async function* readInRanges<Value>(
  { first, last, span }: Range & { span: number },
  read: (range: Range) => Promise<Value>,
): AsyncGenerator<{ last: number; value: Value }> {
  let size = span;
  for (let next = first; next <= last;) {
    const until = Math.min(next + size - 1, last);
    try {
      const value = await read({ first: next, last: until });
      yield { last: until, value };
      next = until + 1;
    } catch (error) {
      if (until === next || !isTooMuch(error)) throw toChainError(error);
      size = Math.floor((until - next + 1) / 2);
    }
  }
}

/**
 * Whether a smaller range may help: nodes word "too much" in too many ways to recognise them all, and a wrong guess
 * ends at a single block.
 */
function isTooMuch(error: unknown): boolean {
  if (isThrottled(error)) return false;
  const status = findCause(error, HttpRequestError)?.status;
  return isTooLarge(error) || findRefusal(error) !== null || status === 400 || status === 413;
}

/** Blocks per request; halved after a node's refusal. */
const SPAN = 500;

/**
 * A transaction's USDC transfers to an address, except zero amounts and transfers from the address itself. `position`
 * is the index among the transfers to the address, from 0: a reorg does not change it, and a search for these transfers
 * alone yields it too.
 * @param transfers In log order.
 * @param to In lower case.
 */
export function listIncoming<One extends { token: string; from: string; to: string; amount: bigint }>(
  transfers: readonly One[],
  to: string,
): (One & { position: number })[] {
  return (
    transfers
      .filter((one) => one.token === USDC.toLowerCase() && one.to === to)
      .map((one, position) => ({ ...one, position }))
      // A transfer of zero is possible from any address, without its consent.
      .filter(({ from, amount }) => from !== to && amount > 0n)
  );
}

/**
 * The incoming transfers (`listIncoming`) of an address in blocks `first` to `last`, range by range. @throws AppError
 * `upstream`
 */
export function readTransfersTo(to: Address, first: number, last: number) {
  const client = createChainClient();
  return readInRanges({ first, last, span: SPAN }, async (range) => {
    const logs = await readTransferLogs(client, range, [USDC], [{ to: [toTopic(to)] }]).catch(
      (error: unknown) => {
        if (range.first < range.last || !isTooMuch(error)) throw error;
        return readLogsOneByOne(client, range.first);
      },
    );
    // A dollar buys a block with thousands of zero transfers: they are grouped once.
    const ofEach = groupBy(logs, ({ txHash }) => txHash);
    return [...ofEach.values()].flatMap((own) => listIncoming(own, to.toLowerCase()));
  });
}

const transactionsShape = z.object({ transactions: z.array(hash) });
const logsShape = z.object({ logs: z.array(logShape) });

/**
 * The transfers in a block with more logs than a node returns: anybody can fill one with zero transfers. Its receipts
 * are read one by one, so that an oversized transaction hides no other.
 */
async function readLogsOneByOne(client: ChainClient, number: number): Promise<TransferLog[]> {
  const params: [Hex, false] = [numberToHex(number), false];
  const block = await client.request({ method: "eth_getBlockByNumber", params });
  const found: Log[] = [];
  for (const txHash of transactionsShape.parse(block).transactions)
    try {
      const receipt = await client.request({
        method: "eth_getTransactionReceipt",
        params: [asHexText(txHash)],
      });
      found.push(...logsShape.parse(receipt).logs);
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      log.error("chain.not read", { txHash });
    }
  return readTransfers(found, { first: number, last: number });
}

export type Moved = { logs: TransferLog[]; payments: Payment[] };

/**
 * The movements in blocks `first` to `last`, in ranges of at most `span`, halved after each refusal of the node. Ether
 * sent between contracts (internal transactions) is in no block's transactions, and not found.
 * @throws AppError `upstream`
 */
export function readMovements(
  range: Range & { span: number },
  requested: RequestedCoins,
): AsyncGenerator<{ last: number; value: Moved }> {
  const client = createChainClient();
  const topics = requested.parties.map(toTopic);
  return readInRanges(range, async (piece) => ({
    logs: await readTransferLogs(client, piece, requested.tokens, [{ from: topics }, { to: topics }]),
    payments: await findPayments(client, piece, requested),
  }));
}
