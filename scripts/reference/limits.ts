import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { formatDuration } from "../../convex/lib/errors";
import { LIMITS } from "../../convex/platform/limits/charges";
import { listKeys } from "../../convex/lib/objects";

/** Writes the table of limits into the documents, from the limits' own definitions. */
const PAGE = new URL("../../docs/endpoints.md", import.meta.url);
const [BEGIN, END] = ["<!-- limits: `npm run codegen` -->\n", "<!-- /limits -->"];
const HEAD = ["What", "Of one user", "Of one address or network"];

/** `30 in 60 seconds, 60 at once`. */
function describeLimit(limit: { rate: number; period: number; capacity: number }): string {
  const { rate, period, capacity } = limit;
  return `${rate} in ${formatDuration(period)}${capacity > rate ? `, ${capacity} at once` : ""}`;
}

function buildLimitRows(): string[][] {
  return listKeys(LIMITS).map((name) => {
    const { of, user, ...around } = LIMITS[name];
    const [limit, whose] = "network" in around ? [around.network, " (network)"] : [around.address, ""];
    return [of, describeLimit(user), `${describeLimit(limit)}${whose}`];
  });
}

/** The table in the form of the document. */
function buildLimitsTable(): string {
  const rows = [HEAD, ...buildLimitRows()];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill = " ") =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width, fill)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), line([], "-"), ...body.map((row) => line(row))].join("\n");
}

/** A page with the table in its place. @throws Error if it has no place for it. */
export function withLimits(page: string): string {
  const [before = "", rest = ""] = page.split(BEGIN);
  const [, behind] = rest.split(END);
  if (behind === undefined) throw new Error("The page has no place for the limits");
  return `${before}${BEGIN}\n${buildLimitsTable()}\n\n${END}${behind}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await writeFile(PAGE, withLimits(await readFile(PAGE, "utf8")));
