import { erc20Abi, isAddressEqual, parseAbi, size, type Address, type Hex } from "viem";
import {
  estimateGas,
  estimateMaxPriorityFeePerGas,
  getBalance,
  getBlock,
  getTransactionCount,
  readContract,
} from "viem/actions";
import { AppError } from "../../lib/errors";
import {
  MULTICALL,
  findRevert,
  orNullIfNoAnswer,
  orNullIfReverted,
  requireChain,
  withChainErrors,
  type ChainClient,
  type Revert,
} from "./rpc";

/**
 * The chain at its latest block: balances and allowances, price feeds, the swap provider's registry, and everything that a
 * transaction needs before its signature.
 */

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
function readTokenBalance(client: ChainClient, token: Address, owner: Address): Promise<bigint> {
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

/**
 * The latest block: its page, its time (epoch ms), its base fee in gwei; and a token's supply at it, in its smallest
 * unit.
 * @throws AppError `upstream` if the chain cannot be reached.
 */
export async function readChainState(token: Address, timeoutMs: number) {
  return withChainErrors(async (client) => {
    const [block, supply] = await Promise.all([
      getBlock(client, { blockTag: "latest" }),
      readContract(client, { address: token, abi: erc20Abi, functionName: "totalSupply" }),
    ]);
    return {
      url: `https://basescan.org/block/${block.number}`,
      observedAt: Number(block.timestamp) * 1_000,
      transactions: block.transactions.length,
      baseFee: Number(block.baseFeePerGas ?? 0n) / 1e9,
      supply,
    };
  }, timeoutMs);
}

/** In wei per gas. */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

const GWEI = 10n ** 9n;
/** A thousand times the usual fee on Base. */
const CEILING = 100n * GWEI;
const MOST_TIP = 5n * GWEI;

/**
 * The current fees, with room for the base fee to double. The tip is the node's suggestion, or else the part of its gas
 * price above the base fee.
 */
async function readFees(client: ChainClient): Promise<Fees> {
  const [{ baseFeePerGas }, suggested] = await Promise.all([
    getBlock(client, { blockTag: "latest" }),
    estimateMaxPriorityFeePerGas(client),
  ]);
  const tip = suggested < MOST_TIP ? suggested : MOST_TIP;
  return { maxFeePerGas: (baseFeePerGas ?? 0n) * 2n + tip, maxPriorityFeePerGas: tip };
}

/** The current price of a unit of gas: current fees have room for the base fee to double. */
export function computeGasPrice({ maxFeePerGas, maxPriorityFeePerGas: tip }: Fees): bigint {
  return (maxFeePerGas + tip) / 2n;
}

/**
 * Whether blocks would skip a transaction with these fees: they do not cover the base fee and the usual tip, or the tip
 * is below it.
 */
export function hasLowFees({ maxFeePerGas, maxPriorityFeePerGas: tip }: Fees, current: Fees): boolean {
  return maxFeePerGas < computeGasPrice(current) || tip < current.maxPriorityFeePerGas;
}

/** The fees of a replacement at the same nonce; `null` if they would exceed the ceiling. */
export function raiseFees(earlier: Fees, current: Fees): Fees | null {
  const raiseFee = (fee: "maxFeePerGas" | "maxPriorityFeePerGas") => {
    // Nodes require both fees to rise by a tenth; this leaves room for rounding.
    const least = (earlier[fee] * 125n) / 100n + 1n;
    return current[fee] > least ? current[fee] : least;
  };
  const maxFeePerGas = raiseFee("maxFeePerGas");
  return maxFeePerGas > CEILING
    ? null
    : { maxFeePerGas, maxPriorityFeePerGas: raiseFee("maxPriorityFeePerGas") };
}

export type Preparation = {
  /** The account's count of mined transactions. Pending ones are known from this service's own rows. */
  mined: number;
  native: bigint;
  /** The spent token's balance; 0 for the chain's own coin. */
  token: bigint;
  fees: Fees;
  /** The call's gas, or the reason why it would revert. */
  gas: { kind: "estimated"; gas: bigint } | ({ kind: "reverts" } & Revert);
  /** The chain's fee for the transaction's L1 data, in wei; 0 if there is no such fee. */
  l1Fee: bigint;
};

export type Transaction = { to: Address; data: Hex; value: bigint };

/**
 * Reads everything that signing a transaction needs, in one round trip, as of the latest block: some nodes know no
 * pending one, and a wallet has at most one transaction on its way. A transaction is never signed for another chain.
 * @param token The spent ERC-20, if any.
 * @throws AppError `upstream`, also if the chain's fees exceed this service's ceiling
 */
export async function prepareTransaction(
  from: Address,
  transaction: Transaction,
  token: Address | null,
): Promise<Preparation> {
  return withChainErrors(async (client) => {
    const [mined, native, held, fees, gas, l1Fee] = await Promise.all([
      getTransactionCount(client, { address: from, blockTag: "latest" }),
      getBalance(client, { address: from }),
      token === null ? 0n : readTokenBalance(client, token, from),
      readFees(client),
      estimate(client, from, transaction),
      readL1Fee(client, transaction.data),
      requireChain(client, ": nothing was signed"),
    ]);
    if (fees.maxFeePerGas > CEILING) throw new AppError("upstream", FAR_ABOVE);
    return { mined, native, token: held, fees, gas, l1Fee };
  });
}

const FAR_ABOVE =
  "The network fee is far above the usual, and above what this service pays: nothing was signed, so try again when fees have fallen";

/** The current fees, and the current L1 data fee of a call, in wei. @throws AppError `upstream` */
export async function readMarket(data: Hex): Promise<{ current: Fees; l1Fee: bigint }> {
  return withChainErrors(async (client) => {
    const [current, l1Fee] = await Promise.all([readFees(client), readL1Fee(client, data)]);
    return { current, l1Fee };
  });
}

/** The OP stack's predeploy that prices a transaction's L1 data. */
const oracle = {
  address: "0x420000000000000000000000000000000000000F",
  abi: parseAbi(["function getL1FeeUpperBound(uint256 size) view returns (uint256)"]),
} as const;

/** Priced by the size of the whole transaction, in bytes. A chain without the oracle charges nothing. */
async function readL1Fee(client: ChainClient, data: Hex): Promise<bigint> {
  const priced = { functionName: "getL1FeeUpperBound", args: [BigInt(size(data) + 120)] } as const;
  return (await orNullIfNoAnswer(readContract(client, { ...oracle, ...priced }))) ?? 0n;
}

async function estimate(
  client: ChainClient,
  from: Address,
  { to, data, value }: Transaction,
): Promise<Preparation["gas"]> {
  try {
    return { kind: "estimated", gas: await estimateGas(client, { account: from, to, data, value }) };
  } catch (error) {
    const revert = findRevert(error);
    if (revert === null) throw error;
    return { kind: "reverts", ...revert };
  }
}
