import { EdgeVM } from "@edge-runtime/vm";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import * as z from "zod";
import { command } from "./command";

/**
 * `npm run check -- deploy`: what `npx convex deploy` would push, made by Convex's own CLI, evaluated module by module with
 * the globals of Convex's default runtime, and weighed: the platform evaluates a function's whole module graph at every
 * call.
 */

const USAGE = `Usage: npm run check -- deploy

Bundles the application as a deployment would, and says what would fail.`;

/** In bytes, of one module that registers queries or mutations, with all its imports. */
const TRANSACTION_BUDGET = 800_000;
/** Of the whole push. */
const PUSH_BUDGET = 8_000_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const configShape = z.object({
  modules: z.array(z.object({ path: z.string(), source: z.string(), environment: z.literal("isolate") })),
});
type Module = z.infer<typeof configShape>["modules"][number];

await command({ usage: USAGE, flags: {} }, async () => {
  const modules = await pushed();
  const total = modules.reduce((sum, { source }) => sum + source.length, 0);
  const weights = await transactionWeights();
  const faults = [
    ...(await evaluationFaults(modules)),
    ...(total > PUSH_BUDGET ? [`The push is ${total} bytes, more than ${PUSH_BUDGET}`] : []),
    ...weights
      .filter(({ bytes }) => bytes > TRANSACTION_BUDGET)
      .map(
        ({ file, bytes }) =>
          `${file} evaluates ${bytes} bytes at every call, more than ${TRANSACTION_BUDGET}`,
      ),
  ];
  const largest = weights.toSorted((a, b) => b.bytes - a.bytes).slice(0, 5);
  console.log(`${modules.length} modules, ${total} bytes. The heaviest transactions:`);
  for (const { file, bytes } of largest) console.log(`  ${file}  ${bytes}`);
  console.log(
    faults.length === 0
      ? "Nothing stands in the way of a deployment."
      : `It must not be deployed:\n${faults.map((one) => `  ${one}`).join("\n")}`,
  );
  return faults.length === 0 ? 0 : 1;
});

/** The modules that the CLI would push. With this option it stops before it pushes, and calls no address. */
async function pushed(): Promise<Module[]> {
  const folder = await mkdtemp(path.join(tmpdir(), "push-"));
  try {
    const require = createRequire(import.meta.url);
    const cli = path.join(path.dirname(require.resolve("convex/package.json")), "bin/main.js");
    const nowhere = ["--url", "http://127.0.0.1:1", "--admin-key", "bundle|only"];
    const only = ["--debug-bundle-path", folder, "--typecheck", "enable", "--codegen", "disable"];
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

/** Why modules fail when they are loaded, in a context with the web's globals and none of Node's. */
async function evaluationFaults(modules: readonly Module[]): Promise<string[]> {
  const byPath = new Map(modules.map(({ path: name, source }) => [name, source]));
  const entries = modules.filter(
    ({ path: name }) => !name.startsWith("_deps/") && !name.includes("_generated"),
  );
  const { outputFiles } = await build({
    stdin: {
      contents: entries
        .map(({ path: name }, i) => `export const m${i} = () => import(${JSON.stringify(`push:${name}`)});`)
        .join("\n"),
    },
    bundle: true,
    write: false,
    format: "iife",
    globalName: "pushed",
    logLevel: "silent",
    plugins: [
      {
        name: "push",
        setup(bundler) {
          bundler.onResolve({ filter: /./ }, ({ path: name, importer, namespace }) => {
            const from = namespace === "push" ? path.posix.dirname(importer) : ".";
            const found = name.startsWith("push:") ? name.slice(5) : path.posix.join(from, name);
            return byPath.has(found) ? { path: found, namespace: "push" } : { path: name, external: true };
          });
          bundler.onLoad({ filter: /./, namespace: "push" }, ({ path: name }) => ({
            contents: byPath.get(name) ?? "",
          }));
        },
      },
    ],
  });
  const vm = new EdgeVM();
  vm.context.process = {
    env: { CONVEX_SITE_URL: "https://some.convex.site", CONVEX_CLOUD_URL: "https://some.convex.cloud" },
  };
  vm.evaluate(outputFiles[0]?.text ?? "");
  const faults: string[] = [];
  for (const [i, { path: name }] of entries.entries()) {
    const failure: unknown = await vm.evaluate(`pushed.m${i}().then(() => "", String)`);
    if (typeof failure === "string" && failure !== "") faults.push(`${name} does not load: ${failure}`);
  }
  return faults;
}

/** What each module with queries or mutations evaluates, with all that it imports, without what it loads later. */
async function transactionWeights(): Promise<{ file: string; bytes: number }[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["convex/**/*.ts"],
    outdir: "out",
    bundle: true,
    splitting: true,
    write: false,
    minify: false,
    format: "esm",
    platform: "browser",
    conditions: ["convex", "module"],
    metafile: true,
    logLevel: "silent",
    external: ["*.wasm"],
  });
  const weights = [];
  for (const [name, { entryPoint }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined) continue;
    const source = await readFile(path.join(root, entryPoint), "utf8");
    if (!/\b(?:internalQuery|internalMutation|query|mutation|change|cron)\(/.test(source)) continue;
    const seen = new Set<string>();
    const add = (output: string): number => {
      if (seen.has(output)) return 0;
      seen.add(output);
      const { bytes = 0, imports = [] } = metafile.outputs[output] ?? {};
      return imports
        .filter(({ kind }) => kind === "import-statement")
        .reduce((sum, one) => sum + add(one.path), bytes);
    };
    weights.push({ file: entryPoint, bytes: add(name) });
  }
  return weights;
}
