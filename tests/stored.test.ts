import { expect, test } from "vitest";
import { z } from "zod";
import { STORED } from "../scripts/storedShapes";

/** What tables store of shapes is written as code; nothing but this holds it against the shapes. */

const files = import.meta.glob<Record<string, unknown>>("../convex/**/stored.ts");
const written = z.object({ json: z.unknown() });

test.for(Object.keys(STORED))("%s stores what its shapes say: npm run codegen writes it", async (file) => {
  const code = (await files[`../convex/${file}.ts`]?.()) ?? {};
  const { validators = {} } = STORED[file] ?? {};
  expect(Object.keys(code).sort()).toEqual(Object.keys(validators).sort());
  for (const [name, shape] of Object.entries(validators)) {
    expect([name, written.parse(code[name]).json]).toEqual([name, written.parse(shape).json]);
  }
});

test("there is no other file of them", () => {
  const found = Object.keys(files).map((path) => path.slice("../convex/".length, -".ts".length));
  expect(found.sort()).toEqual(Object.keys(STORED).sort());
});
