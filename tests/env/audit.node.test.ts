import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { run } from "../stack/processes";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** A stand-in for the Convex CLI: two pages of a trail, as `convex run` prints them, or a failure behind the first. */
const CLI = `
const [run, name, args, ...options] = process.argv.slice(2);
const { cursor } = JSON.parse(args);
console.error("asked " + [run, name, String(cursor), ...options].join(" "));
const line = (subject) => ({ at: "2026-01-05T09:00:00.000Z", actor: "operator", action: "key rotated", subject });
if (cursor === null) console.log(JSON.stringify({ lines: [line("a"), line("b")], cursor: "next" }, null, 2));
else if (process.env.CLI_EXIT !== undefined) process.exit(Number(process.env.CLI_EXIT));
else if (process.env.CLI_SAYS !== undefined) console.log(process.env.CLI_SAYS);
else console.log(JSON.stringify({ lines: [line("c")], cursor: null }, null, 2));
`;

let project: string;

beforeEach(async () => {
  project = await mkdtemp(path.join(tmpdir(), "project-"));
  await mkdir(path.join(project, "node_modules/convex/bin"), { recursive: true });
  await writeFile(path.join(project, "package.json"), '{ "type": "module" }');
  await writeFile(path.join(project, "node_modules/convex/package.json"), '{ "type": "module" }');
  await writeFile(path.join(project, "node_modules/convex/bin/main.js"), CLI);
});

afterEach(async () => {
  await rm(project, { recursive: true });
});

async function exported(args: string[], env: Record<string, string> = {}) {
  const script = path.join(repository, "scripts/audit/export.ts");
  const child = spawn(process.execPath, [run, script, ...args], {
    cwd: project,
    env: { ...process.env, ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")));
  const code = await new Promise((resolve) => child.on("close", resolve));
  const subjects = stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => (JSON.parse(line) as { subject: string }).subject);
  return { code, subjects, stderr };
}

test("writes every page's lines and nothing else to its standard output", async () => {
  expect(await exported(["--prod"])).toEqual({ code: 0, subjects: ["a", "b", "c"], stderr: "" });
});

test("a trail that ends early is told, with the CLI's own word and exit code", async () => {
  const { code, subjects, stderr } = await exported(["--prod"], { CLI_EXIT: "3" });
  expect({ code, subjects }).toEqual({ code: 3, subjects: ["a", "b"] });
  expect(stderr).toContain("asked run ops/audit:page next --prod");
  expect(stderr).toContain("The trail is not whole.");
});

test("an answer that is no page is no trail", async () => {
  const { code, stderr } = await exported([], { CLI_SAYS: "null" });
  expect(code).toBe(1);
  expect(stderr).toContain("The trail is not whole.");
});
