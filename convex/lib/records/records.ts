import type { NamedTableInfo, Query, QueryInitializer } from "convex/server";
import type { DataModel, Doc, TableNames } from "../../_generated/dataModel";
import type { DatabaseReader, DatabaseWriter } from "../../_generated/server";
import { rowsDue, type Bound, type Indexed } from "./rows";

/**
 * What is known of a table besides its fields: how long its rows live, whose they are, which of them are work to be done.
 * Every room's `tables.ts` tells it of its own tables; housekeeping, health, export and deletion loop over all of them
 * (`schema.ts`).
 */
export type Facts<Table extends TableNames> = {
  /** The ranges of its rows that go; or why none is ever too old. What ends with its own work is its room's matter. */
  keep: string | Range<Table> | readonly Range<Table>[];
  /** How a user's rows are found and treated. Absent: its rows are nobody's, or tell nothing of anybody. */
  ownedBy?: Owned<Table>;
  /** Where its rows come to rest. Absent: its rows are no work. */
  final?: Final<Table>;
  /** Work that waits, by the names under which `/health` tells its age. */
  openWhen?: Readonly<Record<string, Open<Table>>>;
  /** Fields that never leave the service: sealed or signed bytes, and how work is done. */
  withheld?: readonly (keyof Doc<Table>)[];
};

/** The facts of all tables. */
export type Records = { readonly [Table in TableNames]: Facts<Table> };
/** The facts of a room's tables. */
export type RecordsOf<Tables> = Pick<Records, keyof Tables & TableNames>;

type Rows<Table extends TableNames> = QueryInitializer<NamedTableInfo<DataModel, Table>>;
type Found<Table extends TableNames> = Query<NamedTableInfo<DataModel, Table>>;
/** By index, a user's rows. */
type OfUser<Table extends TableNames> = (rows: Rows<Table>, userId: string) => Found<Table>;

/** One range of a table's rows that goes. */
export type Range<Table extends TableNames> = {
  /** From when on a row may go, in days after the moment that `aged` is about. */
  days: number;
  why: string;
  /** By index, the rows older than `before` (epoch ms). */
  aged: (rows: Rows<Table>, before: number) => Found<Table>;
  /** Whether an old row has ended too; left out where age says it all. */
  ended?: (row: Doc<Table>, before: number, db: DatabaseReader) => boolean | Promise<boolean>;
  /** Whose it is, where it stays if that `userId` is somebody's login by now or has ever held credits. */
  stranger?: (row: Doc<Table>) => string;
  /** How many are looked at per transaction, where they are larger than most. */
  batch?: number;
  /** Deletes the row with what belongs to it; left out where it is all. */
  erase?: (db: DatabaseWriter, row: Doc<Table>) => Promise<void>;
};

type Owned<Table extends TableNames> = {
  rows: OfUser<Table>;
  /** The section of a user's export that hands them out; left out where they tell the user nothing. */
  section?: string;
  /** A `userId` with such a row cannot be given up for another: any row, or one of these. */
  inUse?: "any" | OfUser<Table>;
  /** What becomes of them when the user has their data deleted. */
  onDeletion: "stay" | "go" | Going<Table>;
};

/** What of a user's rows is erased, where it is not simply all. */
export type Going<Table extends TableNames> = {
  /** Of a user's rows those that go; the others stay. */
  only?: OfUser<Table>;
  /** What is under way is waited for until it is `final`. */
  whenFinal?: true;
  /** Takes the user off a row that has to stay. After it, the row is not found as theirs. */
  anonymise?: (db: DatabaseWriter, row: Doc<Table>) => Promise<void>;
};

/** A field, and the values it may be left with for ever. */
type Final<Table extends TableNames> = {
  [Field in keyof Doc<Table> & string]: { field: Field; states: readonly Doc<Table>[Field][] };
}[keyof Doc<Table> & string];

type Open<Table extends TableNames> = {
  /** By index, what waits at `now` (epoch ms), in one range or several. Those that are looked after first come first. */
  rows: readonly ((rows: Rows<Table>, now: number) => Found<Table>)[];
  /** Epoch ms: when it was asked for, or, for what has a time of its own, when it was due. */
  since: (row: Doc<Table>) => number;
};

/** Rows by their `field`, an epoch in ms with an index of its own: those before a moment. */
export function older<Field extends string>(field: Field) {
  return <Found>(rows: Indexed<`by_${Field}`, Bound<"lt", Field, number>, Found>, before: number) =>
    rows.withIndex(`by_${field}`, (q) => q.lt(field, before));
}

/** Rows that were made before a moment. */
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

/** Work whose `field` says when it is due (epoch ms), with an index of its own. */
export function due<Field extends string>(field: Field) {
  return {
    rows: [
      <Found>(rows: Indexed<`by_${Field}`, Bound<"lte", Field, number>, Found>, now: number) =>
        rowsDue(rows, field, now),
    ],
    since: (row: Readonly<Record<Field, number>>) => row[field],
  };
}

/** Work that waits in some states, by an index that begins with `field`; `since` was it asked for, epoch ms. */
export function waiting<
  Index extends string,
  Field extends string,
  const States extends readonly string[],
  Since extends string,
>(index: Index, field: Field, states: States, since: Since) {
  return {
    rows: states.map(
      (state) =>
        <Found>(rows: Indexed<Index, Bound<"eq", Field, States[number]>, Found>) =>
          rows.withIndex(index, (q) => q.eq(field, state)),
    ),
    since: (row: Readonly<Record<Since, number>>) => row[since],
  };
}

/** The tables' names, in the order of the rooms and, within one, of its records. */
export function tablesOf(records: Records): TableNames[] {
  return namesIn(records);
}

/** The names of a list's entries, in its order. */
export function namesIn<Entries extends object>(entries: Entries): (keyof Entries & string)[] {
  return Object.keys(entries).filter((name): name is keyof Entries & string => Object.hasOwn(entries, name));
}

/** Whether a row has come to rest. */
export function isFinal(
  final: { field: string; states: readonly unknown[] } | undefined,
  row: Readonly<Record<string, unknown>>,
): boolean {
  return final === undefined || final.states.includes(row[final.field]);
}
