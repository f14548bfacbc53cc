import { toEventSelector, type Address, type Hex } from "viem";
import { getBlockNumber, getChainId } from "viem/actions";
import * as z from "zod";
import { USDC } from "../../lib/money/base";
import { chainClient, guarded, requireChain, type ChainClient } from "./client";
import { receiptShape, transfersIn } from "./receipts";
import { hash, toQuantity } from "./shapes";

/** What the chain says about transactions that are said to have moved USDC. */

/** A transfer of USDC in a mined transaction. The sender's address is in lower case, the amount in USDC's smallest unit. */
type MinedTransfer = {
  /** Of its log among the transaction's, from 0: the same in whatever block. */
  position: number;
  /** Of its log among the block's. */
  logIndex: number;
  from: string;
  amount: bigint;
  /** The nonce of the sender's signed authorization (EIP-3009) that this carried out. */
  authorization?: string;
};

export type Sighting =
  | {
      kind: "mined";
      succeeded: boolean;
      blockNumber: number;
      blockHash: string;
      /** Those of more than nothing to the receiver from others; none of a transaction that failed. */
      transfers: MinedTransfer[];
    }
  /** It is in no block, and where it was seen before there is another block now. */
  | { kind: "absent" }
  /** The node did not answer for it, or contradicts what it said before: it may lag behind. */
  | { kind: "unknown" };

/** A transaction to look for, and the block it was last seen in. */
export type Sought = { txHash: Hex; seenIn?: { blockNumber: number; blockHash: string } };

const AUTHORIZATION_USED = toEventSelector("AuthorizationUsed(address,bytes32)");

type Receipt = z.output<typeof receiptShape>;

const blockShape = z.object({ hash }).nullable();

/**
 * Looks for transactions, all in one round trip, with a second one for those that have vanished.
 * @returns The chain's height and, in the order asked, what each came to.
 * @throws AppError `upstream` when the chain cannot be asked, or is not ours.
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

/** The receipt, `null` when the node has none, `undefined` when it did not say. */
async function readReceipt(client: ChainClient, txHash: Hex): Promise<Receipt | null | undefined> {
  try {
    const answer = await client.request({ method: "eth_getTransactionReceipt", params: [txHash] });
    return receiptShape.nullable().safeParse(answer).data;
  } catch {
    // The others' answers are worth having; when none comes, the calls beside this one fail as well.
    return undefined;
  }
}

/** A node that has no receipt but still the block it was in lags, or is confused: that proves nothing. */
async function vanished(
  client: ChainClient,
  seenIn: { blockNumber: number; blockHash: string },
): Promise<Sighting> {
  const answer = await client.request({
    method: "eth_getBlockByNumber",
    params: [toQuantity(seenIn.blockNumber), false],
  });
  const block = blockShape.parse(answer);
  return block === null || block.hash === seenIn.blockHash ? { kind: "unknown" } : { kind: "absent" };
}

function mined(receipt: Receipt, receiver: Address): Sighting {
  const { blockNumber, blockHash } = receipt;
  const transfers = transfersIn(receipt).flatMap(
    ({ token, from, to, amount, position, logIndex }): MinedTransfer[] => {
      const isOurs = token === USDC.toLowerCase() && to === receiver.toLowerCase() && from !== to;
      // Anybody can have nothing transferred, from anybody.
      if (!isOurs || amount === 0n) return [];
      return [{ position, logIndex, from, amount, ...authorizationBefore(receipt, logIndex) }];
    },
  );
  return { kind: "mined", succeeded: receipt.status === 1, blockNumber, blockHash, transfers };
}

/** The contract logs that an authorization is used up right before the transfer it was for. */
function authorizationBefore({ logs }: Receipt, logIndex: number): { authorization?: string } {
  const at = logs.findIndex((one) => one.logIndex === logIndex);
  const [event, authorizer, nonce] = logs[at - 1]?.topics ?? [];
  const isOurs = logs[at - 1]?.address === USDC.toLowerCase() && event === AUTHORIZATION_USED;
  const authorized = isOurs && authorizer === logs[at]?.topics[1];
  return authorized && nonce !== undefined ? { authorization: nonce } : {};
}
