import { encodeFunctionData, erc20Abi, maxUint256, parseAbi, toHex, type Address, type Hex } from "viem";
import { beforeAll, expect } from "vitest";
import * as z from "zod";
import { beginFollowing } from "../../convex/whales/alerts";
import { TOKENS } from "../../scripts/chain/addresses";
import { together } from "../chain/support";
import { chain, hex, test as chainTest, useChain } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";

/** Movements of money between any addresses on the local chain, and the service that looks at them. */

/** Coinbase's wrapped bitcoin on Base. The local chain has it here alone. */
const CBBTC: Address = "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf";
const CONTRACTS = { ...TOKENS, CBBTC } as const;

type Token = keyof typeof CONTRACTS;
/** The amount in the coin's smallest unit. */
type Move<Coin = Token | "ETH"> = { coin: Coin; from: Address; to: Address; amount: bigint };
type Call = { from: Address; to: Address; data?: Hex; value?: bigint };

const GAS = toHex(3_000_000);
/** More ether than is ever moved. */
const RICH = toHex(10n ** 30n);
/** The sender of others' transactions. */
const BUNDLER: Address = "0x00000000000000000000000000000000000b0001";
const mint = parseAbi(["function mint(address to, uint256 value)"]);

/** To be called once by a test file. */
export function useMoves(): void {
  useChain();
  beforeAll(async () => {
    await chain.rpc("anvil_autoImpersonateAccount", [true]);
    // The code of another token: nobody here asks for its decimals.
    await chain.rpc("anvil_setCode", [CBBTC, await chain.rpc("eth_getCode", [TOKENS.USDT, "latest"])]);
  });
}

/** The node signs for everybody, and mines all calls together. @returns Their hashes, in order. */
async function submit(calls: readonly Call[]): Promise<string[]> {
  await chain.miner.pause();
  const hashes: string[] = [];
  const nonces = new Map<Address, number>();
  for (const { from, to, data = "0x", value = 0n } of calls) {
    const mined = async () => Number(hex.parse(await chain.rpc("eth_getTransactionCount", [from, "latest"])));
    const nonce = nonces.get(from) ?? (await mined());
    nonces.set(from, nonce + 1);
    const fields = { from, to, data, value: toHex(value), nonce: toHex(nonce) };
    const priced = { ...fields, gas: GAS, gasPrice: toHex(10n ** 10n) };
    hashes.push(hex.parse(await chain.rpc("eth_sendTransaction", [priced])));
  }
  await chain.miner.mine();
  chain.miner.resume();
  return hashes;
}

const rich = new Set<string>();

/** Written into the token's storage: no Transfer is logged. */
async function enrich(moves: readonly Pick<Move, "coin" | "from">[]): Promise<void> {
  for (const { coin, from } of moves) {
    if (rich.has(`${coin} ${from}`)) continue;
    rich.add(`${coin} ${from}`);
    await chain.rpc("anvil_setBalance", [from, RICH]);
    if (coin !== "ETH") await chain.rpc("anvil_dealERC20", [from, CONTRACTS[coin], toHex(10n ** 29n)]);
  }
}

/** Sends each in a transaction of its own. */
export async function send(moves: readonly Move[]): Promise<string[]> {
  await enrich(moves);
  const calls = moves.map(({ coin, from, to, amount }): Call => {
    if (coin === "ETH") return { from, to, value: amount };
    const transfer = { abi: erc20Abi, functionName: "transfer", args: [to, amount] } as const;
    return { from, to: CONTRACTS[coin], data: encodeFunctionData(transfer) };
  });
  return submit(calls);
}

/** Moves tokens in one transaction, in order, which an unrelated account sends. */
export async function sendTogether(moves: readonly Move<Token>[]): Promise<string> {
  await enrich([...moves, { coin: "ETH", from: BUNDLER }]);
  const allow = { abi: erc20Abi, functionName: "approve" } as const;
  const data = encodeFunctionData({ ...allow, args: [chain.addresses.multicall3, maxUint256] });
  await submit(moves.map(({ coin, from }) => ({ from, to: CONTRACTS[coin], data })));
  const calls = moves.map(({ coin, from, to, amount }) => {
    const args = [from, to, amount] as const;
    const move = encodeFunctionData({ abi: erc20Abi, functionName: "transferFrom", args });
    return { to: CONTRACTS[coin], data: move };
  });
  const [hash = ""] = await submit([{ from: BUNDLER, ...together(calls) }]);
  return hash;
}

/** Mints USDC: with a Transfer from the zero address. */
export async function minted(to: Address, amount: bigint): Promise<string> {
  const [, , , minter = to] = chain.accounts;
  const data = encodeFunctionData({ abi: mint, functionName: "mint", args: [to, amount] });
  const [hash = ""] = await submit([{ from: minter, to: TOKENS.USDC, data }]);
  return hash;
}

export const mine = (blocks: number) => chain.rpc("anvil_mine", [toHex(blocks), "0x0"]);

export const BINANCE = "0x3304e22ddaa22bcdc5fca2269b418046ae7b566a";
export const BINANCE_COLD = "0xf977814e90da44bfa03b6295a0616a897441acec";
export const OKX = "0xc8802feab2fafb48b7d1ade77e197002c210f391";
export const NOBODY = "0x0000000000000000000000000000000000000000";
/** Millions of dollars, in the coin's smallest units. */
export const USDC = (millions: number) => BigInt(Math.round(millions * 1e12));
export const ETHER = (whole: number) => BigInt(whole) * 10n ** 18n;
/** The local node calls a block safe when so many have come after it. */
export const SETTLING = 32;

/** The cron's visit, and the run it starts, to its end. */
export async function look(app: WalletApp): Promise<void> {
  await app.t.run(beginFollowing);
  await app.settle();
}

/** Everything that is on the chain by now is far enough from its head to be read. */
export async function lookAtAll(app: WalletApp): Promise<void> {
  await mine(SETTLING);
  await look(app);
}

/** An app that has begun to look. */
export async function measuring(env: Record<string, string | undefined> = {}): Promise<WalletApp> {
  await chain.feeds.tick();
  await mine(SETTLING);
  const app = createWalletApp(chain, { env });
  await look(app);
  return app;
}

export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ settings }, use) => use(await measuring(settings.env)),
});

const listShape = z.object({
  alerts: z.array(
    z.looseObject({ token: z.string(), alertType: z.string(), amount: z.number(), txHash: z.string() }),
  ),
});

export async function listed(app: WalletApp) {
  const { status, body } = await app.get("/mcp/whale-alerts");
  expect(status).toBe(200);
  return listShape.parse(body).alerts;
}

const rangeShape = z.object({ fromBlock: z.coerce.number(), toBlock: z.coerce.number() });

/** Answers as a provider does that gives logs of so many blocks at most. @returns Whether each question was refused. */
export function limited(most: number, message: string, code = -32_602): boolean[] {
  const asked: boolean[] = [];
  answering(({ method, params }) => {
    if (method !== "eth_getLogs") return null;
    const { fromBlock, toBlock } = rangeShape.parse(params[0]);
    const isRefused = toBlock - fromBlock + 1 > most;
    asked.push(isRefused);
    return isRefused ? { error: { code, message } } : null;
  });
  return asked;
}
