import { bold, dim } from "../terminal";
import type { Measured } from "./capacity";
import type { Progress } from "./progress";

/** The answer to one question. */
export type Table = {
  /** The inputs: sizes, units, how it was measured. */
  inputs: readonly string[];
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  /** The interpretation, and what was left out. */
  notes: readonly string[];
  /** The data of `docs/capacity.md`. */
  measured?: Measured;
  /** A further question, answered by the same run. */
  next?: Table & { question: string };
};

/** One question of the bench, in a file of its own. */
export type Bench = { question: string; run: (progress: Progress) => Promise<Table> };

/** The table with aligned columns: the first to the left, the others, which hold numbers, to the right. */
export function rendered(question: string, { inputs, columns, rows, notes, next }: Table): string {
  const widths = columns.map((column, index) =>
    Math.max(column.length, ...rows.map((row) => (row[index] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    widths
      .map((width, index) => {
        const cell = cells[index] ?? "";
        return index === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd();
  return [
    bold(question),
    ...inputs.map((input) => dim(`  ${input}`)),
    "",
    `  ${bold(line(columns))}`,
    `  ${widths.map((width) => "─".repeat(width)).join("  ")}`,
    ...rows.map((row) => `  ${line(row)}`),
    ...(notes.length === 0 ? [] : ["", ...notes.map((note) => `  ${note}`)]),
    ...(next === undefined ? [] : ["", rendered(next.question, next)]),
  ].join("\n");
}

/** `12,345`, with `digits` decimals. */
export function figure(value: number, digits = 0): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
