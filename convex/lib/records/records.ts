import type { NamedTableInfo, Query, QueryInitializer } from "convex/server";
import type { DataModel, Doc, TableNames } from "../../_generated/dataModel";
import type { DatabaseWriter } from "../../_generated/server";
import type { Bound, Indexed } from "./rows";

/**
 * What is known of a table besides its fields: how long its rows live, and whose they are. Every room's `tables.ts`
 * declares it beside its tables; housekeeping, export and deletion loop over all of them (`schema.ts`).
 */
export type TableRecord<Table extends TableNames> = {
  /** The ranges of rows to delete by age, or why no row is ever too old. Rows that end with their own work are the room's matter. */
  keep: string | Range<Table> | readonly Range<Table>[];
  /** How a user's rows are found and treated. Absent: its rows belong to nobody, or say nothing about anybody. */
  ownedBy?: Owned<Table>;
  /** Fields that never leave the service: sealed or signed bytes, and internals of work. */
  withheld?: readonly (keyof Doc<Table>)[];
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
  /** The row's `userId`: the row stays if that is now somebody's login or has ever held credits. */
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
  /** What becomes of them when the user has their data deleted. */
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
export function older<Field extends string>(field: Field) {
  return <Found>(rows: Indexed<`by_${Field}`, Bound<"lt", Field, number>, Found>, before: number) =>
    rows.withIndex(`by_${field}`, (q) => q.lt(field, before));
}

/** Rows that were created before a moment. */
export function made<Found>(
  rows: Indexed<"by_creation_time", Bound<"lt", "_creationTime", number>, Found>,
  before: number,
) {
  return rows.withIndex("by_creation_time", (q) => q.lt("_creationTime", before));
}

/** The rows of a user, by an index that begins with `userId`. */
export function ofUser<Index extends string>(index: Index) {
  return <Found>(rows: Indexed<Index, Bound<"eq", "userId", string>, Found>, userId: string) =>
    rows.withIndex(index, (q) => q.eq("userId", userId));
}

/** The `userId` of rows that belong to no user: the service's own accounts and cards. Users' ids are never empty. */
export const NOBODY = "";

/** The tables' names, in the order of the rooms and of their records. */
export function tablesOf(records: Records): TableNames[] {
  return namesIn(records);
}

/** The names of a list's entries, in its order. */
export function namesIn<Entries extends object>(entries: Entries): (keyof Entries & string)[] {
  return Object.keys(entries).filter((name): name is keyof Entries & string => Object.hasOwn(entries, name));
}
