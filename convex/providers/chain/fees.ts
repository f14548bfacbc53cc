import { getBlock, getFeeHistory } from "viem/actions";
import { AppError } from "../../lib/errors";
import { guarded, refusalText, type ChainClient } from "./rpc/client";

/** The chain's fees, and the most that this service pays, in wei per gas. */

export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

export type FeeMarket = {
  /** The latest block's, or the next one's if that is higher. */
  baseFee: bigint;
  tip: bigint;
  /** Nothing is ever signed for a higher fee. */
  ceiling: bigint;
};

const GWEI = 10n ** 9n;
const ABSOLUTE_CEILING = 50n * GWEI;
/** Below this the multiple does not count: a chain that costs next to nothing may well cost ten times as much. */
const FREE_RANGE = 20n * GWEI;
const FREE_TIP = 2n * GWEI;
const MULTIPLE = 10n;
const TIP_MULTIPLE = 3n;
/** Base fees cannot grow tenfold within so many blocks. */
const BLOCKS = 20;

/** @throws AppError `upstream` */
export async function readFees(client: ChainClient): Promise<FeeMarket> {
  return guarded(async () => {
    const [suggested, history] = await Promise.all([
      client.request({ method: "eth_maxPriorityFeePerGas" }),
      recentFees(client),
    ]);
    const baseFee = (history === null ? null : baseFeeIn(history)) ?? (await latestBaseFee(client));
    return feeMarket(baseFee, BigInt(suggested), history);
  });
}

/** The higher of the latest block's and the next one's: a node that does not know the next one may tell 0. */
function baseFeeIn({ baseFees }: History): bigint | null {
  const [latest, next] = baseFees.slice(-2);
  return latest === undefined || next === undefined ? null : most(latest, next);
}

async function latestBaseFee(client: ChainClient): Promise<bigint> {
  return (await getBlock(client, { blockTag: "latest" })).baseFeePerGas ?? 0n;
}

/** `baseFees` ends with the next block's. */
type History = { baseFees: readonly bigint[]; tips: readonly bigint[] };

/** @param history `null` if the node has none: then only the absolute ceiling counts. */
function feeMarket(baseFee: bigint, suggestedTip: bigint, history: History | null): FeeMarket {
  const usual = history === null ? ABSOLUTE_CEILING : median(history.baseFees);
  const ceiling = least(ABSOLUTE_CEILING, most(FREE_RANGE, usual * MULTIPLE));
  const usualTip = history === null ? 0n : median(history.tips);
  const tip = least(suggestedTip, most(FREE_TIP, usualTip * TIP_MULTIPLE), ceiling);
  return { baseFee, tip, ceiling };
}

/**
 * Fees that let the base fee double before the transaction is mined, up to the ceiling.
 * @throws AppError `upstream` if the chain's fees exceed what this service pays.
 */
export function feesIn({ baseFee, tip, ceiling }: FeeMarket): Fees {
  if (baseFee + tip > ceiling) {
    throw new AppError(
      "upstream",
      "The network fee is far above the usual, and above what this service pays: nothing was signed",
    );
  }
  return { maxFeePerGas: least(baseFee * 2n + tip, ceiling), maxPriorityFeePerGas: tip };
}

/** Nodes accept a replacement whose two fees are both at least a tenth higher; this leaves room for rounding. */
const RAISE_PERCENT = 25n;

/** Fees that replace a transaction with the same nonce; `null` if they would exceed the ceiling. */
export function raisedFees(earlier: Fees, market: FeeMarket): Fees | null {
  const raised = (fee: bigint) => (fee * (100n + RAISE_PERCENT)) / 100n + 1n;
  const tip = most(market.tip, raised(earlier.maxPriorityFeePerGas));
  const wanted = most(market.baseFee * 2n + tip, raised(earlier.maxFeePerGas));
  const lowest = most(market.baseFee + tip, raised(earlier.maxFeePerGas));
  if (lowest > market.ceiling) return null;
  return { maxFeePerGas: least(wanted, market.ceiling), maxPriorityFeePerGas: tip };
}

async function recentFees(client: ChainClient): Promise<History | null> {
  try {
    const { baseFeePerGas, reward = [] } = await getFeeHistory(client, {
      blockCount: BLOCKS,
      blockTag: "latest",
      rewardPercentiles: [50],
    });
    return { baseFees: baseFeePerGas, tips: reward.flat() };
  } catch (error) {
    if (refusalText(error) !== null) return null;
    throw error;
  }
}

function median(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor(sorted.length / 2)] ?? 0n;
}

function least(...values: readonly [bigint, ...bigint[]]): bigint {
  return values.reduce((a, b) => (a < b ? a : b));
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
