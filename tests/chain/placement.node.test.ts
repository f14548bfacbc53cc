import { erc20Abi, multicall3Abi, parseUnits, size } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi, permit2Abi, usdcAbi } from "../../scripts/chain/abis";
import { DECIMALS, DEV_MNEMONIC } from "../../scripts/chain/addresses";
import { clientOf, newWallet, PRICES, seconds, startTestChain, balanceOf } from "./support";

let chain: Chain;

beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const USDC_DOMAIN = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";
const PERMIT2_DOMAIN = "0x3b6f35e4fce979ef8eac3bcdc8c3fc38fe7911bb0c69c8fe72bf1fd1a17e6f07";

describe("contracts", () => {
  test("the chain has Base's id", async () => {
    expect(await chain.rpc("eth_chainId")).toBe("0x2105");
  });

  test("the domain separators are the real ones", async () => {
    const client = clientOf(chain);
    const functionName = "DOMAIN_SEPARATOR";
    const { permit2, tokens } = chain.addresses;
    expect(await client.readContract({ address: permit2, abi: permit2Abi, functionName })).toBe(
      PERMIT2_DOMAIN,
    );
    expect(await client.readContract({ address: tokens.USDC, abi: usdcAbi, functionName })).toBe(USDC_DOMAIN);
  });

  test("the tokens have their symbols and decimals", async () => {
    const client = clientOf(chain);
    for (const symbol of ["USDC", "USDT", "DAI", "WETH"] as const) {
      const token = { address: chain.addresses.tokens[symbol], abi: erc20Abi };
      expect(await client.readContract({ ...token, functionName: "symbol" })).toBe(symbol);
      expect(await client.readContract({ ...token, functionName: "decimals" })).toBe(DECIMALS[symbol]);
    }
  });

  test("the feeds have their descriptions, and the prices given", async () => {
    const client = clientOf(chain);
    for (const name of ["ETH", "BTC", "USDC", "USDT", "DAI"] as const) {
      const feed = { address: chain.addresses.feeds[name], abi: feedAbi };
      expect(await client.readContract({ ...feed, functionName: "description" })).toBe(`${name} / USD`);
      expect(await client.readContract({ ...feed, functionName: "decimals" })).toBe(8);
      const [, answer] = await client.readContract({ ...feed, functionName: "latestRoundData" });
      expect(answer).toBe(BigInt(Math.round(PRICES[name] * 1e8)));
    }
  });

  test("the sequencer has long been up", async () => {
    const sequencer = { address: chain.addresses.feeds.SEQUENCER, abi: feedAbi };
    const round = await clientOf(chain).readContract({ ...sequencer, functionName: "latestRoundData" });
    expect(round[1]).toBe(0n);
    expect(Number(round[2])).toBeLessThan(seconds() - 80_000);
  });

  test("Multicall3 answers viem's multicall", async () => {
    const client = clientOf(chain);
    const address = chain.addresses.multicall3;
    const [balance, time, symbol] = await client.multicall({
      multicallAddress: address,
      allowFailure: false,
      contracts: [
        { address, abi: multicall3Abi, functionName: "getEthBalance", args: [chain.addresses.tokens.WETH] },
        { address, abi: multicall3Abi, functionName: "getCurrentBlockTimestamp" },
        { address: chain.addresses.tokens.DAI, abi: erc20Abi, functionName: "symbol" },
      ],
    });
    expect(balance).toBe(parseUnits("1001000000", 18));
    expect(Number(time)).toBeLessThanOrEqual(seconds());
    expect(symbol).toBe("DAI");
    expect(size((await client.getCode({ address: chain.addresses.settler })) ?? "0x")).toBeGreaterThan(1_000);
  });
});

describe("money", () => {
  const holdings = (symbol: "USDC" | "USDT" | "DAI" | "WETH", index: number) =>
    balanceOf(
      chain,
      chain.addresses.tokens[symbol],
      mnemonicToAccount(DEV_MNEMONIC, { addressIndex: index }).address,
    );

  test("account 0 has a million of each token, accounts 1 and 2 none; 2 has ether", async () => {
    for (const symbol of ["USDC", "USDT", "DAI", "WETH"] as const) {
      expect(await holdings(symbol, 0)).toBe(parseUnits("1000000", DECIMALS[symbol]));
      expect(await holdings(symbol, 1)).toBe(0n);
      expect(await holdings(symbol, 2)).toBe(0n);
    }
    const relayer = mnemonicToAccount(DEV_MNEMONIC, { addressIndex: 2 }).address;
    expect(await clientOf(chain).getBalance({ address: relayer })).toBeGreaterThan(0n);
  });

  test("the stack itself sends nothing from accounts 0 to 2", async () => {
    for (const address of chain.accounts.slice(0, 3)) {
      expect(await clientOf(chain).getTransactionCount({ address })).toBe(0);
    }
  });

  test("a wallet is funded with exactly what was asked, by several callers at once too", async () => {
    const amounts = { USDC: 5_000_001n, USDT: 7n, DAI: 9n, WETH: 11n };
    const wallets = await Promise.all(Array.from({ length: 5 }, () => newWallet(chain, amounts)));
    const client = clientOf(chain);
    for (const { address } of wallets) {
      expect(await client.getBalance({ address })).toBe(parseUnits("1", 18));
      for (const symbol of ["USDC", "USDT", "DAI", "WETH"] as const) {
        expect(await balanceOf(chain, chain.addresses.tokens[symbol], address)).toBe(amounts[symbol]);
      }
    }
  });
});
