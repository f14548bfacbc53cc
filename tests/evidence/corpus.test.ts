import { describe, expect, test } from "vitest";
import { countsOf, settledReport } from "./figures/figures";
import { shownFigures } from "./figures/shownFigures";
import { alteredOf, slipped } from "./corpus/alterations";
import { numbered, partsOf, sceneNamed, writings } from "./corpus/reports";

/** A corpus written by hand, without a look at the code that reads it: true reports stay, and no false figure is shown. */

describe("a true report", () => {
  const all = writings();
  const counts = countsOf(all);

  test("is one of at least a hundred, no two alike", () =>
    expect(new Set(all.map(({ text }) => text)).size).toBeGreaterThanOrEqual(Math.max(100, all.length)));

  test("is answered, keeps 98 % of its words, and goes back in one of five cases at most", () => {
    expect(counts).toMatchObject({ refused: 0, falseShown: [] });
    expect(counts.wordsKept / counts.words).toBeGreaterThanOrEqual(0.98);
    expect(counts.back / counts.reports).toBeLessThanOrEqual(0.2);
  });
});

test("an altered figure is shown nowhere but where another fact has it, or as a bound that stays true", () => {
  const { reports, falseShown } = countsOf(writings().flatMap((one) => alteredOf(one, 1)));
  expect(reports).toBeGreaterThanOrEqual(500);
  expect(falseShown).toEqual([]);
});

test("a writer that slips, with citations missing or another's, shows no false figure", () =>
  expect(countsOf(writings().map(slipped)).falseShown).toEqual([]));

describe("a false sentence", () => {
  const all = ["falsehoods", "lies", "attacks"].flatMap(partsOf).flatMap(({ title, text }) => {
    // What was written from a whole prompt is under the name of its scene.
    const scene = sceneNamed(/^(?:surge|slide|calm)$/.test(title) ? title : "up");
    return text.split("\n").map((told) => ({ kind: title, told, scene, text: numbered(told, scene) }));
  });

  test("is one of four hundred, of every kind that was met", () => expect(all.length).toBeGreaterThan(400));

  test.for(all)("about $kind shows no false figure: $told", ({ told, ...one }) => {
    const readings = ([".", ","] as const).map((point) => settledReport({ ...one, point }));
    const [{ settled } = settledReport({ ...one, point: "." })] = readings;
    if (settled.leftovers.length > 0) return expect(settled.text).not.toBe(told);
    // Each figure it shows is a fact's, with its bracket; quotations have theirs in the bracket.
    expect(readings.map(({ untrue }) => untrue)).toContainEqual([]);
    expect(shownFigures(settled.text, ".").filter(({ ids }) => ids === null)).toEqual([]);
  });
});
