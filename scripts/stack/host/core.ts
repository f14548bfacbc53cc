import type { UserIdentity } from "convex/server";
import type { Value } from "convex/values";
import { outside, type Caller, type Execution, type FunctionKind, type FunctionPath } from "./execution";
import type { RequestInfo, Work } from "./execution";
import { ModuleSet, type Modules, type Registered } from "./functions";
import { installGlobals, outer, seededRandom } from "./globals";
import { invoke, outcomeOf } from "./invocation";
import { deferred, Lock, Permits } from "./locks";
import { functionOf, JOBS, kindOf, Scheduler } from "./scheduler";
import { Database, Table, type Row } from "./tables";
import { Transaction, type Change, type ReadSet } from "./transaction";
import { note } from "./usage";
import { checkOf, type Check } from "./validators";
import { passed, type Fields } from "./values";

/** The application (path `""`) or a component, with all that a deployment would have been pushed of it. */
export type Part = {
  path: string;
  tables: { name: string; indexes: { name: string; fields: readonly string[] }[]; documentType: unknown }[];
  modules: Modules;
};

/** What the platform's smallest class runs at once. */
const CLASSES = {
  S16: { actions: 64, scheduled: 8 },
  S256: { actions: 256, scheduled: 128 },
};
export type PlatformClass = keyof typeof CLASSES;

export type CoreOptions = {
  limited: boolean;
  platformClass: PlatformClass;
  seed: number;
  /** Called behind every write of a function, in its context. */
  onWrite: () => void;
  /** Lets transactions take time and conflict as they would; without it, only what really overlaps does. */
  contention: Contention | null;
};

export type Contention = {
  /** How long a mutation takes from its first reading to its commit, in ms of the host's clock. */
  durationMs: () => number;
};

/** How often a mutation is run again for conflicts before its caller is told. */
const MAX_RETRIES = 4;
const BACKOFF_MS = 100;
/** How long a call waits for a permit; an action may run. */
const PATIENCE_MS = 10_000;
const ACTION_LIMIT_MS = 600_000;
const KEPT_COMMITS = 4_096;

/** Whose work a function's run is part of. */
export type Run = {
  identity: UserIdentity | null;
  request: RequestInfo;
  work: Work;
  /** The scheduled function's row that this mutation ends. */
  finishes?: { component: string; id: string };
};

type Commit = { sequence: number; changes: Change[] };

/** The databases, functions and running work of one application with its components. */
export class Core {
  readonly scheduler: Scheduler;
  readonly #parts = new Map<string, { database: Database; modules: ModuleSet; checks: Map<string, Check> }>();
  readonly #transactions = new Lock();
  readonly #permits: Permits;
  /** Seeded, as all that a run of transactions depends on. */
  readonly #chance: () => number;
  readonly works = new Set<Work>();
  /** Whether it was stopped: what still runs reaches neither the outside nor another function. */
  isHalted = false;
  /** What became of transactions: for benches. `by` names the table whose changes were conflicts. */
  readonly conflicts = { mutations: 0, retries: 0, failures: 0, by: new Map<string, number>() };
  #commits: Commit[] = [];
  #sequence = 0;
  #lastTime = 0n;
  #runs = 0;
  #requests = 0;
  #writes = 0;
  /** Of jobs that were scheduled by a handle: their functions are another component's. */
  readonly addresses = new Map<string, FunctionPath>();

  constructor(readonly options: CoreOptions) {
    const { actions, scheduled } = CLASSES[options.platformClass];
    this.#chance = seededRandom(options.seed);
    this.scheduler = new Scheduler(this, scheduled);
    this.#permits = new Permits(
      actions,
      { patience: PATIENCE_MS, set: outer.setTimeout, clear: outer.clearTimeout },
      "Too many concurrent requests: the deployment's actions are all in use",
    );
  }

  get platformClass(): string {
    return this.options.platformClass.toLowerCase();
  }

  get writeCount(): number {
    return this.#writes;
  }

  get parts(): string[] {
    return [...this.#parts.keys()];
  }

  add({ path, tables, modules }: Part): void {
    const database = new Database();
    const checks = new Map<string, Check>();
    for (const { name, indexes, documentType } of tables) {
      database.tables.set(name, new Table(indexes));
      checks.set(name, checkOf(documentType));
    }
    this.#parts.set(path, { database, modules: new ModuleSet(modules), checks });
  }

  #part(component: string) {
    const part = this.#parts.get(component);
    if (part === undefined) throw new Error(`There is no component "${component}"`);
    return part;
  }

  readonly databaseOf = (component: string): Database => this.#part(component).database;

  modulesOf(component: string): ModuleSet {
    return this.#part(component).modules;
  }

  find({ componentPath, udfPath }: FunctionPath): Promise<Registered | null> {
    return this.modulesOf(componentPath).find(udfPath);
  }

  async resolve(path: FunctionPath, kind: FunctionKind): Promise<Registered> {
    const found = await this.find(path);
    if (found === null) throw new Error(`There is no function ${path.udfPath} in "${path.componentPath}"`);
    if (found.kind !== kind) throw new Error(`${path.udfPath} is a ${found.kind}, not a ${kind}`);
    return found;
  }

  /** @throws Error for fields that the table's schema does not allow. */
  check(component: string, table: string, fields: Fields): void {
    const problem = this.#part(component).checks.get(table)?.(fields) ?? null;
    if (problem !== null) throw new Error(`${problem} (table "${table}")`);
  }

  requestOf({ ip = null, userAgent = null }: Caller, job: string | null = null): RequestInfo {
    const requestId = `local-${(this.#requests++).toString(16).padStart(8, "0")}`;
    return { ip, userAgent, requestId, scheduledFunctionId: job, authToken: null };
  }

  execution(
    path: FunctionPath,
    kind: Execution["kind"],
    run: Run,
    transaction: Transaction | null,
  ): Execution {
    installGlobals();
    this.#runs += 1;
    return {
      ...path,
      core: this,
      kind,
      transaction,
      nested: new Lock(),
      identity: run.identity,
      request: run.request,
      work: run.work,
      frozen:
        transaction === null
          ? null
          : { now: outer.now(), random: seededRandom(this.options.seed + this.#runs), date: null },
      pages: 0,
      cutOff: false,
    };
  }

  nowOf(execution: Execution): number {
    return execution.frozen?.now ?? outer.now();
  }

  /** Told of every write of a function. */
  written(table: string): void {
    this.#writes += 1;
    // What is measured is what the work changed, not the count that the service keeps of its providers' answers.
    if (table !== "providerCalls") note({ written: 1 });
    this.options.onWrite();
  }

  /** Runs a query from outside a transaction: without a lock, and again where something it read changed meanwhile. */
  async query(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const found = await this.resolve(path, "query");
    assertFits(found.checkArgs(args), path);
    for (let tries = 0; ; tries++) {
      const before = this.#sequence;
      const release = tries > 2 ? await this.#transactions.acquire() : null;
      const transaction = new Transaction(this.databaseOf, this.options.limited);
      try {
        const outcome = await outcomeOf(() =>
          invoke(this.execution(path, "query", run, transaction), found.handler, args),
        );
        if (release === null && this.#conflict(before, transaction.reads) !== null) continue;
        return returned(outcome, found, path);
      } finally {
        release?.();
      }
    }
  }

  async mutation(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const found = await this.resolve(path, "mutation");
    assertFits(found.checkArgs(args), path);
    return this.transact(
      (transaction) => invoke(this.execution(path, "mutation", run, transaction), found.handler, args),
      (outcome) => returned(outcome, found, path),
      run,
    );
  }

  /**
   * Runs `work` in a transaction that is committed at its end. Where another commit changed what it had read, it is run
   * again, as optimistic concurrency does: what overlaps is what was committed between the call and its turn, or, with
   * `contention`, within the time a transaction would have taken.
   */
  async transact<T, R>(
    work: (transaction: Transaction) => Promise<T>,
    finish: (outcome: { value: T } | { error: unknown }) => R,
    run?: Run,
  ): Promise<R> {
    const { contention } = this.options;
    this.conflicts.mutations += 1;
    for (let retries = 0; ; retries++) {
      let before = this.#sequence;
      if (contention !== null) await this.#sleep(contention.durationMs(), run);
      const release = await this.#transactions.acquire();
      try {
        for (;;) {
          const transaction = new Transaction(this.databaseOf, this.options.limited);
          const outcome = await outcomeOf(() => work(transaction));
          const conflict = this.#conflict(before, transaction.reads);
          if (conflict === null) {
            const result = finish(outcome);
            if (run?.finishes !== undefined) this.#end(transaction, run.finishes);
            this.#commit(transaction);
            return result;
          }
          this.#noteConflict(conflict);
          if (contention !== null) break;
          before = this.#sequence;
        }
      } finally {
        release();
      }
      // A scheduled mutation is run until it commits.
      if (retries >= MAX_RETRIES && run?.finishes === undefined) {
        this.conflicts.failures += 1;
        throw new Error(
          "OptimisticConcurrencyControlFailure: Documents read from or written to changed while this mutation " +
            "was being run and on every subsequent retry.",
        );
      }
      await this.#sleep(Math.min(2_000, BACKOFF_MS * 2 ** retries) * (0.5 + this.#chance() / 2), run);
    }
  }

  /** The work waits for time to pass. */
  #sleep(ms: number, run: Run | undefined): Promise<void> {
    const { promise, resolve } = deferred<void>();
    const timer = outer.setTimeout(() => {
      run?.work.timers.delete(timer);
      resolve();
    }, ms);
    run?.work.timers.add(timer);
    return promise;
  }

  /** Writes at once, outside any function. */
  at<T>(work: (transaction: Transaction) => T): T {
    const transaction = new Transaction(this.databaseOf, false);
    const result = work(transaction);
    this.#writes += 1;
    this.#commit(transaction);
    return result;
  }

  async action(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const found = await this.resolve(path, "action");
    assertFits(found.checkArgs(args), path);
    const outcome = await this.permitted(run.work, () =>
      this.limitedInTime(path, "action", run, found.handler, args),
    );
    return returned(outcome, found, path);
  }

  /** Each action and HTTP action holds one of the deployment's permits, also while it waits for another. */
  async permitted<T>({ timers }: Work, work: () => Promise<T>): Promise<T> {
    const waiting = {};
    timers.add(waiting);
    return this.#permits.during(() => {
      timers.delete(waiting);
      return work();
    });
  }

  /** Runs an action, which is cut off at the platform's limit. */
  async limitedInTime<T>(
    path: FunctionPath,
    kind: "action" | "http",
    run: Run,
    handler: (ctx: object, args: unknown) => T | Promise<T>,
    args: unknown,
  ): Promise<{ value: T } | { error: unknown }> {
    const execution = this.execution(path, kind, run, null);
    const { promise: cut, reject } = deferred<never>();
    const timer = outer.setTimeout(() => {
      execution.cutOff = true;
      reject(
        new Error(`${path.udfPath} was cut off: an action may run for ${ACTION_LIMIT_MS / 60_000} minutes`),
      );
    }, ACTION_LIMIT_MS);
    try {
      return await outcomeOf(() => Promise.race([invoke(execution, handler, args), cut]));
    } finally {
      outer.clearTimeout(timer);
    }
  }

  schedule(execution: Execution, path: FunctionPath, args: Value, time: number): string {
    const add = (transaction: Transaction) => {
      const place = { component: execution.componentPath, table: JOBS };
      transaction.count("functionsScheduled");
      const job = { args: [args], name: path.udfPath, scheduledTime: time, state: { kind: "pending" } };
      const { _id } = transaction.insert(place, job, this.nowOf(execution)).document;
      if (path.componentPath !== execution.componentPath) this.addresses.set(_id, path);
      return _id;
    };
    this.written(JOBS);
    return execution.transaction === null ? this.at(add) : add(execution.transaction);
  }

  cancel(execution: Execution, id: string): void {
    const place = { component: execution.componentPath, table: JOBS };
    const mark = (transaction: Transaction) => {
      const job = transaction.get(place, id)?.document;
      if (job === undefined) throw new Error(`There is no scheduled function ${id}`);
      if (!["pending", "inProgress"].includes(kindOf(job))) return;
      transaction.put(place, { ...job, state: { kind: "canceled" } });
    };
    this.written(JOBS);
    if (execution.transaction === null) this.at(mark);
    else mark(execution.transaction);
  }

  #end(transaction: Transaction, { component, id }: { component: string; id: string }): void {
    const place = { component, table: JOBS };
    const job = transaction.get(place, id)?.document;
    if (job !== undefined)
      transaction.put(place, { ...job, state: { kind: "success" }, completedTime: outer.now() });
  }

  #commit(transaction: Transaction): void {
    const now = BigInt(Math.floor(outer.now())) * 1_000_000n;
    this.#lastTime = now > this.#lastTime ? now : this.#lastTime + 1n;
    const changes = transaction.commit(this.#lastTime);
    if (changes.length > 0) {
      this.#sequence += 1;
      this.#commits.push({ sequence: this.#sequence, changes });
      if (this.#commits.length > 2 * KEPT_COMMITS) this.#commits = this.#commits.slice(-KEPT_COMMITS);
    }
    for (const change of changes) if (change.table === JOBS) this.armJob(change.component, change.after);
  }

  /** Has a pending job run when it is due. */
  armJob(component: string, row: Row | null): void {
    if (row === null || kindOf(row.document) !== "pending") return;
    const { _id: id, scheduledTime } = row.document;
    const path = this.addresses.get(id) ?? { componentPath: component, udfPath: functionOf(row.document) };
    this.scheduler.arm({ id, component, path }, Number(scheduledTime));
  }

  /** The first change since `before` in what was read. */
  #conflict(before: number, reads: ReadSet): Change | null {
    if (this.#sequence === before) return null;
    for (let i = this.#commits.length - 1; i >= 0; i--) {
      const commit = this.#commits[i];
      if (commit === undefined || commit.sequence <= before) return null;
      const change = commit.changes.find((one) => reads.touches(one));
      if (change !== undefined) return change;
    }
    return null;
  }

  #noteConflict({ component, table }: Change): void {
    const name = component === "" ? table : `${component}/${table}`;
    this.conflicts.retries += 1;
    this.conflicts.by.set(name, (this.conflicts.by.get(name) ?? 0) + 1);
  }

  /** Runs `work` as one piece of work from outside. */
  async asWork<T>(name: string, run: (work: Work) => Promise<T>): Promise<T> {
    const work: Work = { name, timers: new Set() };
    this.works.add(work);
    try {
      return await outside(() => run(work));
    } finally {
      this.works.delete(work);
    }
  }
}

export function assertFits(problem: string | null, { udfPath }: FunctionPath): void {
  if (problem !== null) throw new Error(`Invalid arguments for "${udfPath}": ${problem}`);
}

/** What a function returned, as its callers get it. @throws what it threw, or an Error where the value does not fit. */
export function returned(
  outcome: { value: unknown } | { error: unknown },
  { checkReturns }: Registered,
  { udfPath }: FunctionPath,
): Value {
  if ("error" in outcome) throw outcome.error;
  const value = outcome.value === undefined ? null : passed(outcome.value);
  const problem = checkReturns(value);
  if (problem !== null) throw new Error(`Return value of "${udfPath}": ${problem}`);
  return value;
}
