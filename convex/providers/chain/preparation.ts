import { encodeFunctionData, parseAbi, type Address, type Hex } from "viem";
import {
  estimateGas,
  estimateMaxPriorityFeePerGas,
  getBalance,
  getBlock,
  getChainId,
  getTransactionCount,
} from "viem/actions";
import { AppError } from "../../lib/errors";
import { amountIn, balanceRead, readMany, type Outcome, type Read } from "./accounts";
import { chainClient, guarded, requireChain, revertOf, type ChainClient, type Revert } from "./rpc";

/** What a transaction needs from the chain before it is signed, and what it may pay. */

/** In wei per gas. */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint };
export type FeeMarket = { baseFee: bigint; tip: bigint };

const GWEI = 10n ** 9n;
/** A thousand times what is usual on Base. */
const CEILING = 50n * GWEI;
const MOST_TIP = 5n * GWEI;

/** The tip is what the node suggests or, of a node that suggests none, what its gas price has beyond the base fee. */
async function readFees(client: ChainClient): Promise<FeeMarket> {
  const [{ baseFeePerGas }, tip] = await Promise.all([
    getBlock(client, { blockTag: "latest" }),
    estimateMaxPriorityFeePerGas(client),
  ]);
  return { baseFee: baseFeePerGas ?? 0n, tip: least(tip, MOST_TIP) };
}

/**
 * Fees that let the base fee double before the transaction is mined, up to the ceiling.
 * @throws AppError `upstream` if the chain's fees exceed what this service pays.
 */
function feesIn({ baseFee, tip }: FeeMarket): Fees {
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
  const lowest = most(market.baseFee + tip, raised(earlier.maxFeePerGas));
  if (lowest > CEILING) return null;
  const wanted = most(market.baseFee * 2n + tip, lowest);
  return { maxFeePerGas: least(wanted, CEILING), maxPriorityFeePerGas: tip };
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** The OP stack's predeploy that prices a transaction's L1 data. */
const GAS_PRICE_ORACLE: Address = "0x420000000000000000000000000000000000000F";
const oracleAbi = parseAbi(["function getL1FeeUpperBound(uint256 size) view returns (uint256)"]);

export type Preparation = {
  /** How many of the account's transactions are mined. This service itself knows which are pending. */
  mined: number;
  native: bigint;
  /** The spent token's balance; 0 for the chain's own coin. */
  token: bigint;
  fees: Fees;
  /** Gas of the call, or why it would revert. */
  gas: { kind: "estimated"; gas: bigint } | ({ kind: "reverts" } & Revert);
  /** The chain's fee for the transaction's L1 data, in wei; 0 if there is no such fee. */
  l1Fee: bigint;
  /** The answers to the caller's own calls. */
  answers: readonly Outcome[];
};

export type Transaction = { to: Address; data: Hex; value: bigint };

/**
 * Everything that signing a transaction needs, in one round trip. The chain's id is checked first: a transaction is
 * never signed for another chain.
 * @param token The ERC-20 that is spent, if any.
 * @param beside Further calls of the caller's own, in the same one. They come last: a stranger's code changes nothing
 * before it.
 * @throws AppError `upstream`
 */
export async function prepareTransaction(
  from: Address,
  transaction: Transaction,
  token: Address | null,
  beside: readonly Read[] = [],
): Promise<Preparation> {
  const client = chainClient();
  const reads = [
    l1FeeRead(transaction.data),
    ...(token === null ? [] : [balanceRead(token, from)]),
    ...beside,
  ];
  return guarded(async () => {
    const [chainId, mined, native, market, gas, [fee, ...answers]] = await Promise.all([
      getChainId(client),
      getTransactionCount(client, { address: from, blockTag: "latest" }),
      getBalance(client, { address: from, blockTag: "pending" }),
      readFees(client),
      estimate(client, from, transaction),
      readMany(client, reads, { blockTag: "pending" }),
    ]);
    requireChain(chainId, ": nothing was signed");
    const balance = token === null ? 0n : amountIn(answers.shift());
    return { mined, native, token: balance, fees: feesIn(market), gas, l1Fee: l1FeeIn(fee), answers };
  });
}

/** The chain's fees, and what it takes now for the L1 data of a call, in wei. @throws AppError `upstream` */
export async function readMarket(data: Hex): Promise<{ market: FeeMarket; l1Fee: bigint }> {
  const client = chainClient();
  return guarded(async () => {
    const [market, [fee]] = await Promise.all([
      readFees(client),
      readMany(client, [l1FeeRead(data)], { blockTag: "pending" }),
    ]);
    return { market, l1Fee: l1FeeIn(fee) };
  });
}

/** By the size of the whole transaction, in bytes, the oracle prices it. */
function l1FeeRead(data: Hex): Read {
  const size = BigInt((data.length - 2) / 2 + 120);
  const priced = { abi: oracleAbi, functionName: "getL1FeeUpperBound", args: [size] } as const;
  return { to: GAS_PRICE_ORACLE, data: encodeFunctionData(priced) };
}

/** A chain without an oracle charges nothing. */
function l1FeeIn(fee: Outcome | undefined): bigint {
  return fee === "0x" ? 0n : amountIn(fee);
}

async function estimate(
  client: ChainClient,
  from: Address,
  { to, data, value }: Transaction,
): Promise<Preparation["gas"]> {
  try {
    return { kind: "estimated", gas: await estimateGas(client, { account: from, to, data, value }) };
  } catch (error) {
    const revert = revertOf(error);
    if (revert === null) throw error;
    return { kind: "reverts", ...revert };
  }
}
