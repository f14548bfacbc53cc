import { toEventSelector, type Address, type Hex } from "viem";
import { getBlockNumber, getChainId } from "viem/actions";
import { USDC } from "../../lib/money/base";
import { clientApart, guarded, misanswer, refusalText, requireChain, type ChainClient } from "./rpc/client";
import { placeOf } from "./blocks";
import { receiptShapeOf, transfersIn, type LoggedTransfer, type Receipt } from "./receipts";

/** Reads transactions that may have moved USDC from the chain. */

/** A transfer of USDC in a mined transaction. */
type MinedTransfer = Pick<LoggedTransfer, "position" | "logIndex" | "from" | "amount"> & {
  /** The nonce of the sender's signed authorization (EIP-3009) that it executed. */
  authorization?: string;
};

export type Sighting =
  | {
      kind: "mined";
      succeeded: boolean;
      blockNumber: number;
      blockHash: string;
      /** Its own block is the first; a lagging node may not know it yet. */
      confirmations: number;
      /** Transfers of more than zero to the receiver from others; none if the transaction failed. */
      transfers: MinedTransfer[];
    }
  /** It is in no block, and its earlier block has been replaced. */
  | { kind: "absent" }
  /** The node did not answer for it, or contradicts its earlier answer: it may lag behind. */
  | { kind: "unknown" }
  /** The node's answer about it is larger than what is read. */
  | { kind: "too large" }
  /** The node's answer about it was something else. */
  | { kind: "refused" };

/** A transaction to look up, and the block in which it was last seen. */
export type Sought = { txHash: Hex; seenIn?: { blockNumber: number; blockHash: string } };

const AUTHORIZATION_USED = toEventSelector("AuthorizationUsed(address,bytes32)");

/** How many are looked up at once, each for itself. */
const ALONE_AT_ONCE = 4;

/**
 * Looks up transactions, all in one round trip, with a second one for those that have vanished. If the node's answer
 * cannot be read, each is looked up for itself: anybody may have named one with a giant receipt.
 * @returns In the order asked, what was found of each.
 * @throws AppError `upstream` if the chain cannot be reached, or is another one.
 */
export async function sightTransfers(sought: readonly Sought[], receiver: Address): Promise<Sighting[]> {
  const sightings = await guarded(() => sightTogether(sought, receiver));
  if (sought.length === 1) return sightings;
  const unread = sought.flatMap((one, i) => (isRead(sightings[i]) ? [] : [{ one, i }]));
  for (let start = 0; start < unread.length; start += ALONE_AT_ONCE) {
    const next = unread.slice(start, start + ALONE_AT_ONCE);
    const alone = await Promise.all(next.map(({ one }) => sightAlone(one, receiver)));
    for (const [at, { i }] of next.entries()) sightings[i] = alone[at] ?? { kind: "unknown" };
  }
  return sightings;
}

function isRead(sighting: Sighting | undefined): boolean {
  return sighting?.kind !== "too large" && sighting?.kind !== "refused";
}

async function sightAlone(one: Sought, receiver: Address): Promise<Sighting> {
  try {
    const [sighting] = await sightTogether([one], receiver);
    return sighting ?? { kind: "unknown" };
  } catch {
    // The others' lookups have their own answers.
    return { kind: "unknown" };
  }
}

/** @throws if the node does not answer */
async function sightTogether(sought: readonly Sought[], receiver: Address): Promise<Sighting[]> {
  const client = clientApart();
  try {
    const [chainId, head, receipts] = await Promise.all([
      getChainId(client),
      getBlockNumber(client),
      Promise.all(sought.map(({ txHash }) => readReceipt(client, txHash))),
    ]);
    requireChain(chainId);
    return await Promise.all(
      sought.map(async ({ seenIn }, i): Promise<Sighting> => {
        const receipt = receipts[i];
        if (receipt === undefined) return { kind: "unknown" };
        if (receipt === "too large") return { kind: receipt };
        if (receipt !== null) return mined(receipt, receiver, Number(head));
        return seenIn === undefined ? { kind: "absent" } : await vanished(client, seenIn);
      }),
    );
  } catch (error) {
    const kind = misanswer(error);
    if (kind === null) throw error;
    return sought.map(() => ({ kind }));
  }
}

/** How nodes refuse an answer above their own limit: in a batch, all that comes after it. */
const TOO_LARGE = /\b(?:response|result)\b.{0,20}(?:too (?:large|big)|exceed)/i;

/** The receipt, `null` if the node has none, `undefined` if it did not answer, or for another transaction. */
async function readReceipt(
  client: ChainClient,
  txHash: Hex,
): Promise<Receipt | null | undefined | "too large"> {
  try {
    const answer = await client.request({ method: "eth_getTransactionReceipt", params: [txHash] });
    return receiptShapeOf(txHash).safeParse(answer).data;
  } catch (error) {
    // The other answers are still useful; if no answer comes, the other calls fail as well.
    return TOO_LARGE.test(refusalText(error) ?? "") ? "too large" : undefined;
  }
}

/** Whether a transaction has really vanished: a node without its receipt that still has its block lags behind. */
async function vanished(
  client: ChainClient,
  seenIn: { blockNumber: number; blockHash: string },
): Promise<Sighting> {
  const block = await placeOf(client, seenIn.blockNumber);
  return block === null || block.hash === seenIn.blockHash ? { kind: "unknown" } : { kind: "absent" };
}

function mined(receipt: Receipt, receiver: Address, head: number): Sighting {
  const { blockNumber, blockHash } = receipt;
  const transfers = transfersIn(receipt).flatMap(
    ({ token, from, to, amount, position, logIndex }): MinedTransfer[] => {
      const isOurs = token === USDC.toLowerCase() && to === receiver.toLowerCase() && from !== to;
      // Anybody can transfer zero, from anybody.
      if (!isOurs || amount === 0n) return [];
      return [{ position, logIndex, from, amount, ...authorizationBefore(receipt, logIndex) }];
    },
  );
  const confirmations = Math.max(head - blockNumber, 0) + 1;
  return { kind: "mined", succeeded: receipt.status === 1, blockNumber, blockHash, confirmations, transfers };
}

/** The nonce of the authorization that the contract logs right before its transfer. */
function authorizationBefore({ logs }: Receipt, logIndex: number): { authorization?: string } {
  const at = logs.findIndex((one) => one.logIndex === logIndex);
  const [event, authorizer, nonce] = logs[at - 1]?.topics ?? [];
  const isOurs = logs[at - 1]?.address === USDC.toLowerCase() && event === AUTHORIZATION_USED;
  const authorized = isOurs && authorizer === logs[at]?.topics[1];
  return authorized && nonce !== undefined ? { authorization: nonce } : {};
}
