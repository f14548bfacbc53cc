import { readdir, readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fuzzWire } from "./wireFuzz";
import { questions } from "./wireQuestions";
import { applyVariables } from "../../scripts/stack/env";
import { createStandins } from "../../scripts/standins/index";

let restore = () => {};
beforeAll(() => {
  restore = applyVariables(createStandins().env("http://providers.invalid"));
});
afterAll(() => {
  restore();
});

test("every question has a schema that strict mode takes; every answer is used as meant, or ends in the documented error", async () => {
  const results = await fuzzWire(12, "tests");
  for (const { question, schemaProblem, halfUsed, used, refused } of results) {
    expect([question, schemaProblem, halfUsed]).toEqual([question, null, []]);
    expect(used).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
  }
});

test("no question is left out", async () => {
  const asked = new Set<string>();
  await questions((_name, ask) => {
    asked.add(ask(0, createStandins().market).name);
    return Promise.resolve();
  });
  const directory = new URL("../../convex/", import.meta.url);
  const files = (await readdir(directory, { recursive: true })).filter(
    (name) => name.endsWith(".ts") && !name.startsWith("_generated"),
  );
  const sources = await Promise.all(files.map((name) => readFile(new URL(name, directory), "utf8")));
  const questionsInSource = sources.join("\n").match(/satisfies Question</g) ?? [];
  // Both reviews are one question.
  expect(asked.size).toBe(questionsInSource.length);
});
