import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";

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
 * Runs the Convex CLI of this project, as `npx convex` would, with `input` on its standard input.
 * @param options.timeoutMs Ends it after so long; its code is 1 then.
 * @param options.settings Those of the operator's file: the CLI reads `.env.local` alone by itself, and needs to be told
 * what another file says of the deployment.
 */
export async function convexCli(
  args: readonly string[],
  input = "",
  { timeoutMs, settings = {} }: { timeoutMs?: number; settings?: Record<string, string | undefined> } = {},
): Promise<CliRun> {
  const require = createRequire(resolve("package.json"));
  const cli = join(dirname(require.resolve("convex/package.json")), "bin/main.js");
  const child = spawn(process.execPath, [cli, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...deploymentIn(settings) },
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
  });
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      said[name] += chunk;
    });
  }
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await new Promise<number | null>((done, fail) => {
    child.on("error", fail);
    child.on("close", done);
  });
  return { code: code ?? 1, ...said };
}
