import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  parseAmountText,
  shortLine,
  parseAnswer,
  symbol,
  shortText,
  positiveUsd,
  usdOrNull,
  toWireSchema,
} from "../../convex/figures/answers";
import { extractJson } from "../../convex/lib/text/json";

/** What a model is told of a shape, and how its answer is read. */

const shape = z.object({
  outlook: z.enum(["bullish", "very_bearish"]),
  marketCap: usdOrNull.describe("USD; null when unknown"),
  coins: z
    .array(z.object({ symbol, price: positiveUsd.describe("USD"), change24h: z.number() }))
    .min(1)
    .overwrite((coins) => coins.slice(0, 2))
    .describe("largest first"),
  note: shortText(10).nullable(),
});

const right = {
  outlook: "bullish",
  marketCap: 1_000,
  coins: [{ symbol: "BTC", price: 97_000.5, change24h: -1.5 }],
  note: null,
};

const read = (value: unknown) =>
  parseAnswer(shape, typeof value === "string" ? value : JSON.stringify(value), "");

describe("what a model is told", () => {
  test("is a schema of nothing but types, names and descriptions", () => {
    expect(toWireSchema(shape)["properties"]).toHaveProperty("coins", {
      type: "array",
      description: "largest first",
      items: {
        type: "object",
        properties: {
          symbol: { type: "string" },
          price: { type: "number", description: "USD" },
          change24h: { type: "number" },
        },
        required: ["symbol", "price", "change24h"],
        additionalProperties: false,
      },
    });
  });

  test("cannot be a transformation", () => {
    expect(() => toWireSchema(z.object({ a: z.string().transform(Number) }))).toThrow();
  });
});

describe("an answer is read although", () => {
  test.each([
    ["there is prose around it", `As noted [1], {so}: ${JSON.stringify(right)}\n\nIs {anything} unclear?`],
    ["it is fenced", `\`\`\`json\n${JSON.stringify(right, null, 2)}\n\`\`\``],
    ["keys are in snake case", { ...right, marketCap: undefined, market_cap: 1_000 }],
    ["keys are in capitals", JSON.stringify(right).replace(/"\w+":/g, (key) => key.toUpperCase())],
    ["a key is missing that may be null", { ...right, note: undefined }],
    ["nobody asked for some keys", { ...right, source: "x", coins: [{ ...right.coins[0], url: "y" }] }],
    ["it is wrapped", { data: right }],
    ["a word is in another case", { ...right, outlook: " Bullish " }],
    [
      "numbers are text",
      { ...right, marketCap: "$1,000", coins: [{ ...right.coins[0], change24h: "-1.5 %" }] },
    ],
    ["an amount has a magnitude", { ...right, marketCap: "$1k" }],
    ["null is said in words", { ...right, note: "n/a" }],
    ["a symbol is dressed", { ...right, coins: [{ ...right.coins[0], symbol: "$btc" }] }],
  ])("%s", (_name, given) => {
    expect(read(given)).toEqual({ value: right });
  });

  test("a figure that may be unknown cannot be read: it is unknown", () => {
    expect(read({ ...right, marketCap: "1.9 Cr" })).toEqual({ value: { ...right, marketCap: null } });
    expect(read({ ...right, marketCap: -5 })).toEqual({ value: { ...right, marketCap: null } });
  });

  test("a word is in another spelling, or text a number", () => {
    expect(read({ ...right, outlook: "Very Bearish", note: 12 })).toEqual({
      value: { ...right, outlook: "very_bearish", note: "12" },
    });
  });
});

describe("an answer is refused when", () => {
  test("two spellings of a key disagree about what was meant", () => {
    const two = { ...right, outlook: undefined, Outlook: "bullish", OUTLOOK: "very_bearish" };
    expect(read(two)).toEqual({ problem: expect.stringContaining("outlook") });
  });

  test("things are wrong: each is named by its place, twenty at most", () => {
    const coin = { symbol: "BTC", price: "much", change24h: 1 };
    const named = (coins: unknown[]) =>
      ({ problem: "", ...read({ outlook: "up", coins }) }).problem
        .split("; ")
        .map((one) => one.split(":")[0]);
    expect(named([coin, right.coins[0], coin])).toEqual(["outlook", "coins.0.price", "coins.2.price"]);
    expect(named(Array.from({ length: 30 }, () => coin)).slice(19)).toEqual([
      "coins.18.price",
      "and 11 more",
    ]);
  });

  test("an answer is refused when it holds no JSON", () => {
    expect(read("I cannot know.")).toEqual({ problem: "it holds no complete JSON value" });
  });
});

describe("an amount", () => {
  test.each([
    ["$14.5M", 14_500_000],
    ["1.2bn", 1_200_000_000],
    ["14.5 million dollars", 14_500_000],
    ["US$1.9T", 1_900_000_000_000],
    ["~$250k", 250_000],
    ["12,500,000 USD", 12_500_000],
    ["1,234.5M", 1_234_500_000],
    ["1,234", 1_234],
    ["\u22122.5 %", -2.5],
    [".5", 0.5],
    ["1e6", 1_000_000],
    ["3 thousand USD", 3_000],
    ["-US$1.25 trillion", -1_250_000_000_000],
    ["999999999.125", 999_999_999.125],
  ])("is read as people and models write it: %s", (written, amount) =>
    expect(parseAmountText(written)).toBe(amount),
  );

  test.each([
    ["two readings", "1,234M|1,234 million"],
    ["a decimal comma", "1,5|0,123|3,4 M|1.234.567,89"],
    ["another unit", "€5M|5 ETH|5 EUR|12 USDC|5M tokens"],
    ["a range or words", "1-2M|10 to 20|about 5|n/a|>10M|"],
    ["a slip", "1,23,456|1.2.3|1,2,3|--5|$|M|1e|5 M M|1e6M|1e999|5%M|. ,|0x10|Infinity"],
  ])("with %s is none", (_why, written) =>
    expect(written.split("|").filter((one) => parseAmountText(one) !== undefined)).toEqual([]),
  );
});

describe("whatever a text is", () => {
  /** Any sixteen-bit text, halves of characters included. */
  const wild = fc
    .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0xd83d, 0xde80, 0x20, 0x0a)))
    .map((units) => String.fromCharCode(...units));

  test("it can be stored: well-formed, trimmed, within its length; a line without breaks", () => {
    fc.assert(
      fc.property(wild, fc.integer({ min: 3, max: 40 }), (given, max) => {
        for (const one of [shortText(max), shortLine(max)]) {
          const { success, data = "" } = one.safeParse(given);
          expect(success).toBe(given.trim() !== "");
          expect([data.isWellFormed(), data.length <= max, data.trim()]).toEqual([true, true, data]);
        }
        expect(shortLine(max).safeParse(given).data ?? "").not.toMatch(/[^\S ]| {2}/);
      }),
    );
    expect(symbol.parse("$x\ud83d").isWellFormed()).toBe(true);
  });

  test("the JSON in it is found, and none that is cut off", () => {
    const prose = fc.string().filter((words) => !/[[{"\]}]/.test(words));
    const object = fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 });
    fc.assert(
      fc.property(object, prose, prose, (value, before, after) => {
        const json = JSON.stringify(value);
        expect(extractJson(`${before}${json}${after}`)).toEqual([JSON.parse(json)]);
      }),
      { examples: [[{ "": [{ "": "'+'" }] }, "", "!"]] },
    );
    for (const none of ['{"a": [1, 2', "42", '"text"', ""]) expect(extractJson(none)).toEqual([]);
  });
});

test("a price in USD is one that anything can have", () =>
  expect([1e13, 1e16, 1e308, 0, -1].filter((value) => positiveUsd.safeParse(value).success)).toEqual([1e13]));
