import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { amountIn } from "../../convex/lib/answers";

/** Amounts as people and models write them. */

describe("an amount is read", () => {
  test.each([
    ["$14.5M", 14_500_000],
    ["1.2bn", 1_200_000_000],
    ["14.5 million dollars", 14_500_000],
    ["USD 2.05 billion", 2_050_000_000],
    ["US$1.9T", 1_900_000_000_000],
    ["~$250k", 250_000],
    ["12,500,000 USD", 12_500_000],
    ["1,234.5M", 1_234_500_000],
    ["1,234", 1_234],
    ["-1.5 %", -1.5],
    ["\u22122.5%", -2.5],
    ["+$ 5", 5],
    [".5", 0.5],
    ["5.", 5],
    ["1e6", 1_000_000],
    ["0", 0],
    ["2.5K", 2_500],
    ["3 thousand USD", 3_000],
    ["7 mn", 7_000_000],
    ["-US$1.25 trillion", -1_250_000_000_000],
    ["999999999.125", 999_999_999.125],
  ])("%s", (text, amount) => {
    expect(amountIn(text)).toBe(amount);
  });
});

describe("no amount is", () => {
  test.each([
    ["two readings", ["1,234M", "1,234 million"]],
    ["a decimal comma", ["1,5", "0,123", "3,4 M", "1.234.567,89"]],
    ["another unit", ["€5M", "5 ETH", "5 EUR", "12 USDC", "5M tokens", "£3"]],
    ["a range or words", ["1-2M", "10 to 20", "about 5", "n/a", "unknown", ">10M", ""]],
    [
      "a slip",
      [
        "1,23,456",
        "1.2.3",
        "1,2,3",
        "--5",
        "$",
        "M",
        "1e",
        "5 M M",
        "1e6M",
        "5%M",
        ". ,",
        "0x10",
        "Infinity",
      ],
    ],
  ])("%s", (_name, texts) => {
    expect(texts.map((text) => [text, amountIn(text)])).toEqual(texts.map((text) => [text, undefined]));
  });
});

test("whatever a text is, it is a finite number or none", () => {
  const text = fc.oneof(
    fc.string({ maxLength: 30 }),
    fc
      .array(fc.constantFrom(..."0123456789.,' $%-+eEkMbnTio€"), { maxLength: 20 })
      .map((all) => all.join("")),
  );
  fc.assert(
    fc.property(text, (one) => {
      const amount = amountIn(one);
      expect(amount === undefined || Number.isFinite(amount)).toBe(true);
    }),
    { seed: 13, numRuns: 3_000 },
  );
});
