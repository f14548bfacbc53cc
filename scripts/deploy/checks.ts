import { evaluateBare, type Evaluation } from "./bareContext";
import type { BundledModule } from "./bundle";

/** The isolate half of the bundle without source maps, in bytes. The platform's own limit is 32 MiB. */
export const SIZE_BUDGET = 2_500_000;

/** The platform takes letters, digits, underscores and periods in the parts of a module's path. */
const DEPLOYABLE = /^(?:[A-Za-z0-9_.]+\/)*[A-Za-z0-9_.]+\.js$/;

/** Read by the platform at every push, with the deployment's variables in place. */
const READS_ENVIRONMENT = "auth.config.js";

export type Checked = { path: string; bytes: number; evaluation: Evaluation };

export type DeployReport = {
  /** What would fail at push or at run time, one sentence each; empty when the bundle may be deployed. */
  faults: string[];
  /** Entry points, evaluated one by one in contexts of their own. */
  entries: Checked[];
  functions: { public: number; internal: number };
  /** All modules and what they share, in bytes. */
  bytes: number;
};

/** Evaluates every entry point of the bundle as the platform would at push, and reads what it exports. */
export async function checkBundle(modules: readonly BundledModule[]): Promise<DeployReport> {
  const faults: string[] = [];
  const entries: Checked[] = [];
  const functions = { public: 0, internal: 0 };
  for (const { path, source } of modules) {
    if (path.startsWith("_deps/")) continue;
    const evaluation = await evaluateBare(modules, path);
    entries.push({ path, bytes: Buffer.byteLength(source), evaluation });
    if (!DEPLOYABLE.test(path)) faults.push(`${path}: the platform refuses this module name`);
    if (evaluation.error !== null) faults.push(`${path}: does not evaluate: ${evaluation.error}`);
    if (path !== READS_ENVIRONMENT && evaluation.environmentRead.length > 0) {
      faults.push(`${path}: reads ${evaluation.environmentRead.join(", ")} at import`);
    }
    for (const [name, value] of Object.entries(evaluation.exports ?? {})) {
      const registered = registeredFunction(value);
      if (registered === null) continue;
      functions[registered.isPublic ? "public" : "internal"]++;
      for (const missing of registered.missing) faults.push(`${path}:${name} has no ${missing} validator`);
    }
  }
  const bytes = modules.reduce((sum, { source }) => sum + Buffer.byteLength(source), 0);
  if (bytes > SIZE_BUDGET) {
    faults.push(`The bundle has ${bytes} bytes, more than its budget of ${SIZE_BUDGET}`);
  }
  return { faults, entries, functions, bytes };
}

/** Queries, mutations and actions; HTTP actions take a request and have no validators. */
function registeredFunction(value: unknown): { isPublic: boolean; missing: string[] } | null {
  if (typeof value !== "function") return null;
  const is = (flag: string) => Reflect.get(value, flag) === true;
  if (!is("isQuery") && !is("isMutation") && !is("isAction")) return null;
  const missing: string[] = [];
  if (!isDeclared(value, "exportArgs")) missing.push("argument");
  if (!isDeclared(value, "exportReturns")) missing.push("return");
  return { isPublic: is("isPublic"), missing };
}

/** What the platform reads at push: JSON of a validator, `{"type":"any"}` or `null` where there is none. */
function isDeclared(registered: object, exporter: "exportArgs" | "exportReturns"): boolean {
  const read: unknown = Reflect.get(registered, exporter);
  if (typeof read !== "function") return false;
  const exported: unknown = Reflect.apply(read, registered, []);
  if (typeof exported !== "string") return false;
  const shape: unknown = JSON.parse(exported);
  return typeof shape === "object" && shape !== null && Reflect.get(shape, "type") !== "any";
}
