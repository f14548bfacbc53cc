import { encodeEventTopics, erc20Abi, type Address, type Hex } from "viem";
import * as z from "zod";
import { USDC } from "../../lib/money/base";
import { logShape, transferOf } from "./blocks";
import { inRanges } from "./ranges";
import { chainClient, guarded } from "./rpc/client";
import { toQuantity } from "./rpc/shapes";

/** USDC transfers to one address, read from the chain block by block. */

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
  const topics = encodeEventTopics({ abi: erc20Abi, eventName: "Transfer", args: { to } }).map(
    (one): Hex | null => (typeof one === "string" ? one : null),
  );
  const pieces = inRanges({ first, last, span: SPAN }, async (fromBlock, toBlock) => {
    const answer = await client.request({
      method: "eth_getLogs",
      params: [{ address: USDC, topics, fromBlock: toQuantity(fromBlock), toBlock: toQuantity(toBlock) }],
    });
    const logs = z
      .array(logShape)
      .parse(answer)
      .flatMap(transferOf)
      .filter(({ token }) => token === USDC.toLowerCase())
      .toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
    const hashes = [...new Set(logs.map(({ txHash }) => txHash))];
    return hashes.flatMap((hash) =>
      incoming(
        logs.filter(({ txHash }) => txHash === hash),
        to.toLowerCase(),
      ).map(({ txHash, position, logIndex, from, amount }) => ({
        txHash,
        position,
        logIndex,
        from,
        amount,
      })),
    );
  });
  for (;;) {
    const piece = await guarded(() => pieces.next());
    if (piece.done === true) return;
    yield piece.value;
  }
}
