import type { NamedTableInfo, Query, QueryInitializer, IndexRange } from "convex/server";
import type { DataModel, Doc, TableNames } from "../_generated/dataModel";
import type { DatabaseWriter } from "../_generated/server";

/**
 * The facts of a table besides its fields: how long its rows live, and which user owns them. Every room's `tables.ts`
 * declares it beside its tables; housekeeping, export and deletion loop over all of them (`schema.ts`).
 * @example
 * export const signalRecords: RecordsOf<typeof signalTables> = {
 *   drafts: { keep: { days: 7, why: "drafts of a week", aged: indexOlderThan("createdAt") } },
 *   notes: { keep: "the user's own", ownedBy: { rows: indexOfUser("by_userId"), section: "notes", onDeletion: "go" } },
 * };
 */
export type TableRecord<Table extends TableNames> = {
  /**
   * The ranges of rows to delete by age, or why no row is ever too old. Rows that end with their own work are the room's
   * matter.
   */
  keep: string | Range<Table> | readonly Range<Table>[];
  /** How a user's rows are found and treated. Absent: its rows have no owner, and no personal data. */
  ownedBy?: Owned<Table>;
  /** Fields that never leave the service: sealed or signed bytes, and internals of work. */
  withheld?: readonly (keyof Doc<Table>)[];
  /** Its rows' sealed secret, for a rotation of the encryption key (`ops/rotation`). */
  sealed?: Sealed<Table>;
};

type Sealed<Table extends TableNames> = {
  envelope: (row: Doc<Table>) => string | undefined;
  context: (row: Doc<Table>) => { purpose: string; owner: string };
  replace: (db: DatabaseWriter, row: Doc<Table>, envelope: string) => Promise<void>;
};

export type Records = { readonly [Table in TableNames]: TableRecord<Table> };
export type RecordsOf<Tables> = Pick<Records, keyof Tables & TableNames>;

type Rows<Table extends TableNames> = QueryInitializer<NamedTableInfo<DataModel, Table>>;
type Found<Table extends TableNames> = Query<NamedTableInfo<DataModel, Table>>;

/** A user's rows, by index. */
type OfUser<Table extends TableNames> = (rows: Rows<Table>, userId: string) => Found<Table>;

/** One range of a table's rows to delete. */
export type Range<Table extends TableNames> = {
  /** The age at which a row may be deleted, in days, counted from the time that `aged` uses. */
  days: number;
  why: string;
  /** The rows older than `before` (epoch ms), by index. */
  aged: (rows: Rows<Table>, before: number) => Found<Table>;
  /** Whether an old row has ended too; absent if age is enough. */
  ended?: (row: Doc<Table>, before: number) => boolean;
  /** The row's `userId`: the row stays if the id has an owner by now or has ever held credits. */
  stranger?: (row: Doc<Table>) => string;
  /** Deletes the row with what belongs to it; absent if the row is all. */
  erase?: (db: DatabaseWriter, row: Doc<Table>) => Promise<void>;
};

type Owned<Table extends TableNames> = {
  rows: OfUser<Table>;
  /**
   * The section of a user's export that contains them; absent if they say nothing to the user. A `userId` with such a row
   * cannot be given up for another.
   */
  section?: string;
  /** What happens to the rows when the user deletes their data. */
  onDeletion: "stay" | "go" | Going<Table>;
};

/** Which of a user's rows are deleted, and how. */
export type Going<Table extends TableNames> = {
  /** Unfinished work is waited for until it has ended. */
  whenEnded?: (row: Doc<Table>) => boolean;
  /** Removes the user from a row that has to stay. Afterwards, the row is not found as theirs. */
  anonymise?: (db: DatabaseWriter, row: Doc<Table>) => Promise<void>;
};

/** Rows whose `field`, an indexed time in epoch ms, lies before a moment. */
export function indexOlderThan<Field extends string>(field: Field) {
  return <Found>(rows: Indexed<`by_${Field}`, Bound<"lt", Field, number>, Found>, before: number) =>
    rows.withIndex(`by_${field}`, (q) => q.lt(field, before));
}

/** Rows that were created before a moment. */
export function indexCreatedBefore<Found>(
  rows: Indexed<"by_creation_time", Bound<"lt", "_creationTime", number>, Found>,
  before: number,
) {
  return rows.withIndex("by_creation_time", (q) => q.lt("_creationTime", before));
}

/** The rows of a user, by an index that begins with `userId`. */
export function indexOfUser<Index extends string>(index: Index) {
  return <Found>(rows: Indexed<Index, Bound<"eq", "userId", string>, Found>, userId: string) =>
    rows.withIndex(index, (q) => q.eq("userId", userId));
}

/** The `userId` of rows that belong to no user: the service's own accounts and cards. Users' ids are never empty. */
export const NOBODY = "";

/** Rows by an index that is named for its fields: `by_userId`, `by_userId_and_kind`. */

/** A table that has this index. */
type Indexed<Index extends string, Bounds, Found> = {
  withIndex: (index: Index, range: (bounds: Bounds) => IndexRange) => Found;
};

/** A bound on the next field of an index. */
type Bound<How extends string, Field extends string, Value, Bounded = IndexRange> = {
  [Way in How]: (field: Field, value: Value) => Bounded;
};

/** Rows with a value in a field. If there is at most one, use `getOneFrom` of convex-helpers. */
export function queryBy<Field extends string, const Value, Found>(
  rows: Indexed<`by_${Field}`, Bound<"eq", Field, Value>, Found>,
  field: Field,
  value: Value,
): Found {
  return rows.withIndex(`by_${field}`, (q) => q.eq(field, value));
}

/** Rows with values in two fields. */
export function queryByBoth<First extends string, const One, Second extends string, const Other, Found>(
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
export function queryDue<Field extends string, Found>(
  rows: Indexed<`by_${Field}`, Bound<"lte", Field, number>, Found>,
  field: Field,
  now: number,
): Found {
  return rows.withIndex(`by_${field}`, (q) => q.lte(field, now));
}

/** Visible characters, without the replacement character: two different ids must not become one. */
export const PRINTABLE = /^[^\p{C}\uFFFD]+$/u;
export const MAX_USER_ID = 128;

/** The id that earlier clients send without a configured `userId`. Many people share it, so it can have no owner. */
export const SHARED_ID = "mcp-anonymous";
export const NOT_SHARED =
  "must be your own, a long random one: mcp-anonymous is what every client without one sends";
