import { spawn, type SpawnOptionsWithoutStdio } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** What a settings file says of the deployment. */
function deploymentIn(settings: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      /^CONVEX_/.test(name) && value && !process.env[name] ? [[name, value]] : [],
    ),
  );
}

/** What the CLI came to. */
export type CliRun = { code: number; stdout: string; stderr: string };

/**
 * Runs the Convex CLI of this project to its end, as `npx convex` would, with `input` on its standard input.
 * @param options.timeoutMs Ends it after so long; its code is 1 then.
 * @param options.settings Those of the operator's file: the CLI reads `.env.local` alone by itself, and needs to be told
 * what another file says of the deployment.
 * @param options.cwd The folder that it works in, and whose `.env.local` it reads.
 */
export async function convexCli(
  args: readonly string[],
  input = "",
  {
    timeoutMs,
    settings = {},
    cwd,
  }: { timeoutMs?: number; settings?: Record<string, string | undefined>; cwd?: string } = {},
): Promise<CliRun> {
  const child = started(args, {
    env: { ...process.env, ...deploymentIn(settings) },
    ...(cwd === undefined ? {} : { cwd }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      output[name] += chunk;
    });
  }
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((done, fail) => {
    child.on("error", fail);
    child.on("close", done);
  });
  return { code: code ?? 1, ...output };
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
