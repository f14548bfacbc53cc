import { describe, expect, test } from "vitest";
import { settle, type Settled } from "../../convex/evidence/settlement";
import { alteredTexts } from "./corpus/alterations";
import { FALSEHOODS } from "./corpus/falsehoods";
import { countReports } from "../../scripts/bench/figures";
import { kept, wordsOf } from "../../scripts/bench/keptWords";
import { isTrue, shownFigures } from "../../scripts/bench/shownFigures";
import { ledgerFor, numbered, paragraphs, pointOf, reports } from "./corpus/reports";
import type { Scene } from "./corpus/scenes";

/** A corpus written by hand, without a look at the code that reads it: true reports stay, and no false figure is shown. */

type Held = Settled & { untrue: string[] };

/** A text as readers get it, with every figure that its brackets do not bear out. */
function held(text: string, scene: Scene, point: "." | ","): Held {
  const { ledger } = ledgerFor(scene);
  const numbers: number[] = [];
  const settled = settle(text, ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => ledger.facts.get(id) ?? []);
  const untrue = shownFigures(settled.text, point)
    .filter(({ ids }) => ids !== null)
    .filter((figure) => !isTrue(figure, cited))
    .map(({ text: told, label }) => `${told} [${label}]`);
  return { ...settled, untrue };
}

describe("a true report", () => {
  const all = reports().map((report) => ({
    ...report,
    ...held(report.text, report.scene, pointOf(report)),
    told: report.text,
  }));

  test("is one of at least a hundred, no two alike", () => {
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(new Set(all.map(({ told }) => told)).size).toBe(all.length);
  });

  test("is answered: none loses so much that it is no report any more", () => {
    for (const { name, told, text } of all) {
      const words = wordsOf(told);
      expect(kept(words, wordsOf(text)) / words.length, name).toBeGreaterThan(0.8);
    }
  });

  test("keeps 98 % of its words, over all", () => {
    const counts = all.map(({ told, text }) => ({ words: wordsOf(told), shown: wordsOf(text) }));
    const words = counts.reduce((sum, one) => sum + one.words.length, 0);
    const stayed = counts.reduce((sum, one) => sum + kept(one.words, one.shown), 0);
    expect(stayed / words).toBeGreaterThanOrEqual(0.98);
  });

  test("goes back to its writer in one of five cases at most", () => {
    const back = all.filter(({ leftovers }) => leftovers.length > 0);
    expect(back.length / all.length).toBeLessThanOrEqual(0.2);
  });

  test("shows no figure that its brackets do not bear out", () => {
    expect(all.flatMap(({ untrue }) => untrue)).toEqual([]);
  });
});

test("an altered figure is shown nowhere but where another fact has it, or as a bound that stays true", () => {
  const passed: string[] = [];
  let count = 0;
  for (const { text, scene, point, name } of paragraphs()) {
    for (const altered of alteredTexts(text, name, 3)) {
      count += 1;
      const { text: shown, untrue } = held(altered.text, scene, point);
      if (untrue.length > 0) passed.push(`${altered.figure}: ${untrue[0] ?? ""} (${name})`);
      const loose = shownFigures(shown, point).filter(({ ids }) => ids === null);
      const digits = altered.figure.replace(/^\D+/, "");
      if (loose.some(({ text: told }) => told === digits))
        passed.push(`${altered.figure} without a fact (${name})`);
    }
  }
  expect(count).toBeGreaterThanOrEqual(500);
  expect(passed).toEqual([]);
});

test("a writer model's true sentences stay, and its altered figures are never shown", () => {
  const counts = countReports(24);
  for (const [manner, one] of counts) {
    expect(one.falseShown, manner).toEqual([]);
    expect(one.trueKept, manner).toBe(one.trueSentences);
    expect(one.wordsKept / one.words, manner).toBeGreaterThanOrEqual(0.98);
    if (manner !== "with slips") expect(one.back, manner).toBe(0);
  }
});

describe("a false sentence", () => {
  const all = Object.entries(FALSEHOODS).flatMap(([kind, told]) =>
    told.map((one) => ({ kind, told: one, ...held(numbered(one, "up"), "up", ".") })),
  );

  test("is one of more than a hundred, of every kind that was met", () => {
    expect(all.length).toBeGreaterThan(115);
  });

  test.for(all)("about $kind shows no false figure: $told", ({ leftovers, text, told }) => {
    if (leftovers.length > 0) return expect(text).not.toBe(told);
    // Each figure it shows is a fact's, with its bracket; quotations have theirs in the bracket.
    const readings = ([".", ","] as const).map((point) => held(numbered(told, "up"), "up", point).untrue);
    expect(readings).toContainEqual([]);
    expect(shownFigures(text, ".").filter(({ ids }) => ids === null)).toEqual([]);
  });
});
