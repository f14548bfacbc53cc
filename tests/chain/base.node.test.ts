import {
  encodeFunctionData,
  erc20Abi,
  multicall3Abi,
  parseEventLogs,
  parseSignature,
  parseUnits,
  size,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { feedAbi, permit2Abi, usdcAbi } from "../../scripts/chain/abis";
import { DECIMALS, TOKENS } from "../../scripts/chain/addresses";
import { authorize, cancellationCall, settlementCall } from "../payments/authorizations";
import {
  balanceOf,
  clientOf,
  newWallet,
  PRICES,
  revertOf,
  seconds,
  send,
  signed,
  startTestChain,
} from "./support";
import { until } from "../support/waits";

/** A fresh chain: Base's contracts at their addresses, USDC's signed payments, and its miner. */

let chain: Chain;
let payer: PrivateKeyAccount;
let payee: PrivateKeyAccount;

beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());

const USDC_DOMAIN = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";
const PERMIT2_DOMAIN = "0x3b6f35e4fce979ef8eac3bcdc8c3fc38fe7911bb0c69c8fe72bf1fd1a17e6f07";
const SYMBOLS = ["USDC", "USDT", "DAI", "WETH", "CBBTC"] as const;

test("the chain has Base's id, and Base's contracts at their addresses", async () => {
  const client = clientOf(chain);
  const { feeds, permit2, settler, tokens, multicall3: address } = chain.addresses;
  expect(await chain.rpc("eth_chainId")).toBe("0x2105");
  const functionName = "DOMAIN_SEPARATOR";
  expect(await client.readContract({ address: permit2, abi: permit2Abi, functionName })).toBe(PERMIT2_DOMAIN);
  expect(await client.readContract({ address: tokens.USDC, abi: usdcAbi, functionName })).toBe(USDC_DOMAIN);
  for (const symbol of SYMBOLS) {
    const token = { address: tokens[symbol], abi: erc20Abi };
    expect(await client.readContract({ ...token, functionName: "symbol" })).toBe(
      symbol === "CBBTC" ? "cbBTC" : symbol,
    );
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
  const amounts = { USDC: 5_000_001n, USDT: 7n, DAI: 9n, WETH: 11n, CBBTC: 13n };
  const wallets = await Promise.all(Array.from({ length: 5 }, () => newWallet(chain, amounts)));
  for (const { address } of wallets) {
    expect(await clientOf(chain).getBalance({ address })).toBe(parseUnits("1", 18));
    for (const symbol of SYMBOLS)
      expect(await balanceOf(chain, chain.addresses.tokens[symbol], address)).toBe(amounts[symbol]);
  }
});

/** A call that moves 100 units from the payer to the payee, but for the terms that are named. */
async function authorization(terms: Parameters<typeof authorize>[1] = {}) {
  const authorized = await authorize(payer, { to: payee.address, value: 100n, ...terms });
  const isTransfer = terms.kind !== "ReceiveWithAuthorization";
  const call = settlementCall(
    authorized,
    isTransfer ? "transferWithAuthorization" : "receiveWithAuthorization",
  );
  return { ...call, authorized };
}

const balance = () => balanceOf(chain, TOKENS.USDC, payee.address);

/** The text of a revert, as `Error(string)` carries it. */
function textOf(revert: unknown): string {
  return typeof revert === "string" ? Buffer.from(revert.slice(2), "hex").toString("latin1") : "";
}

test("an authorized transfer is carried out by anybody, once, and logs its use", async () => {
  payer = await newWallet(chain, { USDC: 1_000_000n });
  payee = await newWallet(chain);
  const before = await balance();
  const call = await authorization();
  const receipt = await send(chain, payee, call);
  expect(receipt.status).toBe("success");
  expect(await balance()).toBe(before + 100n);
  expect(receipt.logs[0]?.topics).toEqual([
    "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5",
    `0x${payer.address.slice(2).toLowerCase().padStart(64, "0")}`,
    call.authorized.message.nonce,
  ]);
  expect(parseEventLogs({ abi: erc20Abi, eventName: "Transfer", logs: receipt.logs })).toHaveLength(1);

  expect(textOf(await revertOf(chain, payee.address, call))).toContain("authorization is used or canceled");
  expect((await send(chain, payee, call)).status).toBe("reverted");

  // The overload that takes v, r and s does the same.
  const { message, signature } = (await authorization()).authorized;
  const { r, s, v = 27n } = parseSignature(signature);
  const { from, to, value, validAfter, validBefore, nonce } = message;
  const data = encodeFunctionData({
    abi: usdcAbi,
    functionName: "transferWithAuthorization",
    args: [from, to, value, validAfter, validBefore, nonce, Number(v), r, s],
  });
  expect((await send(chain, payee, { to: TOKENS.USDC, data })).status).toBe("success");
  expect(await balance()).toBe(before + 200n);
});

test("every refusal has FiatToken's text", async () => {
  const stranger = privateKeyToAccount(generatePrivateKey());
  const soon = BigInt(seconds() + 3_600);
  const refusals: [string, Awaited<ReturnType<typeof authorization>>][] = [
    ["FiatTokenV2: invalid signature", await authorization({ by: stranger })],
    ["FiatTokenV2: authorization is not yet valid", await authorization({ validAfter: soon })],
    ["FiatTokenV2: authorization is expired", await authorization({ validBefore: 1n })],
    ["ERC20: transfer amount exceeds balance", await authorization({ value: 10n ** 12n })],
  ];
  for (const [text, call] of refusals) {
    expect(textOf(await revertOf(chain, payee.address, call))).toContain(text);
    expect((await send(chain, payee, call)).status).toBe("reverted");
  }
});

test("only the payee receives, and a cancelled authorization is worth nothing", async () => {
  const receipt = await authorization({ kind: "ReceiveWithAuthorization" });
  const others = textOf(await revertOf(chain, payer.address, receipt));
  expect(others).toContain("FiatTokenV2: caller must be the payee");
  expect((await send(chain, payee, receipt)).status).toBe("success");

  const call = await authorization();
  const { nonce } = call.authorized.message;
  const cancellation = await cancellationCall(payer, call.authorized);
  expect((await send(chain, payee, cancellation)).status).toBe("success");
  const used = await clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: usdcAbi,
    functionName: "authorizationState",
    args: [payer.address, nonce],
  });
  expect(used).toBe(true);
  expect(textOf(await revertOf(chain, payee.address, call))).toContain("used or canceled");
});

const TO = "0x4444444444444444444444444444444444444444";

/** Nothing here has the miner look: it does so by itself. */
const isMined = async (hash: string) => (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null;

test("sixty sends of one wallet at once are all confirmed, in order", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const raw = await Promise.all(
    Array.from({ length: 60 }, (_, nonce) => signed(chain, wallet, { to: TO, value: 1n }, nonce)),
  );
  const hashes = await Promise.all(
    raw.map((serializedTransaction) => client.sendRawTransaction({ serializedTransaction })),
  );
  const last = hashes.at(-1) ?? "0x";
  await until(() => isMined(last));
  for (const hash of hashes) {
    expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  }
  expect(await client.getTransactionCount({ address: wallet.address })).toBe(60);
  expect(await client.getBalance({ address: TO })).toBe(60n);
});

test("a paused miner leaves what is sent pending", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  await chain.miner.pause();
  expect(chain.miner.paused()).toBe(true);
  const height = await client.getBlockNumber();
  const serializedTransaction = await signed(chain, wallet, { to: TO, value: 1n });
  const hash = await client.sendRawTransaction({ serializedTransaction });
  expect(await client.getTransactionCount({ address: wallet.address, blockTag: "pending" })).toBe(1);
  expect(await client.getBlockNumber()).toBe(height);
  await chain.miner.mine();
  expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  chain.miner.resume();
  expect((await send(chain, wallet, { to: TO, value: 1n })).status).toBe("success");
});

test("after a reorganisation a transaction is gone, its bytes can be sent again, and prices are ticked again", async () => {
  const wallet = await newWallet(chain);
  const client = clientOf(chain);
  const serializedTransaction = await signed(chain, wallet, { to: TO, value: 1n });
  const hash = await client.sendRawTransaction({ serializedTransaction });
  await until(() => isMined(hash));
  await chain.miner.pause();
  await chain.rpc("anvil_reorg", [1, []]);
  await expect(client.getTransactionReceipt({ hash })).rejects.toThrow();
  await client.sendRawTransaction({ serializedTransaction });
  chain.miner.resume();
  await until(() => isMined(hash));
  expect((await client.getTransactionReceipt({ hash })).status).toBe("success");
  await chain.feeds.tick();
  const address = chain.addresses.feeds.ETH;
  const [, answer] = await client.readContract({ address, abi: feedAbi, functionName: "latestRoundData" });
  expect(answer).toBe(BigInt(Math.round(PRICES.ETH * 1e8)));
});
