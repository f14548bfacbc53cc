import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import {
  encodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  concat,
  stringToHex,
  toHex,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import { real } from "../real";
import { faucetAbi, wethAbi } from "./abis";
import { FEEDS, MULTICALL3, PERMIT2, POOL, REGISTRY, SETTLER, TOKENS, type TokenSymbol } from "./addresses";
import { hexShape, type Rpc } from "./node";

/** Places the contracts at their real addresses, which no deployment could choose, and sends gifts from the stack's own account. */

/** A contract of `contracts/`, as `build.ts` compiles it. */
type Placement = { contract: string; address: Address; args?: Hex };

const GAS = toHex(20_000_000);
/** Small enough for all constructors in one block. */
const CONSTRUCTOR_GAS = toHex(1_000_000);

function placements(faucet: Address): Placement[] {
  const ofAddress = (address: Address) => encodeAbiParameters([{ type: "address" }], [address]);
  const feed = (address: Address, decimals: number, label: string): Placement => ({
    contract: "Feed",
    address,
    args: encodeAbiParameters(
      [{ type: "uint8" }, { type: "bytes32" }],
      [decimals, stringToHex(label, { size: 32 })],
    ),
  });
  return [
    { contract: "Multicall3", address: MULTICALL3 },
    { contract: "Usdc", address: TOKENS.USDC, args: ofAddress(faucet) },
    { contract: "Usdt", address: TOKENS.USDT, args: ofAddress(faucet) },
    { contract: "Dai", address: TOKENS.DAI, args: ofAddress(faucet) },
    { contract: "Weth", address: TOKENS.WETH },
    { contract: "Cbbtc", address: TOKENS.CBBTC, args: ofAddress(faucet) },
    feed(FEEDS.ETH, 8, "ETH / USD"),
    feed(FEEDS.BTC, 8, "BTC / USD"),
    feed(FEEDS.USDC, 8, "USDC / USD"),
    feed(FEEDS.USDT, 8, "USDT / USD"),
    feed(FEEDS.DAI, 8, "DAI / USD"),
    feed(FEEDS.SEQUENCER, 0, "L2 Sequencer Uptime Status Feed"),
    { contract: "Pool", address: POOL },
    { contract: "Settler", address: SETTLER },
    { contract: "Registry", address: REGISTRY, args: ofAddress(SETTLER) },
  ];
}

const artifactShape = z.object({ init: hexShape });

async function buildInitCode({ contract, args = "0x" }: Placement): Promise<Hex> {
  const text = await readFile(path.join(import.meta.dirname, "artifacts", `${contract}.json`), "utf8");
  return concat([artifactShape.parse(JSON.parse(text)).init, args]);
}

/** Permit2's code as Uniswap publishes it: on another chain than its own it computes its domain separator at each call. */
async function permit2Code(): Promise<Hex> {
  const root = path.dirname(createRequire(import.meta.url).resolve("@uniswap/v4-periphery/package.json"));
  const text = await readFile(path.join(root, "lib/permit2/test/utils/DeployPermit2.sol"), "utf8");
  return hexShape.parse(`0x${/hex"([0-9a-f]+)"/.exec(text)?.[1]}`);
}

/**
 * Places all contracts on an empty chain.
 * @param faucet The account that may mint; it must have sent nothing yet.
 * @param mine Mines the pending transactions.
 */
export async function placeContracts(rpc: Rpc, faucet: Address, mine: () => Promise<unknown>): Promise<void> {
  const contracts = placements(faucet);
  const inits = await Promise.all(contracts.map(buildInitCode));
  const setCodes = (codes: readonly Hex[]) =>
    rpc.batch(contracts.map(({ address }, index) => ["anvil_setCode", [address, codes[index]]]));

  await setCodes(inits);
  // Called instead of deployed, the constructor runs at the right address, and returns the contract's code.
  const runtimes = z
    .array(hexShape)
    .parse(
      await rpc.batch(contracts.map(({ address }) => ["eth_call", [{ to: address, gas: GAS }, "latest"]])),
    );
  // Called by a transaction, it also keeps its storage writes.
  const calls = contracts.map(({ address: to }) => ({ to, gas: CONSTRUCTOR_GAS }));
  await sendAll(rpc, faucet, calls, mine);
  await setCodes(runtimes);
  await rpc.call("anvil_setCode", [PERMIT2, await permit2Code()]);
}

export type Amounts = Partial<Record<TokenSymbol | "ETH", bigint>>;

type Send = { to: Address; data?: Hex; value?: bigint; gas?: Hex };

const TRANSFER_GAS = toHex(200_000);
const RETRY_MS = 20;

/** The transactions that give `amounts` to an account: minted tokens, freshly wrapped ether, ether. */
export function buildGifts(to: Address, amounts: Amounts): Send[] {
  const { ETH: ether = 0n, WETH: wrapped = 0n } = amounts;
  const minted = (["USDC", "USDT", "DAI", "CBBTC"] as const).flatMap((symbol): Send[] => {
    const value = amounts[symbol] ?? 0n;
    const data = encodeFunctionData({ abi: faucetAbi, functionName: "mint", args: [to, value] });
    return value === 0n ? [] : [{ to: TOKENS[symbol], data }];
  });
  const deposit = encodeFunctionData({ abi: wethAbi, functionName: "deposit" });
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, wrapped] });
  const wrappings: Send[] = [
    { to: TOKENS.WETH, data: deposit, value: wrapped },
    { to: TOKENS.WETH, data: transfer },
  ];
  return [...minted, ...(wrapped > 0n ? wrappings : []), ...(ether > 0n ? [{ to, value: ether }] : [])];
}

const receiptsShape = z.array(z.object({ status: hexShape }).nullable());

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
    sends.map(({ to, data = "0x", value = 0n, gas = TRANSFER_GAS }, index) => {
      const transaction = { from, to, data, value: toHex(value), gas, nonce: toHex(first + index) };
      return ["eth_sendTransaction", [transaction]];
    }),
  );
  for (;;) {
    await mine();
    const requests = hashes.map((hash) => ["eth_getTransactionReceipt", [hash]] as const);
    const receipts = requests.length === 0 ? [] : receiptsShape.parse(await rpc.batch(requests));
    const failed = receipts.findIndex((receipt) => receipt !== null && receipt.status !== "0x1");
    if (failed !== -1) throw new Error(`The chain's own transaction ${String(hashes[failed])} failed`);
    if (!receipts.includes(null)) return;
    // A block that the miner makes in between can delay some of them for a moment.
    await new Promise<void>((resolve) => real.setTimeout(resolve, RETRY_MS));
  }
}
