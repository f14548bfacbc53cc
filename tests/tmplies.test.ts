import { test } from "vitest";
import { settle } from "../convex/evidence/settlement";
import { briefScenes } from "./evidence/corpus/briefs";
import { numbered, partsOf } from "./evidence/corpus/reports";
test("x", () => {
  const scenes = new Map(briefScenes());
  for (const {title, text} of partsOf(process.env.F ?? "lies")) {
    const scene = scenes.get(title)!;
    for (const line of text.split("\n")) {
      const s = settle(numbered(line, scene), scene.ledger);
      console.log(`${s.leftovers.length ? "BACK " : "SHOWN"} ${line}\n   -> ${s.text}`);
    }
  }
});
