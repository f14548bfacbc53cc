import { checkSentence } from "../../convex/evidence/checking";
import { ledgerOf } from "../../convex/evidence/citing";
import { paragraphsOf, sentencesOf } from "../../convex/evidence/sentences";
import { random } from "../stack/standins/random";
import { altered, inAnotherHand, reportOf } from "./alterations";
import type { Progress } from "./progress";
import { SHAPES } from "./sentenceShapes";
import { SHAPES_APART } from "./sentenceShapesApart";
import { FLAWS } from "./shapedSentences";
import { countShapes, type ShapeCounts } from "./shapes";
import { figure, type Table } from "./table";

/** How many altered figures the checker of reports lets pass, and how many true ones it takes away. */
export const question =
  "Does the checker of figures let an altered figure pass, and does it take true ones away?";

const REPORTS = { "as written": 200, "in other hands": 100 } as const;
const HANDS = ["as written", "in other hands"] as const;
/** Markets that each shape tells of. */
const SCENES = 12;
const ALTERED_SHARE = 0.2;
const TARGETS = { altered: 0, trueShare: 0.99, lostShare: 0.02 };

export type Counts = {
  sentences: number;
  /** Sentences with nothing altered that went. */
  lost: number;
  figures: number;
  truePassed: number;
  alteredFigures: number;
  alteredPassed: number;
  passed: string[];
  wronged: string[];
};

export function run(progress: Progress): Promise<Table> {
  const rows = HANDS.map((hand) => {
    progress(`${figure(REPORTS[hand])} reports ${hand}`);
    return { hand, counts: count(REPORTS[hand], hand) };
  });
  const bad = rows.flatMap(({ hand, counts }) => [
    ...(counts.alteredPassed > TARGETS.altered
      ? [`ALTERED FIGURES PASS, ${hand}: ${counts.passed.slice(0, 3).join(" | ")}`]
      : []),
    ...(counts.truePassed / counts.figures < TARGETS.trueShare
      ? [`TRUE FIGURES FAIL, ${hand}: ${counts.wronged.slice(0, 3).join(" | ")}`]
      : []),
    ...(counts.lost / counts.sentences > TARGETS.lostShare ? [`TOO MANY SENTENCES ARE LOST, ${hand}`] : []),
  ]);
  const shaped = [
    { which: "shapes the checker was built with", shapes: SHAPES },
    { which: "shapes it met last", shapes: SHAPES_APART },
  ].map(({ which, shapes }) => {
    progress(`${figure(shapes.length)} ${which}`);
    return { which, shapes, counts: countShapes(shapes, SCENES) };
  });
  return Promise.resolve({
    next: ofShapes(shaped),
    inputs: [
      "Reports of the gateway's stand-in, each on a market, moment and focus of its own; seeds are fixed.",
      "A fifth of their figures are altered by 3 % to ten times in either direction, in the form they had.",
      "In other hands: amounts in USD, bn or M, decimal commas, percent in words.",
      "Targets: no altered figure passes, 99 % of true ones do, at most 2 % of sentences without an altered figure are lost.",
    ],
    columns: [
      "reports",
      "sentences",
      "true figures",
      "of them passed",
      "sentences lost",
      "altered figures",
      "of them passed",
    ],
    rows: rows.map(({ hand, counts }) => [
      `${figure(REPORTS[hand])} ${hand}`,
      figure(counts.sentences),
      figure(counts.figures),
      `${((100 * counts.truePassed) / counts.figures).toFixed(2)} % (≥ 99 %)`,
      `${((100 * counts.lost) / counts.sentences).toFixed(2)} % (≤ 2 %)`,
      figure(counts.alteredFigures),
      `${figure(counts.alteredPassed)} (0)`,
    ]),
    notes: bad,
  });
}

type Shaped = { which: string; shapes: readonly string[]; counts: ShapeCounts };

function ofShapes(rows: readonly Shaped[]): Table & { question: string } {
  return {
    question: "Does it know whose figure it is, of what kind, over what time and which way it went?",
    inputs: [
      `Sentences in shapes written by hand, each in ${figure(SCENES)} markets; seeds are fixed.`,
      "Each once as it is, and once with one flaw: another coin, a fact of another kind, the other direction, another window, another unit.",
    ],
    columns: ["sentences", "true figures", "of them passed", "sentences lost", "flawed", "of them passed"],
    rows: rows.map(({ which, shapes, counts }) => [
      `${figure(counts.sentences)} in ${figure(shapes.length)} ${which}`,
      figure(counts.figures),
      `${((100 * counts.truePassed) / counts.figures).toFixed(2)} % (≥ 99 %)`,
      `${((100 * counts.wronged.length) / counts.sentences).toFixed(2)} % (≤ 2 %)`,
      FLAWS.map((flaw) => `${flaw} ${figure(counts.flawed[flaw])}`).join(", "),
      `${figure(counts.passed.length)} (0)`,
    ]),
    notes: rows.flatMap(({ which, counts }) => [
      ...(counts.passed.length > 0 ? [`FLAWS PASS, ${which}: ${counts.passed.slice(0, 3).join(" | ")}`] : []),
      ...(counts.wronged.length > 0
        ? [`True sentences lost, ${which}: ${counts.wronged.slice(0, 3).join(" | ")}`]
        : []),
    ]),
  };
}

export function count(reports: number, hand: "as written" | "in other hands"): Counts {
  const counts: Counts = {
    sentences: 0,
    lost: 0,
    figures: 0,
    truePassed: 0,
    alteredFigures: 0,
    alteredPassed: 0,
    passed: [],
    wronged: [],
  };
  for (let index = 0; index < reports; index++) countReport(`bench ${index}`, hand, counts);
  return counts;
}

function countReport(seed: string, hand: "as written" | "in other hands", counts: Counts): void {
  const { brief, result, now, focus } = reportOf(seed);
  const ledger = ledgerOf(brief.sources, now, { names: brief.names, focus });
  const chance = random(seed, hand);
  const together = [
    ...paragraphsOf(result.fullAnalysis),
    [result.shortSummary],
    ...result.impacts.map(({ title, detail }) => [title, ...sentencesOf(detail)]),
  ];
  for (const sentences of together) {
    let named: string[] = [];
    for (const told of sentences) {
      const written = hand === "as written" ? told : inAnotherHand(told, chance);
      const { figures, problems, subjects } = checkSentence(written, ledger, named);
      counts.sentences += 1;
      counts.figures += figures;
      counts.truePassed += figures - Math.min(figures, problems.length);
      if (problems.length > 0) {
        counts.lost += 1;
        counts.wronged.push(`${written} (${problems[0] ?? ""})`);
      }
      const false_ = altered(written, ALTERED_SHARE, chance);
      if (false_ !== null) {
        counts.alteredFigures += false_.count;
        const rest = checkSentence(false_.sentence, ledger, named).problems;
        // A sentence with as many problems as altered figures has lost them all; one with none has let them pass.
        if (rest.length === 0) {
          counts.alteredPassed += false_.count;
          counts.passed.push(false_.sentence);
        }
      }
      if (subjects.length > 0) named = subjects;
    }
  }
}
