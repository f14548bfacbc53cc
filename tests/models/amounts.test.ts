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

/** The ways to write a figure without a change of its worth: digits, separators, decimals. */
const WAYS = [
  (whole: string, fraction: string) => `${whole}${fraction === "" ? "" : `.${fraction}`}`,
  (whole: string, fraction: string) => `${grouped(whole, ",")}${fraction === "" ? "" : `.${fraction}`}`,
];
const grouped = (whole: string, by: string) => whole.replace(/\B(?=(?:\d{3})+$)/g, by);
const UNITS: readonly (readonly [string, number])[] = [
  ["", 0],
  ["k", 3],
  ["K", 3],
  [" thousand", 3],
  ["M", 6],
  ["m", 6],
  [" mn", 6],
  [" million", 6],
  ["B", 9],
  ["bn", 9],
  [" billion", 9],
  ["T", 12],
  [" trillion", 12],
];
/** What stands before and behind an amount of dollars. */
const AFFIXES: readonly (readonly [string, string])[] = [
  ["", ""],
  ["$", ""],
  ["US$", ""],
  ["", " USD"],
  ["USD ", ""],
];

const digits = (min: number, max: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: min, maxLength: max }).map((all) => all.join(""));

test("however an amount is written, it is the same amount, to its last digit", () => {
  const written = fc.record({
    whole: fc.bigInt({ min: 0n, max: 999_999_999_999n }).map(String),
    fraction: digits(0, 6),
    way: fc.constantFrom(...WAYS),
    unit: fc.constantFrom(...UNITS),
    sign: fc.constantFrom("", "-", "+"),
    dollars: fc.constantFrom(...AFFIXES),
  });
  fc.assert(
    fc.property(written, ({ whole, fraction, way, unit: [unit, power], sign, dollars: [before, after] }) => {
      const figure = way(whole, fraction);
      // The one that has two readings: of a plain one it is the thousands.
      fc.pre(!((power > 0 || fraction !== "") && /^[1-9]\d{0,2},\d{3}$/.test(figure)));
      const text = `${sign}${before}${figure}${unit}${after}`;
      expect([text, amountIn(text)]).toEqual([text, Number(`${sign}${whole}.${fraction}e${power}`)]);
    }),
    { seed: 13, numRuns: 3_000 },
  );
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
