import { test } from "vitest";
import { settle } from "../convex/evidence/settlement";
import { writings } from "./evidence/corpus/reports";
test("x", () => {
  let back = 0, n = 0;
  for (const one of writings()) {
    n++;
    const s = settle(one.text, one.scene.ledger);
    if (s.leftovers.length) { back++; console.log(one.name, s.leftovers.map(l => l.place + " | " + l.why.slice(0, 90))); }
  }
  console.log("BACK", back, n);
});
