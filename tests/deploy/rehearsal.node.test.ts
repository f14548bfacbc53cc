import { mkdir, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { run, repository, startProcess, temporaryDirectory } from "../stack/processes";

/** Rehearses the deployment of an application with these modules. */
async function rehearse(modules: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const root = await temporaryDirectory();
  await mkdir(path.join(root, "convex"));
  await symlink(path.join(repository, "node_modules"), path.join(root, "node_modules"));
  await writeFile(
    path.join(root, "package.json"),
    JSON.stringify({ name: "application", type: "module", dependencies: { convex: "*" } }),
  );
  const generated = 'import { queryGeneric } from "convex/server";\nexport const query = queryGeneric;\n';
  const all: Record<string, string> = { "server.ts": generated, ...modules };
  for (const [name, source] of Object.entries(all)) {
    await writeFile(path.join(root, "convex", name), source);
  }
  const script = path.join(repository, "scripts/deploy/main.ts");
  const flags = ["--experimental-vm-modules", "--no-warnings"];
  const rehearsed = startProcess(process.execPath, [...flags, run, script, root], {}, { cwd: repository });
  const { code, stdout, stderr } = await rehearsed.ended;
  return { code, output: stdout + stderr };
}

const importing = 'import { query } from "./server";\nimport { v } from "convex/values";\n';
const sound = `${importing}export const one = query({ args: {}, returns: v.null(), handler: () => null });\n`;

test("an application that has only what the runtime has may be deployed", async () => {
  const { code, output } = await rehearse({ "sound.ts": sound });
  expect(output).toContain("Nothing stands in the way of a deployment.");
  expect(output).toContain("1 public and 0 internal functions");
  expect(code).toBe(0);
});

test("what the platform would refuse, or do differently, is found and named", async () => {
  const { code, output } = await rehearse({
    "buffers.ts": 'export const bytes = Buffer.from("a");',
    "calls.ts": 'export const answer = fetch("http://127.0.0.1:1/");',
    "waits.ts": "setTimeout(() => {}, 1);\nexport const waits = true;",
    "settings.ts": "export const key = process.env.SOME_KEY;",
    "strings.ts": 'export const two = new Function("return 2")();',
    "requests.ts":
      'export const mode = (() => {\n  try {\n    return new Request("http://a.example").redirect;\n  } catch {\n    return null;\n  }\n})();',
    "texts.ts":
      'export const text = new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([255])).length;',
    "dates.ts": "export class Moment extends Date {}",
    "both.ts": `${importing}export const both = Object.assign(query({ args: {}, returns: v.null(), handler: () => null }), { isAction: true });\n`,
    "crons.ts":
      'export default { isCrons: true, crons: { "läuft nie": { name: "both:none", schedule: { type: "daily", hourUTC: 24, minuteUTC: 0 }, args: [{}] } } };',
    "schema.ts": `import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
const many = Array.from({ length: 33 }, (_, i) => i);
const indexed = many.reduce((table, i) => table.index("by_" + i, ["a"]), defineTable({ a: v.string(), "ä": v.string() }));
export default defineSchema({ indexed, "with space": defineTable({ a: v.string() }).index("_a", ["a"]) });\n`,
    "convex.config.ts":
      'import { defineApp } from "convex/server";\nimport { v } from "convex/values";\nimport rateLimiter from "@convex-dev/rate-limiter/convex.config.js";\nconst app = defineApp({ env: { "SOME-KEY": v.optional(v.string()) } });\napp.use(rateLimiter);\nexport default app;',
    "unchecked.ts": `${importing}export const open = query({ handler: () => null });\nexport const half = query({ args: {}, handler: () => null });\n`,
  });
  expect(code).toBe(1);
  const faults = output.slice(output.indexOf("It must not be deployed:"));
  expect(faults).toMatch(/buffers\.js: cannot be evaluated/);
  expect(faults).toMatch(/calls\.js: cannot be evaluated: fetch\(\) was called/);
  expect(faults).toMatch(/waits\.js: cannot be evaluated: setTimeout\(\) was called/);
  expect(faults).toMatch(/settings\.js: reads SOME_KEY at import/);
  expect(faults).toMatch(/strings\.js: cannot be evaluated: Code generation from strings disallowed/);
  expect(faults).toContain("unchecked.js:open has no argument validator");
  expect(faults).toContain("unchecked.js:open has no return validator");
  expect(faults).toContain("unchecked.js:half has no return validator");
  expect(faults).not.toContain("unchecked.js:half has no argument validator");
  expect(faults).toContain("requests.js: uses Request.redirect, which ends the function on the platform");
  expect(faults).toMatch(/texts\.js: cannot be evaluated: .*undefined/);
  expect(faults).toContain("dates.js: extends Date");
  expect(faults).toContain("both.js:both is query and action at once");
  expect(faults).toContain("cron läuft nie: a name is printable ASCII");
  expect(faults).toContain("cron läuft nie: the platform has no such time");
  expect(faults).toContain("cron läuft nie: there is no mutation or action both:none");
  expect(faults).toContain("table indexed has 33 indexes, more than 32");
  expect(faults).toContain("field indexed.ä: a name is ASCII");
  expect(faults).toContain("table with space: a name is at most 64");
  expect(faults).toContain("index with space._a: a name is at most 64");
  expect(faults).toContain("variable SOME-KEY: a name is at most 40");
  expect(output).toContain("a self-hosted backend has to be from 22 July 2026 or later");
});

test("a module that needs Node does not bundle", async () => {
  const { code, output } = await rehearse({ "files.ts": 'export { readFileSync } from "node:fs";' });
  expect(code).toBe(1);
  expect(output).toContain('Could not resolve "node:fs"');
});

test("a name that the platform refuses does not bundle", async () => {
  const { code, output } = await rehearse({ "two-words.ts": sound });
  expect(code).toBe(1);
  expect(output).toContain("two-words");
});
