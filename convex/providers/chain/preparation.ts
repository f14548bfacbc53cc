import type { Address, Hex } from "viem";
import { estimateGas, getBalance, getChainId, getTransactionCount } from "viem/actions";
import { chainClient, guarded, requireChain, revertOf, type ChainClient } from "./rpc/client";
import { feesIn, readFees, type FeeMarket, type Fees } from "./fees";
import { answerOf, dataOf, erc20, gasPriceOracle } from "./rpc/methods";
import { read } from "./rpc/reads";
import type { Revert } from "./rpc/reverts";

/** What a transaction needs from the chain before it is signed. */

/** The OP stack's predeploy that prices a transaction's L1 data. */
const GAS_PRICE_ORACLE: Address = "0x420000000000000000000000000000000000000F";

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
};

export type Transaction = { to: Address; data: Hex; value: bigint };

/**
 * Everything that signing a transaction needs, in one round trip. The chain's id is checked first: a transaction is
 * never signed for another chain.
 * @param token The ERC-20 that is spent, if any.
 */
export async function prepareTransaction(
  from: Address,
  transaction: Transaction,
  token: Address | null,
): Promise<Preparation> {
  const client = chainClient();
  return guarded(async () => {
    const [chainId, mined, native, market, balance, gas, l1Fee] = await Promise.all([
      getChainId(client),
      getTransactionCount(client, { address: from, blockTag: "latest" }),
      getBalance(client, { address: from, blockTag: "pending" }),
      readFees(client),
      token === null ? Promise.resolve(0n) : tokenBalance(client, token, from),
      estimate(client, from, transaction),
      l1DataFee(client, transaction),
    ]);
    requireChain(chainId, ": nothing was signed");
    return {
      mined,
      native,
      token: balance,
      fees: feesIn(market),
      market,
      gas,
      l1Fee,
    };
  });
}

async function tokenBalance(client: ChainClient, token: Address, owner: Address): Promise<bigint> {
  const call = { to: token, data: dataOf(erc20.balanceOf, [owner]) };
  const [balance] = answerOf(erc20.balanceOf, await read(client, call, { blockTag: "pending" }));
  return balance;
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

/** The oracle prices a transaction by its size; a chain without one charges nothing. */
async function l1DataFee(client: ChainClient, { data }: Transaction): Promise<bigint> {
  const size = BigInt((data.length - 2) / 2 + 120);
  const call = { to: GAS_PRICE_ORACLE, data: dataOf(gasPriceOracle.feeUpperBound, [size]) };
  const answer = await read(client, call);
  if (answer === "0x") return 0n;
  const [fee] = answerOf(gasPriceOracle.feeUpperBound, answer);
  return fee;
}
