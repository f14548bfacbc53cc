import { describe, expect, test } from "vitest";
import type { Source } from "../../convex/figures/facts";
import { resolveFigures } from "../../convex/figures/placeholders";
import { hasFigures } from "../../convex/figures/writtenNumbers";
import { alteredOf, slipped, type Altered } from "./corpus/alterations";
import { numbered, partsOf, sceneNamed, writings, type Report } from "./corpus/reports";

/** A corpus written by hand, without a look at the code that reads it: true reports stay, and no false figure is shown. */

/** What no figure of the writer's own can be in. */
const CLOSED = /\{[^}]*\}|\[[^\]]*\]|[“«„][^”»“]*[”»“]|^\s*\d+[.)] |of 10\b/gmu;

test("a true report whose figures are all slots keeps every word, and does not go back", () => {
  // Those that were written so, and others with a slot in the place of each figure.
  const slots = [...writings(), ...writings(["slots"])].filter(
    ({ text }) => !hasFigures(text.replace(CLOSED, "")),
  );
  const { reports, back, falseShown } = countsOf(slots);
  const { words, kept } = wordsKeptOf(slots);
  expect([reports, words - kept, back, falseShown]).toEqual([146, 0, 0, []]);
});

test("a true report with plain figures goes back in half of the cases at most, and shows only what is true", () => {
  const { reports, back, falseShown } = countsOf(writings());
  expect(falseShown).toEqual([]);
  expect(back / reports).toBeLessThan(0.5);
  // What is left if the writer insists.
  const { words, kept } = wordsKeptOf(writings());
  expect(kept / words).toBeGreaterThan(0.75);
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

/** What happens to a writer's texts. `back`: those that are returned to their writer once. */
function countsOf(texts: readonly (Report & Partial<Altered>)[]) {
  const all = texts.map((one) => ({ ...settledReport(one), name: one.name }));
  return {
    reports: all.length,
    back: all.filter(({ settled }) => settled.leftovers.length > 0).length,
    falseShown: all.flatMap(({ untrue, name }) => untrue.map((shown) => `${shown} (${name})`)),
  };
}

/** How many words the texts have, and how many of these readers see. */
function wordsKeptOf(texts: readonly Report[]): { words: number; kept: number } {
  const counts = texts.map((one) => {
    const words = wordsOf(one.text);
    return { words: words.length, kept: keptOf(words, wordsOf(settledReport(one).settled.text)) };
  });
  const sum = (name: "words" | "kept") => counts.reduce((all, one) => all + one[name], 0);
  return { words: sum("words"), kept: sum("kept") };
}

type Held = Pick<Report, "text" | "scene"> & Partial<Altered>;

/** A text as readers get it, with every figure that its bracket does not support, and the altered one if it has no bracket. */
function settledReport({ text: told, scene, figure: altered }: Held) {
  const numbers: number[] = [];
  const settled = resolveFigures(told, scene.ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => scene.ledger.facts.get(id) ?? []);
  const alteredDigits = altered?.replace(/^\D+/, "") ?? "";
  // If another figure of the text has the same value, it is unclear which is shown.
  const digits = told.split(alteredDigits).length === 2 ? alteredDigits : "";
  const untrue = shownFigures(settled.text)
    .filter((one) => (one.ids === null ? one.text === digits : !isTrue(one, cited)))
    .map(({ text, ids }) => `${text} [${String(ids)}]`);
  return { settled, untrue };
}

const SEGMENTER = new Intl.Segmenter("und", { granularity: "word" });

/** Scales and units go with their figure: code writes its own. */
const UNITS =
  /(?<=\p{N}[^\p{L}]{0,3}(?:\p{L}+\.? (?:de )?)?)(?:millions?|billions?|trillion|percent|prozent|usd|mi[ol]\.?|mrd\.?|milliards?(?: de)?|millones(?: de)?|milhões|bilhões|bps|basis points?|cents?|dollars?|dólares|de dollars|de dólares|gwei|bn|美元|[万亿]+(?:美元)?|(?<=\p{N} ?)[km])(?!\p{L})/giu;

/** "Ten percent" is a figure as well. */
const SPELT = /\p{L}+(?: a)? (?:percent|Prozent)(?!\p{L})/gu;

/** The words of a text without figures, citations and slots, in their order. */
function wordsOf(text: string): string[] {
  const bare = text
    .replace(/\[[^\]]*\]|\{[^}]*\}/g, " ")
    .replace(UNITS, " ")
    .replace(SPELT, " ")
    .replace(/US\$/g, "$");
  return [...SEGMENTER.segment(bare)].flatMap(({ segment, isWordLike }) =>
    isWordLike === true && !/\p{N}/u.test(segment) ? [segment.toLowerCase()] : [],
  );
}

/** How many of the words are in the other text, in the same order. */
function keptOf(words: readonly string[], within: readonly string[]): number {
  let row = new Array<number>(within.length + 1).fill(0);
  for (const word of words) {
    const next = [0];
    for (const [index, other] of within.entries()) {
      next.push(word === other ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Reads the figures of a settled text again, without the code that printed them, as a careful reader would. */

/** `ids`: the numbers in the bracket right after it, `null` without one; `place`: the value of one in its last place. */
type ShownFigure = { text: string; value: number; place: number; ids: number[] | null };

const SCALES: readonly [pattern: RegExp, times: number][] = [
  [/^T\b/, 1e12],
  [/^B\b/, 1e9],
  [/^M\b/, 1e6],
];

/** Every figure outside quotations and brackets, except time spans and "of the 50". */
function shownFigures(text: string): ShownFigure[] {
  const brackets: number[][] = [];
  const open = text
    .replace(/\[(\d+(?:, \d+)*)\]/g, (_whole, numbers: string) => {
      brackets.push(numbers.split(", ").map(Number));
      return BRACKET;
    })
    .replace(/[“«„][^”»“]*[”»“]/g, " ")
    .replace(/^\s*\d{1,2}[.)]\s/gm, " ");
  return [...open.matchAll(/[−-]?\d(?:[\d.,])*(?<=\d)/g)].flatMap(({ 0: told, index }) => {
    const [before, behind] = [open.slice(0, index), open.slice(index + told.length)];
    const isSpan = /^[-\s]?(?:h\b|hours?|Stunden|horas|heures|小时|days?)/.test(behind);
    if (isSpan || (/^(?:50|10)$/.test(told) && /of (?:the )?$/.test(before))) return [];
    const [, times = 1] = SCALES.find(([pattern]) => pattern.test(behind.trimStart())) ?? [];
    const decimal = told.replace("−", "-").replaceAll(",", "");
    const place = times / 10 ** (decimal.split(".")[1] ?? "").length;
    // Between a figure and its bracket there are only its unit, or figures that share the bracket.
    const hasUnit = /[$]\s?$/.test(before) || /^\s?(?:%|\$|×|美元|ドル)/.test(behind);
    const isFollowed =
      /^[^\d\n\uE123]{0,14}\uE123/.test(behind) || (hasUnit && /^[^\n\uE123|]*\uE123/.test(behind));
    const ids = isFollowed ? (brackets[before.split(BRACKET).length - 1] ?? null) : null;
    return [{ text: told, value: Number(decimal) * times, place, ids }];
  });
}

const BRACKET = "\uE123";

/** Whether a figure matches the facts in its bracket, or one operation on two of them; one in quoted words does. */
function isTrue({ text, value, place, ids }: ShownFigure, cited: readonly Source[]): boolean {
  const facts = (ids ?? []).flatMap((id) => cited[id - 1]?.fact.value ?? []);
  if (facts.some((one) => typeof one === "string" && one.includes(text.replace(/[−-]/, "")))) return true;
  const values = facts.filter((one) => typeof one === "number");
  const sum = values.reduce((all, one) => all + one, 0);
  const made = values.flatMap((a) => values.flatMap((b) => [a - b, a + b, a / b, (a / b) * 100]));
  return [...values, ...made, sum].some(
    (one) => Math.abs(Math.abs(value) - Math.abs(one)) <= place * 0.500_001,
  );
}
