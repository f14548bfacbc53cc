import { concat, numberToHex, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import type { SwapQuote } from "../../convex/providers/swap";
import { checkPrice, checkQuote } from "../../convex/wallets/orders/quotes";
import { PERMIT2 } from "../../convex/wallets/tokens";
import { buildSettlerCall, type Slippage } from "../../scripts/chain/settlerCall";

const NOW = 1_800_000_000_000;
const SETTLER = `0x${"5e".repeat(20)}` as const;
const THIEF = `0x${"66".repeat(20)}` as const;
const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const OWNER = `0x${"a1".repeat(20)}` as const;
const WETH = "0x4200000000000000000000000000000000000006";
const LEAST = 99n * 10n ** 16n;
const order = { fromToken: "USDC", toToken: "WETH", amount: "3000000000", slippageBps: 100 } as const;
const swap = { kind: "swap", ...order } as const;
const SOLD = BigInt(order.amount);

const ACTIONS: Hex[] = [concat(["0xc1fb425e", numberToHex(32, { size: 32 })]), "0x38c9c147"];

/** The call of an honest quote, but for what is changed. */
function call(changes: Partial<Slippage> = {}, awaitsSignature = true): Hex {
  const slippage = { recipient: OWNER, buyToken: WETH, minAmountOut: LEAST, ...changes } as const;
  return buildSettlerCall(slippage, ACTIONS, "0x1234", { awaitsSignature });
}

const calling = (data: Hex): Partial<SwapQuote> => ({ transaction: { ...quote().transaction, data } });

type Message = NonNullable<SwapQuote["permit2"]>["eip712"]["message"];
const permit = (changes: Partial<Message> = {}): Partial<SwapQuote> => {
  const message = {
    permitted: { token: USDC, amount: SOLD },
    spender: SETTLER,
    nonce: 1n,
    deadline: BigInt(NOW / 1000 + 300),
  } as const;
  return { permit2: { eip712: { message: { ...message, ...changes } } } };
};

const quote = (changes: Partial<SwapQuote> = {}): SwapQuote => ({
  liquidityAvailable: true,
  buyAmount: 10n ** 18n,
  ...permit(),
  transaction: { to: SETTLER, data: call(), value: 0n, gas: 300_000n },
  ...changes,
});

describe("a quote", () => {
  test("that says what was asked is taken", () => {
    expect(checkQuote(quote(), swap, OWNER, NOW)).toBe(LEAST);
  });

  test.each<[string, Partial<SwapQuote>]>([
    ["wants ether with a token", { transaction: { ...quote().transaction, value: 1n } }],
    ["permits another spender", permit({ spender: THIEF })],
    ["permits another token", permit({ permitted: { token: PERMIT2, amount: SOLD } })],
    ["permits more", permit({ permitted: { token: USDC, amount: SOLD * 2n } })],
    ["never runs out", permit({ deadline: BigInt(NOW / 1000 + 3_600) })],
    ["has run out", permit({ deadline: BigInt(NOW / 1000) })],
    ["calls for another recipient", calling(call({ recipient: THIEF }))],
    ["calls for another token", calling(call({ buyToken: USDC }))],
    ["calls for less than the slippage allows", calling(call({ minAmountOut: LEAST - 2n }))],
    ["calls for no check at all", calling(call({ buyToken: `0x${"00".repeat(20)}`, minAmountOut: 0n }))],
    ["calls something else", calling(concat(["0x06b8524c", `0x${call().slice(10)}`]))],
  ])("that %s is refused", (_name, changes) => {
    expect(() => checkQuote(quote(changes), swap, OWNER, NOW)).toThrow("nothing was signed");
  });

  test("selling ether pays exactly what was asked", () => {
    const native = { ...swap, fromToken: "ETH", toToken: "USDC", amount: (10n ** 18n).toString() } as const;
    const data = call({ buyToken: USDC }, false);
    const paying = (value: bigint) =>
      quote({ permit2: null, transaction: { ...quote().transaction, data, value } });
    expect(() => checkQuote(paying(10n ** 18n), native, OWNER, NOW)).not.toThrow();
    expect(() => checkQuote(paying(10n ** 18n + 1n), native, OWNER, NOW)).toThrow("nothing was signed");
  });
});

describe("a quote for a wrap", () => {
  const wrap = { ...swap, fromToken: "ETH", toToken: "WETH", amount: "5" } as const;
  const plain = {
    buyAmount: 5n,
    permit2: null,
    transaction: { to: WETH, data: "0xd0e30db0", value: 5n, gas: 60_000n },
  } as const;

  test("is taken when it is the WETH contract's own deposit, one to one, and nothing else", () => {
    expect(() => checkQuote(quote(plain), wrap, OWNER, NOW)).not.toThrow();
    for (const change of [{ to: THIEF }, { data: "0xd0e30db000" }] as const) {
      const transaction = { ...plain.transaction, ...change };
      expect(() => checkQuote(quote({ ...plain, transaction }), wrap, OWNER, NOW)).toThrow(
        "nothing was signed",
      );
    }
  });
});

describe("a quote's price", () => {
  const prices = { from: 100_000_000n, to: 300_000_000_000n };
  const paying = (share: bigint) => (10n ** 18n * share) / 10_000n;

  test("is taken down to slippage plus impact below the feeds, and not below", () => {
    expect(checkPrice(paying(9_600n), swap, prices, 300n)).toBe(400);
    expect(() => checkPrice(paying(9_599n), swap, prices, 300n)).toThrow(
      "worse than the market price allows",
    );
  });

  test("cannot be checked without both prices", () => {
    expect(checkPrice(paying(1n), swap, { ...prices, to: null }, 300n)).toBe(null);
    expect(checkPrice(paying(1n), swap, { ...prices, from: null }, 300n)).toBe(null);
  });

  test("of a wrap is one to one by nature", () => {
    const wrap = { ...swap, fromToken: "ETH", toToken: "WETH", amount: "1", slippageBps: 0 } as const;
    expect(checkPrice(1n, wrap, { from: null, to: null }, 0n)).toBe(0);
  });
});
