/** Limits of one query or mutation, with everything it calls. */

const MiB = 1024 * 1024;

const TRANSACTION_LIMITS = {
  bytesRead: 16 * MiB,
  bytesWritten: 16 * MiB,
  databaseQueries: 4_096,
  documentsRead: 32_000,
  documentsWritten: 16_000,
  functionsScheduled: 1_000,
  scheduledFunctionArgsBytes: 16 * MiB,
};

export type Measure = keyof typeof TRANSACTION_LIMITS;

const PROBLEMS: Record<Measure, string> = {
  bytesRead: "Read too much data in a single function execution",
  bytesWritten: "Wrote too much data in a single function execution",
  databaseQueries: "Too many index ranges read in a single function execution",
  documentsRead: "Scanned too many documents in a single function execution",
  documentsWritten: "Wrote too many documents in a single function execution",
  functionsScheduled: "Scheduled too many functions in a single function execution",
  scheduledFunctionArgsBytes: "Scheduled function arguments too large in a single function execution",
};

/** What the deployment may write. */
const WRITE_RATE = 4 * MiB;
const SECOND = 1_000;

/** Counts what is written within a second. */
export class WriteRate {
  #since = 0;
  #bytes = 0;

  /** @returns Whether there was room for so many more. One that begins a second is never too large for it. */
  takes(bytes: number, now: number): boolean {
    if (now - this.#since >= SECOND || now < this.#since) [this.#since, this.#bytes] = [now, 0];
    if (this.#bytes > 0 && this.#bytes + bytes > WRITE_RATE) return false;
    this.#bytes += bytes;
    return true;
  }
}

/** What a query or a mutation may compute, with everything it calls. */
const PROCESSOR_MS = 1_000;

/** The processor's time by a clock that its maker chooses: without one, no slow machine can fail anything. */
export class Processor {
  /** The longest of all runs. */
  longest = { name: "", ms: 0 };

  /** @param clock In ms. */
  constructor(readonly clock: (() => number) | null) {}

  /** Runs a transaction's function. The host's own work for its reads and writes counts, which the platform leaves out. */
  during<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.clock === null ? work() : this.#timed(this.clock, name, work);
  }

  async #timed<T>(clock: () => number, name: string, work: () => Promise<T>): Promise<T> {
    const start = clock();
    const value = await work();
    const ms = clock() - start;
    if (ms > this.longest.ms) this.longest = { name, ms };
    if (ms > PROCESSOR_MS)
      throw new Error(`Function execution timed out (maximum duration: ${PROCESSOR_MS / 1_000}s)`);
    return value;
  }
}

export class Meter {
  /** The bytes of system tables among these, which the platform does not bill. */
  readonly unbilled = { bytesRead: 0, bytesWritten: 0 };
  readonly used: Record<Measure, number> = {
    bytesRead: 0,
    bytesWritten: 0,
    databaseQueries: 0,
    documentsRead: 0,
    documentsWritten: 0,
    functionsScheduled: 0,
    scheduledFunctionArgsBytes: 0,
  };

  /** @throws Error in the platform's words, beyond a limit. */
  count(measure: Measure, amount = 1): void {
    this.used[measure] += amount;
    const limit = TRANSACTION_LIMITS[measure];
    if (this.used[measure] > limit) throw new Error(`${PROBLEMS[measure]} (limit: ${limit})`);
  }

  /** The form of `ctx.meta.getTransactionMetrics`. */
  metrics(): Record<string, { used: number; remaining: number }> {
    return Object.fromEntries(
      Object.entries(TRANSACTION_LIMITS).map(([measure, limit]) => {
        const used = Object.entries(this.used).find(([name]) => name === measure)?.[1] ?? 0;
        return [measure, { used, remaining: limit - used }];
      }),
    );
  }
}
