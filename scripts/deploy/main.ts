/**
 * `npm run check:deploy`: bundles the application as `npx convex deploy` would, evaluates every module in a context
 * that has only what Convex's default runtime has, and says what would fail. Its exit code is 1 when something would.
 * An argument names the folder of another application.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { figure, rendered } from "../bench/table";
import { bold } from "../terminal";
import { writeBundle } from "./bundle";
import { checkBundle, SIZE_BUDGET, type DeployReport } from "./checks";
import { routeCosts, type RouteCost } from "./routes";
import { stamp } from "./stamp";

/** How many of the slowest modules are shown. */
const SHOWN = 8;

const USAGE = `Usage: npm run check:deploy [-- FOLDER]

Bundles the application as a deployment would, writes it to .local/bundle and says what would fail.

  FOLDER   of another application; without it, this one`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean" } },
});
if (values.help === true) {
  console.log(USAGE);
  process.exit(0);
}
const [other] = positionals;
const root = other ?? fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, ".local/bundle");
const bundle = await writeBundle(root, folder).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
const report = await checkBundle(bundle.modules);
if (other === undefined) await stamp(root, folder);

console.log(summary(report));
// Another application has no stack of its own to run on.
if (other === undefined && report.faults.length === 0) {
  console.log(`\n${routeTable(await routeCosts(bundle, report.entries))}`);
}
if (report.faults.length > 0) {
  console.log(`\n${bold("It must not be deployed:")}\n${report.faults.map((one) => `  ${one}`).join("\n")}`);
} else {
  console.log("\nNothing stands in the way of a deployment.");
}
// What the stack's application had scheduled would go on for minutes.
process.exit(report.faults.length > 0 ? 1 : 0);

function summary({ entries, functions, bytes }: DeployReport): string {
  const slowest = entries
    .toSorted((a, b) => b.evaluation.milliseconds - a.evaluation.milliseconds)
    .slice(0, SHOWN);
  const total = (paths: readonly string[]) => paths.reduce((sum, path) => sum + (sizes.get(path) ?? 0), 0);
  const sizes = new Map(bundle.modules.map((one) => [one.path, Buffer.byteLength(one.source)]));
  const http = entries.filter(({ path }) => path === "http.js");
  const probed = [...new Set(entries.flatMap(({ evaluation }) => evaluation.lacking))].sort();
  return rendered("What a deployment would be pushed", {
    inputs: [
      `${figure(entries.length)} modules, ${functions.public} public and ${functions.internal} internal functions`,
      `${figure(bytes)} bytes without source maps, of ${figure(SIZE_BUDGET)}`,
      "evaluated one by one, each with all that it imports in a fresh context, in ms",
    ],
    columns: ["module", "ms", "own bytes", "with imports"],
    rows: [...http, ...slowest.filter(({ path }) => path !== "http.js")].map(
      ({ path, bytes: own, evaluation }) => [
        path,
        figure(evaluation.milliseconds, 1),
        figure(own),
        figure(total(evaluation.loaded)),
      ],
    ),
    notes: [
      "http.js is evaluated for every request; the others for the functions that are called in them.",
      `asked for with typeof, and not there: ${probed.join(", ") || "nothing"}`,
    ],
  });
}

function routeTable(costs: readonly RouteCost[]): string {
  return rendered("What a request makes the platform evaluate", {
    inputs: [
      "the example of each endpoint, run once on a local stack made of the bundle; http.js and the functions it called",
    ],
    columns: ["route", "ms", "functions"],
    rows: costs
      .toSorted((a, b) => b.milliseconds - a.milliseconds)
      .map(({ route, runs, milliseconds }) => [route, figure(milliseconds, 1), figure(runs)]),
    notes: ["An example that is refused (no such wallet, nothing was paid) counts that far."],
  });
}
