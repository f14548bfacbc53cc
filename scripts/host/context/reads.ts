import type { Value } from "convex/values";
import { currentExecution, inTransaction } from "../execution";
import { promised } from "../locks";
import { rowsOf, tableOfId, type Query } from "../store/queries";
import type { Row } from "../store/tables";
import { note } from "../billing/usage";

/**
 * Reads of `ctx.db`. The convex package's own builder builds the query; its rows are read here, without the package's
 * way through JSON. Pages still use the package.
 */

type Ranged = Building & {
  /** Ends the building. @throws Error if it has already ended. */
  takeQuery: () => Query;
};
type Building = {
  withIndex: (...given: unknown[]) => Ranged;
  withSearchIndex: (...given: unknown[]) => Ranged;
  fullTableScan: () => Ranged;
  order: (...given: unknown[]) => Ranged;
  filter: (...given: unknown[]) => Ranged;
  limit: (...given: unknown[]) => Ranged;
  paginate: (...given: unknown[]) => Promise<unknown>;
  count: () => Promise<unknown>;
};

/** A query as the package builds it; before its range is named it has no `takeQuery`. */
export type Built = Ranged | (Building & { takeQuery?: never });

/** A document by its id, or null. @param expected Its table, if the caller names one. */
export function read(expected: string | undefined, id: string): Value {
  const execution = currentExecution();
  const place = { component: execution.componentPath, table: tableOfId(id, expected) };
  const row = inTransaction(execution).get(place, id);
  note({ ranges: 1, read: row === null ? 0 : 1 });
  return row?.read() ?? null;
}

/** A table's query, and its rows once it is read. */
export class Reading {
  readonly #built: Built;
  /** From the first read on; rows are taken off the end. */
  #rows: Row[] | null = null;

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

  [Symbol.asyncIterator](): Reading {
    const reading = this.#ranged();
    reading.#start();
    return reading;
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
    return promised(() => this.#ranged().#all());
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

  /** Before a range is named, that is all of the table, each time anew. */
  #ranged(): Reading {
    return this.#built.takeQuery === undefined ? this.fullTableScan() : this;
  }

  #all(): Value[] {
    const rows = this.#start().reverse();
    this.#rows = [];
    return rows.map(counted);
  }

  /** Backwards, so that the first is the last to be taken off. */
  #start(): Row[] {
    if (this.#rows !== null) throw new Error("This query is closed and can't emit any more values.");
    const query = this.#built.takeQuery?.();
    if (query === undefined) throw new Error("The range of this query is not named yet");
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
