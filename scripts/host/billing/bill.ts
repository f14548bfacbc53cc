import { outer } from "../globals";
import type { FunctionPath } from "../execution";
import type { Transaction } from "../store/transaction";

/** The cost of one function, or of all together. */
export type Cost = {
  calls: number;
  /** Bytes of documents, without indexes and the platform's own tables. */
  readBytes: number;
  writtenBytes: number;
  /** How long actions and HTTP actions ran, including waits for answers. */
  actionMs: number;
};

export type Bill = Cost & {
  /** ISO 8601, by the host's clock. */
  since: string;
  until: string;
  /** By function name as in `market/snapshots:current`; HTTP actions are `http`. */
  byFunction: Record<string, Cost>;
};

/**
 * Counts what the platform bills: every run of a function outside another's transaction is a call, each run of a
 * repeated transaction is billed, and a write also reads what it replaces.
 */
export class Billing {
  #since: number | null = null;
  readonly #byFunction = new Map<string, Cost>();

  /** Counts each run of one call's transaction. */
  of({ udfPath }: FunctionPath) {
    let calls = 1;
    return ({ meter }: Transaction) => {
      const readBytes = meter.used.bytesRead - meter.unbilled.bytesRead;
      const writtenBytes = meter.used.bytesWritten - meter.unbilled.bytesWritten;
      this.#add(udfPath, { calls, readBytes, writtenBytes, actionMs: 0 });
      calls = 0;
    };
  }

  /** Counts a call without a transaction of its own: of an action, or of a query whose answer was kept. */
  call(udfPath: string, actionMs: number): void {
    this.#add(udfPath, { calls: 1, readBytes: 0, writtenBytes: 0, actionMs });
  }

  /** Begins a new bill. */
  reset(): void {
    this.#since = outer.now();
    this.#byFunction.clear();
  }

  told(): Bill {
    const until = outer.now();
    const traffic = ({ readBytes, writtenBytes }: Cost) => readBytes + writtenBytes;
    return {
      since: new Date(this.#since ?? until).toISOString(),
      until: new Date(until).toISOString(),
      ...[...this.#byFunction.values()].reduce(sum, NOTHING),
      byFunction: Object.fromEntries(
        [...this.#byFunction].toSorted(([, a], [, b]) => traffic(b) - traffic(a)),
      ),
    };
  }

  #add(udfPath: string, cost: Cost): void {
    this.#since ??= outer.now();
    const name = udfPath.replace(/\.[jt]s:/, ":");
    this.#byFunction.set(name, sum(this.#byFunction.get(name) ?? NOTHING, cost));
  }
}

const NOTHING: Cost = { calls: 0, readBytes: 0, writtenBytes: 0, actionMs: 0 };

function sum(a: Cost, b: Cost): Cost {
  return {
    calls: a.calls + b.calls,
    readBytes: a.readBytes + b.readBytes,
    writtenBytes: a.writtenBytes + b.writtenBytes,
    actionMs: a.actionMs + b.actionMs,
  };
}
