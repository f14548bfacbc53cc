import type { Address, Hex } from "viem";
import { call } from "viem/actions";
import { unusableFailure } from "../../call";
import { UPSTREAM, revertOf, type ChainClient } from "./client";
import { answerOf, dataOf, multicall3, type Outcome, type Read } from "./methods";

/** Calls of contracts that change nothing. */

export const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** The block to read at; by default the newest one that is mined. */
type At = { blockTag: "pending" } | { blockNumber: bigint };

/** The bytes of an answer; of an address without code `0x`. @throws viem's error if the call reverts or nobody answers */
export async function read(client: ChainClient, { to, data }: Read, at?: At): Promise<Hex> {
  return (await call(client, { to, data, ...at })).data ?? "0x";
}

/**
 * Many calls through Multicall3, in one; if the chain has none, each for itself.
 * @returns The bytes of each answer; `null` for a call that reverts.
 * @throws viem's error if nobody answers
 */
export async function readMany(client: ChainClient, reads: readonly Read[], at?: At): Promise<Outcome[]> {
  const calls = reads.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }));
  const data = await read(client, { to: MULTICALL3, data: dataOf(multicall3.aggregate3, [calls]) }, at);
  if (data === "0x") return Promise.all(reads.map((one) => readAlone(client, one, at)));
  const [results] = answerOf(multicall3.aggregate3, data);
  if (results.length !== reads.length) throw unusableFailure(UPSTREAM);
  return results.map(({ success, returnData }) => (success ? returnData : null));
}

async function readAlone(client: ChainClient, one: Read, at: At | undefined): Promise<Outcome> {
  try {
    return await read(client, one, at);
  } catch (error) {
    if (revertOf(error) === null) throw error;
    return null;
  }
}
