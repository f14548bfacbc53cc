import { erc20Abi, type Address } from "viem";
import { getBlock, readContract } from "viem/actions";
import { chainClient, guarded } from "./rpc/client";

/** The present state of Base: the latest block and the supply of a token on it, over CHAIN_RPC_URL. */

type ChainState = {
  /** The block's page. */
  url: string;
  /** Epoch ms: the block's time. */
  observedAt: number;
  transactions: number;
  /** Gwei. */
  baseFee: number;
  /** Of the token, in its smallest unit. */
  supply: bigint;
};

/** @throws AppError `upstream` if the chain cannot be reached. */
export async function readChainState(token: Address, timeoutMs: number): Promise<ChainState> {
  const client = chainClient(timeoutMs);
  return guarded(async () => {
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
  });
}
