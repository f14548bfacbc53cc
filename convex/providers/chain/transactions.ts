import { formatTransactionReceipt, type Address, type Hex, type Log, type RpcTransactionReceipt } from "viem";
import { getBalance, getTransactionCount, sendRawTransaction } from "viem/actions";
import { messageOf } from "../../lib/errors";
import { chainClient, chainFailure, guarded, refusalText, type ChainClient } from "./client";

/** Signed transactions on their way into the chain. Every call is safe to repeat: the same bytes have one effect. */

export type Broadcast =
  /** The node has it. */
  | { kind: "accepted" }
  /** Its nonce is taken, by itself or by another: ask for its receipt. */
  | { kind: "nonce taken" }
  /** The node will not have it; `reason` is one of the words of `INVALID` in lower case, and never the node's own. */
  | { kind: "refused"; reason: string }
  /** Nobody knows whether it arrived. */
  | { kind: "unknown"; reason: string };

/** What makes a transaction invalid for good; any other refusal may be a node's passing mood. */
const INVALID =
  /insufficient funds|max fee per gas less than|intrinsic gas|gas limit|invalid (?:sender|chain)|fee cap|underpriced/i;

/** Hands signed bytes to the chain. Never throws: what is unknown is an outcome. */
export async function broadcast(raw: Hex): Promise<Broadcast> {
  try {
    await sendRawTransaction(chainClient(), { serializedTransaction: raw });
    return { kind: "accepted" };
  } catch (error) {
    const said = refusalText(error);
    if (said === null) return { kind: "unknown", reason: messageOf(chainFailure(error)) };
    // The node's own words tell these apart; viem maps several of them to one class.
    if (/already (?:imported|known)|known transaction/i.test(said)) return { kind: "accepted" };
    if (/nonce (?:is )?too low|replacement transaction underpriced/i.test(said))
      return { kind: "nonce taken" };
    const [word] = INVALID.exec(said) ?? [];
    return word === undefined
      ? { kind: "unknown", reason: "The chain RPC did not take the transaction" }
      : { kind: "refused", reason: word.toLowerCase() };
  }
}

export type Mined = {
  kind: "mined";
  /** Which of the hashes it is. */
  hash: Hex;
  succeeded: boolean;
  blockNumber: number;
  logs: Log[];
  /** What its sender has paid for it besides its value, in wei: gas, and the fee for its L1 data. */
  fee: bigint;
};

export type Standing =
  | Mined
  /** In a node's pool; so many of its sender's transactions are mined. */
  | { kind: "pending"; mined: number }
  /** Neither mined nor pending, and its nonce is still free. */
  | { kind: "missing"; mined: number }
  /** Its nonce is used up and the chain does not know it: replaced, or mined where this answer did not look yet. */
  | { kind: "replaced"; mined: number };

/**
 * Where a signed transaction stands.
 * @param hashes Its own, and those it had with other fees under the same nonce: one of them at most is ever mined.
 * @throws AppError `upstream`
 */
export async function standing(from: Address, nonce: number, hashes: readonly Hex[]): Promise<Standing> {
  const client = chainClient();
  return guarded(async () => {
    // What is not there yet is asked for every half a second: viem's own functions would make an error of each answer.
    const [receipts, transactions, mined] = await Promise.all([
      receiptsOf(client, hashes),
      Promise.all(
        hashes.map((hash) => client.request({ method: "eth_getTransactionByHash", params: [hash] })),
      ),
      getTransactionCount(client, { address: from, blockTag: "latest" }),
    ]);
    const found = receipts.find((one) => one !== null) ?? null;
    if (found !== null) return asMined(found);
    if (transactions.some((one) => one !== null)) return { kind: "pending", mined };
    return { kind: mined > nonce ? "replaced" : "missing", mined };
  });
}

/**
 * The same, for whoever asks for nothing but whether it is mined: one of them, or `null`.
 * @throws AppError `upstream`
 */
export async function minedOf(hashes: readonly Hex[]): Promise<Mined | null> {
  return guarded(async () => {
    const found = (await receiptsOf(chainClient(), hashes)).find((one) => one !== null) ?? null;
    return found === null ? null : asMined(found);
  });
}

function receiptsOf(client: ChainClient, hashes: readonly Hex[]): Promise<(RpcTransactionReceipt | null)[]> {
  return Promise.all(
    hashes.map((hash) => client.request({ method: "eth_getTransactionReceipt", params: [hash] })),
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

/** Whether another answer is the same: that of one node, or at one moment, may differ from the next. */
export async function saysAgain(address: Address, mined: number): Promise<boolean> {
  return (await readMined(address)) === mined;
}

/**
 * How much of the chain's own coin an account has gained in a block, in wei; less than nothing where it lost some. `null`
 * where it has sent more than one transaction in that block: nobody can tell what each of them has come to.
 * @throws AppError `upstream`, also where the node has forgotten the block's state.
 */
export async function gainedIn(blockNumber: number, address: Address): Promise<bigint | null> {
  const client = chainClient();
  const of = (block: bigint) => {
    const asked = { address, blockNumber: block };
    return Promise.all([getBalance(client, asked), getTransactionCount(client, asked)]);
  };
  return guarded(async () => {
    const [[after, nonceAfter], [before, nonceBefore]] = await Promise.all([
      of(BigInt(blockNumber)),
      of(BigInt(blockNumber) - 1n),
    ]);
    return nonceAfter - nonceBefore > 1 ? null : after - before;
  });
}

/** OP-stack chains add the fee to their receipts. */
function l1FeeOf(receipt: object): bigint {
  const fee = "l1Fee" in receipt ? receipt.l1Fee : null;
  return typeof fee === "string" && /^0x[0-9a-f]{1,64}$/i.test(fee) ? BigInt(fee) : 0n;
}
