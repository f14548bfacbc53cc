import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatUnits, toMicroUsd, computeMicroUsd, parseUnits } from "../../convex/lib/money/amounts";

const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });

describe("amounts", () => {
  test("are exact decimals, back and forth", () => {
    fc.assert(
      fc.property(amount, fc.integer({ min: 0, max: 18 }), (value, decimals) => {
        const [whole = "", fraction = ""] = formatUnits(value, decimals).split(".");
        expect(fraction).not.toMatch(/0$/);
        expect(BigInt(whole + fraction.padEnd(decimals, "0"))).toBe(value);
      }),
    );
  });

  test("are digits of a positive uint256 and nothing else", () => {
    fc.assert(
      fc.property(amount, (value) => {
        expect(parseUnits(value.toString())).toBe(value === 0n ? null : value);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (!/^[1-9][0-9]*$/.test(text)) expect(parseUnits(text)).toBeNull();
      }),
    );
    expect(parseUnits((2n ** 256n).toString())).toBeNull();
  });

  test("are worth what they are worth, rounded down", () => {
    expect(computeMicroUsd(1_500_000n, 6, 100_000_000n, 8)).toBe(1_500_000n);
    expect(computeMicroUsd(10n ** 18n, 18, 312_345_678_901n, 8)).toBe(3_123_456_789n);
    expect(computeMicroUsd(1n, 18, 312_345_678_901n, 8)).toBe(0n);
    expect(toMicroUsd("99.5")).toBe(99_500_000n);
    expect(toMicroUsd("250")).toBe(250_000_000n);
  });
});
