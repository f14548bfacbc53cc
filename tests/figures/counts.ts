import { settle } from "../../convex/lib/figures/settle";
import type { Altered } from "./corpus/alterations";
import type { Report } from "./corpus/reports";
import { kept, wordsOf } from "./keptWords";
import { isTrue, shownFigures } from "./shownFigures";

/** What happens to a writer's sentences: true ones, slips, and altered figures. */

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

type Held = Pick<Report, "text" | "scene"> & Partial<Altered>;

/** A text as readers get it, with every figure that its bracket does not support, and the altered one if it has no bracket. */
export function settledReport({ text: told, scene, figure: altered }: Held) {
  const numbers: number[] = [];
  const settled = settle(told, scene.ledger, { kept: numbers });
  const cited = numbers.flatMap((id) => scene.ledger.facts.get(id) ?? []);
  const alteredDigits = altered?.replace(/^\D+/, "") ?? "";
  // If another figure of the text has the same value, it is unclear which is shown.
  const digits = told.split(alteredDigits).length === 2 ? alteredDigits : "";
  const untrue = shownFigures(settled.text)
    .filter((one) => (one.ids === null ? one.text === digits : !isTrue(one, cited)))
    .map(({ text, label }) => `${text} [${label}]`);
  return { settled, untrue };
}
