import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  countWords,
  findResultProblems,
  MARKS,
  markSummary,
  mendResult,
  shortenProse,
  countExcessWords,
} from "../../convex/research/writing/result";
import type { MarketOutlook } from "../../convex/research/tables";

/** As the model writes one. */
type Result = Parameters<typeof mendResult>[0];

const IMPACT = { title: "BTC", detail: "Holds.", sentiment: "bullish", confidence: 0.5 } as const;

const outlook = fc.constantFrom<MarketOutlook>("bullish", "bearish", "neutral");
const sentence = fc
  .array(fc.stringMatching(/^[a-z🚀é]{1,9}$/u), { minLength: 3, maxLength: 25 })
  .map((words) => `${words.join(" ")}.`);
const impact = fc.record({
  title: fc.string({ minLength: 1, maxLength: 40 }),
  detail: fc.string({ minLength: 1, maxLength: 80 }),
  sentiment: outlook,
  confidence: fc.oneof(
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: -1, max: 110, noNaN: true }),
    fc.constantFrom(0, 1, 7, 85, 100),
  ),
});
const anyResult: fc.Arbitrary<Result> = fc.record({
  fullAnalysis: fc.array(sentence, { minLength: 1, maxLength: 120 }).map((all) => all.join(" ")),
  shortSummary: fc.string({ unit: "grapheme", minLength: 1, maxLength: 200 }),
  marketOutlook: outlook,
  impacts: fc.array(impact, { maxLength: 6 }),
});

describe("mending a result", () => {
  test("leaves nothing to demand but more words", () => {
    fc.assert(
      fc.property(anyResult, (result) => {
        const mended = mendResult(result);
        const scores = result.impacts.map(({ confidence }) => confidence);
        const highest = Math.max(...scores);
        const isUnknown = scores.some((one) => one < 0 || one > 100) || (highest > 1 && highest <= 10);
        if (scores.length === 0 || isUnknown || mended === null) {
          expect(mended).toBeNull();
          return;
        }
        const fullAnalysis = shortenProse(result.fullAnalysis, countExcessWords(result.fullAnalysis));
        const shortSummary = markSummary(result.shortSummary, result.marketOutlook);
        const problem = findResultProblems({ ...mended, fullAnalysis, shortSummary });
        expect(mendResult(mended)).toEqual(mended);
        if (countWords(result.fullAnalysis) < 400)
          expect(problem).toMatch(/^fullAnalysis has \d+ words[^;]*$/);
        else if (problem !== null) {
          // Cut at a sentence end, the analysis may only come out a little short of 600, never below half of it.
          expect(problem).toMatch(/^fullAnalysis has [34]\d\d words/);
        }
      }),
    );
  });

  test("counts a summary's limit in code points, mark included", () => {
    const summary = markSummary("😀".repeat(5) + "é".repeat(200), "bullish");
    expect([...summary]).toHaveLength(100);
    expect(summary.startsWith("🟢 é")).toBe(true);
  });

  test("cuts a summary between words, and no figure in two", () => {
    const summary = markSummary(`Up ${"and on ".repeat(12)}to $105,440 (BTC price now) today`, "bullish");
    expect(summary).toMatch(/^🟢 Up (?:and on )+to…$/);
    expect(markSummary("1".repeat(200), "bullish")).toBe("🟢…");
  });

  test("replaces a mark that contradicts the outlook", () => {
    expect(markSummary("🔴 Up only", "bullish")).toBe("🟢 Up only");
  });

  test("cuts a long analysis behind its last whole sentence", () => {
    const long = `${"word ".repeat(580)}end. ${"tail ".repeat(100)}`;
    expect(shortenProse(long, countExcessWords(long)).endsWith("end.")).toBe(true);
  });

  test("counts words as readers see them: citations apart", () => {
    expect(countWords("Up 5.08\u202F% [1] to $105,440.25 [2, 3].")).toBe(4);
  });

  test("reads 85 as 85 %", () => {
    const [first] = mendResult({ ...base(), impacts: [{ ...IMPACT, confidence: 85 }] })?.impacts ?? [];
    expect(first?.confidence).toBe(0.85);
    // All of them are of one scale, and of 7 nobody can tell which.
    const scored = (...scores: number[]) =>
      mendResult({
        ...base(),
        impacts: scores.map((confidence) => ({ ...IMPACT, confidence })),
      })?.impacts.map(({ confidence }) => confidence);
    expect(scored(85, 1)).toEqual([0.85, 0.01]);
    expect(scored(0.4, 1)).toEqual([0.4, 1]);
    expect(scored(7, 3)).toBeUndefined();
  });
});

describe("the result's shape", () => {
  test.each(Object.entries(MARKS))("demands the %s mark", (word, mark) => {
    const parsed = { ...base(), marketOutlook: word as MarketOutlook, shortSummary: `${mark} fine` };
    expect(findResultProblems(parsed)).toBeNull();
    expect(findResultProblems({ ...parsed, shortSummary: "fine" })).toContain(mark);
  });
});

function base(): Result {
  return {
    fullAnalysis: "word ".repeat(450).trim(),
    shortSummary: "🟢 Fine",
    marketOutlook: "bullish",
    impacts: [IMPACT],
  };
}
