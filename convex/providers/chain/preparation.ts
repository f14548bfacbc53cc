import { parseAbi, size, type Address, type Hex } from "viem";
import {
  estimateGas,
  estimateMaxPriorityFeePerGas,
  getBalance,
  getBlock,
  getTransactionCount,
  readContract,
} from "viem/actions";
import { AppError } from "../../lib/errors";
import { readTokenBalance } from "./accounts";
import {
  orNullIfNoAnswer,
  withChainErrors,
  requireChain,
  findRevert,
  type ChainClient,
  type Revert,
} from "./rpc";

/** Everything a transaction needs from the chain before its signature, and its fees. */

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
