import { describe, expect, test } from "vitest";
import { hasFigures } from "../../convex/lib/figures/written";
import { countsOf, settledReport } from "./counts";
import { alteredOf, slipped } from "./corpus/alterations";
import { numbered, partsOf, sceneNamed, writings } from "./corpus/reports";
import { slotForm } from "./corpus/slotForm";
import { shownFigures } from "./shownFigures";

/** A corpus written by hand, without a look at the code that reads it: true reports stay, and no false figure is shown. */

/** What no figure of the writer's own can be in. */
const CLOSED = /\{[^}]*\}|\[[^\]]*\]|[“«„][^”»“]*[”»“]|^\s*\d+[.)] |of 10\b/gmu;

describe("a true report", () => {
  const all = writings();

  test("whose figures are all slots keeps every word, and does not go back", () => {
    const whole = all.filter(({ name }) => !name.includes("paragraphs")).map(slotForm);
    const slots = whole.filter(({ text }) => !hasFigures(text.replace(CLOSED, "")));
    expect([whole.length, slots.length]).toEqual([129, 99]);
    const { words, wordsKept, back, falseShown } = countsOf(slots);
    expect([words - wordsKept, back, falseShown]).toEqual([0, 0, []]);
  });

  test("with plain figures goes back in half of the cases at most, and shows only what is true", () => {
    const { reports, back, words, wordsKept, falseShown } = countsOf(all);
    expect(falseShown).toEqual([]);
    expect(back / reports).toBeLessThan(0.5);
    // What is left if the writer insists.
    expect(wordsKept / words).toBeGreaterThan(0.75);
  });
});

test("an altered figure is shown nowhere but where another fact has it", () => {
  const { reports, falseShown } = countsOf(writings().flatMap((one) => alteredOf(one, 1)));
  expect(reports).toBeGreaterThanOrEqual(1_000);
  expect(falseShown).toEqual([]);
});

test("a writer that slips, with citations missing or another's, shows no false figure", () =>
  expect(countsOf(writings().map(slipped)).falseShown).toEqual([]));

describe("a false sentence", () => {
  const all = ["falsehoods", "lies", "attacks", "desk"].flatMap(partsOf).flatMap(({ title, text }) => {
    // What was written from a whole prompt is under the name of its scene.
    const scene = sceneNamed(/^(?:surge|slide|calm|desk)$/.test(title) ? title : "up");
    return text.split("\n").map((told) => ({ kind: title, told, scene, text: numbered(told, scene) }));
  });

  test("is one of seven hundred, of every kind that was met", () => expect(all.length).toBeGreaterThan(700));

  test.for(all)("about $kind shows no false figure: $told", ({ told, ...one }) => {
    const { settled, untrue } = settledReport(one);
    if (settled.leftovers.length > 0) return expect(settled.text).not.toBe(told);
    // Each figure it shows is a fact's, with its citation; quotations have theirs behind them.
    expect(untrue).toEqual([]);
    expect(shownFigures(settled.text).filter(({ ids }) => ids === null)).toEqual([]);
  });
});
