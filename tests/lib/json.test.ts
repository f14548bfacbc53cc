import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { numberIn } from "../../convex/lib/answers/reading";
import { extractJson } from "../../convex/lib/json";

describe("extractJson", () => {
  test("finds any object whatever prose and fence surround it", () => {
    const prose = fc.string().filter((text) => !/[[{"\]}]/.test(text));
    const value = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
    fc.assert(
      fc.property(value, prose, prose, fc.boolean(), (object, before, after, fenced) => {
        const json = JSON.stringify(object);
        const text = fenced ? `${before}\n\`\`\`json\n${json}\n\`\`\`\n${after}` : `${before}${json}${after}`;
        expect(extractJson(text)).toEqual(JSON.parse(json));
      }),
    );
  });

  test("goes past brackets in prose", () => {
    expect(extractJson('As noted [1], see {this}: {"a": "}{"} done')).toEqual({ a: "}{" });
  });

  test("finds nothing in a truncated value, in prose, or in a bare number", () => {
    for (const text of ['{"a": [1, 2', "no data", "42", '"text"', ""])
      expect(extractJson(text)).toBeUndefined();
  });
});

describe("a number in a text", () => {
  test.each([
    ["65,000.12", 65_000.12],
    ["$1.5", 1.5],
    ["-$2", -2],
    ["+3.4 %", 3.4],
    ["1e-7", 1e-7],
    ["1,234,567", 1_234_567],
    ["12.5 USD", 12.5],
  ])("reads %s", (input, expected) => expect(numberIn(input)).toBe(expected));

  // "1,5" and "1.234,56" are one and a half and more than a thousand to some, and something else to others.
  test.each(["", "1.2T", "about 5", "NaN", "--1", "0x10", "1,5", "1.234,56", "1e999", "Infinity"])(
    "refuses %s",
    (input) => {
      expect(numberIn(input)).toBeUndefined();
    },
  );
});
