import fc from "fast-check";
import { concat, isAddressEqual, numberToHex, slice, type Address, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { mayBeSigned } from "../../convex/wallets/orders/signer";
import type { SwapRequest } from "../../convex/wallets/orders/quotes";
import { PERMIT2, SETTLER, TOKENS } from "../../scripts/chain/addresses";
import { buildSettlerCall } from "../../scripts/chain/settlerCall";
import { random } from "../../scripts/standins/random";
import { alterationsOf, readCall, slippageIn } from "./settlerCalls";

/** No altered call of a swap passes the signer's check, unless the chain guarantees the wallet what was ordered all the same. */

const OWNER: Address = `0x${"a1".repeat(20)}`;
const EXECUTE = "0x1fff991f";
const LEAST = 99n * 10n ** 16n;
const request: SwapRequest = {
  kind: "swap",
  fromToken: "USDC",
  toToken: "WETH",
  amount: "3000000000",
  slippageBps: 100,
};
const order = { address: OWNER, request };

const honest = (): Hex =>
  buildSettlerCall(
    { recipient: OWNER, buyToken: TOKENS.WETH, minAmountOut: LEAST },
    [`0x${"11".repeat(68)}`, `0x${"22".repeat(132)}`],
    "0x1234",
    { awaitsSignature: true },
  );

function isSigned(call: { to: Address; data: Hex; value: bigint }, least: bigint | undefined = LEAST) {
  try {
    mayBeSigned(order, call, least);
    return true;
  } catch {
    return false;
  }
}

/** What the contract itself reads in its call: nothing that is ordered can be missing there. */
function isGuaranteed({ data, value }: { data: Hex; value: bigint }): boolean {
  if (value !== 0n || !data.startsWith(EXECUTE) || data.length < 2 + 2 * 100) return false;
  const clean = [4, 36].every((at) => BigInt(slice(data, at, at + 12)) === 0n);
  const { recipient, buyToken, minAmountOut } = slippageIn(data);
  return (
    clean &&
    isAddressEqual(recipient, OWNER) &&
    isAddressEqual(buyToken, TOKENS.WETH) &&
    minAmountOut >= LEAST
  );
}

describe("the signer's check", () => {
  test("lets the honest call pass, and the approval of exactly what is sold", () => {
    expect(isSigned({ to: SETTLER, data: honest(), value: 0n })).toBe(true);
    expect(isSigned({ to: TOKENS.USDC, data: approval(PERMIT2, 3_000_000_000n), value: 0n }, undefined)).toBe(
      true,
    );
  });

  test("refuses 2,000 altered calls of swaps (10,000 with RUNS), but for those that guarantee no less", () => {
    const refused = new Set<string>();
    const most = process.env.RUNS === undefined ? 2_000 : 10_000;
    for (let seed = 0; seed < most; seed++) {
      const chance = random("altered calls", seed);
      const { name, alter } = chance.pick(alterationsOf(chance));
      const value = chance.between(0, 1) < 0.05 ? 1n : 0n;
      const call = { to: SETTLER, data: alter(readCall(honest(), true)), value };
      expect([seed, name, isSigned(call)]).toEqual([seed, name, isGuaranteed(call)]);
      if (!isGuaranteed(call)) refused.add(name);
    }
    for (const name of ["recipient", "token", "minimum", "zeros", "selector", "dirty address"])
      expect(refused).toContain(name);
  });

  test("refuses every changed byte of what the contract checks", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99 }), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const data = honest();
        const was = Number(slice(data, at, at + 1));
        const changed = concat([slice(data, 0, at), numberToHex(was ^ by, { size: 1 }), slice(data, at + 1)]);
        const call = { to: SETTLER, data: changed, value: 0n };
        expect(isSigned(call)).toBe(isGuaranteed(call));
        // Only a higher minimum is no worse.
        if (at < 68) expect(isSigned(call)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  test("refuses what is no swap at all: transfers, approvals of others, of more, of other tokens", () => {
    const words = fc.uint8Array({ minLength: 0, maxLength: 300 });
    fc.assert(
      fc.property(words, fc.bigInt({ min: 0n, max: 2n ** 128n }), (bytes, value) => {
        const data: Hex = `0x${Buffer.from(bytes).toString("hex")}`;
        expect(isSigned({ to: SETTLER, data, value })).toBe(false);
      }),
    );
    for (const [to, data] of [
      [TOKENS.USDC, approval(SETTLER, 3_000_000_000n)],
      [TOKENS.USDC, approval(PERMIT2, 3_000_000_001n)],
      [TOKENS.USDC, approval(PERMIT2, 2n ** 256n - 1n)],
      [TOKENS.DAI, approval(PERMIT2, 3_000_000_000n)],
      [TOKENS.USDC, concat(["0xa9059cbb", slice(approval(SETTLER, 1n), 4)])],
    ] as const)
      expect([to, data, isSigned({ to, data, value: 0n })]).toEqual([to, data, false]);
  });

  test("refuses less than the owner has approved, and what has no minimum", () => {
    const call = { to: SETTLER, data: honest(), value: 0n };
    expect(() => mayBeSigned(order, call, undefined)).toThrow("not what was ordered");
    const approved = { ...order, minBuyAmount: (LEAST + 1n).toString() };
    expect(() => mayBeSigned(approved, call, LEAST)).toThrow("The price has moved");
  });
});

/** The bytes of an ERC-20 approval, by hand. */
function approval(spender: Address, amount: bigint): Hex {
  return concat([
    "0x095ea7b3",
    `0x${"0".repeat(24)}${spender.slice(2).toLowerCase()}`,
    numberToHex(amount, { size: 32 }),
  ]);
}
