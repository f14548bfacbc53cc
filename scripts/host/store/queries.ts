import type { Value } from "convex/values";
import { tableOf, type Index, type Key, type Range, type Row } from "./tables";
import type { Place, Transaction } from "./transaction";
import { compared, fieldAt, fromJson, toJson, type Fields } from "./values";

/** Queries in the form that Convex's own `ctx.db` sends. */

type RangeStep = { type: "Eq" | "Gt" | "Gte" | "Lt" | "Lte"; fieldPath: string; value: unknown };
type Direction = "asc" | "desc" | null;
type Source =
  | { type: "FullTableScan"; tableName: string; order: Direction }
  | { type: "IndexRange"; indexName: string; range: RangeStep[]; order: Direction }
  | { type: "Search" };
export type Query = { source: Source; operators: ({ filter: Expression } | { limit: number })[] };
type Expression = Record<string, unknown>;

type Bound = { value: Value | undefined; inclusive: boolean };
type Resolved = { place: Place; index: Index; range: Range; descending: boolean };

function resolve(transaction: Transaction, component: string, source: Source): Resolved {
  if (source.type === "Search") throw new Error("The local host has no search indexes");
  const [table = "", name = ""] =
    source.type === "FullTableScan" ? [source.tableName, "by_creation_time"] : source.indexName.split(".");
  const index = transaction.databaseOf(component).table(table).index(name);
  if (index === null)
    throw new Error(
      `Cannot use index "${name}" for table "${table}" because it is not declared in the schema.`,
    );
  return {
    place: { component, table },
    index,
    range: rangeOf(source.type === "FullTableScan" ? [] : source.range, index.fields),
    descending: source.order === "desc",
  };
}

/** Equalities first, then at most one field with bounds, in the index's order. */
function rangeOf(steps: readonly RangeStep[], fields: readonly string[]): Range {
  const equal: (Value | undefined)[] = [];
  let lower: Bound | undefined;
  let upper: Bound | undefined;
  for (const { type, fieldPath, value: json } of steps) {
    const value = valueOf(json);
    const bounded = lower !== undefined || upper !== undefined;
    if (fieldPath !== fields[equal.length] || (type === "Eq" && bounded)) {
      throw new Error(
        `Incorrect field used in \`withIndex\`, expected "${fields[equal.length]}", got "${fieldPath}"`,
      );
    }
    if (type === "Eq") equal.push(value);
    else if (type.startsWith("G")) lower = { value, inclusive: type === "Gte" };
    else upper = { value, inclusive: type === "Lte" };
  }
  return {
    lower: lower === undefined ? equal : [...equal, lower.value],
    withLower: lower?.inclusive ?? true,
    upper: upper === undefined ? equal : [...equal, upper.value],
    withUpper: upper?.inclusive ?? true,
  };
}

/** A bound; undefined is written as an object of its own. */
function valueOf(json: unknown): Value | undefined {
  return typeof json === "object" && json !== null && "$undefined" in json ? undefined : fromJson(json);
}

/** The rows of a query, in order. Rows that a filter rejects count as read, as on the platform. */
export function rowsOf(transaction: Transaction, component: string, query: Query): Row[] {
  const { place, index, range, descending } = resolve(transaction, component, query.source);
  const filters: Expression[] = [];
  let limit = Infinity;
  for (const one of query.operators) {
    if ("filter" in one) filters.push(one.filter);
    else limit = Math.min(limit, one.limit);
  }
  if (filters.length === 0) return transaction.rows(place, index, range, { descending, limit });
  return transaction
    .rows(place, index, range, { descending, limit: Infinity })
    .filter((row) => filters.every((filter) => evaluated(row.document, filter) === true))
    .slice(0, limit === Infinity ? undefined : limit);
}

export type PageRequest = {
  query: Query;
  cursor: string | null;
  endCursor: string | null;
  pageSize: number;
};
export type Page = { rows: Row[]; isDone: boolean; continueCursor: string };

const END = "_end_cursor";

/** One page after the cursor, which is the key of the previous page's last row. */
export function pageOf(transaction: Transaction, component: string, request: PageRequest): Page {
  const { place, index, range, descending } = resolve(transaction, component, request.query.source);
  if (request.query.operators.length > 0) throw new Error("The local host pages through plain ranges only");
  if (request.cursor === END) return { rows: [], isDone: true, continueCursor: END };
  const after = request.cursor === null ? null : keyOf(request.cursor);
  const to = request.endCursor === null || request.endCursor === END ? null : keyOf(request.endCursor);
  let part = range;
  if (after !== null) {
    part = descending
      ? { ...part, upper: after, withUpper: false }
      : { ...part, lower: after, withLower: false };
  }
  if (to !== null) {
    part = descending ? { ...part, lower: to, withLower: true } : { ...part, upper: to, withUpper: true };
  }
  const limit = to === null ? request.pageSize + 1 : Infinity;
  const found = transaction.rows(place, index, part, { descending, limit });
  const rows = to === null ? found.slice(0, request.pageSize) : found;
  const last = rows.at(-1);
  const isDone = to === null ? found.length <= request.pageSize : false;
  const cursor = last === undefined ? (request.cursor ?? END) : cursorOf(index.keyOf(last));
  return { rows, isDone, continueCursor: isDone ? END : (request.endCursor ?? cursor) };
}

/** A missing field is null in the cursor; every other value is its JSON text. */
function cursorOf(key: Key): string {
  return JSON.stringify(key.map((value) => (value === undefined ? null : toJson(value))));
}

function keyOf(cursor: string): Key {
  const parts: unknown = JSON.parse(cursor);
  if (!Array.isArray(parts)) throw new Error("The cursor is malformed");
  return parts.map((part) => (typeof part === "string" ? fromJson(JSON.parse(part)) : undefined));
}

/** The value of a filter's expression for a document. */
function evaluated(document: Fields, expression: unknown): Value | undefined {
  if (typeof expression !== "object" || expression === null) throw new Error("The filter is malformed");
  const [[operator, operand] = ["", null]]: [string, unknown][] = Object.entries(expression);
  const parts = Array.isArray(operand) ? operand : [];
  const order = () => compared(evaluated(document, parts[0]), evaluated(document, parts[1]));
  switch (operator) {
    case "$field":
      return fieldAt(document, String(operand).split("."));
    case "$literal":
      return valueOf(operand);
    case "$eq":
      return order() === 0;
    case "$neq":
      return order() !== 0;
    case "$lt":
      return order() < 0;
    case "$lte":
      return order() <= 0;
    case "$gt":
      return order() > 0;
    case "$gte":
      return order() >= 0;
    case "$and":
      return parts.every((part) => evaluated(document, part) === true);
    case "$or":
      return parts.some((part) => evaluated(document, part) === true);
    case "$not":
      return evaluated(document, operand) !== true;
    default:
      throw new Error(`The local host does not know the filter ${operator}`);
  }
}

/** The table that an id belongs to. @throws Error if it is not `expected`. */
export function tableOfId(id: unknown, expected: string | undefined): string {
  if (typeof id !== "string")
    throw new Error(`Invalid argument \`id\`, expected string but got '${typeof id}'`);
  const table = tableOf(id);
  if (table === null) throw new Error(`Invalid argument \`id\`, expected ID value but got '${id}'`);
  if (expected !== undefined && table !== expected)
    throw new Error(
      `Invalid argument \`id\`, expected ID in table '${expected}' but got ID in table '${table}'`,
    );
  return table;
}
