import { ledgerOf, type Ledger } from "../../convex/evidence/facts";
import { settle } from "../../convex/evidence/settlement";
import { alteredFigure } from "../../tests/evidence/corpus/alterations";
import { createMarket } from "../standins/market";
import { random } from "../standins/random";
import { briefAt } from "./briefs";
import { kept, wordsOf } from "./keptWords";
import type { Progress } from "./progress";
import { isTrue, shownFigures } from "./shownFigures";
import { figure, type Table } from "./table";
import { LANGUAGES, MANNERS, writtenBy, type Language, type Manner, type Sentence } from "./writer";

/** What becomes of a writer's sentences: of true ones, of slips, and of figures that were altered. */
export const question = "Do true reports stay whole, and is a false figure ever shown?";

const REPORTS = 200;
const ALTERED_SHARE = 0.2;
const DAY = 86_400_000;
const TARGETS = { keptShare: 0.98, wordShare: 0.98, backShare: 0.2 };

export type Counts = {
  reports: number;
  trueSentences: number;
  trueKept: number;
  words: number;
  wordsKept: number;
  /** Reports that go back to their writer once. */
  back: number;
  altered: number;
  falseShown: string[];
};

const none = (): Counts => ({
  ...{ reports: 0, trueSentences: 0, trueKept: 0, words: 0, wordsKept: 0, back: 0, altered: 0 },
  falseShown: [],
});

export function run(progress: Progress): Promise<Table> {
  progress(`${figure(REPORTS)} reports`);
  const counts = countReports(REPORTS);
  const rows = MANNERS.map((manner) => ({ manner, ...(counts.get(manner) ?? none()) }));
  const share = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  return Promise.resolve({
    inputs: [
      "Reports of a writer model on simulated markets, in English, German, Spanish, French, Portuguese and Chinese; seeds are fixed.",
      "With slots, with figures and citations, with both, and with slips: 6 % of the citations miss or are wrong, a sentence is invented.",
      "Then once more with a fifth of the plain figures altered by 6 % to ten times. A figure is false that its bracket does not bear out.",
      "Targets: no false figure, 98 % of true sentences and of their words, 0.2 second questions a report where the writer makes no slips.",
    ],
    columns: [
      "reports",
      "true sentences",
      "of them kept",
      "words kept",
      "second questions",
      "altered figures",
      "false figures shown",
    ],
    rows: rows.map((one) => [
      `${figure(one.reports)} with ${one.manner.replace("with ", "")}`,
      figure(one.trueSentences),
      share(one.trueKept, one.trueSentences),
      share(one.wordsKept, one.words),
      (one.back / Math.max(1, one.reports)).toFixed(2),
      figure(one.altered),
      figure(one.falseShown.length),
    ]),
    notes: rows.flatMap((one) => [
      ...(one.falseShown.length > 0
        ? [`FALSE FIGURES, ${one.manner}: ${one.falseShown.slice(0, 3).join(" | ")}`]
        : []),
      ...(one.trueKept < TARGETS.keptShare * one.trueSentences ||
      one.wordsKept < TARGETS.wordShare * one.words
        ? [`TOO MUCH IS LOST, ${one.manner}`]
        : []),
      ...(one.manner !== "with slips" && one.back > TARGETS.backShare * one.reports
        ? [`TOO MANY SECOND QUESTIONS, ${one.manner}`]
        : []),
    ]),
  });
}

export function countReports(reports: number): Map<Manner, Counts> {
  const counts = new Map<Manner, Counts>();
  for (let index = 0; index < reports; index++) {
    const manner = MANNERS[index % MANNERS.length] ?? "slots";
    const language = LANGUAGES[Math.floor(index / MANNERS.length) % LANGUAGES.length] ?? "en";
    const one = counts.get(manner) ?? none();
    counts.set(manner, one);
    countReport(`writer ${index}`, language, manner, one);
  }
  return counts;
}

function countReport(seed: string, language: Language, manner: Manner, counts: Counts): void {
  const chance = random(seed, language, manner);
  const now = Date.UTC(2026, 0, 1) + Math.floor(chance.between(0, 1) * 300) * DAY;
  const { sources, names } = briefAt(createMarket({ seed, now: () => now }), seed, now, "");
  const ledger = ledgerOf(sources, now, { names });
  const sentences = writtenBy(sources, { language, manner, chance });
  const gap = language === "zh" ? "" : " ";
  const text = sentences.map((one) => one.text).join(gap);
  const point = language === "en" || language === "zh" ? "." : ",";
  const settled = settle(text, ledger);
  const slips = sentences.filter((one) => !one.isTrue).length;
  const words = wordsOf(sentences.flatMap((one) => (one.isTrue ? [one.text] : [])).join(gap));
  counts.reports += 1;
  counts.trueSentences += sentences.length - slips;
  counts.trueKept += sentences.length - slips - Math.max(0, settled.removed - slips);
  counts.words += words.length;
  counts.wordsKept += kept(words, wordsOf(settled.text));
  if (settled.leftovers.length > 0) counts.back += 1;
  counts.falseShown.push(...falseIn(text, ledger, point));
  const { told, altered } = alteredBy(sentences, chance);
  counts.altered += altered.length;
  if (altered.length > 0) counts.falseShown.push(...falseIn(told.join(gap), ledger, point, altered));
}

/** The figures that are shown and that their brackets do not bear out, or that were altered and have none. */
function falseIn(text: string, ledger: Ledger, point: "." | ",", altered: readonly string[] = []): string[] {
  const numbers: number[] = [];
  const { text: shown } = settle(text, ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => ledger.facts.get(id) ?? []);
  const digits = altered.map((one) => /\d[\d.,\s]*/.exec(one)?.[0].trim());
  return shownFigures(shown, point)
    .filter((one) => (one.ids === null ? digits.includes(one.text) : !isTrue(one, cited)))
    .map((one) => `${one.text} [${one.label}]`);
}

function alteredBy(sentences: readonly Sentence[], chance: ReturnType<typeof random>) {
  const altered: string[] = [];
  const told = sentences.map(({ text, figures }) =>
    figures.reduce((sentence, one) => {
      const made = chance.between(0, 1) < ALTERED_SHARE ? alteredFigure(one, chance) : one;
      if (made !== one) altered.push(made);
      return sentence.replace(one, made);
    }, text),
  );
  return { told, altered };
}
