import { spawn } from "node:child_process";
import { mkdir, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";

/** One module as a deployment receives it: its path below `convex/` and its whole source. */
export type BundledModule = { path: string; source: string };

/** What `npx convex deploy` would push of the application itself (components bring their own code). */
export type Bundle = {
  /** The folder of the modules as files; their imports of one another are relative. */
  directory: string;
  /** Every entry point, and the shared code under `_deps/`. */
  modules: BundledModule[];
};

const configShape = z.object({
  modules: z.array(z.object({ path: z.string(), source: z.string(), environment: z.literal("isolate") })),
});

/**
 * Bundles the application in `root` exactly as the Convex CLI does before a push, without a deployment.
 * @param folder Where the bundle is written; its earlier content is removed.
 * @throws Error with the CLI's own words if bundling fails: a Node builtin, a name that cannot be deployed.
 */
export async function writeBundle(root: string, folder: string): Promise<Bundle> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true });
  const require = createRequire(join(root, "package.json"));
  const cli = join(dirname(require.resolve("convex/package.json")), "bin/main.js");
  // The address is never called: with this option the CLI stops where it would push.
  const nowhere = ["--url", "http://127.0.0.1:1", "--admin-key", "bundle|only"];
  const only = ["--debug-bundle-path", folder, "--typecheck", "disable", "--codegen", "disable"];
  const { code, output } = await run(process.execPath, [cli, "deploy", ...nowhere, ...only], root);
  if (code !== 0) throw new Error(`The application does not bundle:\n${output}`);
  const config = configShape.parse(JSON.parse(await readFile(join(folder, "fullConfig.json"), "utf8")));
  return { directory: join(folder, "isolate"), modules: config.modules };
}

function run(command: string, args: string[], cwd: string): Promise<{ code: number | null; output: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env, CI: "1" };
  // The operator's deployment is not contacted.
  for (const name of ["CONVEX_DEPLOYMENT", "CONVEX_DEPLOY_KEY", "CONVEX_SELF_HOSTED_URL"]) delete env[name];
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString("utf8");
      });
    }
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, output });
    });
  });
}
