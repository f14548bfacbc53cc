import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { bundled } from "../stack/bundled";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const folders: string[] = [];

afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** Rehearses the deployment of an application with these modules. */
async function rehearse(modules: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const root = await mkdtemp(path.join(tmpdir(), "application-"));
  folders.push(root);
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
  const script = bundled(path.join(repository, "scripts/deploy/main.ts"));
  const flags = ["--experimental-vm-modules", "--no-warnings"];
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...flags, script, root], { cwd: repository });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString("utf8");
      });
    }
    child.on("close", (code) => {
      resolve({ code, output });
    });
  });
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
    "unchecked.ts": `${importing}export const open = query({ handler: () => null });\nexport const half = query({ args: {}, handler: () => null });\n`,
  });
  expect(code).toBe(1);
  const faults = output.slice(output.indexOf("It must not be deployed:"));
  expect(faults).toMatch(/buffers\.js: does not evaluate/);
  expect(faults).toMatch(/calls\.js: does not evaluate: fetch\(\) was called/);
  expect(faults).toMatch(/waits\.js: does not evaluate: setTimeout\(\) was called/);
  expect(faults).toMatch(/settings\.js: reads SOME_KEY at import/);
  expect(faults).toMatch(/strings\.js: does not evaluate: Code generation from strings disallowed/);
  expect(faults).toContain("unchecked.js:open has no argument validator");
  expect(faults).toContain("unchecked.js:open has no return validator");
  expect(faults).toContain("unchecked.js:half has no return validator");
  expect(faults).not.toContain("unchecked.js:half has no argument validator");
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
