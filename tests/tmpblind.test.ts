import { test } from "vitest";
import { settle } from "../convex/evidence/settlement";
import { briefScenes } from "./evidence/corpus/briefs";
import { numbered, partsOf } from "./evidence/corpus/reports";
import { kept, wordsOf } from "../scripts/bench/keptWords";
import { isTrue, shownFigures } from "../scripts/bench/shownFigures";
test("x", () => {
  const scenes = new Map(briefScenes());
  for (const file of (process.env.F ?? "blind").split(",")) {
  let words=0, stay=0, back=0, refused=0, n=0, falses=0;
  for (const {title, text} of partsOf(file)) {
    const [language="", name=""] = title.split(" ");
    const scene = scenes.get(name)!;
    const told = numbered(text, scene);
    const nums: number[] = [];
    const s = settle(told, scene.ledger, { kept: nums });
    const cited = nums.flatMap((id) => scene.ledger.facts.get(id) ?? []);
    const point = /^(de|es|fr|pt)$/.test(language) ? "," : ".";
    const untrue = shownFigures(s.text, point as any).filter(({ids}) => ids !== null).filter((f) => !isTrue(f, cited));
    const loose = shownFigures(s.text, point as any).filter(({ids}) => ids === null);
    const w = wordsOf(told); const k = kept(w, wordsOf(s.text));
    n++; words += w.length; stay += k; if (s.leftovers.length) back++; falses += untrue.length;
    if (s.removed/Math.max(1,(s as any).sentences ?? 99) > .5) refused++;
    if (s.leftovers.length || untrue.length || loose.length || process.env.V) console.log(`#${n} ${title} kept ${(k/w.length).toFixed(3)} removed ${s.removed} ${JSON.stringify(s.leftovers)}\n  untrue ${untrue.map(u=>u.text+" ["+u.label+"]").join(" | ")}\n  loose ${loose.map(u=>u.before+" "+u.text).join(" | ")}${process.env.V ? "\n"+s.text : ""}`);
  }
  console.log(`${file}: ${n} reports, kept ${(stay/words*100).toFixed(2)} %, back ${back} (${(back/n).toFixed(3)}), untrue ${falses}`);
  }
});
