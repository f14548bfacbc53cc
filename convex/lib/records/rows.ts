import type { IndexRange } from "convex/server";

/** Rows by an index that is named for its fields: `by_userId`, `by_userId_and_kind`. */

/** A table that has this index. */
export type Indexed<Index extends string, Bounds, Found> = {
  withIndex: (index: Index, range: (bounds: Bounds) => IndexRange) => Found;
};
/** A bound on the next field of an index. */
export type Bound<How extends string, Field extends string, Value, Bounded = IndexRange> = {
  [Way in How]: (field: Field, value: Value) => Bounded;
};

/** Rows with a value in a field. If there is at most one, use `getOneFrom` of convex-helpers. */
export function rowsBy<Field extends string, const Value, Found>(
  rows: Indexed<`by_${Field}`, Bound<"eq", Field, Value>, Found>,
  field: Field,
  value: Value,
): Found {
  return rows.withIndex(`by_${field}`, (q) => q.eq(field, value));
}

/** Rows with values in two fields. */
export function rowsByBoth<First extends string, const One, Second extends string, const Other, Found>(
  rows: Indexed<
    `by_${First}_and_${Second}`,
    Bound<"eq", First, One, IndexRange & Bound<"eq", Second, Other>>,
    Found
  >,
  first: First,
  one: One,
  second: Second,
  other: Other,
): Found {
  return rows.withIndex(`by_${first}_and_${second}`, (q) => q.eq(first, one).eq(second, other));
}

/** Rows that are due at `now` by their field, epoch ms; the longest overdue come first. */
export function rowsDue<Field extends string, Found>(
  rows: Indexed<`by_${Field}`, Bound<"lte", Field, number>, Found>,
  field: Field,
  now: number,
): Found {
  return rows.withIndex(`by_${field}`, (q) => q.lte(field, now));
}
