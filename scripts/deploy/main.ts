/**
 * `npm run check:deploy`: bundles the application as `npx convex deploy` would, evaluates every module in a context
 * like Convex's default runtime, checks the results against the platform's rules, and reports what would fail. Its exit
 * code is 1 if something would. An argument names the folder of another application; `--routes` also shows what each
 * endpoint makes the platform evaluate.
 */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { command } from "../command";
import { figure, rendered } from "../bench/table";
import { bold } from "../terminal";
import { writeBundle } from "./bundle";
import {
  ANALYSIS_LIMIT_MS,
  checkBundle,
  EMBEDDED_BUDGET,
  ENDPOINTS_BUDGET,
  HTTP_BUDGET,
  SIZE_BUDGET,
  type DeployReport,
} from "./checks";
import { readDefinitions } from "./definitions";
import type { RouteCost } from "./routes";
import { stamp } from "./sourceStamp";

const USAGE = `Usage: npm run check:deploy [-- [--routes] [--json] FOLDER]

Bundles the application as a deployment would, writes it to .local/bundle and says what would fail.

  FOLDER     the folder of another application; the default is this one
  --routes   also shows what the platform evaluates for each route
  --json     prints the figures and faults as JSON`;

const flag = { type: "boolean", default: false } as const;
const flags = { json: flag, routes: flag };
await command({ usage: USAGE, flags, most: 1 }, async ({ values, positionals: [other] }) => {
  const root = other ?? fileURLToPath(new URL("../..", import.meta.url));
  const folder = join(root, ".local/bundle");
  const made = await Promise.all([writeBundle(root, folder), readDefinitions(root)]).catch(
    (error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
    },
  );
  if (made === undefined) return 1;
  const [bundle, definitions] = made;
  const report = await checkBundle(bundle.modules, definitions);
  if (other === undefined) await stamp(root, folder);
  const { faults } = report;
  const isAsked = values.routes && faults.length === 0;
  const costs = isAsked ? await (await import("./routes")).routeCosts(bundle, definitions) : null;
  if (values.json) {
    console.log(JSON.stringify({ ...report, routes: costs }, null, 2));
    return faults.length > 0 ? 1 : 0;
  }
  const verdict =
    faults.length > 0
      ? `${bold("It must not be deployed:")}\n${faults.map((one) => `  ${one}`).join("\n")}`
      : "Nothing stands in the way of a deployment.";
  const tables = [summary(report, definitions.commitTimes), ...(costs === null ? [] : [routeTable(costs)])];
  console.log([...tables, verdict].join("\n\n"));
  return faults.length > 0 ? 1 : 0;
});

function summary(report: DeployReport, commitTimes: readonly string[]): string {
  const { entries, functions, bytes, embedded, schema, crons, analysis, lacking } = report;
  const shown = entries
    .filter(({ milliseconds }) => milliseconds !== null)
    .toSorted((a, b) => Number(b.path === "http.js") - Number(a.path === "http.js") || b.total - a.total);
  return rendered("What a deployment would receive", {
    inputs: [
      `${figure(entries.length)} modules, ${functions.public} public and ${functions.internal} internal functions, ${crons} crons`,
      `${schema.tables} tables and ${schema.indexes} indexes`,
      `${figure(bytes)} bytes without source maps, of ${figure(SIZE_BUDGET)}; http.js may evaluate ${figure(HTTP_BUDGET)}, a domain's endpoints ${figure(ENDPOINTS_BUDGET)}`,
      `${figure(embedded)} bytes of embedded files, of ${figure(EMBEDDED_BUDGET)}: the renderer and the font of pictures, and the API document`,
      `evaluating all of it took ${figure(analysis)} ms of the processor's time, of ${figure(ANALYSIS_LIMIT_MS)}`,
    ],
    columns: ["module", "ms alone", "own bytes", "with imports"],
    rows: shown.map(({ path, bytes: own, total, milliseconds }) => [
      path,
      figure(milliseconds ?? 0, 1),
      figure(own),
      figure(total),
    ]),
    notes: [
      "http.js is evaluated for every request, and the endpoints of the domain that is asked; the others, of which the largest are shown, for what is called in them.",
      `names that modules look for with typeof, and that do not exist: ${lacking.join(", ") || "nothing"}`,
      ...(commitTimes.length === 0
        ? []
        : [
            `${commitTimes.join(", ")} keep commit times, so a self-hosted backend has to be from 22 July 2026 or later.`,
          ]),
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
    notes: [
      "An example that is refused (no such wallet, nothing was paid) counts that far.",
      "What a handler loads when it is called is not counted.",
    ],
  });
}
