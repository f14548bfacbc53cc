import { encodeFunctionData, erc20Abi, type Address } from "viem";
import { getBalance, getCode, readContract } from "viem/actions";
import { chainClient, guarded } from "./rpc/client";
import { amountIn, AMOUNT, answerIn, etherOf, readMany, type Outcome, type Read } from "./rpc/reads";

/** What an account holds and allows, and what price feeds say of it. */

/** The balance of a token (its address, or `null` for the chain's own coin) in its smallest unit. */
export type Balances = { native: bigint; tokens: bigint[] };

type Rounds = ({ answer: bigint; updatedAt: bigint; startedAt: bigint } | null)[];

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
    etherOf(owner),
    ...tokens.map((to) => balanceRead(to, owner)),
    ...feeds.map(latestRound),
  ];
  return guarded(async () => {
    const results = await readMany(client, reads);
    const [native] = answerIn(AMOUNT, results[0]) ?? [await getBalance(client, { address: owner })];
    return {
      native,
      tokens: tokens.map((_token, i) => amountIn(results[1 + i])),
      rounds: feeds.map((_feed, i) => roundIn(results[1 + tokens.length + i])),
    };
  });
}

/**
 * The allowance of `spender` for a token, in its smallest unit, as of the latest block.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readAllowance(token: Address, owner: Address, spender: Address): Promise<bigint> {
  const allowance = { abi: erc20Abi, functionName: "allowance", args: [owner, spender] } as const;
  return guarded(() => readContract(chainClient(), { address: token, ...allowance }));
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

/** What an address holds of a token. */
export function balanceRead(token: Address, owner: Address): Read {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [owner] });
  return { to: token, data };
}

/** `latestRoundData()` of Chainlink's AggregatorV3Interface. */
const LATEST_ROUND = "0xfeaf968c";
const ROUND = [
  { name: "roundId", type: "uint80" },
  { name: "answer", type: "int256" },
  { name: "startedAt", type: "uint256" },
  { name: "updatedAt", type: "uint256" },
  { name: "answeredInRound", type: "uint80" },
] as const;

function latestRound(to: Address): Read {
  return { to, data: LATEST_ROUND };
}

function roundIn(data: Outcome | undefined): Rounds[number] {
  const [, answer, startedAt, updatedAt] = answerIn(ROUND, data) ?? [];
  if (answer === undefined || startedAt === undefined || updatedAt === undefined) return null;
  return { answer, startedAt, updatedAt };
}
