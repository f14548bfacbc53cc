import { describe, expect, test } from "vitest";
import * as z from "zod";
import { readAnswer } from "../../convex/lib/answers/reader";
import { wireSchema } from "../../convex/lib/answers/schema";
import { symbol, text, usd, usdOrNull } from "../../convex/lib/answers/parts";

/** What a model is told of a shape, and how its answer is read. */

const shape = z.object({
  outlook: z.enum(["bullish", "very_bearish"]),
  marketCap: usdOrNull.describe("USD; null when unknown"),
  coins: z
    .array(z.object({ symbol, price: usd.describe("USD"), change24h: z.number() }))
    .min(1)
    .overwrite((coins) => coins.slice(0, 2))
    .describe("largest first"),
  note: text(10).nullable(),
});

const right = {
  outlook: "bullish",
  marketCap: 1_000,
  coins: [{ symbol: "BTC", price: 97_000.5, change24h: -1.5 }],
  note: null,
};

const read = (value: unknown) =>
  readAnswer(shape, typeof value === "string" ? value : JSON.stringify(value), "");

describe("what a model is told", () => {
  test("is a schema of nothing but types, names and descriptions", () => {
    expect(wireSchema(shape).properties["coins"]).toEqual({
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

  test.each([
    ["a transformation", z.object({ a: z.string().transform(Number) })],
    ["a union", z.object({ a: z.union([z.string(), z.number()]) })],
    ["a record", z.object({ a: z.record(z.string(), z.unknown()) })],
    ["no object", z.string()],
  ])("cannot be %s", (_name, wrong) => {
    expect(() => wireSchema(wrong)).toThrow();
  });
});

describe("an answer is read although", () => {
  test.each([
    ["keys are in snake case", { ...right, marketCap: undefined, market_cap: 1_000 }],
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

  test("things are wrong: each path is named once, all of them", () => {
    const coin = { symbol: "BTC", price: "much", change24h: null };
    const { problem } = { problem: "", ...read({ outlook: "up", coins: [coin, coin, coin] }) };
    expect(problem.split("; ").map((one) => one.split(":")[0])).toEqual([
      "outlook",
      "coins[0, 1, 2].price",
      "coins[0, 1, 2].change24h",
    ]);
  });

  test("something is wrong in one item of a list: it is named by its place", () => {
    const coins = Array.from({ length: 20 }, (_, i) => ({ ...right.coins[0], price: i === 7 ? -1 : 1 }));
    expect(read({ ...right, coins })).toEqual({ problem: expect.stringMatching(/^coins\[7\]\.price: /) });
    const all = coins.map((coin) => ({ ...coin, price: "much" }));
    expect(read({ ...right, coins: all })).toEqual({
      problem: expect.stringMatching(/^coins\[0, 1, 2, 3, 4, 5, 6, 7 and 12 more\]\.price: /),
    });
  });

  test("an answer is refused when it holds no JSON", () => {
    expect(read("I cannot know.")).toEqual({ problem: "it holds no complete JSON value" });
  });
});
