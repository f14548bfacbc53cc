import { settle } from "../../../convex/evidence/text/settlement";
import { alteredOf, slipped, type Altered } from "../../../tests/evidence/corpus/alterations";
import { writings, type Report } from "../../../tests/evidence/corpus/reports";
import { kept, wordsOf } from "./keptWords";
import type { Progress } from "../progress";
import { isTrue, shownFigures } from "./shownFigures";
import { figure, type Table } from "../table";

/** What happens to a writer's sentences: true ones, slips, and altered figures. */
export const question = "Do true reports stay whole, and is a false figure ever shown?";

export function run(progress: Progress): Promise<Table> {
  const texts = writings();
  progress(`${figure(texts.length)} texts`);
  const rows = [
    ["as written", countsOf(texts)],
    ["with slips", countsOf(texts.map(slipped))],
    ["with an altered figure", countsOf(texts.flatMap((one) => alteredOf(one, 1)))],
  ] as const;
  const share = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  return Promise.resolve({
    inputs: [
      "Texts written by hand from prompts, in seven languages, with slots and with figures and citations.",
      "Slips: a tenth of the citations are missing or another's. Altered: one figure of a text, by 6 % to ten times, in the form it had.",
      "A figure is false that its bracket does not bear out. Of whole true texts the targets are: no false figure, 98 % of the words, 0.2 second questions.",
    ],
    columns: "texts|sentences|of them kept|words kept|second questions|refused|false figures shown".split(
      "|",
    ),
    rows: rows.map(([name, one]) => [
      `${figure(one.reports)} ${name}`,
      figure(one.sentences),
      share(one.kept, one.sentences),
      share(one.wordsKept, one.words),
      (one.back / Math.max(1, one.reports)).toFixed(2),
      figure(one.refused),
      figure(one.falseShown.length),
    ]),
    notes: rows.flatMap(([name, { falseShown }]) =>
      falseShown.length > 0 ? [`FALSE FIGURES, ${name}: ${falseShown.slice(0, 3).join(" | ")}`] : [],
    ),
  });
}

/** `back`: reports that are returned to their writer once; `refused`: those of which too little is left. */
export function countsOf(texts: readonly (Report & Partial<Altered>)[]) {
  const all = texts.map((one) => ({ ...settledReport(one), name: one.name, words: wordsOf(one.text) }));
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((whole, one) => whole + of(one), 0);
  return {
    reports: all.length,
    sentences: sum(({ settled }) => settled.sentences),
    kept: sum(({ settled }) => settled.sentences - settled.removed),
    words: sum(({ words }) => words.length),
    wordsKept: sum(({ settled, words }) => kept(words, wordsOf(settled.text))),
    back: all.filter(({ settled }) => settled.leftovers.length > 0).length,
    refused: all.filter(({ settled }) => settled.removed > settled.sentences / 2).length,
    falseShown: all.flatMap(({ untrue, name }) => untrue.map((shown) => `${shown} (${name})`)),
  };
}

type Held = Pick<Report, "text" | "scene" | "point"> & Partial<Altered>;

/** A text as readers get it, with every figure that its bracket does not support, and the altered one if it has no bracket. */
export function settledReport({ text: told, scene, point, figure: altered }: Held) {
  const numbers: number[] = [];
  const settled = settle(told, scene.ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => scene.ledger.facts.get(id) ?? []);
  const alteredDigits = altered?.replace(/^\D+/, "") ?? "";
  // If another figure of the text has the same value, it is unclear which is shown.
  const digits = told.split(alteredDigits).length === 2 ? alteredDigits : "";
  const untrue = shownFigures(settled.text, point)
    .filter((one) => (one.ids === null ? one.text === digits : !isTrue(one, cited)))
    .map(({ text, label }) => `${text} [${label}]`);
  return { settled, untrue };
}
