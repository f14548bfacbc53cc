import { test } from "vitest";
import { partsOf, sceneNamed, numbered } from "./corpus/reports";
import { settle } from "../../convex/evidence/settlement";
import { kept, wordsOf } from "../../scripts/bench/keptWords";
import { isTrue, shownFigures } from "../../scripts/bench/shownFigures";
test("x", () => {
  let W = 0,
    K = 0,
    back = 0;
  const per: Record<string, [number, number]> = {};
  const out: string[] = [];
  partsOf("heldout").forEach(({ title, text }, i) => {
    const [lang = "", sc = ""] = title.split(" ");
    const scene = sceneNamed(sc),
      told = numbered(text, scene);
    const numbers: number[] = [];
    const s = settle(told, scene.ledger, { kept: numbers });
    const w = wordsOf(told),
      k = kept(w, wordsOf(s.text));
    const cited = numbers.flatMap((id) => scene.ledger.facts.get(id) ?? []);
    const un = shownFigures(s.text, /de|es|fr|pt/.test(lang) ? "," : ".").filter(
      (f) => f.ids !== null && !isTrue(f, cited),
    );
    W += w.length;
    K += k;
    if (s.leftovers.length) back++;
    const p = (per[lang] ??= [0, 0]);
    p[0]++;
    if (s.leftovers.length) p[1]++;
    out.push(
      `#### ${i} ${title} ${k}/${w.length} back=${s.leftovers.length} untrue=${un.map((u) => u.text + "[" + u.label + "]").join("; ")}\n` +
        s.leftovers.map((l) => "  LEFT " + JSON.stringify(l)).join("\n") +
        "\n" +
        s.text,
    );
  });
  out.push(`TOTAL ${K}/${W} = ${K / W}; back ${back}; ${JSON.stringify(per)}`);
  console.log(out.join("\n"));
});
