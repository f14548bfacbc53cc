import { encodeFunctionData, erc20Abi, toHex, type Address, type Hex } from "viem";
import * as z from "zod";
import { real } from "../real";
import { faucetAbi, wethAbi } from "./abis";
import { TOKENS, type TokenSymbol } from "./addresses";
import { hexShape, type Rpc, type RpcCall } from "./rpc";

/** Transactions of the stack's own account, which the node signs. */

export type Amounts = Partial<Record<TokenSymbol | "ETH", bigint>>;

type Send = { to: Address; data?: Hex; value?: bigint };

const GAS = toHex(200_000);
const RETRY_MS = 20;

const receiptShape = z.object({ status: hexShape }).nullable();

/** The transactions that give `amounts` to an account: minted tokens, freshly wrapped ether, ether. */
export function gifts(to: Address, amounts: Amounts): Send[] {
  const { ETH: ether = 0n, WETH: wrapped = 0n, ...tokens } = amounts;
  const sends: Send[] = [];
  for (const symbol of ["USDC", "USDT", "DAI"] as const) {
    const value = tokens[symbol] ?? 0n;
    if (value === 0n) continue;
    const data = encodeFunctionData({ abi: faucetAbi, functionName: "mint", args: [to, value] });
    sends.push({ to: TOKENS[symbol], data });
  }
  if (wrapped > 0n) {
    const deposit = encodeFunctionData({ abi: wethAbi, functionName: "deposit" });
    const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, wrapped] });
    sends.push({ to: TOKENS.WETH, data: deposit, value: wrapped }, { to: TOKENS.WETH, data: transfer });
  }
  if (ether > 0n) sends.push({ to, value: ether });
  return sends;
}

/**
 * Sends from one of the node's accounts and waits until all is mined. Not for concurrent calls with one account.
 * @throws Error if one of them reverts.
 */
export async function sendAll(
  rpc: Rpc,
  from: Address,
  sends: readonly Send[],
  mine: () => Promise<unknown>,
): Promise<void> {
  const first = Number(hexShape.parse(await rpc.call("eth_getTransactionCount", [from, "pending"])));
  const hashes = await rpc.batch(
    sends.map(({ to, data = "0x", value = 0n }, index): RpcCall => {
      const transaction = { from, to, data, value: toHex(value), gas: GAS, nonce: toHex(first + index) };
      return ["eth_sendTransaction", [transaction]];
    }),
  );
  await mine();
  // A block that the miner makes in between can delay some of them for a moment.
  while (!(await areMined(rpc, hashes))) {
    await new Promise<void>((resolve) => real.setTimeout(resolve, RETRY_MS));
    await mine();
  }
  await requireSuccess(rpc, hashes);
}

/** @throws Error if one of the transactions is not mined, or has reverted. */
export async function requireSuccess(rpc: Rpc, hashes: readonly unknown[]): Promise<void> {
  const failed = (await receipts(rpc, hashes)).findIndex((receipt) => receipt?.status !== "0x1");
  if (failed !== -1) throw new Error(`The chain's own transaction ${String(hashes[failed])} failed`);
}

async function areMined(rpc: Rpc, hashes: readonly unknown[]): Promise<boolean> {
  return (await receipts(rpc, hashes)).every((receipt) => receipt !== null);
}

async function receipts(rpc: Rpc, hashes: readonly unknown[]): Promise<z.infer<typeof receiptShape>[]> {
  if (hashes.length === 0) return [];
  const answers = await rpc.batch(hashes.map((hash) => ["eth_getTransactionReceipt", [hash]]));
  return z.array(receiptShape).parse(answers);
}
