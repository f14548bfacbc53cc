import { toEventSelector, type Address, type Hex } from "viem";
import { getBlockNumber, getChainId } from "viem/actions";
import { USDC } from "../../lib/money/base";
import { chainClient, guarded, requireChain, type ChainClient } from "./rpc/client";
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
      /** Transfers of more than zero to the receiver from others; none if the transaction failed. */
      transfers: MinedTransfer[];
    }
  /** It is in no block, and its earlier block has been replaced. */
  | { kind: "absent" }
  /** The node did not answer for it, or contradicts its earlier answer: it may lag behind. */
  | { kind: "unknown" };

/** A transaction to look up, and the block in which it was last seen. */
export type Sought = { txHash: Hex; seenIn?: { blockNumber: number; blockHash: string } };

const AUTHORIZATION_USED = toEventSelector("AuthorizationUsed(address,bytes32)");

/**
 * Looks up transactions, all in one round trip, with a second one for those that have vanished.
 * @returns The chain's height and, in the order asked, what was found of each.
 * @throws AppError `upstream` if the chain cannot be reached, or is another one.
 */
export async function sightTransfers(
  sought: readonly Sought[],
  receiver: Address,
): Promise<{ head: number; sightings: Sighting[] }> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, head, receipts] = await Promise.all([
      getChainId(client),
      getBlockNumber(client),
      Promise.all(sought.map(({ txHash }) => readReceipt(client, txHash))),
    ]);
    requireChain(chainId);
    const sightings = await Promise.all(
      sought.map(async ({ seenIn }, i): Promise<Sighting> => {
        const receipt = receipts[i];
        if (receipt === undefined) return { kind: "unknown" };
        if (receipt !== null) return mined(receipt, receiver);
        return seenIn === undefined ? { kind: "absent" } : await vanished(client, seenIn);
      }),
    );
    return { head: Number(head), sightings };
  });
}

/** The receipt, `null` if the node has none, `undefined` if it did not answer, or for another transaction. */
async function readReceipt(client: ChainClient, txHash: Hex): Promise<Receipt | null | undefined> {
  try {
    const answer = await client.request({ method: "eth_getTransactionReceipt", params: [txHash] });
    return receiptShapeOf(txHash).safeParse(answer).data;
  } catch {
    // The other answers are still useful; if no answer comes, the other calls fail as well.
    return undefined;
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

function mined(receipt: Receipt, receiver: Address): Sighting {
  const { blockNumber, blockHash } = receipt;
  const transfers = transfersIn(receipt).flatMap(
    ({ token, from, to, amount, position, logIndex }): MinedTransfer[] => {
      const isOurs = token === USDC.toLowerCase() && to === receiver.toLowerCase() && from !== to;
      // Anybody can transfer zero, from anybody.
      if (!isOurs || amount === 0n) return [];
      return [{ position, logIndex, from, amount, ...authorizationBefore(receipt, logIndex) }];
    },
  );
  return { kind: "mined", succeeded: receipt.status === 1, blockNumber, blockHash, transfers };
}

/** The nonce of the authorization that the contract logs right before its transfer. */
function authorizationBefore({ logs }: Receipt, logIndex: number): { authorization?: string } {
  const at = logs.findIndex((one) => one.logIndex === logIndex);
  const [event, authorizer, nonce] = logs[at - 1]?.topics ?? [];
  const isOurs = logs[at - 1]?.address === USDC.toLowerCase() && event === AUTHORIZATION_USED;
  const authorized = isOurs && authorizer === logs[at]?.topics[1];
  return authorized && nonce !== undefined ? { authorization: nonce } : {};
}
