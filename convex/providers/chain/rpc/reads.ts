import {
  decodeAbiParameters,
  decodeFunctionResult,
  encodeFunctionData,
  multicall3Abi,
  type AbiParameter,
  type Address,
  type Hex,
} from "viem";
import { call } from "viem/actions";
import { unusableFailure } from "../../call";
import { UPSTREAM, revertOf, type ChainClient } from "./client";

/** Calls of contracts that change nothing. */

const MULTICALL3: Address = "0xcA11bde05977b3631167028862bE2a173976CA11";

/** What is sent to a contract: `data` is the ABI's encoding of a call. */
export type Read = { to: Address; data: Hex };

/** The bytes that a call returned; `null` if it reverted. */
export type Outcome = Hex | null;

/** The block to read at; by default the newest one that is mined. */
type At = { blockTag: "pending" } | { blockNumber: bigint };

export const AMOUNT = [{ type: "uint256" }] as const;

/** What an address holds of the chain's own coin, as Multicall3 tells it beside other reads. */
export function etherOf(owner: Address): Read {
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: "getEthBalance", args: [owner] });
  return { to: MULTICALL3, data };
}

/** The bytes of an answer; of an address without code `0x`. @throws viem's error if the call reverts or nobody answers */
async function read(client: ChainClient, { to, data }: Read, at?: At): Promise<Hex> {
  return (await call(client, { to, data, ...at })).data ?? "0x";
}

/**
 * Many calls through Multicall3, in one; if the chain has none, each for itself. viem's own function takes a node that
 * does not answer for calls that revert.
 * @returns The bytes of each answer; `null` for a call that reverts.
 * @throws viem's error if nobody answers
 */
export async function readMany(client: ChainClient, reads: readonly Read[], at?: At): Promise<Outcome[]> {
  const calls = reads.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }));
  const aggregate = { abi: multicall3Abi, functionName: "aggregate3" } as const;
  const data = await read(
    client,
    { to: MULTICALL3, data: encodeFunctionData({ ...aggregate, args: [calls] }) },
    at,
  );
  if (data === "0x") return Promise.all(reads.map((one) => readAlone(client, one, at)));
  const results = decodeFunctionResult({ ...aggregate, data });
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

/** A call's answer; `null` if the call reverted, or for bytes that are no answer, as of an address without code. */
export function answerIn<const Outputs extends readonly AbiParameter[]>(
  outputs: Outputs,
  data: Outcome | undefined,
): ReturnType<typeof decodeAbiParameters<Outputs>> | null {
  if (data === null || data === undefined || data === "0x") return null;
  try {
    return decodeAbiParameters(outputs, data);
  } catch {
    return null;
  }
}

/** An amount that has to be there. @throws AppError `upstream` */
export function amountIn(data: Outcome | undefined): bigint {
  const [amount] = answerIn(AMOUNT, data) ?? [];
  if (amount === undefined) throw unusableFailure(UPSTREAM);
  return amount;
}
