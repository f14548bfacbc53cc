import { describe, expect, test } from "vitest";
import { LEAST_FLOW_USD } from "../../convex/alerts/grammar";
import { readPhrase } from "../../convex/alerts/phrases";
import { FLOOR_USD } from "../../convex/whales/coins";
import { READ, UNREAD } from "./phrases";

describe("an alert's words", () => {
  test("may name every movement that is measured, and no smaller one", () => {
    expect(LEAST_FLOW_USD).toBe(FLOOR_USD);
  });

  test("in 200 ways are read exactly", () => {
    const wrong = READ.flatMap(([condition, phrases]) =>
      phrases
        .map((phrase) => [phrase, readPhrase(phrase)] as const)
        .filter(([, read]) => JSON.stringify(read) !== JSON.stringify({ kind: "condition", condition })),
    );
    expect(wrong).toEqual([]);
    expect(new Set(READ.flatMap(([, phrases]) => phrases)).size).toBeGreaterThanOrEqual(200);
  });

  test("in 100 other ways are no alert, and say what to say instead", () => {
    const read = UNREAD.map((phrase) => [phrase, readPhrase(phrase)] as const);
    expect(read.filter(([, { kind }]) => kind === "condition")).toEqual([]);
    expect(read.filter(([, one]) => one.kind !== "condition" && !/^[A-Z].{20,}\.$/.test(one.say))).toEqual(
      [],
    );
    expect(new Set(UNREAD).size).toBeGreaterThanOrEqual(100);
  });
});
