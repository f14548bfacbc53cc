import type { Value } from "convex/values";
import { Sorted, type Place } from "./blocks";
import { compared, fieldAt, forReader, isLowText, measured, toJson, type Document } from "./values";

/** The committed rows of one component, by table, each table with its indexes in order. */

/** A stored document: never changed, only replaced. */
export class Row {
  #json: string | null = null;
  /** In bytes. */
  readonly size: number;
  /** Whether a commit's time still has to be filled in. */
  readonly isPending: boolean;
  /** Its entry in each of the table's made indexes, once it is committed. */
  entries: Entry[] = [];

  /** @throws Error for a document that the platform does not store. */
  constructor(readonly document: Document) {
    ({ size: this.size, isPending: this.isPending } = measured(document));
  }

  /** Convex's JSON text, made when it is first needed. */
  get json(): string {
    return (this.#json ??= toJson(this.document));
  }

  /** The document for a reader. */
  read(): Value {
    return forReader(this.document);
  }
}

export type Key = readonly (Value | undefined)[];

/** A range of an index: from keys that begin with `lower` to those that begin with `upper`. */
export type Range = {
  lower: Key;
  /** Whether keys that begin with `lower` belong to it; likewise `upper`. */
  withLower: boolean;
  upper: Key;
  withUpper: boolean;
};

/** Every index ends with these, so that no two keys are equal. */
const TAIL = ["_creationTime", "_id"];

/** An id is a counter of the component's database, padded, followed by its table's name. */
const ID_LENGTH = 32;
const FIRST_COUNTER = 10_000;

export function tableOf(id: string): string | null {
  let digits = 0;
  while (digits < id.length && isDigit(id.charCodeAt(digits))) digits++;
  return digits === 0 || digits === id.length ? null : id.slice(digits);
}

const isDigit = (unit: number) => unit >= 0x30 && unit <= 0x39;

/** The key's first two fields lie in the entry itself, because most comparisons end there. */
type Entry = {
  readonly first: Value | undefined;
  readonly second: Value | undefined;
  readonly key: Key;
  row: Row;
  block: Entry[] | null;
};

export class Index {
  readonly fields: readonly string[];
  readonly #paths: readonly string[][];
  readonly #entries = new Sorted<Entry>();

  constructor(fields: readonly string[]) {
    this.fields = [...fields, ...TAIL.filter((field) => !fields.includes(field))];
    this.#paths = this.fields.map((field) => field.split("."));
  }

  keyOf({ document }: Row): Key {
    return this.#paths.map((path) => fieldAt(document, path));
  }

  isWithin({ document }: Row, { lower, withLower, upper, withUpper }: Range): boolean {
    const low = this.#order(document, lower);
    if (low < 0 || (low === 0 && !withLower && lower.length > 0)) return false;
    const high = this.#order(document, upper);
    return high < 0 || (high === 0 && (withUpper || upper.length === 0));
  }

  /** Compares as much of the document's key as the prefix has. */
  #order(document: Document, prefix: Key): number {
    for (let i = 0; i < prefix.length; i++) {
      const order = compared(fieldAt(document, this.#paths[i] ?? []), prefix[i]);
      if (order !== 0) return order;
    }
    return 0;
  }

  /** Puts a row in the place of an earlier one, or of none. @returns Its entry. */
  put(row: Row, before: Entry | undefined): Entry {
    // Most changes of a row leave most of its indexes unchanged.
    if (before !== undefined && this.#hasKey(row, before.key)) {
      before.row = row;
      return before;
    }
    if (before !== undefined) this.remove(before);
    const key = this.keyOf(row);
    const entry = { first: key[0], second: key[1], key, row, block: null };
    this.#entries.insert(this.#placeFor(key), entry);
    return entry;
  }

  remove(entry: Entry): void {
    this.#entries.remove(entry);
  }

  /** Whether a row's key is this one for certain. */
  #hasKey({ document }: Row, key: Key): boolean {
    return this.#paths.every((path, i) => Object.is(fieldAt(document, path), key[i]));
  }

  /** Often the end: times and ids grow. */
  #placeFor(key: Key): Place {
    const { last, end } = this.#entries;
    const isLow = key.every(isLowText);
    return last === undefined || comparedEntry(last, key, isLow) < 0 ? end : this.#first(key, 0, isLow);
  }

  /** The rows of a range in order, `limit` at most. */
  rows(range: Range, descending: boolean, limit: number): Row[] {
    const { lower, withLower, upper, withUpper } = range;
    const from = descending ? this.#first(upper, withUpper ? 1 : 0) : this.#first(lower, withLower ? 0 : 1);
    const end = descending ? lower : upper;
    const isLow = end.every(isLowText);
    // The order of the entries' keys to the range's other end that still belong to it.
    const sign = descending ? -1 : 1;
    const most = (descending ? withLower : withUpper) ? 0 : -1;
    const isWanted = (entry: Entry) => sign * comparedEntry(entry, end, isLow) <= most;
    return this.#entries.along(from, descending, limit, isWanted).map(({ row }) => row);
  }

  /** The place of the first key that compares with `prefix` as `least` or more: 0 for equal, 1 for after. */
  #first(prefix: Key, least: 0 | 1, isLow = prefix.every(isLowText)): Place {
    return this.#entries.place((entry) => comparedEntry(entry, prefix, isLow) < least);
  }
}

/** Compares as much of a key as the prefix has. @param isLow Whether all texts of the prefix are known to be low. */
export function comparedKeys(key: Key, prefix: Key, isLow = false): number {
  for (let i = 0; i < prefix.length; i++) {
    const order = comparedFields(key[i], prefix[i], isLow);
    if (order !== 0) return order;
  }
  return 0;
}

function comparedEntry({ first, second, key }: Entry, prefix: Key, isLow: boolean): number {
  if (prefix.length === 0) return 0;
  const order = comparedFields(first, prefix[0], isLow);
  if (order !== 0 || prefix.length === 1) return order;
  return comparedFields(second, prefix[1], isLow) || comparedKeys(key, prefix, isLow);
}

function comparedFields(a: Value | undefined, b: Value | undefined, isLow: boolean): number {
  if (!isLow || typeof a !== "string" || typeof b !== "string") return compared(a, b);
  return a === b ? 0 : a < b ? -1 : 1;
}

export class Table {
  readonly rows = new Map<string, Row>();
  readonly #fields: ReadonlyMap<string, readonly string[]>;
  /** Those that somebody has asked for, in the order of every row's entries. */
  readonly #made = new Map<string, Index>();

  constructor(indexes: readonly { name: string; fields: readonly string[] }[] = []) {
    this.#fields = new Map([
      ["by_creation_time", []],
      ["by_id", ["_id"]],
      ...indexes.map(({ name, fields }) => [name, fields] as const),
    ]);
  }

  /** An index, made when somebody first asks for it: many never do. */
  index(name: string): Index | null {
    const made = this.#made.get(name);
    const fields = this.#fields.get(name);
    if (made !== undefined || fields === undefined) return made ?? null;
    const index = new Index(fields);
    for (const row of this.rows.values()) row.entries.push(index.put(row, undefined));
    this.#made.set(name, index);
    return index;
  }

  /** Replaces the row with this id by `row`; null deletes it. */
  set(id: string, row: Row | null): void {
    const before = this.rows.get(id)?.entries;
    if (row === null) this.rows.delete(id);
    else this.rows.set(id, row);
    let i = 0;
    for (const index of this.#made.values()) {
      const entry = before?.[i];
      if (row !== null) row.entries[i] = index.put(row, entry);
      else if (entry !== undefined) index.remove(entry);
      i += 1;
    }
  }
}

export class Database {
  readonly tables = new Map<string, Table>();
  #counter = FIRST_COUNTER;
  #lastCreation = 0;

  table(name: string): Table {
    let table = this.tables.get(name);
    if (table === undefined) this.tables.set(name, (table = new Table()));
    return table;
  }

  newId(table: string): string {
    return `${String(this.#counter++).padStart(ID_LENGTH - table.length, "0")}${table}`;
  }

  /** Creation times differ, so that rows have an order. */
  newCreationTime(now: number): number {
    this.#lastCreation = now <= this.#lastCreation ? this.#lastCreation + 0.001 : now;
    return this.#lastCreation;
  }

  /** Restores a stored document, and continues counting after it. */
  restore(table: string, document: Document): void {
    this.table(table).set(document._id, new Row(document));
    this.#counter = Math.max(this.#counter, Number.parseInt(document._id, 10) + 1);
    this.#lastCreation = Math.max(this.#lastCreation, document._creationTime);
  }
}
