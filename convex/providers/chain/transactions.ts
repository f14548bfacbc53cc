import { formatTransactionReceipt, type Address, type Hex, type Log, type RpcTransactionReceipt } from "viem";
import { getBalance, getBlockNumber, getTransactionCount, sendRawTransaction } from "viem/actions";
import { setting } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { unusableFailure } from "../call";
import { placeOf } from "./blocks";
import { isOf } from "./receipts";
import { chainClient, chainFailure, guarded, refusalText, UPSTREAM, type ChainClient } from "./rpc/client";

/** Sends signed transactions. Every call is safe to repeat: the same bytes have one effect. */

export type Broadcast =
  /** The node has it. */
  | { kind: "accepted" }
  /** Its nonce is used, by itself or by another transaction: read its receipt. */
  | { kind: "nonce taken" }
  /** The node refuses it; `reason` is one of the words of `INVALID` in lower case, never the node's own words. */
  | { kind: "refused"; reason: string }
  /** It is unknown whether it arrived. */
  | { kind: "unknown"; reason: string };

/** Reasons that make a transaction invalid for good; any other refusal may be temporary. */
const INVALID =
  /insufficient funds|max fee per gas less than|intrinsic gas|gas limit|invalid (?:sender|chain)|fee cap|underpriced/i;

/** Sends signed bytes to the chain. Never throws: "unknown" is an outcome. */
export async function broadcast(raw: Hex): Promise<Broadcast> {
  try {
    await sendRawTransaction(chainClient(), { serializedTransaction: raw });
    return { kind: "accepted" };
  } catch (error) {
    const text = refusalText(error);
    if (text === null) return { kind: "unknown", reason: messageOf(chainFailure(error)) };
    // The node's own words distinguish these; viem maps several of them to one class.
    if (/already (?:imported|known)|known transaction/i.test(text)) return { kind: "accepted" };
    if (/nonce (?:is )?too low|replacement transaction underpriced/i.test(text))
      return { kind: "nonce taken" };
    const [word] = INVALID.exec(text) ?? [];
    return word === undefined
      ? { kind: "unknown", reason: "The chain RPC did not take the transaction" }
      : { kind: "refused", reason: word.toLowerCase() };
  }
}

export type Mined = {
  kind: "mined";
  /** The hash that was mined. */
  hash: Hex;
  succeeded: boolean;
  blockNumber: number;
  logs: Log[];
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
      const block = await placeOf(client, Number(found.blockNumber));
      return block?.hash === found.blockHash.toLowerCase() ? asMined(found) : { kind: "unsure" };
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

function receiptsOf(client: ChainClient, hashes: readonly Hex[]): Promise<(RpcTransactionReceipt | null)[]> {
  return Promise.all(
    hashes.map(async (hash) => {
      const receipt = await client.request({ method: "eth_getTransactionReceipt", params: [hash] });
      if (receipt !== null && !isOf(hash, receipt)) throw unusableFailure(UPSTREAM);
      return receipt;
    }),
  );
}

function asMined(found: RpcTransactionReceipt): Mined {
  const receipt = formatTransactionReceipt(found);
  return {
    kind: "mined",
    hash: receipt.transactionHash,
    succeeded: receipt.status === "success",
    blockNumber: Number(receipt.blockNumber),
    logs: receipt.logs,
    fee: receipt.gasUsed * receipt.effectiveGasPrice + l1FeeOf(receipt),
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

/** The L1 fee, which OP-stack chains add to their receipts. */
function l1FeeOf(receipt: object): bigint {
  const fee = "l1Fee" in receipt ? receipt.l1Fee : null;
  return typeof fee === "string" && /^0x[0-9a-f]{1,64}$/i.test(fee) ? BigInt(fee) : 0n;
}
