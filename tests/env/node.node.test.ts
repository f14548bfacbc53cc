import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../stack/processes";

/** `scripts/run.cjs`, through which the commands start. */

const run = fileURLToPath(new URL("../../scripts/run.cjs", import.meta.url));
const cache = fileURLToPath(new URL("../../node_modules/.cache/scripts/", import.meta.url));
const manifest = fileURLToPath(new URL("../../package.json", import.meta.url));

async function started(version: string | null, args: string[]): Promise<{ code: unknown; output: string }> {
  const directory = await temporaryDirectory();
  const preload = path.join(directory, "version.cjs");
  const told = JSON.stringify({ ...process.versions, ...(version === null ? {} : { node: version }) });
  await writeFile(preload, `Object.defineProperty(process, "versions", { value: ${told} });`);
  const child = spawn(process.execPath, ["--require", preload, run, ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  }
  const code = await new Promise((resolve) => child.on("close", resolve));
  return { code, output };
}

test.each(["18.20.4", "20.18.3", "16.0.0"])(
  "Node %s is told which is needed, before anything is read",
  async (old) => {
    expect(await started(old, ["no-such-file.ts"])).toEqual({
      code: 1,
      output: `This needs Node 20.19 or newer, and this is Node ${old}: install a newer one from https://nodejs.org, then run npm ci again.\n`,
    });
  },
);

test("a newer Node runs the file with its arguments", async () => {
  const directory = await temporaryDirectory();
  const file = path.join(directory, "told.ts");
  await writeFile(file, "const told: string[] = process.argv.slice(2); console.log(told.join(' '));");
  expect(await started(null, [file, "a", "--b"])).toEqual({ code: 0, output: "a --b\n" });
});

test("a changed file runs as it is now, and a kept bundle that is broken is made again", async () => {
  const directory = await temporaryDirectory();
  const file = path.join(directory, "told.ts");
  const said = path.join(directory, "said.ts");
  const kept = path.join(cache, createHash("sha256").update(file).digest("hex").slice(0, 16));
  onTestFinished(() => rm(kept, { recursive: true, force: true }));
  const earlier = new Date(Date.now() - 60_000);
  await writeFile(file, 'import { said } from "./said"; console.log(said);');
  await writeFile(said, 'export const said = "one";');
  for (const one of [file, said, directory]) await utimes(one, earlier, earlier);
  expect(await started(null, [file])).toEqual({ code: 0, output: "one\n" });
  expect(await started(null, [file])).toEqual({ code: 0, output: "one\n" });
  await writeFile(path.join(kept, "current.json"), "no JSON");
  expect(await started(null, [file])).toEqual({ code: 0, output: "one\n" });
  await writeFile(said, 'export const said = "two";');
  expect(await started(null, [file])).toEqual({ code: 0, output: "two\n" });
});

test("it needs what package.json says", async () => {
  const { engines } = JSON.parse(await readFile(manifest, "utf8")) as { engines: { node: string } };
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? [];
  expect(await readFile(run, "utf8")).toContain(`var NEEDED = [${major}, ${minor}];`);
});
