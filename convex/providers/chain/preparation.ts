import { encodeFunctionData, parseAbi, type Address, type Hex } from "viem";
import { estimateGas, getBalance, getChainId, getTransactionCount } from "viem/actions";
import { balanceRead } from "./accounts";
import { feesIn, readFees, type FeeMarket, type Fees } from "./fees";
import { chainClient, guarded, requireChain, revertOf, type ChainClient, type Revert } from "./rpc/client";
import { amountIn, AMOUNT, answerIn, etherOf, readMany, type Outcome, type Read } from "./rpc/reads";

/** What a transaction needs from the chain before it is signed. */

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
  market: FeeMarket;
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
 */
export async function prepareTransaction(
  from: Address,
  transaction: Transaction,
  token: Address | null,
  beside: readonly Read[] = [],
): Promise<Preparation> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, mined, market, gas, called] = await Promise.all([
      getChainId(client),
      getTransactionCount(client, { address: from, blockTag: "latest" }),
      readFees(client),
      estimate(client, from, transaction),
      readCalled(client, from, transaction, token, beside),
    ]);
    requireChain(chainId, ": nothing was signed");
    return { mined, fees: feesIn(market), market, gas, ...called };
  });
}

/** The chain's fees, and what it takes now for the L1 data of a call, in wei. @throws AppError `upstream` */
export async function readMarket(from: Address, data: Hex): Promise<Pick<Preparation, "market" | "l1Fee">> {
  const client = chainClient();
  const call = { to: from, data, value: 0n };
  return guarded(async () => {
    const [market, { l1Fee }] = await Promise.all([
      readFees(client),
      readCalled(client, from, call, null, []),
    ]);
    return { market, l1Fee };
  });
}

/** What contracts tell of a payer and a transaction, in one call. */
async function readCalled(
  client: ChainClient,
  payer: Address,
  { data }: Transaction,
  token: Address | null,
  beside: readonly Read[],
): Promise<Pick<Preparation, "native" | "token" | "l1Fee" | "answers">> {
  const at = { blockTag: "pending" } as const;
  const priced = { abi: oracleAbi, functionName: "getL1FeeUpperBound", args: [sizeOf(data)] } as const;
  const reads: Read[] = [
    { to: GAS_PRICE_ORACLE, data: encodeFunctionData(priced) },
    etherOf(payer),
    ...(token === null ? [] : [balanceRead(token, payer)]),
  ];
  const results = await readMany(client, [...reads, ...beside], at);
  const [fee, counted, owned] = results;
  const [native] = answerIn(AMOUNT, counted) ?? [await getBalance(client, { address: payer, ...at })];
  return {
    native,
    token: token === null ? 0n : amountIn(owned),
    // A chain without an oracle charges nothing.
    l1Fee: fee === "0x" ? 0n : amountIn(fee),
    answers: results.slice(reads.length),
  };
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

/** By its size the oracle prices a transaction. In bytes. */
function sizeOf(data: Hex): bigint {
  return BigInt((data.length - 2) / 2 + 120);
}
