import { describe, expect, test } from "vitest";
import { settle, type Settled } from "../../convex/evidence/settlement";
import { alteredTexts } from "./corpus/alterations";
import { countReports } from "../../scripts/bench/figures";
import { kept, wordsOf } from "../../scripts/bench/keptWords";
import { isTrue, shownFigures } from "../../scripts/bench/shownFigures";
import { mixtures, numbered, partsOf, sceneNamed, writings, type Report, type Scene } from "./corpus/reports";

/** A corpus written by hand, without a look at the code that reads it: true reports stay, and no false figure is shown. */

type Held = Settled & { untrue: string[] };

/** A text as readers get it, with every figure that its brackets do not bear out. */
function held(text: string, { ledger }: Scene, point: "." | ","): Held {
  const numbers: number[] = [];
  const settled = settle(text, ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => ledger.facts.get(id) ?? []);
  const untrue = shownFigures(settled.text, point)
    .filter(({ ids }) => ids !== null)
    .filter((figure) => !isTrue(figure, cited))
    .map(({ text: told, label }) => `${told} [${label}]`);
  return { ...settled, untrue };
}

const heldAll = (reports: Report[]) =>
  reports.map((one) => ({ ...one, ...held(one.text, one.scene, one.point), told: one.text }));

describe.each([
  ["written by one hand", heldAll(writings())],
  ["of several hands", heldAll(mixtures())],
] as const)("a true report %s", (_how, all) => {
  test("is one of at least a hundred, no two alike", () => {
    expect(all.length).toBeGreaterThanOrEqual(100);
    expect(new Set(all.map(({ told }) => told)).size).toBe(all.length);
  });

  test("is answered, and keeps 98 % of its words over all", () => {
    const counts = all.map(({ name, told, text }) => {
      const words = wordsOf(told);
      const stayed = kept(words, wordsOf(text));
      expect(stayed / words.length, name).toBeGreaterThan(0.8);
      return { words: words.length, stayed };
    });
    const sum = (of: "words" | "stayed") => counts.reduce((total, one) => total + one[of], 0);
    expect(sum("stayed") / sum("words")).toBeGreaterThanOrEqual(0.98);
  });

  test("goes back to its writer in one of five cases at most, in each language", () => {
    for (const language of new Set(all.map((one) => one.language))) {
      const own = all.filter((one) => one.language === language);
      const back = own.filter(({ leftovers }) => leftovers.length > 0);
      expect(back.length / own.length, language).toBeLessThanOrEqual(0.2);
    }
  });

  test("shows no figure that its brackets do not bear out", () => {
    expect(all.flatMap(({ untrue }) => untrue)).toEqual([]);
  });
});

test("an altered figure is shown nowhere but where another fact has it, or as a bound that stays true", () => {
  const passed: string[] = [];
  let count = 0;
  for (const { text, scene, point, name } of writings()) {
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
  const up = sceneNamed("up");
  const all = partsOf("falsehoods").flatMap(({ title: kind, text }) =>
    text.split("\n").map((told) => ({ kind, told, ...held(numbered(told, up), up, ".") })),
  );

  test("is one of more than a hundred, of every kind that was met", () => {
    expect(all.length).toBeGreaterThan(115);
  });

  test.for(all)("about $kind shows no false figure: $told", ({ leftovers, text, told }) => {
    if (leftovers.length > 0) return expect(text).not.toBe(told);
    // Each figure it shows is a fact's, with its bracket; quotations have theirs in the bracket.
    const readings = ([".", ","] as const).map((point) => held(numbered(told, up), up, point).untrue);
    expect(readings).toContainEqual([]);
    expect(shownFigures(text, ".").filter(({ ids }) => ids === null)).toEqual([]);
  });
});
