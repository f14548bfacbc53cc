import { erc20Abi, multicall3Abi, parseUnits, size } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi, permit2Abi, usdcAbi } from "../../scripts/chain/abis";
import { DECIMALS } from "../../scripts/chain/addresses";
import { clientOf, newWallet, PRICES, seconds, startTestChain, balanceOf } from "./support";

let chain: Chain;

beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const USDC_DOMAIN = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";
const PERMIT2_DOMAIN = "0x3b6f35e4fce979ef8eac3bcdc8c3fc38fe7911bb0c69c8fe72bf1fd1a17e6f07";
const SYMBOLS = ["USDC", "USDT", "DAI", "WETH"] as const;

test("the chain has Base's id, and Base's contracts at their addresses", async () => {
  const client = clientOf(chain);
  const { feeds, permit2, settler, tokens, multicall3: address } = chain.addresses;
  expect(await chain.rpc("eth_chainId")).toBe("0x2105");
  const functionName = "DOMAIN_SEPARATOR";
  expect(await client.readContract({ address: permit2, abi: permit2Abi, functionName })).toBe(PERMIT2_DOMAIN);
  expect(await client.readContract({ address: tokens.USDC, abi: usdcAbi, functionName })).toBe(USDC_DOMAIN);
  for (const symbol of SYMBOLS) {
    const token = { address: tokens[symbol], abi: erc20Abi };
    expect(await client.readContract({ ...token, functionName: "symbol" })).toBe(symbol);
    expect(await client.readContract({ ...token, functionName: "decimals" })).toBe(DECIMALS[symbol]);
  }
  for (const name of ["ETH", "BTC", "USDC", "USDT", "DAI"] as const) {
    const feed = { address: feeds[name], abi: feedAbi };
    expect(await client.readContract({ ...feed, functionName: "description" })).toBe(`${name} / USD`);
    const [, answer] = await client.readContract({ ...feed, functionName: "latestRoundData" });
    expect(answer).toBe(BigInt(Math.round(PRICES[name] * 1e8)));
  }
  const sequencer = { address: feeds.SEQUENCER, abi: feedAbi };
  const [, isDown, since] = await client.readContract({ ...sequencer, functionName: "latestRoundData" });
  expect([isDown, Number(since) < seconds() - 80_000]).toEqual([0n, true]);
  const [balance, symbol] = await client.multicall({
    multicallAddress: address,
    allowFailure: false,
    contracts: [
      { address, abi: multicall3Abi, functionName: "getEthBalance", args: [tokens.WETH] },
      { address: tokens.DAI, abi: erc20Abi, functionName: "symbol" },
    ],
  });
  expect([balance, symbol]).toEqual([parseUnits("1001000000", 18), "DAI"]);
  expect(size((await client.getCode({ address: settler })) ?? "0x")).toBeGreaterThan(1_000);
});

test("account 0 has a million of each token, 1 and 2 none; the stack itself sends nothing from them", async () => {
  for (const [index, address] of chain.accounts.slice(0, 3).entries()) {
    for (const symbol of SYMBOLS) {
      const held = index === 0 ? parseUnits("1000000", DECIMALS[symbol]) : 0n;
      expect(await balanceOf(chain, chain.addresses.tokens[symbol], address)).toBe(held);
    }
    expect(await clientOf(chain).getTransactionCount({ address })).toBe(0);
  }
});

test("a wallet is funded with exactly what was asked, by several callers at once too", async () => {
  const amounts = { USDC: 5_000_001n, USDT: 7n, DAI: 9n, WETH: 11n };
  const wallets = await Promise.all(Array.from({ length: 5 }, () => newWallet(chain, amounts)));
  for (const { address } of wallets) {
    expect(await clientOf(chain).getBalance({ address })).toBe(parseUnits("1", 18));
    for (const symbol of SYMBOLS)
      expect(await balanceOf(chain, chain.addresses.tokens[symbol], address)).toBe(amounts[symbol]);
  }
});
