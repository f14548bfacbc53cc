import { EdgeVM } from "@edge-runtime/vm";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { build, type Metafile } from "esbuild";
import ts from "typescript";
import { command } from "./command";
import { pushedModules, root, type PushedModule } from "./push";
import { findMissingGlobals } from "./runtime/globals";

/**
 * `npm run check -- deploy`: the bundle of `npx convex deploy`, built by Convex's own CLI. Each module is evaluated
 * with the globals of Convex's default runtime, and measured, because Convex evaluates a function's whole module graph
 * at every call.
 */

const USAGE = `Usage: npm run check -- deploy

Bundles the application as a deployment would, and says what would fail.`;

/** In bytes, for one module that registers queries or mutations, with all its imports; and for all of them on average. */
const TRANSACTION_BUDGET = 680_000;
const MEAN_BUDGET = 305_000;
/** What registers them, by Convex or by `platform/changes`. */
const REGISTERS =
  /^export const \w+ = (?:internalQuery|internalMutation|query|mutation|defineMutation|defineCron)[<(]/m;
/** For the whole bundle. */
const PUSH_BUDGET = 8_000_000;

await command({ usage: USAGE, flags: {} }, async () => {
  const modules = await pushedModules();
  const total = modules.reduce((sum, { source }) => sum + source.length, 0);
  const transactions = await transactionsOf();
  const mean = Math.round(transactions.reduce((sum, { bytes }) => sum + bytes, 0) / transactions.length);
  const faults = [
    ...(await evaluationFaults(modules)),
    ...(total > PUSH_BUDGET ? [`The push is ${total} bytes, more than ${PUSH_BUDGET}`] : []),
    ...(mean > MEAN_BUDGET
      ? [`Transactions evaluate ${mean} bytes at a call on average, more than ${MEAN_BUDGET}`]
      : []),
    ...(await findMissingGlobals(modules)),
    ...transactions.flatMap(({ file, later }) =>
      later.map(
        (one) => `${file} reaches an import() in ${one}: in a query or mutation the platform refuses it`,
      ),
    ),
    ...transactions
      .filter(({ bytes }) => bytes > TRANSACTION_BUDGET)
      .map(
        ({ file, bytes }) =>
          `${file} evaluates ${bytes} bytes at every call, more than ${TRANSACTION_BUDGET}`,
      ),
  ];
  const largest = transactions.toSorted((a, b) => b.bytes - a.bytes).slice(0, 5);
  console.log(`${modules.length} modules, ${total} bytes. Transactions: ${mean} on average, the heaviest`);
  for (const { file, bytes } of largest) console.log(`  ${file}  ${bytes}`);
  console.log(
    faults.length === 0
      ? "Nothing stands in the way of a deployment."
      : `It must not be deployed:\n${faults.map((one) => `  ${one}`).join("\n")}`,
  );
  return faults.length === 0 ? 0 : 1;
});

/** The reasons why modules fail to load in a context with the web's globals and none of Node's. */
async function evaluationFaults(modules: readonly PushedModule[]): Promise<string[]> {
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

/**
 * For each module with queries or mutations: its evaluated bytes with all imports, and the imports that could load
 * something later.
 */
async function transactionsOf(): Promise<{ file: string; bytes: number; later: string[] }[]> {
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
    if (!REGISTERS.test(source)) continue;
    const seen = new Set<string>();
    const add = (output: string): number => {
      if (seen.has(output)) return 0;
      seen.add(output);
      const { bytes = 0, imports = [] } = metafile.outputs[output] ?? {};
      return imports
        .filter(({ kind }) => kind === "import-statement")
        .reduce((sum, one) => sum + add(one.path), bytes);
    };
    const later: string[] = [];
    for (const input of reached(entryPoint, metafile.inputs))
      if (metafile.inputs[input]?.imports.some(({ kind }) => kind === "dynamic-import"))
        if (loadsInTransactions(await readFile(path.join(root, input), "utf8"))) later.push(input);
    weights.push({ file: entryPoint, bytes: add(name), later });
  }
  return weights;
}

/** The sources that are evaluated together with one. */
function reached(from: string, inputs: Metafile["inputs"], seen = new Set<string>()): Set<string> {
  if (seen.has(from)) return seen;
  seen.add(from);
  for (const { path: target, kind } of inputs[from]?.imports ?? [])
    if (kind === "import-statement") reached(target, inputs, seen);
  return seen;
}

/** Whether an `import()` is outside the functions with an action's context, where a transaction could reach it. */
function loadsInTransactions(text: string): boolean {
  const isOfAction = (node: ts.Node) =>
    ts.isFunctionLike(node) &&
    node.parameters.some(({ type }) => /^\w*ActionCtx\b/.test(type?.getText() ?? ""));
  const found = (node: ts.Node): boolean =>
    !isOfAction(node) &&
    ((ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) ||
      (ts.forEachChild(node, found) ?? false));
  return found(ts.createSourceFile("one.ts", text, ts.ScriptTarget.Latest, true));
}
