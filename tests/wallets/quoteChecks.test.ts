import { describe, expect, test } from "vitest";
import type { Quote } from "../../convex/providers/swap";
import { checkPrice, checkQuote } from "../../convex/wallets/transactions/quote";
import { NATIVE_SENTINEL, PERMIT2, TOKENS } from "../../convex/wallets/tokens";

const NOW = 1_800_000_000_000;
const SETTLER = `0x${"5e".repeat(20)}` as const;
const THIEF = `0x${"66".repeat(20)}` as const;
const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const swap = { fromToken: "USDC", toToken: "WETH", amount: 3_000_000_000n, slippageBps: 100 } as const;

function quote(changes: Partial<Quote> = {}): Quote {
  return {
    liquidityAvailable: true,
    sellToken: USDC,
    buyToken: TOKENS.WETH.address ?? NATIVE_SENTINEL,
    sellAmount: swap.amount,
    buyAmount: 10n ** 18n,
    minBuyAmount: 99n * 10n ** 16n,
    issues: { allowance: { actual: 0n, spender: PERMIT2 } },
    permit2: {
      eip712: {
        primaryType: "PermitTransferFrom",
        domain: { name: "Permit2", chainId: 8453, verifyingContract: PERMIT2 },
        message: {
          permitted: { token: USDC, amount: swap.amount },
          spender: SETTLER,
          nonce: 1n,
          deadline: BigInt(NOW / 1000 + 300),
        },
      },
    },
    transaction: { to: SETTLER, data: "0x1234", value: 0n, gas: 300_000n },
    ...changes,
  };
}

function permit(changes: object, domain: object = {}): Partial<Quote> {
  const whole = quote().permit2;
  if (!whole) throw new Error("The quote has a permit");
  const { eip712 } = whole;
  return {
    permit2: {
      eip712: {
        ...eip712,
        domain: { ...eip712.domain, ...domain },
        message: { ...eip712.message, ...changes },
      },
    },
  };
}

describe("a quote", () => {
  test("that says what was asked is taken", () => {
    expect(() => checkQuote(quote(), swap, NOW)).not.toThrow();
  });

  test.each<[string, Partial<Quote>]>([
    ["sells another token", { sellToken: PERMIT2 }],
    ["buys another token", { buyToken: USDC }],
    ["sells more", { sellAmount: swap.amount + 1n }],
    ["guarantees less than the slippage allows", { minBuyAmount: 98n * 10n ** 16n }],
    ["buys nothing", { buyAmount: 0n, minBuyAmount: 0n }],
    ["wants ether with a token", { transaction: { ...quote().transaction, value: 1n } }],
    ["has no permit for a token", { permit2: null }],
    ["has itself approved", { issues: { allowance: { actual: 0n, spender: SETTLER } } }],
    ["permits another spender", permit({ spender: THIEF })],
    ["permits another token", permit({ permitted: { token: PERMIT2, amount: swap.amount } })],
    ["permits more", permit({ permitted: { token: USDC, amount: swap.amount * 2n } })],
    ["never runs out", permit({ deadline: BigInt(NOW / 1000 + 3_600) })],
    ["has run out", permit({ deadline: BigInt(NOW / 1000) })],
    ["is for another chain", permit({}, { chainId: 1 })],
    ["is for another Permit2", permit({}, { verifyingContract: THIEF })],
  ])("that %s is refused", (_name, changes) => {
    expect(() => checkQuote(quote(changes), swap, NOW)).toThrow("nothing was signed");
  });

  test("selling ether pays exactly what was asked", () => {
    const native = { ...swap, fromToken: "ETH", toToken: "USDC", amount: 10n ** 18n } as const;
    const base = {
      sellToken: NATIVE_SENTINEL,
      buyToken: USDC,
      sellAmount: native.amount,
      permit2: null,
      issues: { allowance: null },
    } as const;
    const paying = (value: bigint) => quote({ ...base, transaction: { ...quote().transaction, value } });
    expect(() => checkQuote(paying(10n ** 18n), native, NOW)).not.toThrow();
    expect(() => checkQuote(paying(10n ** 18n + 1n), native, NOW)).toThrow("nothing was signed");
  });
});

describe("a quote for a wrap", () => {
  const WETH = TOKENS.WETH.address ?? NATIVE_SENTINEL;
  const wrap = { fromToken: "ETH", toToken: "WETH", amount: 5n, slippageBps: 100 } as const;
  const plain = {
    sellToken: NATIVE_SENTINEL,
    buyToken: WETH,
    sellAmount: 5n,
    buyAmount: 5n,
    minBuyAmount: 5n,
    permit2: null,
    issues: { allowance: null },
    transaction: { to: WETH, data: "0xd0e30db0", value: 5n, gas: 60_000n },
  } as const;

  test("is taken when it is the WETH contract's own deposit, one to one", () => {
    expect(() => checkQuote(quote(plain), wrap, NOW)).not.toThrow();
  });

  test.each<[string, Partial<Quote>]>([
    ["pays somebody else", { transaction: { ...plain.transaction, to: THIEF } }],
    ["gives less", { buyAmount: 4n, minBuyAmount: 4n }],
    ["calls something else", { transaction: { ...plain.transaction, data: "0xd0e30db000" } }],
  ])("is refused when it %s", (_name, changes) => {
    expect(() => checkQuote(quote({ ...plain, ...changes }), wrap, NOW)).toThrow("nothing was signed");
  });
});

describe("a quote's price", () => {
  const prices = { from: 100_000_000n, to: 300_000_000_000n };
  const paying = (share: bigint) => quote({ minBuyAmount: (10n ** 18n * share) / 10_000n });

  test("is taken down to slippage plus impact below the feeds, and not below", () => {
    expect(checkPrice(paying(9_600n), swap, prices, 300n)).toBe(true);
    expect(() => checkPrice(paying(9_599n), swap, prices, 300n)).toThrow(
      "worse than the market price allows",
    );
  });

  test("cannot be checked without both prices", () => {
    expect(checkPrice(paying(1n), swap, { ...prices, to: null }, 300n)).toBe(false);
    expect(checkPrice(paying(1n), swap, { ...prices, from: null }, 300n)).toBe(false);
  });

  test("of a wrap is one to one by nature", () => {
    const wrap = { fromToken: "ETH", toToken: "WETH", amount: 1n, slippageBps: 0 } as const;
    expect(checkPrice(quote(), wrap, { from: null, to: null }, 0n)).toBe(true);
  });
});
