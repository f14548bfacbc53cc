import * as z from "zod";
import { BareContext, timeAlone, type Evaluation } from "./bareContext";
import { registersTransactions, transactionFaults, type Transactions } from "./budgets";
import type { BundledModule } from "./bundle";
import type { Definitions } from "./definitions";
import { cronFaults, schemaFaults, variableFaults, type SchemaCounts } from "./rules";

/** The bundle's code without source maps, in bytes. The platform's own limit is 32 MiB, including embedded files. */
export const SIZE_BUDGET = 3_450_000;

/** Files that are embedded in modules, in bytes together: only drawing pictures or serving the reference loads them. */
export const EMBEDDED_BUDGET = 1_570_000;
const EMBEDDED = ["pictures/rendererBytes.js", "pictures/fontBytes.js", "ops/reference/bytes.js"];
const DRAWING = "pictures/png.js";

/** The router, evaluated with its imports for every request, in bytes. */
export const HTTP_BUDGET = 120_000;
/** A domain's endpoints, evaluated when one of them is called; what only a few handlers need is loaded by them. */
export const ENDPOINTS_BUDGET = 505_000;
const ENDPOINTS = /\/(?:h|\w+H)ttp\.js$/;

/** The platform stops the analysis of a push after this time, in ms. */
export const ANALYSIS_LIMIT_MS = 4_000;

/** The platform takes letters, digits, underscores and periods in the parts of a module's path. */
const DEPLOYABLE = /^(?:[A-Za-z0-9_.]+\/)*[A-Za-z0-9_.]+\.js$/;

/** The platform evaluates it at every push, with only the deployment's variables. */
const AUTH = "auth.config.js";
const HTTP = "http.js";

/** How many of the largest modules are timed in a context of their own. */
const TIMED = 6;

type Checked = {
  path: string;
  /** The module itself, and with all that it imports, in bytes. */
  bytes: number;
  total: number;
  /** The time to evaluate it alone, in ms; only of the largest. */
  milliseconds: number | null;
};

export type DeployReport = {
  /** What would fail at push or at run time, one sentence each; empty if the bundle can be deployed. */
  faults: string[];
  entries: Checked[];
  functions: { public: number; internal: number };
  schema: SchemaCounts;
  crons: number;
  /** The bytes that modules with queries or mutations evaluate, largest first. */
  transactions: { path: string; total: number }[];
  /** The bytes of all modules and their shared code without the embedded files, and of those. */
  bytes: number;
  embedded: number;
  /** The processor time to evaluate everything once, in ms. */
  analysis: number;
  /** Missing members that were asked for with `typeof`. */
  lacking: string[];
};

type Functions = { faults: string[]; public: number; internal: number; callable: Set<string> };

/** Evaluates every entry point of the bundle as the platform would at push, and checks its exports. */
export async function checkBundle(
  modules: readonly BundledModule[],
  definitions: Definitions,
): Promise<DeployReport> {
  const all = [...modules, ...definitions.modules];
  const sizes = new Map(all.map(({ path, source }) => [path, Buffer.byteLength(source)]));
  const sum = (paths: readonly string[]) => paths.reduce((total, path) => total + (sizes.get(path) ?? 0), 0);
  const context = new BareContext(all);
  const faults: string[] = [];
  const entries: Checked[] = [];
  const functions: Functions = { faults, public: 0, internal: 0, callable: new Set() };
  const exported = new Map<string, Record<string, unknown>>();
  const transactions: Transactions[] = [];
  const before = process.cpuUsage();
  for (const { path, source } of all) {
    if (path.startsWith("_deps/")) continue;
    const evaluation = await context.evaluate(path);
    faults.push(...evaluationFaults(path, source, evaluation));
    if (evaluation.exports !== null) exported.set(path, evaluation.exports);
    readFunctions(path, evaluation, functions);
    if (definitions.modules.some((one) => one.path === path)) continue;
    const { loaded, exports } = evaluation;
    const total = sum(loaded);
    entries.push({ path, bytes: sum([path]), total, milliseconds: null });
    if (exports !== null && registersTransactions(exports)) transactions.push({ path, total, loaded });
  }
  const { user, system } = process.cpuUsage(before);
  const analysis = (user + system) / 1_000;
  if (analysis > ANALYSIS_LIMIT_MS) {
    faults.push(`Evaluating all modules took ${Math.round(analysis)} ms, more than ${ANALYSIS_LIMIT_MS}`);
  }

  const schema = read(exported, "schema.js", exportedSchema, (text) => schemaFaults(text));
  faults.push(...(schema?.faults ?? []));
  const crons = exported.get("crons.js")?.default;
  if (crons !== undefined) faults.push(...cronFaults(crons, functions.callable));
  faults.push(...(read(exported, "convex.config.js", declaredVariables, variableFaults) ?? []));

  if (exported.has(DRAWING)) faults.push(...(await drawingFaults(exported.get(DRAWING))));

  const embedded = sum(EMBEDDED);
  const bytes = sum(modules.map(({ path }) => path)) - embedded;
  if (embedded > EMBEDDED_BUDGET)
    faults.push(`The embedded files have ${embedded} bytes, more than their budget of ${EMBEDDED_BUDGET}`);
  if (bytes > SIZE_BUDGET)
    faults.push(`The bundle has ${bytes} bytes, more than its budget of ${SIZE_BUDGET}`);
  const http = entries.find(({ path }) => path === HTTP);
  for (const { path, total } of entries) {
    const budget = path === HTTP ? HTTP_BUDGET : ENDPOINTS.test(path) ? ENDPOINTS_BUDGET : Infinity;
    if (total > budget)
      faults.push(`${path} evaluates ${total} bytes for a request, more than its budget of ${budget}`);
  }

  faults.push(...transactionFaults(transactions, new Map(all.map(({ path, source }) => [path, source]))));

  const largest = entries.toSorted((a, b) => b.total - a.total).slice(0, TIMED);
  for (const entry of new Set([...(http === undefined ? [] : [http]), ...largest])) {
    entry.milliseconds = await timeAlone(all, entry.path);
  }
  return {
    faults,
    entries,
    functions,
    schema: schema?.counts ?? { tables: 0, indexes: 0 },
    crons: countOf(crons),
    transactions: transactions.map(({ path, total }) => ({ path, total })).sort((a, b) => b.total - a.total),
    bytes,
    embedded,
    analysis,
    lacking: [...context.lacking].sort(),
  };
}

const EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"></svg>';
const LETTER = EMPTY.replace("><", '><text x="4" y="16" font-size="16">A</text><');

/** Draws in the runtime's own context: the renderer's WebAssembly and the font have to be in the bundle. */
async function drawingFaults(drawing: Record<string, unknown> | undefined): Promise<string[]> {
  const draw: unknown = drawing?.pngOf;
  if (typeof draw !== "function") return [`${DRAWING}: exports no pngOf`];
  try {
    const [empty, letter] = await Promise.all(
      [EMPTY, LETTER].map(async (svg) => {
        const drawn: unknown = await Reflect.apply(draw, undefined, [svg]);
        return ArrayBuffer.isView(drawn) ? Buffer.from(drawn.buffer).toString("latin1") : "";
      }),
    );
    if (empty?.slice(1, 4) !== "PNG") return [`${DRAWING}: what it draws is no PNG`];
    return empty === letter ? [`${DRAWING}: it draws no letters: the font is missing`] : [];
  } catch (error) {
    return [`${DRAWING}: it draws nothing: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function evaluationFaults(path: string, source: string, evaluation: Evaluation): string[] {
  const { error, environmentRead, fatal } = evaluation;
  const faults: string[] = [];
  if (!DEPLOYABLE.test(path)) faults.push(`${path}: the platform refuses this module name`);
  if (error !== null) faults.push(`${path}: cannot be evaluated: ${error}`);
  if (path !== AUTH && environmentRead.length > 0) {
    faults.push(`${path}: reads ${environmentRead.join(", ")} at import`);
  }
  if (path === AUTH && evaluation.loaded.length > 1)
    faults.push(`${path}: must not import anything, because the platform evaluates it alone`);
  for (const name of fatal) faults.push(`${path}: uses ${name}, which ends the function on the platform`);
  if (/\bextends Date\b/.test(source))
    faults.push(`${path}: extends Date, which the platform's clock does not allow`);
  return faults;
}

function readFunctions(path: string, { exports }: Evaluation, functions: Functions): void {
  for (const [name, value] of Object.entries(exports ?? {})) {
    const registered = registeredFunction(value);
    if (registered === null) continue;
    const { kinds, isPublic, missing } = registered;
    functions[isPublic ? "public" : "internal"]++;
    if (kinds.length > 1) functions.faults.push(`${path}:${name} is ${kinds.join(" and ")} at once`);
    if (name.length > 64) functions.faults.push(`${path}:${name} has a name of more than 64 characters`);
    for (const one of missing) functions.faults.push(`${path}:${name} has no ${one} validator`);
    if (!kinds.includes("query")) functions.callable.add(`${path.slice(0, -".js".length)}:${name}`);
  }
}

/** Queries, mutations and actions; HTTP actions take a request and have no validators. */
function registeredFunction(
  value: unknown,
): { kinds: string[]; isPublic: boolean; missing: string[] } | null {
  if (typeof value !== "function") return null;
  const is = (flag: string) => Reflect.get(value, flag) === true;
  const flags = { query: "isQuery", mutation: "isMutation", action: "isAction" };
  const kinds = Object.entries(flags).flatMap(([kind, flag]) => (is(flag) ? [kind] : []));
  if (kinds.length === 0) return null;
  const missing: string[] = [];
  if (!isDeclared(value, "exportArgs")) missing.push("argument");
  if (!isDeclared(value, "exportReturns")) missing.push("return");
  return { kinds, isPublic: is("isPublic"), missing };
}

/** The form that the platform reads at push: JSON of a validator, `{"type":"any"}` or `null` if there is none. */
function isDeclared(registered: object, exporter: "exportArgs" | "exportReturns"): boolean {
  const exporting: unknown = Reflect.get(registered, exporter);
  if (typeof exporting !== "function") return false;
  const exported: unknown = Reflect.apply(exporting, registered, []);
  if (typeof exported !== "string") return false;
  const shape: unknown = JSON.parse(exported);
  return typeof shape === "object" && shape !== null && Reflect.get(shape, "type") !== "any";
}

/** Checks the exported form of a definition's default export. */
function read<Told, Judgement>(
  exported: ReadonlyMap<string, Record<string, unknown>>,
  path: string,
  tell: (definition: object) => Told,
  judge: (told: Told) => Judgement,
): Judgement | null {
  const definition = exported.get(path)?.default;
  return typeof definition === "object" && definition !== null ? judge(tell(definition)) : null;
}

function exportedSchema(schema: object): string {
  const exporting: unknown = Reflect.get(schema, "export");
  if (typeof exporting !== "function") throw new Error("schema.ts: its default export is not defineSchema()");
  return z.string().parse(Reflect.apply(exporting, schema, []));
}

function declaredVariables(app: object): string[] {
  const declared: unknown = Reflect.get(app, "_env");
  return typeof declared === "object" && declared !== null ? Object.keys(declared) : [];
}

function countOf(crons: unknown): number {
  const parsed = z.object({ crons: z.record(z.string(), z.unknown()) }).safeParse(crons);
  return parsed.success ? Object.keys(parsed.data.crons).length : 0;
}
