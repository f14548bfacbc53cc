import { MethodNotFoundRpcError, MethodNotSupportedRpcError, type Address, type Hex, type Log } from "viem";
import { call, simulateBlocks } from "viem/actions";
import { AppError } from "../../lib/errors";
import { unusableFailure } from "../call";
import { causeOf, chainClient, guarded, refusalText, UPSTREAM, type ChainClient } from "./rpc/client";
import { CHECKER_CODE } from "./checkerCode";
import { answerOf, checker, dataOf, multicall3, type Read } from "./rpc/methods";
import type { Transaction } from "./preparation";
import { MULTICALL3 } from "./rpc/reads";
import { revertIn, type Revert } from "./rpc/reverts";

/**
 * Simulates a transaction on the chain before it is signed. This is no guarantee: a contract can recognise a simulation
 * by its fees, by the wallet's code or by state that changes afterwards, and behave differently in a block.
 */

export type Simulated =
  | {
      kind: "done";
      /** The results of the reads before and after the call, in their order. */
      before: Hex[];
      behind: Hex[];
      /** `null` if the node could not provide them. */
      logs: Log[] | null;
      /** Gas that the sender paid, in wei. */
      gasPaid: bigint;
    }
  | ({ kind: "reverts" } & Revert);

/** Gas, and wei per gas. */
export type Offer = { gas: bigint; maxFeePerGas: bigint; baseFee: bigint };

/**
 * Executes a transaction on top of the latest block, with its sender and fees, and reads something before and after it.
 * A node without `eth_simulateV1` gets an `eth_call` in which the sender has a checker's code; it returns no logs.
 * @throws AppError `upstream` if the chain cannot be reached, or can do neither.
 */
export async function simulate(
  from: Address,
  transaction: Transaction,
  offer: Offer,
  reads: readonly Read[],
): Promise<Simulated> {
  const client = chainClient();
  const calls = reads.map(({ to, data }) => ({ target: to, callData: data, allowFailure: false }));
  const reading = dataOf(multicall3.aggregate3, [calls]);
  return guarded(async () => {
    try {
      return await simulateBlock(client, from, transaction, offer, reading);
    } catch (error) {
      if (!isUnknownMethod(error)) throw error;
      return checkByCall(client, from, transaction, reading);
    }
  });
}

async function simulateBlock(
  client: ChainClient,
  from: Address,
  { to, data, value }: Transaction,
  { gas, maxFeePerGas, baseFee }: Offer,
  reading: Hex,
): Promise<Simulated> {
  // With a tip as high as the fee, the gas costs the same whatever base fee the node assumes.
  const fees = { maxFeePerGas, maxPriorityFeePerGas: maxFeePerGas };
  const read = { to: MULTICALL3, data: reading };
  const [block] = await simulateBlocks(client, {
    blockTag: "pending",
    blocks: [
      {
        blockOverrides: { baseFeePerGas: baseFee },
        calls: [read, { account: from, to, data, value, gas, ...fees }, read],
      },
    ],
  });
  const [before, made, behind] = block?.calls ?? [];
  if (before === undefined || made === undefined || behind === undefined) throw unusableFailure(UPSTREAM);
  if (made.status !== "success") return { kind: "reverts", ...revertIn(made.data) };
  if (made.logs === undefined) throw unusableFailure(UPSTREAM);
  return {
    kind: "done",
    before: answersIn(before.data),
    behind: answersIn(behind.data),
    logs: made.logs,
    gasPaid: made.gasUsed * maxFeePerGas,
  };
}

async function checkByCall(
  client: ChainClient,
  from: Address,
  { to, data, value }: Transaction,
  reading: Hex,
): Promise<Simulated> {
  const answer = await call(client, {
    to: from,
    data: dataOf(checker.check, [to, value, data, MULTICALL3, reading]),
    stateOverride: [{ address: from, code: CHECKER_CODE }],
    blockTag: "pending",
  });
  // A node without state overrides has called an account without code.
  if (answer.data === undefined) {
    throw new AppError("upstream", `${UPSTREAM} cannot simulate a transaction: nothing was signed`);
  }
  const [succeeded, result, before, behind] = answerOf(checker.check, answer.data);
  if (!succeeded) return { kind: "reverts", ...revertIn(result) };
  return {
    kind: "done",
    before: answersIn(before),
    behind: answersIn(behind),
    logs: null,
    gasPaid: 0n,
  };
}

function answersIn(data: Hex): Hex[] {
  const [results] = answerOf(multicall3.aggregate3, data);
  return results.map(({ returnData }) => returnData);
}

function isUnknownMethod(error: unknown): boolean {
  const codes = [MethodNotFoundRpcError, MethodNotSupportedRpcError];
  if (codes.some((code) => causeOf(error, code) !== null)) return true;
  const text = refusalText(error);
  return text !== null && /method not found|unknown method|not supported|does not exist/i.test(text);
}
