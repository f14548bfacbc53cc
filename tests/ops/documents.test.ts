import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";

/** The documents' list of the web application's functions is the list of the public functions, with their arguments. */

const functionShape = z.object({ isPublic: z.literal(true), exportArgs: z.custom<() => string>() });
const argsShape = z.object({ value: z.record(z.string(), z.object({ optional: z.boolean() })) });
const modules = import.meta.glob<Record<string, unknown>>("../../convex/**/*.ts");
const NO_FUNCTIONS = /_generated|\.config\.ts$|schema\.ts$|tables\.ts$|crons\.ts$|\/http\.ts$/;

/** `users/addresses:challenge` → `{ address }` */
async function publicFunctions(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [file, load] of Object.entries(modules)) {
    if (NO_FUNCTIONS.test(file)) continue;
    const path = file.replace("../../convex/", "").replace(/\.ts$/, "");
    for (const [name, value] of Object.entries(await load())) {
      if (typeof value !== "function") continue;
      const parsed = functionShape.safeParse({ ...value });
      if (!parsed.success) continue;
      const args = Object.entries(argsShape.parse(JSON.parse(parsed.data.exportArgs())).value);
      const names = args.map(([arg, { optional }]) => `${arg}${optional ? "?" : ""}`);
      found.set(`${path}:${name}`, names.length === 0 ? "{}" : `{ ${names.join(", ")} }`);
    }
  }
  return found;
}

test("the web application's functions are all listed, with their arguments", async () => {
  const page = await readFile(new URL("../../docs/payments.md", import.meta.url), "utf8");
  const listed = new Map<string, string>();
  for (const row of page.matchAll(/^\| (`[a-z]+\/[a-z]+:[^|]+) \|/gm)) {
    let module = "";
    for (const [, path = "", name = "", args = ""] of (row[1] ?? "").matchAll(
      /`([a-z]+\/[a-z]+:)?(\w+) (\{[^`]*\})`/g,
    )) {
      if (path !== "") module = path;
      listed.set(`${module}${name}`, args);
    }
  }
  const functions = await publicFunctions();
  expect(functions.size).toBeGreaterThan(30);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(functions));
});
