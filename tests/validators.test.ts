import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { STORED } from "../scripts/storedShapes";

/** What tables store of shapes is written as code; nothing but this holds it against the shapes. */

const written = z.object({ json: z.unknown() });

test.for(Object.keys(STORED))("%s stores what its shapes say: npm run codegen writes it", async (file) => {
  const { href } = new URL(`../convex/${file}.ts`, import.meta.url);
  const code: Record<string, unknown> = await import(/* @vite-ignore */ href);
  const { validators = {} } = STORED[file] ?? {};
  expect(Object.keys(code).sort()).toEqual(Object.keys(validators).sort());
  for (const [name, shape] of Object.entries(validators)) {
    expect([name, written.parse(code[name]).json]).toEqual([name, written.parse(shape).json]);
  }
});

test("there is no other file of them", () => {
  const found = readdirSync("convex", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("/validators.ts"))
    .map((path) => path.slice(0, -".ts".length));
  expect(found.sort()).toEqual(Object.keys(STORED).sort());
});
