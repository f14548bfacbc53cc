import type { Value } from "convex/values";
import { currentExecution, inTransaction } from "./execution";
import { promised } from "./locks";
import { rowsOf, tableOfId, type Query } from "./queries";
import type { Row } from "./tables";
import { note } from "./usage";

/**
 * Reads of `ctx.db`. The convex package's own builder builds the query; its rows are read here, without the package's
 * way through JSON. Pages still use the package.
 */

/** A query as the package builds it. */
export type Built = {
  withIndex: (...given: unknown[]) => Built;
  withSearchIndex: (...given: unknown[]) => Built;
  fullTableScan: () => Built;
  order: (...given: unknown[]) => Built;
  filter: (...given: unknown[]) => Built;
  limit: (...given: unknown[]) => Built;
  paginate: (...given: unknown[]) => Promise<unknown>;
  count: () => Promise<unknown>;
  /** Ends the building. @throws Error if it has already ended. */
  takeQuery: () => Query;
};

/** A document by its id, or null. @param expected Its table, if the caller names one. */
export function read(expected: string | undefined, id: string): Value {
  const execution = currentExecution();
  const place = { component: execution.componentPath, table: tableOfId(id, expected) };
  const row = inTransaction(execution).get(place, id);
  note({ ranges: 1, read: row === null ? 0 : 1 });
  return row?.read() ?? null;
}

/** A table's query before its order is set. */
export class Start {
  readonly #built: Built;

  constructor(built: Built) {
    this.#built = built;
  }

  withIndex(...given: unknown[]): Reading {
    return new Reading(this.#built.withIndex(...given));
  }
  withSearchIndex(...given: unknown[]): Reading {
    return new Reading(this.#built.withSearchIndex(...given));
  }
  fullTableScan(): Reading {
    return new Reading(this.#built.fullTableScan());
  }
  count(): Promise<unknown> {
    return this.#built.count();
  }
  order(...given: unknown[]): Reading {
    return this.fullTableScan().order(...given);
  }
  filter(...given: unknown[]): Reading {
    return this.fullTableScan().filter(...given);
  }
  limit(...given: unknown[]): Reading {
    return this.fullTableScan().limit(...given);
  }
  paginate(...given: unknown[]): Promise<unknown> {
    return this.fullTableScan().paginate(...given);
  }
  collect(): Promise<Value[]> {
    return this.fullTableScan().collect();
  }
  take(count: unknown): Promise<Value[]> {
    return this.fullTableScan().take(count);
  }
  first(): Promise<Value> {
    return this.fullTableScan().first();
  }
  unique(): Promise<Value> {
    return this.fullTableScan().unique();
  }
  [Symbol.asyncIterator](): Reading {
    return this.fullTableScan()[Symbol.asyncIterator]();
  }
}

class Reading {
  readonly #built: Built;
  /** From the first read on; rows are taken off the end. */
  #rows: Row[] | null = null;

  constructor(built: Built) {
    this.#built = built;
  }

  order(...given: unknown[]): Reading {
    return new Reading(this.#built.order(...given));
  }
  filter(...given: unknown[]): Reading {
    return new Reading(this.#built.filter(...given));
  }
  limit(...given: unknown[]): Reading {
    return new Reading(this.#built.limit(...given));
  }
  paginate(...given: unknown[]): Promise<unknown> {
    return this.#built.paginate(...given);
  }

  [Symbol.asyncIterator](): this {
    this.#start();
    return this;
  }

  next(): Promise<{ value: Value; done: boolean }> {
    return promised(() => {
      const row = (this.#rows ?? this.#start()).pop();
      return row === undefined ? { value: null, done: true } : { value: counted(row), done: false };
    });
  }

  return(): Promise<{ value: undefined; done: true }> {
    this.#rows = [];
    return Promise.resolve({ value: undefined, done: true });
  }

  collect(): Promise<Value[]> {
    return promised(() => this.#all());
  }

  take(count: unknown): Promise<Value[]> {
    return promised(() => {
      if (count === undefined) throw new TypeError("Must provide arg 1 `n` to `take`");
      if (typeof count !== "number" || !Number.isInteger(count) || count < 0)
        throw new TypeError("Arg 1 `n` to `take` must be a non-negative integer");
      return this.limit(count).#all();
    });
  }

  first(): Promise<Value> {
    return promised(() => this.limit(1).#all()[0] ?? null);
  }

  unique(): Promise<Value> {
    return promised(() => {
      const [one = null, ...others] = this.limit(2).#all();
      if (others.length > 0) throw new Error("unique() query returned more than one result");
      return one;
    });
  }

  #all(): Value[] {
    const rows = this.#start().reverse();
    this.#rows = [];
    return rows.map(counted);
  }

  /** Backwards, so that the first is the last to be taken off. */
  #start(): Row[] {
    if (this.#rows !== null) throw new Error("This query is closed and can't emit any more values.");
    const query = this.#built.takeQuery();
    const execution = currentExecution();
    this.#rows = rowsOf(inTransaction(execution), execution.componentPath, query).reverse();
    note({ ranges: 1 });
    return this.#rows;
  }
}

/** A row for its reader, counted as read. */
function counted(row: Row): Value {
  inTransaction(currentExecution()).countRead(row);
  note({ read: 1 });
  return row.read();
}
