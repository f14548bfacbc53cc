import { outer, seededRandom } from "./globals";
import type { Work } from "./execution";
import { History } from "./store/history";
import { WriteRate } from "./store/limits";
import { deferred, Lock } from "./locks";
import type { Database } from "./store/tables";
import { Transaction, type Change, type ReadSet } from "./store/transaction";

/** Lets transactions take time, and conflict as they then would. */
export type Contention = {
  /** How long a mutation takes from its first read to its commit, in ms of the host's clock. */
  durationMs: () => number;
};

/** How often a conflicting mutation is run again before its caller gets the error. */
const MAX_RETRIES = 4;
const BACKOFF_MS = 100;
/** How often a query runs without a lock before it waits for its turn. */
const FREE_TRIES = 3;

export type Outcome<T> = { value: T } | { error: unknown };

/** What a query has read, and the last commit that it is known to have seen. */
export type Seen = { reads: ReadSet; sequence: number };

type Options = {
  databaseOf: (component: string) => Database;
  /** Whether the platform's limits apply. */
  limited: boolean;
  contention: Contention | null;
  seed: number;
  /** Called for every row that a commit changed. */
  changed: (change: Change) => void;
  /** Called for every commit that changed something, before anybody can act on it. */
  committed: (changes: readonly Change[]) => void;
};

/** One call's function, which may run more than once. */
export type Attempt<T> = {
  run: (transaction: Transaction) => Promise<T>;
  /** Called after each run. */
  ran?: (transaction: Transaction) => void;
};

type Mutation<T, R> = Attempt<T> & {
  /** The caller's result, from the run that is committed. */
  finish: (outcome: Outcome<T>, transaction: Transaction) => R;
  /** Whether it runs until it commits, however often. */
  isPatient: boolean;
  /** The work whose waits for another run count. */
  work: Work;
  /** The function, as in `market/snapshots:begin`. */
  name: string;
};

/** All transactions of one application with its components, and what they have committed. */
export class Commits {
  /** Statistics of transactions for benches. `by` names the function that ran again, and the table that caused it. */
  readonly conflicts = { mutations: 0, retries: 0, failures: 0, by: new Map<string, number>() };
  readonly #turns = new Lock();
  /** Seeded, like everything that the order of transactions depends on. */
  readonly #chance: () => number;
  readonly #history = new History();
  readonly #writeRate = new WriteRate();
  #sequence = 0;
  #lastTime = 0n;

  constructor(readonly options: Options) {
    this.#chance = seededRandom(options.seed);
  }

  /** Reads without a lock, and again if something that was read has changed meanwhile. */
  async read<T>({ run, ran }: Attempt<T>): Promise<{ outcome: Outcome<T>; seen: Seen }> {
    for (let tries = 0; ; tries++) {
      const before = this.#sequence;
      const release = tries < FREE_TRIES ? null : await this.#turns.acquire();
      const transaction = this.#begin();
      let outcome: Outcome<T>;
      try {
        outcome = { value: await run(transaction) };
      } catch (error) {
        outcome = { error };
      }
      ran?.(transaction);
      release?.();
      if (release !== null || this.#conflict(before, transaction.reads) === null)
        return { outcome, seen: { reads: transaction.reads, sequence: before } };
    }
  }

  /** Whether everything that was read is known to be the same still. */
  stands(seen: Seen): boolean {
    if (outer.now() > seen.reads.until || !this.#history.knows(seen.sequence, seen.reads)) return false;
    if (this.#conflict(seen.sequence, seen.reads) !== null) return false;
    seen.sequence = this.#sequence;
    return true;
  }

  /**
   * Runs a mutation in a transaction that is committed at its end. If another commit changed what it had read, it runs
   * again, as with optimistic concurrency. Overlapping commits are those between the call and its turn, or, with
   * `contention`, those within the time that a transaction would have taken.
   */
  async mutate<T, R>(mutation: Mutation<T, R>): Promise<R> {
    const { contention } = this.options;
    this.conflicts.mutations += 1;
    for (let retries = 0; ; retries++) {
      const before = this.#sequence;
      if (contention !== null) await sleep(contention.durationMs(), mutation.work);
      const turn = this.#turns.acquire();
      const release = turn instanceof Promise ? await turn : turn;
      try {
        const tried = await this.#tried(mutation, before);
        if (tried !== null) return tried.result;
      } finally {
        release();
      }
      if (retries >= MAX_RETRIES && !mutation.isPatient) {
        this.conflicts.failures += 1;
        throw new Error(
          "OptimisticConcurrencyControlFailure: Documents read from or written to changed while this mutation " +
            "was being run and on every subsequent retry.",
        );
      }
      const backoff = Math.min(2_000, BACKOFF_MS * 2 ** retries) * (0.5 + this.#chance() / 2);
      await sleep(backoff, mutation.work);
    }
  }

  /** Null for a conflict, or while the write rate is exhausted; without contention the next run follows immediately, and nothing can overlap it. */
  async #tried<T, R>(
    { run, ran, finish, isPatient, name }: Mutation<T, R>,
    since: number,
  ): Promise<{ result: R } | null> {
    for (let before = since; ; before = this.#sequence) {
      const transaction = this.#begin();
      let outcome: Outcome<T>;
      try {
        outcome = { value: await run(transaction) };
      } catch (error) {
        outcome = { error };
      }
      ran?.(transaction);
      const conflict = this.#conflict(before, transaction.reads);
      if (conflict === null) {
        const result = finish(outcome, transaction);
        const { bytesWritten } = transaction.meter.used;
        // Without contention all that happens at one simulated moment would count as one second's.
        if (this.options.contention !== null && !this.#writeRate.takes(bytesWritten, outer.now())) {
          if (isPatient) return null;
          throw new Error("TooManyWritesInTimePeriod: Too many writes within a second (limit: 4 MiB)");
        }
        this.#commit(transaction);
        return { result };
      }
      this.#note(name, conflict);
      if (this.options.contention !== null) return null;
    }
  }

  /** Writes immediately, outside any function. */
  at<T>(work: (transaction: Transaction) => T): T {
    const transaction = new Transaction(this.options.databaseOf, false);
    const result = work(transaction);
    this.#commit(transaction);
    return result;
  }

  #begin(): Transaction {
    return new Transaction(this.options.databaseOf, this.options.limited);
  }

  #commit(transaction: Transaction): void {
    const now = BigInt(Math.floor(outer.now())) * 1_000_000n;
    this.#lastTime = now > this.#lastTime ? now : this.#lastTime + 1n;
    const changes = transaction.commit(this.#lastTime);
    if (changes.length === 0) return;
    this.#sequence += 1;
    this.#history.add(this.#sequence, changes);
    this.options.committed(changes);
    for (const change of changes) this.options.changed(change);
  }

  /** A change since `before` to what was read. */
  #conflict(before: number, reads: ReadSet): Change | null {
    return this.#sequence === before ? null : this.#history.changeSince(before, reads);
  }

  #note(name: string, { component, table }: Change): void {
    const by = `${name} over ${component === "" ? table : `${component}/${table}`}`;
    this.conflicts.retries += 1;
    this.conflicts.by.set(by, (this.conflicts.by.get(by) ?? 0) + 1);
  }
}

/** The work waits for time to pass. */
function sleep(ms: number, { timers }: Work): Promise<void> {
  const { promise, resolve } = deferred<void>();
  const timer = outer.setTimeout(() => {
    timers.delete(timer);
    resolve();
  }, ms);
  timers.add(timer);
  return promise;
}
