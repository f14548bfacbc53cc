import {
  decodeFunctionResult,
  encodeFunctionData,
  erc20Abi,
  multicall3Abi,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import { poolAbi } from "../../chain/abis";
import { MULTICALL3, PERMIT2, POOL, TOKENS } from "../../chain/addresses";
import { isNative, type SwapRequest } from "./request";

/** Part of the swap stand-in: its reads from the chain, over JSON-RPC, in one request. */

export type SwapReads = {
  /** The yield of the sale after the fee; zero without a price or reserves. */
  buyAmount: bigint;
  /** In the bought token. */
  fee: bigint;
  /** Of the sold token. Zero without a taker. */
  balance: bigint;
  /** What Permit2 may take of it. Zero without a taker, and for ether. */
  allowance: bigint;
  gasPrice: bigint;
  blockNumber: bigint;
};

/** Taken at import, so that a simulated network that replaces it later does not affect it. */
const request = globalThis.fetch;
const TIMEOUT_MS = 10_000;

const hexShape = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
const answersShape = z.array(z.object({ id: z.int(), result: hexShape }));

/** @throws Error if the chain cannot be read. */
export async function readChain(rpcUrl: string, swap: SwapRequest): Promise<SwapReads> {
  const { sellToken, buyToken, sellAmount } = swap;
  const taker = swap.taker ?? zeroAddress;
  const quote = encodeFunctionData({
    abi: poolAbi,
    functionName: "quote",
    args: [sellToken, buyToken, sellAmount],
  });
  const allowance = encodeFunctionData({
    abi: erc20Abi,
    functionName: "allowance",
    args: [taker, PERMIT2],
  });
  const wrapped = isNative(buyToken) ? [balanceCall(TOKENS.WETH, POOL)] : [];
  const calls = [
    { target: POOL, callData: quote },
    balanceCall(buyToken, POOL),
    balanceCall(sellToken, taker),
    { target: sellToken, callData: allowance },
    ...wrapped,
  ].map((call) => ({ ...call, allowFailure: true }));
  const data = encodeFunctionData({ abi: multicall3Abi, functionName: "aggregate3", args: [calls] });

  const [results, gasPrice, blockNumber] = await batch(rpcUrl, [
    ["eth_call", [{ to: MULTICALL3, data }, "latest"]],
    ["eth_gasPrice", []],
    ["eth_blockNumber", []],
  ]);
  const [quoted, reserve, held, allowed, wrappedReserve] = decodeFunctionResult({
    abi: multicall3Abi,
    functionName: "aggregate3",
    data: results,
  });
  const reserves = wordOf(reserve) + wordOf(wrappedReserve);
  const [buyAmount, fee] = quotedAmounts(quoted);
  const payable = buyAmount <= reserves;
  const hasTaker = swap.taker !== null;
  return {
    buyAmount: payable ? buyAmount : 0n,
    fee,
    balance: hasTaker ? wordOf(held) : 0n,
    allowance: hasTaker && !isNative(sellToken) ? wordOf(allowed) : 0n,
    gasPrice: BigInt(gasPrice),
    blockNumber: BigInt(blockNumber),
  };
}

type Result = { success: boolean; returnData: Hex };

/** Amounts that are too large make the pool revert: there is no price for them. */
function quotedAmounts(result: Result | undefined): readonly [bigint, bigint] {
  if (result?.success !== true) return [0n, 0n];
  return decodeFunctionResult({ abi: poolAbi, functionName: "quote", data: result.returnData });
}

/** Zero for a call that failed or reached no contract. */
function wordOf(result: Result | undefined): bigint {
  return result?.success === true && result.returnData.length === 66 ? BigInt(result.returnData) : 0n;
}

function balanceCall(token: Address, owner: Address): { target: Address; callData: Hex } {
  if (!isNative(token)) {
    const callData = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [owner] });
    return { target: token, callData };
  }
  const callData = encodeFunctionData({ abi: multicall3Abi, functionName: "getEthBalance", args: [owner] });
  return { target: MULTICALL3, callData };
}

type RpcCall = [method: string, params: unknown[]];

async function batch(rpcUrl: string, calls: [RpcCall, RpcCall, RpcCall]): Promise<[Hex, Hex, Hex]> {
  const response = await request(rpcUrl, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(calls.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }))),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answers = answersShape.parse(await response.json()).sort((a, b) => a.id - b.id);
  const [first, second, third] = answers.map(({ result }) => result);
  if (first === undefined || second === undefined || third === undefined) throw new Error("No answer");
  return [first, second, third];
}
