import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { line, symbol, text, usd } from "../../convex/lib/answers";

const LONE = /\p{Surrogate}/u;

/** Any sixteen-bit text, halves of characters included. */
const wild = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0xd83d, 0xde80, 0x20, 0x0a)))
  .map((units) => String.fromCharCode(...units));

describe("a piece of text", () => {
  test("is stored whatever it was: well-formed, trimmed, within its length; a line without breaks", () => {
    fc.assert(
      fc.property(wild, fc.integer({ min: 3, max: 40 }), (given, max) => {
        for (const shape of [text(max), line(max)]) {
          const { success, data } = shape.safeParse(given);
          expect(success).toBe(given.trim() !== "");
          if (data === undefined) continue;
          expect(data).not.toMatch(LONE);
          expect(data.length).toBeLessThanOrEqual(max);
          expect(data).toBe(data.trim());
        }
        expect(line(max).safeParse(given).data ?? "").not.toMatch(/[^\S ]| {2}/);
      }),
    );
  });

  test("that is a symbol is well-formed too", () => {
    expect(symbol.parse("$btc")).toBe("BTC");
    expect(symbol.parse("x\ud83d")).not.toMatch(LONE);
  });
});

test("a price in USD is one that anything can have", () => {
  expect([1e13, 1e16, 1e308, 0, -1].map((value) => usd.safeParse(value).success)).toEqual([
    ...[true, false, false],
    ...[false, false],
  ]);
});
