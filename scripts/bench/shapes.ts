import { checkSentence } from "../../convex/evidence/checking";
import { ledgerOf } from "../../convex/evidence/citing";
import { FLAWS, sceneOf, sentenceOf, type Flaw } from "./shapedSentences";

/** What the checker makes of sentences in the shapes that writers use. */

export type ShapeCounts = {
  sentences: number;
  figures: number;
  truePassed: number;
  /** True sentences that went, with why. */
  wronged: string[];
  /** Of each flaw: how many sentences had it. */
  flawed: Record<Flaw, number>;
  /** Flawed sentences that passed. */
  passed: string[];
};

/** @param scenes Of how many markets each shape tells. */
export function countShapes(shapes: readonly string[], scenes: number): ShapeCounts {
  const flawed = { subject: 0, kind: 0, direction: 0, window: 0, unit: 0 };
  const counts: ShapeCounts = { sentences: 0, figures: 0, truePassed: 0, wronged: [], flawed, passed: [] };
  for (let index = 0; index < scenes; index++) {
    const scene = sceneOf(`shapes ${index}`);
    const ledger = ledgerOf(scene.brief.sources, scene.now, { names: scene.brief.names });
    for (const shape of shapes) {
      const told = sentenceOf(shape, null, scene);
      if (told === null) continue;
      const { figures, problems } = checkSentence(told, ledger);
      counts.sentences += 1;
      counts.figures += figures;
      counts.truePassed += figures - Math.min(figures, problems.length);
      if (problems.length > 0) counts.wronged.push(`${told} (${problems.join("; ")})`);
      for (const flaw of FLAWS) {
        const untrue = sentenceOf(shape, flaw, scene);
        if (untrue === null) continue;
        flawed[flaw] += 1;
        if (checkSentence(untrue, ledger).problems.length === 0) counts.passed.push(`${flaw}: ${untrue}`);
      }
    }
  }
  return counts;
}
