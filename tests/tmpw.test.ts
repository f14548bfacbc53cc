import { test } from "vitest";
import { readFileSync } from "node:fs";
import { settle } from "../convex/evidence/settlement";
import { numbered, sceneNamed } from "./evidence/corpus/reports";
test("x", () => {
  const d = sceneNamed("desk");
  for (const l of readFileSync("/tmp/words12.txt","utf8").split("\n")) console.log("@" + l + "\n@" + settle(numbered(l, d), d.ledger).text);
});
