import type { Value } from "convex/values";
import { Meter } from "./limits";
import { comparedKeys, Row, tableOf, type Database, type Index, type Key, type Range } from "./tables";
import { withCommitTime, type Document, type Fields } from "./values";

/** A table of one component, as `component/table`; the application's own component is the empty string. */
export type Place = { component: string; table: string };

/** The change of one row in a commit. */
export type Change = Place & { id: string; before: Row | null; after: Row | null };

type Writes = Map<string, Place & { rows: Map<string, Row | null> }>;

export const nameOf = ({ component, table }: Place) => `${component}/${table}`;

/** What a transaction has read: rows by id, and ranges of indexes. A later commit within it is a conflict. */
export class ReadSet {
  /** The time until which its answer holds if nothing that was read is written. */
  until = Infinity;
  /** By table. */
  readonly #parts = new Map<string, { ids: Set<string>; ranges: { index: Index; range: Range }[] }>();

  tables(): Iterable<string> {
    return this.#parts.keys();
  }

  addId(place: Place, id: string): void {
    this.#part(place).ids.add(id);
  }

  addRange(place: Place, index: Index, range: Range): void {
    this.#part(place).ranges.push({ index, range });
  }

  holdsUntil(time: number): void {
    this.until = Math.min(this.until, time);
  }

  /** Whether a change in the table of this name is one of what was read. */
  touches(name: string, { id, before, after }: Change): boolean {
    const part = this.#parts.get(name);
    if (part === undefined) return false;
    if (part.ids.has(id)) return true;
    return part.ranges.some(
      ({ index, range }) =>
        (before !== null && index.isWithin(before, range)) ||
        (after !== null && index.isWithin(after, range)),
    );
  }

  #part(place: Place) {
    const name = nameOf(place);
    let part = this.#parts.get(name);
    if (part === undefined) this.#parts.set(name, (part = { ids: new Set(), ranges: [] }));
    return part;
  }
}

/** Most tables that a transaction reads it has not written to. */
const NO_WRITES: ReadonlyMap<string, Row | null> = new Map();

export type Order = { descending: boolean; limit: number };

/**
 * One transaction over the databases of all components: it sees what was committed and its own writes. Functions that
 * it calls write into a frame of their own, which is kept or dropped as a whole.
 */
export class Transaction {
  readonly reads = new ReadSet();
  readonly meter = new Meter();
  readonly #frames: Writes[] = [new Map<string, Place & { rows: Map<string, Row | null> }>()];
  /** Above 0 while a function reads only what is committed. */
  #stale = 0;

  constructor(
    readonly databaseOf: (component: string) => Database,
    /** Whether the platform's limits apply. */
    readonly limited: boolean,
  ) {}

  begin(): void {
    this.#frames.push(new Map());
  }

  keep(): void {
    const inner = this.#frames.pop();
    for (const { component, table, rows } of inner?.values() ?? [])
      for (const [id, row] of rows) this.#write({ component, table }, id, row);
  }

  drop(): void {
    this.#frames.pop();
  }

  /** Reads from a snapshot cause no conflict. */
  async stale<T>(work: () => Promise<T>): Promise<T> {
    this.#stale += 1;
    try {
      return await work();
    } finally {
      this.#stale -= 1;
    }
  }

  get(place: Place, id: string): Row | null {
    if (this.#stale === 0) this.reads.addId(place, id);
    this.count("databaseQueries");
    const row = this.#find(place, id);
    if (row !== null) this.countRead(row);
    return row;
  }

  /** The row that a write changes: it is read, but not by a query. */
  existing(place: Place, id: string): Row | null {
    this.reads.addId(place, id);
    const row = this.#find(place, id);
    if (row !== null) this.countRead(row);
    return row;
  }

  insert(place: Place, fields: Fields, now: number): Row {
    const database = this.databaseOf(place.component);
    const _id = database.newId(place.table);
    return this.put(place, { _creationTime: database.newCreationTime(now), _id, ...fields });
  }

  put(place: Place, document: Document): Row {
    const row = new Row(sorted(document));
    this.count("documentsWritten");
    this.count("bytesWritten", row.size);
    if (isSystem(row)) this.meter.unbilled.bytesWritten += row.size;
    this.#write(place, document._id, row);
    return row;
  }

  remove(place: Place, id: string): void {
    this.count("documentsWritten");
    this.#write(place, id, null);
  }

  /** The rows of an index's range, in order. */
  rows(place: Place, index: Index, range: Range, { descending, limit }: Order): Row[] {
    this.count("databaseQueries");
    const own = this.#ownWrites(place);
    // As many more as there are own rows, which may replace any of them.
    let rows = index.rows(range, descending, limit + own.size);
    if (own.size > 0) {
      rows = rows.filter((row) => !own.has(row.document._id));
      for (const row of own.values()) if (row !== null && index.isWithin(row, range)) rows.push(row);
      const sign = descending ? -1 : 1;
      rows.sort((a, b) => sign * comparedKeys(index.keyOf(a), index.keyOf(b)));
      rows = rows.slice(0, limit === Infinity ? undefined : limit);
    }
    if (this.#stale === 0)
      this.reads.addRange(place, index, readPart(index, range, rows, { descending, limit }));
    return rows;
  }

  countRead(row: Row): void {
    this.count("documentsRead");
    this.count("bytesRead", row.size);
    if (isSystem(row)) this.meter.unbilled.bytesRead += row.size;
  }

  count(measure: Parameters<Meter["count"]>[0], amount = 1): void {
    if (this.limited) this.meter.count(measure, amount);
    else this.meter.used[measure] += amount;
  }

  /** Makes what was written visible to everybody. */
  commit(time: bigint): Change[] {
    const changes: Change[] = [];
    for (const { component, table, rows } of this.#frames[0]?.values() ?? []) {
      const target = this.databaseOf(component).table(table);
      for (const [id, written] of rows) {
        const before = target.rows.get(id) ?? null;
        if (before === null && written === null) continue;
        const after = written?.isPending === true ? filled(written, time) : written;
        target.set(id, after);
        changes.push({ component, table, id, before, after });
      }
    }
    return changes;
  }

  #find(place: Place, id: string): Row | null {
    if (this.#stale === 0) {
      const name = nameOf(place);
      for (let i = this.#frames.length - 1; i >= 0; i--) {
        const row = this.#frames[i]?.get(name)?.rows.get(id);
        if (row !== undefined) return row;
      }
    }
    return this.databaseOf(place.component).tables.get(place.table)?.rows.get(id) ?? null;
  }

  #write(place: Place, id: string, row: Row | null): void {
    const frame = this.#frames.at(-1);
    const name = nameOf(place);
    const written = frame?.get(name);
    if (written === undefined) frame?.set(name, { ...place, rows: new Map([[id, row]]) });
    else written.rows.set(id, row);
  }

  #ownWrites(place: Place): ReadonlyMap<string, Row | null> {
    if (this.#stale > 0) return NO_WRITES;
    const name = nameOf(place);
    let own: ReadonlyMap<string, Row | null> = NO_WRITES;
    for (const frame of this.#frames) {
      const written = frame.get(name)?.rows;
      if (written !== undefined) own = own === NO_WRITES ? written : new Map([...own, ...written]);
    }
    return own;
  }
}

function isSystem({ document }: Row): boolean {
  return tableOf(document._id)?.startsWith("_") === true;
}

/** The part of a range that was read: up to the last row within the limit. */
function readPart(index: Index, range: Range, rows: readonly Row[], { descending, limit }: Order): Range {
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return range;
  const key: Key = index.keyOf(last);
  return descending ? { ...range, lower: key, withLower: true } : { ...range, upper: key, withUpper: true };
}

/** Its fields in order, as a store keeps them. */
function sorted(document: Document): Document {
  const names = Object.keys(document);
  // A changed document usually has the fields of the one before.
  if (names.every((name, i) => i === 0 || (names[i - 1] ?? "") < name)) return document;
  const { _id, _creationTime } = document;
  const fields: Fields = {};
  for (const name of names.sort()) fields[name] = document[name];
  return Object.assign(fields, { _id, _creationTime });
}

function filled(row: Row, time: bigint): Row {
  const { _id, _creationTime } = row.document;
  const fields: [string, Value][] = Object.entries(row.document).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, withCommitTime(value, time)]],
  );
  return new Row({ ...Object.fromEntries(fields), _id, _creationTime });
}
