import { spawn, type SpawnOptionsWithoutStdio } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** What the CLI came to. */
export type CliRun = { code: number; stderr: string };

/**
 * Runs the Convex CLI of this project to its end, as `npx convex` would, with `input` on its standard input.
 * @param cwd The folder that it works in, and whose `.env.local` it reads.
 */
export async function convexCli(args: readonly string[], input: string, cwd: string): Promise<CliRun> {
  const child = started(args, { cwd });
  let stderr = "";
  child.stdout.resume();
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((done, fail) => {
    child.on("error", fail);
    child.on("close", done);
  });
  return { code: code ?? 1, stderr };
}

/** The Convex CLI while it runs: `ended` once it has, by itself or because it was told to. */
export function convexProcess(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): { onLine: (take: (line: string) => void) => void; end: () => void; ended: Promise<void> } {
  const child = started(args, { cwd, env: { ...process.env, ...env } });
  child.stdin.end();
  return {
    onLine: (take) => {
      for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", take);
    },
    end: () => void child.kill("SIGINT"),
    ended: new Promise((done, fail) => {
      child.on("error", fail);
      child.on("close", () => done());
    }),
  };
}

function started(args: readonly string[], options: SpawnOptionsWithoutStdio) {
  const require = createRequire(resolve("package.json"));
  const cli = join(dirname(require.resolve("convex/package.json")), "bin/main.js");
  return spawn(process.execPath, [cli, ...args], options);
}
