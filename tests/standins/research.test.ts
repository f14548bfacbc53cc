import fc from "fast-check";
import { expect, test } from "vitest";
import { createMarket } from "../../scripts/stack/standins/market";
import { researchResult } from "../../scripts/stack/standins/research";
import { synthesisQuestion } from "../../convex/research/prompts";
import { countWords, demands, resultShape } from "../../convex/research/result";
import { standinsAt, START, structured } from "./support";

const EVIDENCE = [
  "Market as of 2026-01-05T09:00:00.000Z: Bitcoin $104500 (+1 %)",
  "Most persistent trending tokens (collections seen in): WIF (5/5), TAO (4/5)",
  `Social sentiment at 2026-01-05T09:00:00.000Z (degraded: made without a live search): ${"very ".repeat(80)}good`,
  "- WIF: bullish, buzz 9/10. Traders post breakout charts.",
  "On-chain signals at 2026-01-05T08:30:00.000Z: Whales sent coins to exchanges.",
  "- BTC: whale_movement, bearish. A holder split $1.",
].join("\n");

const prompt = (focus: string, evidence: string) =>
  `Interim report, now.${focus === "" ? "" : `\nFocus token: ${focus}`}\n\nEvidence:\n${evidence}`;

test("keeps the contract for any seed, moment, focus and evidence", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.integer({ min: 0, max: 4e12 }),
      fc.constantFrom("", "SOL", "ZZZ9", "LONGEST-SYMBOL-EVER.X"),
      fc.constantFrom("", EVIDENCE, "Market data: none could be collected."),
      (seed, at, focus, evidence) => {
        const market = createMarket({ seed, now: () => at });
        const written = researchResult(prompt(focus, evidence), { seed, market, at });
        const result = resultShape.parse(written);
        expect(demands(result)).toBeNull();
        const words = countWords(result.fullAnalysis);
        expect(words).toBeGreaterThanOrEqual(410);
        expect(words).toBeLessThanOrEqual(590);
        expect([...result.shortSummary].length).toBeLessThanOrEqual(100);
        expect(result.marketOutlook).toBe(market.mood(at).outlook);
        expect(result.impacts.length).toBeGreaterThanOrEqual(3);
        expect(result.impacts.length).toBeLessThanOrEqual(5);
        expect(result.fullAnalysis).not.toMatch(/[{}]|undefined|NaN/);
        if (focus !== "") expect(result.fullAnalysis).toContain(`(${focus})`);
      },
    ),
    { numRuns: 300 },
  );
});

test("cites the evidence and names what is missing", async () => {
  const evidence = `${EVIDENCE}\nMarket data: none could be collected.`;
  const task = { occasion: "Interim report", focus: "SOL", nowIso: "now", evidence };
  const answer = await structured(standinsAt(), synthesisQuestion(task));
  const { fullAnalysis } = resultShape.parse(JSON.parse(answer));
  expect(fullAnalysis).toContain("Whales sent coins to exchanges");
  expect(fullAnalysis).toContain("WIF and TAO");
  expect(fullAnalysis).toContain("1 of the desk's sources");
});

test("the three reports of a shift differ in wording", () => {
  const market = createMarket({ seed: "tests", now: () => START });
  const reports = [2.5, 5, 8].map((hours) => {
    const at = START + hours * 3_600_000;
    return researchResult(prompt("", EVIDENCE), { seed: "tests", market, at }).fullAnalysis;
  });
  const sentences = reports.map((report) => new Set(report.replace(/[\d.,%$+-]+/g, "").split(/\s{2,}|\n+/)));
  expect(new Set(reports).size).toBe(3);
  expect(sentences[0]).not.toEqual(sentences[1]);
  expect(sentences[1]).not.toEqual(sentences[2]);
});
