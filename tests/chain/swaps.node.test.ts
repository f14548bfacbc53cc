import {
  concat,
  decodeErrorResult,
  encodeFunctionData,
  erc20Abi,
  hashTypedData,
  maxUint256,
  numberToHex,
  parseEther,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { actionsAbi, permit2Abi, poolAbi, settlerAbi } from "../../scripts/chain/abis";
import { NATIVE, PERMIT2, POOL, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { settlerCall } from "../../scripts/chain/settlerCall";
import { createSwap, type Swap } from "../../scripts/standins/swap";
import { clientOf, newWallet, PRICES, revertOf, send, startTestChain, balanceOf } from "./support";
import { hex, permitShape, quote, readyToSend, withSignature, type Asked, type Quote } from "./swapClient";

let chain: Chain;
let swap: Swap;

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

describe("swaps settle", () => {
  test.each(kinds)("%s", async (_, sell, buy, amount) => {
    const account = await newWallet(chain, ALL);
    const first = await quote(swap, account.address, { sell, buy, amount });
    const needsPermit = first.permit2 !== null;
    expect(first.allowanceTarget).toBe(needsPermit ? PERMIT2.toLowerCase() : null);
    if (first.issues.allowance !== null) {
      expect(first.issues.simulationIncomplete).toBe(true);
      await approve(account, sell);
    }
    const offer = await quote(swap, account.address, { sell, buy, amount });
    expect(offer.issues).toMatchObject({ allowance: null, balance: null, simulationIncomplete: false });
    if (offer.permit2 !== null) expect(hashTypedData(offer.permit2.eip712)).toBe(offer.permit2.hash);

    const before = {
      sold: await holdingOf(sell, account.address),
      bought: await holdingOf(buy, account.address),
    };
    const receipt = await send(chain, account, await readyToSend(offer, account));
    expect(receipt.status).toBe("success");
    const gasCost = receipt.gasUsed * receipt.effectiveGasPrice;
    const cost = (token: Address) => (token === NATIVE ? gasCost : 0n);
    expect(before.sold - (await holdingOf(sell, account.address)) - cost(sell)).toBe(amount);
    expect((await holdingOf(buy, account.address)) - before.bought + cost(buy)).toBe(offer.buyAmount);
  });

  test("at the feeds' price less 15 basis points", async () => {
    const account = await newWallet(chain);
    const { buyAmount, minBuyAmount } = await quote(swap, account.address, {
      sell: NATIVE,
      buy: USDC,
      amount: ETH,
      extra: { slippageBps: "250" },
    });
    expect(Number(buyAmount) / 1e6).toBeCloseTo((0.01 * PRICES.ETH * 0.9985) / PRICES.USDC, 5);
    expect(minBuyAmount).toBe((buyAmount * 9_750n) / 10_000n);
  });

  test("for another recipient when one is named", async () => {
    const account = await newWallet(chain);
    const recipient = privateKeyToAccount(generatePrivateKey()).address;
    const offer = await quote(swap, account.address, {
      sell: NATIVE,
      buy: DAI,
      amount: ETH,
      extra: { recipient },
    });
    expect((await send(chain, account, await readyToSend(offer, account))).status).toBe("success");
    expect(await holdingOf(DAI, recipient)).toBe(offer.buyAmount);
  });
});

describe("the chain refuses", () => {
  const asked: Asked = { sell: USDC, buy: WETH, amount: 1_000_000n };
  let account: PrivateKeyAccount;
  let offer: Quote;

  beforeAll(async () => {
    account = await newWallet(chain, { USDC: 100_000_000n });
    await approve(account, USDC);
    offer = await quote(swap, account.address, asked);
  });

  type Send = { to: Address; data: Hex; value: bigint };
  const expectRevert = async (transaction: Send, error: { errorName: string; args?: unknown[] }) => {
    const data = hex.parse(await revertOf(chain, account.address, transaction));
    expect(decodeErrorResult({ abi: [...settlerAbi, ...permit2Abi], data })).toMatchObject(error);
    expect((await send(chain, account, transaction)).status).toBe("reverted");
  };
  const permitOf = ({ permit2 }: Quote) => permitShape.parse(permit2).eip712;

  test("a swap without a signature", async () => {
    const { to, data, value } = offer.transaction;
    await expectRevert({ to, data, value }, { errorName: "InvalidSignatureLength" });
  });

  test("a signature without its length word", async () => {
    const { to, data, value } = offer.transaction;
    const signature = await account.signTypedData(permitOf(offer));
    // The signature's first word is read as its length: more than there is memory.
    await expectRevert({ to, data: concat([data, signature]), value }, { errorName: "Panic", args: [0x41n] });
  });

  test("a length word that does not say the signature's length", async () => {
    const { to, data, value } = offer.transaction;
    const signature = await account.signTypedData(permitOf(offer));
    const wrong = concat([data, numberToHex(63, { size: 32 }), signature]);
    await expectRevert({ to, data: wrong, value }, { errorName: "InvalidSignatureLength" });
  });

  test("the chain refuses a swap that another key has signed", async () => {
    const stranger = privateKeyToAccount(generatePrivateKey());
    await expectRevert(await readyToSend(offer, stranger), { errorName: "InvalidSigner" });
  });

  type Permit = ReturnType<typeof permitOf>;
  test.each<[string, Partial<Permit["message"]>, Partial<Permit["domain"]>]>([
    ["amount", { permitted: { token: USDC, amount: "999999" } }, {}],
    ["nonce", { nonce: "1" }, {}],
    ["spender", { spender: USDC }, {}],
    ["chain", {}, { chainId: 1 }],
  ])("a signature for another %s", async (_, message, domain) => {
    const permit = permitOf(offer);
    const signature = await account.signTypedData({
      ...permit,
      message: { ...permit.message, ...message },
      domain: { ...permit.domain, ...domain },
    });
    const { to, data, value } = offer.transaction;
    await expectRevert({ to, data: withSignature(data, signature), value }, { errorName: "InvalidSigner" });
  });

  test("a permit whose deadline has passed", async () => {
    const past = createSwap({ rpcUrl: () => chain.url, now: () => Date.now() - 3_600_000 });
    const old = await quote(past, account.address, asked);
    await expectRevert(await readyToSend(old, account), { errorName: "SignatureExpired" });
  });

  test("more ether than is sold", async () => {
    const native = await quote(swap, account.address, { sell: NATIVE, buy: USDC, amount: ETH });
    const transaction = { ...native.transaction, value: ETH + 1n };
    await expectRevert(transaction, { errorName: "MsgValueMismatch", args: [ETH, ETH + 1n] });
  });

  test("a price that has moved past the slippage", async () => {
    const tight = await quote(swap, account.address, { ...asked, extra: { slippageBps: "10" } });
    await chain.feeds.pause();
    try {
      await chain.feeds.set("ETH", { answer: 400_000_000_000n, updatedAt: Math.floor(Date.now() / 1_000) });
      await expectRevert(await readyToSend(tight, account), { errorName: "TooMuchSlippage" });
    } finally {
      chain.feeds.resume();
      await chain.feeds.tick();
    }
  });

  test("a permit that was used", async () => {
    const fresh = await quote(swap, account.address, asked);
    const transaction = await readyToSend(fresh, account);
    expect((await send(chain, account, transaction)).status).toBe("success");
    await expectRevert(transaction, { errorName: "InvalidNonce" });
  });

  test("a USDT allowance changed without being cleared", async () => {
    const holder = await newWallet(chain, { USDT: 1n });
    await approve(holder, USDT);
    const data = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, 5n] });
    expect((await send(chain, holder, { to: USDT, data })).status).toBe("reverted");
    const clear = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [PERMIT2, 0n] });
    expect((await send(chain, holder, { to: USDT, data: clear })).status).toBe("success");
    expect((await send(chain, holder, { to: USDT, data })).status).toBe("success");
  });
});

describe("the settler guards no more than 0x's own", () => {
  const sale = (slippage: Parameters<typeof settlerCall>[0]) => {
    const data = encodeFunctionData({ abi: poolAbi, functionName: "swap", args: [NATIVE, 0n, USDC] });
    const args = [NATIVE, 10_000n, POOL, 36n, data] as const;
    const trade = encodeFunctionData({ abi: actionsAbi, functionName: "BASIC", args });
    return {
      to: SETTLER,
      data: settlerCall(slippage, [trade], "0x", { awaitsSignature: false }),
      value: ETH,
    };
  };

  test("with no token and no minimum it checks nothing and pays nothing", async () => {
    const account = await newWallet(chain);
    const before = await holdingOf(USDC, SETTLER);
    const none = { recipient: account.address, buyToken: zeroAddress, minAmountOut: 0n };
    expect((await send(chain, account, sale(none))).status).toBe("success");
    expect(await holdingOf(USDC, account.address)).toBe(0n);
    expect(await holdingOf(USDC, SETTLER)).toBeGreaterThan(before);
  });

  test("with a token and no minimum it pays what there is, to whom it is told", async () => {
    const account = await newWallet(chain);
    const recipient = privateKeyToAccount(generatePrivateKey()).address;
    const call = sale({ recipient, buyToken: USDC, minAmountOut: 0n });
    expect((await send(chain, account, call)).status).toBe("success");
    expect(await holdingOf(USDC, recipient)).toBeGreaterThan(0n);
  });

  test("with a minimum it reverts below it", async () => {
    const account = await newWallet(chain);
    const minAmountOut = parseEther("1");
    const call = sale({ recipient: account.address, buyToken: USDC, minAmountOut });
    const data = hex.parse(await revertOf(chain, account.address, call));
    expect(decodeErrorResult({ abi: settlerAbi, data })).toMatchObject({ errorName: "TooMuchSlippage" });
  });
});
