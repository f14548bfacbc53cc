import { getBlock, getFeeHistory } from "viem/actions";
import { AppError } from "../../lib/errors";
import { guarded, refusalText, type ChainClient } from "./rpc/client";

/** The chain's fees, and the most that this service pays, in wei per gas. */

export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };

export type FeeMarket = {
  /** The latest block's, or the next one's if that is higher. */
  baseFee: bigint;
  tip: bigint;
};

const GWEI = 10n ** 9n;
/** A thousand times what is usual on Base. */
const CEILING = 50n * GWEI;
const MOST_TIP = 5n * GWEI;
const BLOCKS = 20;

/** The tip is what the node suggests or, where it suggests none, what is usual. @throws AppError `upstream` */
export async function readFees(client: ChainClient): Promise<FeeMarket> {
  return guarded(async () => {
    const [suggested, history] = await Promise.all([
      refused(client.request({ method: "eth_maxPriorityFeePerGas" })),
      refused(getFeeHistory(client, { blockCount: BLOCKS, blockTag: "latest", rewardPercentiles: [50] })),
    ]);
    // The higher of the latest block's and the next one's: a node that does not know the next one may tell 0.
    const [latest, next] = history?.baseFeePerGas.slice(-2) ?? [];
    const baseFee =
      latest !== undefined && next !== undefined
        ? most(latest, next)
        : ((await getBlock(client, { blockTag: "latest" })).baseFeePerGas ?? 0n);
    const tip = suggested === null ? median(history?.reward?.flat() ?? []) : BigInt(suggested);
    return { baseFee, tip: least(tip, MOST_TIP) };
  });
}

/** The answer; `null` from a node that does not know the question. */
async function refused<Answer>(answer: Promise<Answer>): Promise<Answer | null> {
  try {
    return await answer;
  } catch (error) {
    if (refusalText(error) !== null) return null;
    throw error;
  }
}

/**
 * Fees that let the base fee double before the transaction is mined, up to the ceiling.
 * @throws AppError `upstream` if the chain's fees exceed what this service pays.
 */
export function feesIn({ baseFee, tip }: FeeMarket): Fees {
  if (baseFee + tip > CEILING) {
    throw new AppError(
      "upstream",
      "The network fee is far above the usual, and above what this service pays: nothing was signed",
    );
  }
  return { maxFeePerGas: least(baseFee * 2n + tip, CEILING), maxPriorityFeePerGas: tip };
}

/** Nodes accept a replacement whose two fees are both at least a tenth higher; this leaves room for rounding. */
const RAISE_PERCENT = 25n;

/** Fees that replace a transaction with the same nonce; `null` if they would exceed the ceiling. */
export function raisedFees(earlier: Fees, market: FeeMarket): Fees | null {
  const raised = (fee: bigint) => (fee * (100n + RAISE_PERCENT)) / 100n + 1n;
  const tip = most(market.tip, raised(earlier.maxPriorityFeePerGas));
  const wanted = most(market.baseFee * 2n + tip, raised(earlier.maxFeePerGas));
  const lowest = most(market.baseFee + tip, raised(earlier.maxFeePerGas));
  if (lowest > CEILING) return null;
  return { maxFeePerGas: least(wanted, CEILING), maxPriorityFeePerGas: tip };
}

function median(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return sorted[Math.floor(sorted.length / 2)] ?? 0n;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
