import { posix } from "node:path";

/** How much a module with queries or mutations may evaluate: the platform evaluates it at every call of one. */

/** In bytes, with all imports. */
const TRANSACTION_BUDGET = 300_000;
/** Half of them stay below this. */
const MEDIAN_BUDGET = 200_000;
/**
 * Larger budgets. Ownership and housekeeping read every table's records; the bot executes any room's command in the
 * transaction that takes it. Each may shrink, but not grow.
 */
const NAMED: Readonly<Record<string, number>> = {
  "account/recovery.js": 396_000,
  "account/pendingClaims.js": 396_000,
  "account/ownership/binding.js": 392_000,
  "account/ownership/links.js": 396_000,
  "ops/health.js": 303_000,
  "bot/jobs.js": 486_000,
  "bot/updates.js": 504_000,
};

export type Transactions = { path: string; total: number; loaded: readonly string[] };

/** Whether a module registers functions that the platform runs in transactions. */
export function registersTransactions(exports: Record<string, unknown>): boolean {
  return Object.values(exports).some(
    (value) =>
      typeof value === "function" &&
      (Reflect.get(value, "isQuery") === true || Reflect.get(value, "isMutation") === true),
  );
}

/** @param sources Of every module of the bundle, by path. */
export function transactionFaults(
  modules: readonly Transactions[],
  sources: ReadonlyMap<string, string>,
): string[] {
  const median = modules.map(({ total }) => total).sort((a, b) => a - b)[Math.floor(modules.length / 2)] ?? 0;
  const faults = modules.flatMap((one) => {
    const budget = NAMED[one.path] ?? TRANSACTION_BUDGET;
    if (one.total <= budget) return [];
    const chain = chainTo(one.path, largest(one.loaded, sources), sources);
    return [
      `${one.path} evaluates ${one.total} bytes at every call, more than its budget of ${budget}; the largest part comes by ${chain}`,
    ];
  });
  return median <= MEDIAN_BUDGET
    ? faults
    : [...faults, `Half of the transactions evaluate more than ${median} bytes, of ${MEDIAN_BUDGET}`];
}

function largest(loaded: readonly string[], sources: ReadonlyMap<string, string>): string {
  const size = (path: string) => sources.get(path)?.length ?? 0;
  return loaded.reduce((one, other) => (size(other) > size(one) ? other : one), "");
}

/** The shortest way of imports from one module to another, by the files in them. */
function chainTo(from: string, to: string, sources: ReadonlyMap<string, string>): string {
  const ways = [[from]];
  const seen = new Set([from]);
  for (const way of ways) {
    const last = way.at(-1) ?? from;
    if (last === to) return way.map((path) => nameOf(path, sources)).join(" → ");
    for (const next of importsOf(last, sources)) {
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  }
  return nameOf(to, sources);
}

function importsOf(path: string, sources: ReadonlyMap<string, string>): string[] {
  const found = (sources.get(path) ?? "").matchAll(/(?:from|^import)\s*"(\.[^"]+)"/gm);
  return Array.from(found, ([, specifier = ""]) => posix.join(posix.dirname(path), specifier));
}

/** The bundler heads each part with its file's name. */
function nameOf(path: string, sources: ReadonlyMap<string, string>): string {
  return /^\/\/ (\S+\.\w+)$/m.exec(sources.get(path) ?? "")?.[1] ?? path;
}
