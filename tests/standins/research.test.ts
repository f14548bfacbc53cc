import fc from "fast-check";
import { expect, test } from "vitest";
import { createMarket } from "../../scripts/standins/sources/market";
import { researchResult } from "../../scripts/standins/gateway/research";
import { synthesisQuestion } from "../../convex/research/writing/prompts";
import { countWords, demands } from "../../convex/research/writing/result";
import { resultShape } from "../../convex/research/writing/resultShape";
import { standinsAt, START, structured } from "./support";

const EVIDENCE = [
  "Facts, observed by this service:",
  "f1 BTC price: 104,500.50 USD (CoinGecko, 2026-01-05T09:00Z)",
  "f2 BTC price change over 24 hours: +1.234 % (CoinGecko, 2026-01-05T09:00Z)",
  "f3 SOL price: 158.2 USD (CoinGecko, 2026-01-05T09:00Z)",
  "f4 SOL price change over 24 hours: -2.5 % (CoinGecko, 2026-01-05T09:00Z)",
  "f5 Most persistent trending tokens, by the collections that saw them: WIF in 5 of 5, TAO in 4 of 5 (counted by this service, 2026-01-05T09:00Z)",
  "Said by language models and observed by nobody; call it reported:",
  `f6 Social sentiment: ${"very ".repeat(80)}good (social sentiment, said by a language model, unverified, 2026-01-05T09:00Z)`,
  "f7 WIF sentiment: bullish, buzz 9/10. Traders post breakout charts. (social sentiment, said by a language model, unverified, 2026-01-05T09:00Z)",
  "f8 On-chain signals: Whales sent coins to exchanges. (on-chain signals, said by a language model, unverified, 2026-01-05T08:30Z)",
].join("\n");

const prompt = (focus: string, evidence: string) =>
  `Interim report, now.${focus === "" ? "" : `\nFocus token: ${focus}`}\n\nEvidence:\n${evidence}`;

test("keeps the contract for any seed, moment, focus and evidence", () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.integer({ min: 0, max: 4e12 }),
      fc.constantFrom("", "SOL", "ZZZ9", "LONGEST-SYMBOL-EVER.X"),
      fc.constantFrom("", EVIDENCE, "Missing: news: it did not answer in time"),
      (seed, at, focus, evidence) => {
        const market = createMarket({ seed, now: () => at });
        const written = researchResult(prompt(focus, evidence), { seed, market, at });
        const result = resultShape.parse(written);
        expect(demands(result)).toBeNull();
        const words = countWords(result.fullAnalysis);
        expect(words).toBeGreaterThanOrEqual(405);
        expect(words).toBeLessThanOrEqual(590);
        expect([...result.shortSummary].length).toBeLessThanOrEqual(100);
        expect(result.impacts.length).toBeGreaterThanOrEqual(3);
        expect(result.impacts.length).toBeLessThanOrEqual(5);
        expect(result.fullAnalysis.replace(/\{f\d+\}/g, "")).not.toMatch(/[{}]|undefined|NaN/);
        if (focus !== "") expect(result.fullAnalysis).toContain(`(${focus})`);
      },
    ),
    { numRuns: 300 },
  );
});

test("writes slots for the facts of its prompt, and names what is missing", async () => {
  const evidence = `${EVIDENCE}\nMissing: news: it did not answer in time`;
  const task = { occasion: "Interim report", focus: "SOL", nowIso: "now", evidence };
  const answer = await structured(
    standinsAt(),
    synthesisQuestion(task, () => null),
  );
  const { fullAnalysis, shortSummary } = resultShape.parse(JSON.parse(answer));
  expect(fullAnalysis).toContain("Bitcoin at {f1} ({f2})");
  expect(shortSummary).toBe("🔴 Risk off: SOL {f3}, {f4}");
  expect(fullAnalysis).toContain("{f8}");
  expect(fullAnalysis).toContain("WIF and TAO");
  expect(fullAnalysis).toContain("some of the desk's sources");
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
