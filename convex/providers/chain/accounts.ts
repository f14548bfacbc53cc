import type { Address } from "viem";
import { getBalance, getCode } from "viem/actions";
import { unusableFailure } from "../call";
import { chainClient, guarded, UPSTREAM } from "./rpc/client";
import { answerIn, answerOf, dataOf, erc20, feed, multicall3, type Outcome, type Read } from "./rpc/methods";
import { MULTICALL3, read, readMany } from "./rpc/reads";

/** What an account holds and allows, and what price feeds say of it. */

/** The balance of a token (its address, or `null` for the chain's own coin) in its smallest unit. */
export type Balances = { native: bigint; tokens: bigint[] };

export type Rounds = ({ answer: bigint; updatedAt: bigint; startedAt: bigint } | null)[];

/**
 * Balances of an address and latest rounds of feeds, in one call.
 * @throws AppError `upstream` if the chain cannot be reached or a balance cannot be read; a feed without an answer is
 * `null`.
 */
export async function readAccount(
  owner: Address,
  tokens: readonly Address[],
  feeds: readonly Address[],
): Promise<Balances & { rounds: Rounds }> {
  const client = chainClient();
  const reads: Read[] = [
    { to: MULTICALL3, data: dataOf(multicall3.getEthBalance, [owner]) },
    ...tokens.map((to) => ({ to, data: dataOf(erc20.balanceOf, [owner]) })),
    ...feeds.map(latestRound),
  ];
  return guarded(async () => {
    const results = await readMany(client, reads);
    const [counted = null] = answerIn(multicall3.getEthBalance, results[0]) ?? [];
    const native = counted ?? (await getBalance(client, { address: owner }));
    const balances = tokens.map((_token, i) => {
      const [balance] = answerIn(erc20.balanceOf, results[1 + i]) ?? [];
      if (balance === undefined) throw unusableFailure(UPSTREAM);
      return balance;
    });
    return {
      native,
      tokens: balances,
      rounds: feeds.map((_feed, i) => roundIn(results[1 + tokens.length + i])),
    };
  });
}

/**
 * The allowance of `spender` for a token, in its smallest unit, as of the latest block.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readAllowance(token: Address, owner: Address, spender: Address): Promise<bigint> {
  return guarded(async () => {
    const call = { to: token, data: dataOf(erc20.allowance, [owner, spender]) };
    const [allowed] = answerOf(erc20.allowance, await read(chainClient(), call));
    return allowed;
  });
}

/**
 * Whether an address is a person's account with a delegate (EIP-7702), whose code answers every call.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function isDelegated(address: Address): Promise<boolean> {
  return guarded(async () => (await getCode(chainClient(), { address }))?.startsWith("0xef0100") === true);
}

/**
 * Latest rounds of feeds, in one call.
 * @param blockNumber The block to read at; by default the newest. Old ones need a node that keeps them.
 * @throws AppError `upstream` if the chain cannot be reached; a feed without an answer is `null`.
 */
export async function readRounds(
  feeds: readonly Address[],
  timeoutMs: number,
  blockNumber?: number,
): Promise<Rounds> {
  const at = blockNumber === undefined ? undefined : { blockNumber: BigInt(blockNumber) };
  return guarded(async () => {
    const results = await readMany(chainClient(timeoutMs), feeds.map(latestRound), at);
    return results.map(roundIn);
  });
}

function latestRound(to: Address): Read {
  return { to, data: dataOf(feed.latestRoundData, []) };
}

function roundIn(data: Outcome | undefined): Rounds[number] {
  const round = answerIn(feed.latestRoundData, data);
  if (round === null) return null;
  const [, answer, startedAt, updatedAt] = round;
  return { answer, startedAt, updatedAt };
}
