import { erc20Abi, isAddressEqual, parseAbi, type Address } from "viem";
import { getBalance, readContract } from "viem/actions";
import { orNullIfNoAnswer, MULTICALL, withChainErrors, orNullIfReverted, type ChainClient } from "./rpc";

/** Read-only contract calls: balances, price feeds, the swap provider's registry. */

const multicallAbi = parseAbi(["function getBlockNumber() view returns (uint256)"]);

/** `null`: the feed has no answer. */
type Rounds = ({ answer: bigint; updatedAt: bigint; startedAt: bigint } | null)[];

/**
 * An address's balances of ether and of tokens, in their smallest units, the latest rounds of feeds, and the number of the
 * block that has all of them, in one call.
 * @throws AppError `upstream` if the chain cannot be reached or a balance cannot be read.
 */
export async function readAccount(
  owner: Address,
  tokens: readonly Address[],
  feeds: readonly Address[],
): Promise<{ native: bigint; tokens: bigint[]; rounds: Rounds; block: number }> {
  return withChainErrors(async (client) => {
    const [native, balances, rounds, block] = await Promise.all([
      getBalance(client, { address: owner }),
      Promise.all(tokens.map((token) => readTokenBalance(client, token, owner))),
      readFeedRounds(client, feeds),
      readContract(client, { address: MULTICALL, abi: multicallAbi, functionName: "getBlockNumber" }),
    ]);
    return { native, tokens: balances, rounds, block: Number(block) };
  });
}

/** An address's balance of a token, in its smallest unit. To be called inside `withChainErrors`. */
export function readTokenBalance(client: ChainClient, token: Address, owner: Address): Promise<bigint> {
  const balance = { abi: erc20Abi, functionName: "balanceOf", args: [owner] } as const;
  return readContract(client, { address: token, ...balance });
}

/**
 * The allowance of `spender` for a token, in its smallest unit, as of the latest block.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readAllowance(token: Address, owner: Address, spender: Address): Promise<bigint> {
  const allowance = { abi: erc20Abi, functionName: "allowance", args: [owner, spender] } as const;
  return withChainErrors((client) => readContract(client, { address: token, ...allowance }));
}

/** Latest rounds of feeds, in one call. @throws AppError `upstream` if the chain cannot be reached. */
export async function readRounds(feeds: readonly Address[], timeoutMs: number): Promise<Rounds> {
  return withChainErrors((client) => readFeedRounds(client, feeds), timeoutMs);
}

/** From Chainlink's AggregatorV3Interface. */
export const feedAbi = parseAbi([
  "function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)",
]);

async function readFeedRounds(client: ChainClient, feeds: readonly Address[]): Promise<Rounds> {
  const rounds = feeds.map(async (address) => {
    const call = { address, abi: feedAbi, functionName: "latestRoundData" } as const;
    const round = await orNullIfNoAnswer(readContract(client, call));
    return round === null ? null : { answer: round[1], startedAt: round[2], updatedAt: round[3] };
  });
  return Promise.all(rounds);
}

/**
 * The registry of the swap provider's settler contracts. Source: the README of 0x-settler, "How do I find the most
 * recent deployment?": the registry has the same address on every chain, and a reverting call of it means "paused".
 */
const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
const registryAbi = parseAbi([
  "function ownerOf(uint256 feature) view returns (address)",
  "function prev(uint128 feature) view returns (address)",
]);
/** The registry's feature id of taker-submitted swaps. */
const TAKER_SUBMITTED = 2n;

/**
 * Whether a settler is the current one, or the previous one, which quotes still name for a while after a deployment.
 * While swaps are paused no settler is genuine.
 * @throws AppError `upstream` if the chain cannot be reached, or has no registry.
 */
export async function isGenuineSettler(settler: Address): Promise<boolean> {
  const registry = { address: REGISTRY, abi: registryAbi, args: [TAKER_SUBMITTED] } as const;
  const [now, before] = await withChainErrors((client) => {
    const ask = (functionName: "ownerOf" | "prev") =>
      orNullIfReverted(readContract(client, { ...registry, functionName }));
    return Promise.all([ask("ownerOf"), ask("prev")]);
  });
  return now !== null && [now, before].some((one) => one !== null && isAddressEqual(one, settler));
}
