import {
  createPublicClient,
  encodeFunctionData,
  erc20Abi,
  http,
  multicall3Abi,
  parseEther,
  type Address,
  type Hex,
  type TransactionReceipt,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { base } from "viem/chains";
import * as z from "zod";
import { MULTICALL3 } from "../../scripts/chain/addresses";
import { startChain, type Amounts, type Chain, type ChainOptions } from "../../scripts/chain";
import { RpcError } from "../../scripts/chain/node";
import { fetchFromLoopback } from "../../scripts/sockets";
import { until } from "../support/waits";

/** A chain of a test's own, and what a wallet does with it. */

export const PRICES = { ETH: 3_000.12, BTC: 65_000.5, USDC: 1.0001, USDT: 0.9998, DAI: 1 };

const txHash = z.templateLiteral(["0x", z.string()]);

export const seconds = () => Math.floor(Date.now() / 1_000);

export async function startTestChain(options: Partial<ChainOptions> = {}): Promise<Chain> {
  return startChain({
    port: 0,
    clock: () => Date.now() / 1_000,
    speed: 1,
    stateFile: null,
    prices: () => PRICES,
    log: (message) => {
      throw new Error(`Unexpected: ${message}`);
    },
    ...options,
  });
}

/** A test's own client: it reaches the chain whatever stands in for `fetch`, and waits for it however long it takes. */
export function clientOf(chain: Chain) {
  const transport = http(chain.url, { retryCount: 0, timeout: 600_000, fetchFn: fetchFromLoopback });
  return createPublicClient({ chain: base, transport, pollingInterval: 20, cacheTime: 0 });
}

/** A new wallet with an ether for gas and what else it is given. */
export async function newWallet(chain: Chain, amounts: Amounts = {}): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { ETH: parseEther("1"), ...amounts });
  return account;
}

/** What an account holds of a token, in its smallest units. */
export const balanceOf = (chain: Chain, token: Address, owner: Address): Promise<bigint> =>
  clientOf(chain).readContract({ address: token, abi: erc20Abi, functionName: "balanceOf", args: [owner] });

/** The data of a token's transfer. */
export const transferTo = (to: Address, amount: bigint): Hex =>
  encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] });

/** The call that makes several calls in one transaction: all of them, or none. */
export function together(calls: readonly { to: Address; data: Hex }[]): { to: Address; data: Hex } {
  const args = [calls.map(({ to, data }) => ({ target: to, allowFailure: false, callData: data }))] as const;
  return {
    to: MULTICALL3,
    data: encodeFunctionData({ abi: multicall3Abi, functionName: "aggregate3", args }),
  };
}

type Send = { to: Address; data?: Hex; value?: bigint; gas?: bigint };

/** Signs with an explicit gas limit, so that what is going to revert is sent all the same. */
export async function signed(
  chain: Chain,
  account: PrivateKeyAccount,
  { to, data = "0x", value = 0n, gas = 300_000n }: Send,
  nonce?: number,
): Promise<Hex> {
  return account.signTransaction({
    chainId: 8453,
    type: "eip1559",
    nonce: nonce ?? (await clientOf(chain).getTransactionCount({ address: account.address })),
    to,
    data,
    value,
    gas,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  });
}

/** Sends and waits until it is mined, whatever comes of it. */
export async function send(
  chain: Chain,
  account: PrivateKeyAccount,
  transaction: Send,
): Promise<TransactionReceipt> {
  const serializedTransaction = await signed(chain, account, transaction);
  return mined(chain, await clientOf(chain).sendRawTransaction({ serializedTransaction }));
}

/** Sends from one of the chain's own accounts, or as somebody whose key nobody here has, and waits until it is mined. */
export async function sendAs(chain: Chain, from: Address, call: { to: Address; data: Hex }) {
  await chain.rpc("anvil_impersonateAccount", [from]);
  const hash = await chain.rpc("eth_sendTransaction", [{ from, ...call, gas: "0x493e0" }]);
  return mined(chain, txHash.parse(hash));
}

/** Waits until a transaction is mined, whatever comes of it. */
export async function mined(chain: Chain, hash: Hex): Promise<TransactionReceipt> {
  await until(async () => {
    await chain.miner.look();
    return (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null;
  });
  return clientOf(chain).getTransactionReceipt({ hash });
}

/** The revert's bytes when `from` called this at the head; `null` when it would go through. */
export async function revertOf(
  chain: Chain,
  from: Address,
  { to, data, value = 0n }: Send,
): Promise<unknown> {
  try {
    await chain.rpc("eth_call", [{ from, to, data, value: `0x${value.toString(16)}` }, "latest"]);
    return null;
  } catch (error) {
    if (error instanceof RpcError) return error.data;
    throw error;
  }
}
