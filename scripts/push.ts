import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";

/** The bundle of `npx convex deploy`, built by Convex's own CLI. */

export const root = fileURLToPath(new URL("..", import.meta.url));

const configShape = z.object({
  modules: z.array(z.object({ path: z.string(), source: z.string(), environment: z.literal("isolate") })),
});
export type PushedModule = z.infer<typeof configShape>["modules"][number];

/** The modules of the bundle. With this option the CLI stops before it pushes, and calls no address. */
export async function pushedModules(): Promise<PushedModule[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "push-"));
  try {
    const require = createRequire(import.meta.url);
    const cli = path.join(path.dirname(require.resolve("convex/package.json")), "bin/main.js");
    const nowhere = ["--url", "http://127.0.0.1:1", "--admin-key", "bundle|only"];
    // The types are the linter's matter: a second compiler would take longer than the bundle.
    const only = ["--debug-bundle-path", folder, "--typecheck", "disable", "--codegen", "disable"];
    const { code, output } = await run([cli, "deploy", ...nowhere, ...only]);
    if (code !== 0) throw new Error(`The application does not bundle:\n${output}`);
    const config: unknown = JSON.parse(await readFile(path.join(folder, "fullConfig.json"), "utf8"));
    return configShape.parse(config).modules;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(args: string[]): Promise<{ code: number | null; output: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env, CI: "1" };
  // The operator's deployment is not contacted.
  for (const name of ["CONVEX_DEPLOYMENT", "CONVEX_DEPLOY_KEY", "CONVEX_SELF_HOSTED_URL"]) delete env[name];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
