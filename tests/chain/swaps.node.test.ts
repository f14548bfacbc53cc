import {
  concat,
  decodeErrorResult,
  encodeFunctionData,
  erc20Abi,
  hashTypedData,
  maxUint256,
  numberToHex,
  parseEther,
  size,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Chain } from "../../scripts/chain";
import { actionsAbi, permit2Abi, poolAbi, settlerAbi } from "../../scripts/chain/abis";
import { NATIVE, PERMIT2, POOL, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { buildSettlerCall } from "../../scripts/chain/settlerCall";
import type { Standin } from "../../scripts/standins/standin";
import { createSwap } from "../../scripts/standins/swap";
import { clientOf, newWallet, PRICES, revertOf, send, startTestChain, balanceOf } from "./support";

/** The swap provider's stand-in and the chain's settler, as a client of the provider meets them. */

const hex = z.templateLiteral(["0x", z.string()]);
let chain: Chain;
let swap: Standin;

beforeAll(async () => {
  chain = await startTestChain();
  swap = createSwap({ rpcUrl: () => chain.url, now: () => Date.now() });
});
afterAll(() => chain.stop());

async function approve(account: PrivateKeyAccount, token: Address): Promise<void> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, maxUint256] });
  expect((await send(chain, account, { to: token, data })).status).toBe("success");
}

const holdingOf = (token: Address, owner: Address): Promise<bigint> =>
  token === NATIVE ? clientOf(chain).getBalance({ address: owner }) : balanceOf(chain, token, owner);

const ETH = parseEther("0.01");
const { USDC, USDT, DAI, WETH } = TOKENS;
const kinds: [string, Address, Address, bigint][] = [
  ["USDC to WETH", USDC, WETH, 25_000_000n],
  ["WETH to DAI", WETH, DAI, ETH],
  ["USDT to DAI", USDT, DAI, 25_000_000n],
  ["DAI to USDC", DAI, USDC, parseEther("25")],
  ["USDC to ETH", USDC, NATIVE, 25_000_000n],
  ["ETH to USDC", NATIVE, USDC, ETH],
  ["ETH to WETH (wrap)", NATIVE, WETH, ETH],
  ["WETH to ETH (unwrap)", WETH, NATIVE, ETH],
];

const ALL = { USDC: 100_000_000n, USDT: 100_000_000n, DAI: parseEther("100"), WETH: parseEther("1") };

test.each(kinds)("%s settles", async (_, sell, buy, amount) => {
  const account = await newWallet(chain, ALL);
  const first = await quote(account.address, { sell, buy, amount });
  expect(first.allowanceTarget).toBe(first.permit2 === null ? null : PERMIT2.toLowerCase());
  if (first.issues.allowance !== null) {
    expect(first.issues.simulationIncomplete).toBe(true);
    await approve(account, sell);
  }
  const offer = await quote(account.address, { sell, buy, amount });
  expect(offer.issues).toMatchObject({ allowance: null, balance: null, simulationIncomplete: false });
  if (offer.permit2 !== null) expect(hashTypedData(offer.permit2.eip712)).toBe(offer.permit2.hash);
  const before = [await holdingOf(sell, account.address), await holdingOf(buy, account.address)] as const;
  const receipt = await send(chain, account, await readyToSend(offer, account));
  expect(receipt.status).toBe("success");
  const gasCost = receipt.gasUsed * receipt.effectiveGasPrice;
  const cost = (token: Address) => (token === NATIVE ? gasCost : 0n);
  expect(before[0] - (await holdingOf(sell, account.address)) - cost(sell)).toBe(amount);
  expect((await holdingOf(buy, account.address)) - before[1] + cost(buy)).toBe(offer.buyAmount);
});

test("a swap is at the feeds' price less 15 basis points, for the recipient that is named", async () => {
  const account = await newWallet(chain);
  const recipient = privateKeyToAccount(generatePrivateKey()).address;
  const extra = { slippageBps: "250", recipient };
  const offer = await quote(account.address, { sell: NATIVE, buy: USDC, amount: ETH, extra });
  expect(Number(offer.buyAmount) / 1e6).toBeCloseTo((0.01 * PRICES.ETH * 0.9985) / PRICES.USDC, 5);
  expect(offer.minBuyAmount).toBe((offer.buyAmount * 9_750n) / 10_000n);
  expect((await send(chain, account, await readyToSend(offer, account))).status).toBe("success");
  expect(await holdingOf(USDC, recipient)).toBe(offer.buyAmount);
});

test("the chain refuses what was not signed, not so, or too late", async () => {
  const asked: Asked = { sell: USDC, buy: WETH, amount: 1_000_000n };
  const account = await newWallet(chain, { USDC: 100_000_000n });
  await approve(account, USDC);
  const offer = await quote(account.address, asked);
  const { to, data, value } = offer.transaction;
  const { eip712: permit } = permitShape.parse(offer.permit2);
  const signature = await account.signTypedData(permit);
  const signedOtherwise = async (message: object, domain: object) =>
    withSignature(
      data,
      await account.signTypedData({
        ...permit,
        message: { ...permit.message, ...message },
        domain: { ...permit.domain, ...domain },
      }),
    );
  const old = createSwap({ rpcUrl: () => chain.url, now: () => Date.now() - 3_600_000 });
  const late = await readyToSend(await quote(account.address, asked, old), account);
  const stranger = await readyToSend(offer, privateKeyToAccount(generatePrivateKey()));
  const refusals: [errorName: string, data: Hex][] = [
    ["InvalidSignatureLength", data],
    // The signature's first word is read as its length: more than there is memory.
    ["Panic", concat([data, signature])],
    ["InvalidSignatureLength", concat([data, numberToHex(63, { size: 32 }), signature])],
    ["InvalidSigner", stranger.data],
    ["InvalidSigner", await signedOtherwise({ permitted: { token: USDC, amount: "999999" } }, {})],
    ["InvalidSigner", await signedOtherwise({ nonce: "1" }, {})],
    ["InvalidSigner", await signedOtherwise({}, { chainId: 1 })],
    ["SignatureExpired", late.data],
  ];
  for (const [error, bytes] of refusals) await expectRevert(account, { to, data: bytes, value }, error);

  const native = await quote(account.address, { sell: NATIVE, buy: USDC, amount: ETH });
  await expectRevert(account, { ...native.transaction, value: ETH + 1n }, "MsgValueMismatch");

  const tight = await quote(account.address, { ...asked, extra: { slippageBps: "10" } });
  await chain.feeds.pause();
  await chain.feeds.set("ETH", { answer: 400_000_000_000n, updatedAt: Math.floor(Date.now() / 1_000) });
  await expectRevert(account, await readyToSend(tight, account), "TooMuchSlippage");
  chain.feeds.resume();
  await chain.feeds.tick();

  const used = await readyToSend(await quote(account.address, asked), account);
  expect((await send(chain, account, used)).status).toBe("success");
  await expectRevert(account, used, "InvalidNonce");
});

test("a USDT allowance is cleared before it is changed", async () => {
  const holder = await newWallet(chain, { USDT: 1n });
  await approve(holder, USDT);
  const allow = (amount: bigint) => ({
    to: USDT,
    data: encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, amount] }),
  });
  expect((await send(chain, holder, allow(5n))).status).toBe("reverted");
  expect((await send(chain, holder, allow(0n))).status).toBe("success");
  expect((await send(chain, holder, allow(5n))).status).toBe("success");
});

test("the settler guards no more than 0x's own: a token and a minimum that it is told", async () => {
  const account = await newWallet(chain);
  const recipient = privateKeyToAccount(generatePrivateKey()).address;
  const data = encodeFunctionData({ abi: poolAbi, functionName: "swap", args: [NATIVE, 0n, USDC] });
  const args = [NATIVE, 10_000n, POOL, 36n, data] as const;
  const trade = encodeFunctionData({ abi: actionsAbi, functionName: "BASIC", args });
  const sale = (buyToken: Address, minAmountOut: bigint) => ({
    to: SETTLER,
    data: buildSettlerCall({ recipient, buyToken, minAmountOut }, [trade], "0x", { awaitsSignature: false }),
    value: ETH,
  });
  const before = await holdingOf(USDC, SETTLER);
  expect((await send(chain, account, sale(zeroAddress, 0n))).status).toBe("success");
  expect(await holdingOf(USDC, recipient)).toBe(0n);
  expect(await holdingOf(USDC, SETTLER)).toBeGreaterThan(before);
  expect((await send(chain, account, sale(USDC, 0n))).status).toBe("success");
  expect(await holdingOf(USDC, recipient)).toBeGreaterThan(0n);
  await expectRevert(account, sale(USDC, parseEther("1")), "TooMuchSlippage");
});

async function expectRevert(
  account: PrivateKeyAccount,
  transaction: { to: Address; data: Hex; value: bigint },
  errorName: string,
): Promise<void> {
  const data = hex.parse(await revertOf(chain, account.address, transaction));
  expect(decodeErrorResult({ abi: [...settlerAbi, ...permit2Abi], data })).toMatchObject({ errorName });
  expect((await send(chain, account, transaction)).status).toBe("reverted");
}

describe("the provider", () => {
  const taker = "0x1111111111111111111111111111111111111111";
  const good = queryOf({ sell: USDC, buy: WETH, amount: 1_000_000n });

  test("says what a poor wallet lacks", async () => {
    const { issues } = await quote(taker, { sell: USDC, buy: WETH, amount: 1_000_000n });
    expect(issues).toEqual({
      allowance: { actual: "0", spender: PERMIT2.toLowerCase() },
      balance: { token: USDC.toLowerCase(), actual: "0", expected: "1000000" },
      simulationIncomplete: true,
    });
  });

  test.each([
    ["an unknown token", { buyToken: taker }],
    ["an amount that buys nothing", { sellAmount: "0" }],
    ["an amount beyond the reserves", { sellAmount: "1000000000000000000000" }],
    ["an amount beyond reckoning", { sellAmount: String(maxUint256) }],
  ])("has no liquidity for %s", async (_, change) => {
    const { status, body } = await ask({ ...good, taker, ...change });
    expect(status).toBe(200);
    expect(body).toEqual({ liquidityAvailable: false, zid: expect.stringMatching(/^0x/) });
  });

  test.each([
    ["chainId", { chainId: "1" }],
    ["sellToken", { sellToken: "0x0000000000000000000000000000000000000000" }],
    ["buyToken", { buyToken: "WETH" }],
    ["buyToken", { buyToken: USDC }],
    ["sellAmount", { sellAmount: "1.5" }],
    ["sellAmount", { sellAmount: "-1" }],
    ["taker", { taker: "0x12" }],
    ["slippageBps", { slippageBps: "10001" }],
    ["unrecognized_keys", { buyAmount: "1" }],
    ["recipient", { sellToken: NATIVE, recipient: taker }],
  ])("refuses a bad %s", async (field, change) => {
    const { status, body } = await ask({ ...good, taker, ...change });
    expect(status).toBe(400);
    const details = expect.arrayContaining([{ field, reason: expect.any(String) }]);
    expect(body).toMatchObject({ name: "INPUT_INVALID", data: { zid: expect.any(String), details } });
  });

  test("wants a taker for a quote, a key and a version", async () => {
    expect((await ask(good)).status).toBe(400);
    expect((await ask(good, { "0x-version": "v2" })).status).toBe(401);
    expect((await ask(good, { "0x-api-key": "any" })).status).toBe(400);
  });

  test("fails as the API does while there is no chain", async () => {
    const now = () => Date.now();
    const without = await ask({ ...good, taker }, HEADERS, createSwap({ rpcUrl: () => null, now }));
    const elsewhere = createSwap({ rpcUrl: () => "http://127.0.0.1:9", now });
    const unreachable = await ask({ ...good, taker }, HEADERS, elsewhere);
    for (const { status, body } of [without, unreachable]) {
      expect(status).toBe(500);
      expect(body).toMatchObject({ name: "INTERNAL_SERVER_ERROR" });
    }
  });
});

const integer = z.string().regex(/^\d+$/).transform(BigInt);
const permitShape = z.object({
  type: z.literal("Permit2"),
  hash: hex,
  eip712: z.object({
    types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
    domain: z.object({ name: z.string(), chainId: z.number(), verifyingContract: hex }),
    message: z.looseObject({ nonce: z.string(), deadline: z.string() }),
    primaryType: z.literal("PermitTransferFrom"),
  }),
});
const quoteShape = z.looseObject({
  liquidityAvailable: z.literal(true),
  buyAmount: integer,
  minBuyAmount: integer,
  allowanceTarget: hex.nullable(),
  issues: z.looseObject({
    allowance: z.object({ actual: z.string(), spender: hex }).nullable(),
    balance: z.object({ token: hex, actual: z.string(), expected: z.string() }).nullable(),
    simulationIncomplete: z.boolean(),
  }),
  permit2: permitShape.nullable(),
  transaction: z.object({ to: hex, data: hex, gas: z.string(), gasPrice: z.string(), value: integer }),
});
type Quote = z.infer<typeof quoteShape>;

const HEADERS = { "0x-api-key": "any", "0x-version": "v2" };

/** Asks the stand-in as a client of the API does. */
async function ask(
  query: Record<string, string>,
  headers: Record<string, string> = HEADERS,
  provider: Standin = swap,
): Promise<{ status: number; body: unknown }> {
  const call = { method: "GET", path: "/swap/permit2/quote", body: "" };
  const asked = { ...call, query: new URLSearchParams(query), headers: new Headers(headers) };
  const response = await provider.handle(asked);
  const body: unknown = await response.json();
  return { status: response.status, body };
}

type Asked = { sell: Address; buy: Address; amount: bigint; extra?: Record<string, string> };

function queryOf({ sell, buy, amount, extra = {} }: Asked): Record<string, string> {
  return { chainId: "8453", sellToken: sell, buyToken: buy, sellAmount: String(amount), ...extra };
}

/** A firm quote that is expected to come. */
async function quote(taker: Address, asked: Asked, provider?: Standin): Promise<Quote> {
  const { status, body } = await ask({ ...queryOf(asked), taker }, HEADERS, provider);
  expect(status).toBe(200);
  return quoteShape.parse(body);
}

/** A quote with its signature appended, as a client sends it. */
async function readyToSend({ permit2, transaction }: Quote, signer: PrivateKeyAccount) {
  const { to, value } = transaction;
  if (permit2 === null) return { to, value, data: transaction.data };
  const signature = await signer.signTypedData(permit2.eip712);
  return { to, value, data: withSignature(transaction.data, signature) };
}

function withSignature(data: Hex, signature: Hex): Hex {
  return concat([data, numberToHex(size(signature), { size: 32 }), signature]);
}
