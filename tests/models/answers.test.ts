import { describe, expect, test } from "vitest";
import * as z from "zod";
import { readAnswer, symbol, text, usd, usdOrNull, wireSchema } from "../../convex/lib/answers";

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
    expect(wireSchema(shape)["properties"]).toHaveProperty("coins", {
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
    expect(() => wireSchema(z.object({ a: z.string().transform(Number) }))).toThrow();
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
