import { settle } from "../../convex/evidence/text/settlement";
import { alteredTexts, slipped, type Altered } from "../../tests/evidence/corpus/alterations";
import { mixtures, writings, type Report } from "../../tests/evidence/corpus/reports";
import { kept, wordsOf } from "./keptWords";
import type { Progress } from "./progress";
import { isTrue, shownFigures } from "./shownFigures";
import { figure, type Table } from "./table";

/** What becomes of a writer's sentences: of true ones, of slips, and of figures that were altered. */
export const question = "Do true reports stay whole, and is a false figure ever shown?";

const REPORTS = 200;

export function run(progress: Progress): Promise<Table> {
  const each = Math.ceil(REPORTS / 7);
  progress(`${figure(REPORTS)} reports`);
  const reports = mixtures(each).slice(0, REPORTS);
  const texts = writings();
  const rows = [
    ["written by one hand", countsOf(texts)],
    ["drawn from several", countsOf(reports)],
    ["with slips", countsOf(reports.map((one) => ({ ...one, text: slipped(one.text, one.name) })))],
    ["with an altered figure", countsOf(texts.flatMap((one) => alteredOf(one, 1)))],
  ] as const;
  const share = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  return Promise.resolve({
    inputs: [
      "Texts written by hand from prompts, in seven languages, with slots and with figures and citations, and reports whose paragraphs are drawn from them.",
      "Slips: a tenth of the citations are missing or another's. Altered: one figure of a text, by 6 % to ten times, in the form it had.",
      "A figure is false that its bracket does not bear out. Of whole true texts the targets are: no false figure, 98 % of the words, 0.2 second questions.",
    ],
    columns: [
      "texts",
      "sentences",
      "of them kept",
      "words kept",
      "second questions",
      "refused",
      "false figures shown",
    ],
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

/** A text with each of its plain figures altered, one at a time. */
export function alteredOf(report: Report, times: number): (Report & Altered)[] {
  return alteredTexts(report.text, report.name, times).map((altered) => ({ ...report, ...altered }));
}

/** `back`: reports that go back to their writer once; `refused`: those of which too little is left. */
export function countsOf(texts: readonly (Report & Partial<Altered>)[]) {
  const falseShown: string[] = [];
  const counts = {
    reports: 0,
    sentences: 0,
    kept: 0,
    words: 0,
    wordsKept: 0,
    back: 0,
    refused: 0,
    falseShown,
  };
  for (const one of texts) {
    const { settled, untrue } = held(one);
    const { sentences, removed, leftovers, text } = settled;
    const words = wordsOf(one.text);
    counts.reports += 1;
    counts.sentences += sentences;
    counts.kept += sentences - removed;
    counts.words += words.length;
    counts.wordsKept += kept(words, wordsOf(text));
    counts.back += leftovers.length > 0 ? 1 : 0;
    counts.refused += removed > sentences / 2 ? 1 : 0;
    falseShown.push(...untrue.map((told) => `${told} (${one.name})`));
  }
  return counts;
}

/** A text as readers get it, with every figure that its bracket does not bear out, and the altered one without any. */
export function held({
  text: told,
  scene,
  point,
  figure: altered,
}: Pick<Report, "text" | "scene" | "point"> & Partial<Altered>) {
  const numbers: number[] = [];
  const settled = settle(told, scene.ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => scene.ledger.facts.get(id) ?? []);
  const said = altered?.replace(/^\D+/, "") ?? "";
  // Where another figure of the text is the same by chance, nobody can tell which is shown.
  const digits = told.split(said).length === 2 ? said : "";
  const untrue = shownFigures(settled.text, point)
    .filter((one) => (one.ids === null ? one.text === digits : !isTrue(one, cited)))
    .map(({ text, label }) => `${text} [${label}]`);
  return { settled, untrue };
}
