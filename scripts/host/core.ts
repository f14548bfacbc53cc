import type { UserIdentity } from "convex/server";
import type { Value } from "convex/values";
import { Answers } from "./answers";
import { Billing } from "./billing/bill";
import { Commits, type Attempt, type Contention, type Outcome } from "./commits";
import { outside, type Caller, type Execution, type FunctionKind, type FunctionPath } from "./execution";
import type { RequestInfo, Work } from "./execution";
import { assertFits, returned, type Registered } from "./functions";
import { installGlobals, outer, seededRandom } from "./globals";
import { invoke } from "./invocation";
import { Jobs, JOBS, type JobPlace } from "./jobs";
import { Processor } from "./store/limits";
import { deferred, Lock, type Permits } from "./locks";
import { Parts } from "./parts";
import { CLASSES, permitsOf, type PlatformClass } from "./places";
import { Scheduler } from "./scheduler";
import type { Row } from "./store/tables";
import type { Change, Transaction } from "./store/transaction";
import { isMeasured, note } from "./billing/usage";

export type CoreOptions = {
  limited: boolean;
  platformClass: PlatformClass;
  /** The seed of the random numbers of queries and mutations. */
  seed: number;
  /** Whether a query of the application that reads the clock fails. */
  strictClock: boolean;
  /** Called after every write of a function, in its context. */
  onWrite: () => void;
  /** Without it, only real overlaps conflict. */
  contention: Contention | null;
  /** The clock of the processor's time, in ms; without it, a transaction may compute as long as it likes. */
  processorMs: (() => number) | null;
};

/** Keeps commits. */
type Durability = {
  committed: (changes: readonly Change[]) => void;
  /** Resolves when all commits so far are stored. @throws Error if they cannot be stored. */
  synced: () => Promise<void>;
};

/** How long an action may run. */
const ACTION_LIMIT_MS = 1_800_000;

/** The work that a function's run is part of. */
export type Run = {
  identity: UserIdentity | null;
  request: RequestInfo;
  work: Work;
  /** The scheduled function that this mutation is. */
  finishes?: JobPlace;
};

/** The functions and running work of one application with its components, over their databases. */
export class Core {
  readonly commits: Commits;
  readonly billing = new Billing();
  readonly processor: Processor;
  readonly jobs: Jobs;
  readonly scheduler: Scheduler;
  readonly works = new Set<Work>();
  /** Whether it was stopped: running work then reaches neither the outside nor another function. */
  isHalted = false;
  /** Where commits are stored before anything leaves the host; `null` if nothing waits for that. */
  durability: Durability | null = null;
  readonly parts = new Parts();
  readonly #answers: Answers;
  readonly #permits: Readonly<Record<FunctionKind, Permits>>;
  #runs = 0;
  #requests = 0;

  constructor(readonly options: CoreOptions) {
    const { limited, contention, seed, platformClass } = options;
    this.commits = new Commits({
      databaseOf: this.parts.databaseOf,
      limited,
      contention,
      seed,
      committed: (changes) => this.durability?.committed(changes),
      changed: ({ component, table, after }) => {
        // Only the work's own changes are measured, without the service's counts of provider calls.
        if (table !== "providerCalls") note({ written: 1 });
        if (table === JOBS) this.armJob(component, after);
      },
    });
    this.jobs = new Jobs(this.commits);
    this.scheduler = new Scheduler(this, CLASSES[platformClass].scheduled);
    this.processor = new Processor(options.processorMs);
    this.#answers = new Answers(this.commits);
    this.#permits = permitsOf(platformClass);
  }

  get platformClass(): string {
    return this.options.platformClass.toLowerCase();
  }

  requestOf({ ip = null, userAgent = null }: Caller, job: string | null = null): RequestInfo {
    const requestId = `local-${(this.#requests++).toString(16).padStart(8, "0")}`;
    return { ip, userAgent, requestId, scheduledFunctionId: job, authToken: null };
  }

  execution(
    { componentPath, udfPath }: FunctionPath,
    kind: Execution["kind"],
    { identity, request, work }: Run,
    transaction: Transaction | null,
  ): Execution {
    this.#runs += 1;
    const frozen =
      transaction === null
        ? null
        : {
            now: outer.now(),
            random: seededRandom(this.options.seed + this.#runs),
            isTimeless: kind === "query",
          };
    const run = { identity, request, work, frozen, pages: 0, cutOff: false };
    return { componentPath, udfPath, core: this, kind, transaction, nested: new Lock(), ...run };
  }

  nowOf(execution: Execution): number {
    return execution.frozen?.now ?? outer.now();
  }

  /** Runs a query from outside a transaction. */
  async query(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const resolved = this.parts.resolve(path, "query");
    const found = resolved instanceof Promise ? await resolved : resolved;
    assertFits(found.checkArgs(args), path);
    const key = this.#answers.keyOf(path, args, run.identity);
    const kept = this.isHalted || isMeasured() ? null : this.#answers.find(key);
    if (kept !== null) {
      this.billing.call(path.udfPath, 0);
      return returned(kept, found, path);
    }
    const { outcome, seen } = await this.transacted("query", run.work, () =>
      this.commits.read(this.#attempt("query", path, found, args, run)),
    );
    const value = returned(outcome, found, path);
    if ("value" in outcome) this.#answers.keep(key, { value: outcome.value, seen });
    return value;
  }

  /** Each run of a call is billed, and computes no longer than it may. */
  #attempt(
    kind: "query" | "mutation",
    path: FunctionPath,
    { handler }: Registered,
    args: Value,
    run: Run,
  ): Attempt<unknown> {
    return {
      run: (transaction) =>
        this.processor.during(path.udfPath, () =>
          invoke(this.execution(path, kind, run, transaction), handler, args),
        ),
      ran: this.billing.of(path),
    };
  }

  async mutation(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const resolved = this.parts.resolve(path, "mutation");
    const found = resolved instanceof Promise ? await resolved : resolved;
    assertFits(found.checkArgs(args), path);
    const { finishes, work } = run;
    return this.transacted("mutation", work, () =>
      this.commits.mutate({
        ...this.#attempt("mutation", path, found, args, run),
        finish: (outcome, transaction) => {
          const value = returned(outcome, found, path);
          if (finishes !== undefined) this.jobs.complete(transaction, finishes, outer.now());
          return value;
        },
        isPatient: finishes !== undefined,
        work,
        name: path.udfPath,
      }),
    );
  }

  async action(path: FunctionPath, args: Value, run: Run): Promise<Value> {
    const resolved = this.parts.resolve(path, "action");
    const found = resolved instanceof Promise ? await resolved : resolved;
    assertFits(found.checkArgs(args), path);
    const outcome = await this.permitted("action", run.work, () =>
      this.limitedInTime(path, "action", run, found.handler, args),
    );
    return returned(outcome, found, path);
  }

  /** Without contention transactions take neither time nor places. */
  transacted<T>(kind: "query" | "mutation", work: Work, run: () => Promise<T>): Promise<T> {
    return this.options.contention === null ? run() : this.permitted(kind, work, run);
  }

  /**
   * Each call from outside a transaction holds one of the deployment's permits of its kind; actions and HTTP actions
   * hold theirs even while they wait for another.
   */
  permitted<T>(kind: FunctionKind, { timers }: Work, work: () => Promise<T>): Promise<T> {
    const waiting = {};
    timers.add(waiting);
    return this.#permits[kind].during(() => {
      timers.delete(waiting);
      return work();
    });
  }

  /**
   * Runs an action, which is stopped at the platform's limit.
   * @param client Aborted when the caller has hung up: then the action stops where it is.
   */
  async limitedInTime<T>(
    path: FunctionPath,
    kind: "action" | "http",
    run: Run,
    handler: (ctx: object, args: unknown) => T | Promise<T>,
    args: unknown,
    client: AbortSignal | null = null,
  ): Promise<Outcome<T>> {
    const execution = this.execution(path, kind, run, null);
    const { promise: cut, reject } = deferred<never>();
    const startedAt = outer.now();
    const timer = outer.setTimeout(() => {
      execution.cutOff = true;
      reject(
        new Error(`${path.udfPath} was cut off: an action may run for ${ACTION_LIMIT_MS / 60_000} minutes`),
      );
    }, ACTION_LIMIT_MS);
    const hangUp = () => {
      run.work.isGone = true;
      reject(new Error(`${path.udfPath} was given up: its client has hung up`));
    };
    if (client?.aborted === true) hangUp();
    client?.addEventListener("abort", hangUp, { once: true });
    try {
      return { value: await Promise.race([invoke(execution, handler, args), cut]) };
    } catch (error) {
      return { error };
    } finally {
      outer.clearTimeout(timer);
      client?.removeEventListener("abort", hangUp);
      this.billing.call(path.udfPath, outer.now() - startedAt);
    }
  }

  /** Ends it for good. */
  halt(): void {
    this.isHalted = true;
    this.scheduler.disarm();
  }

  /** Schedules a pending job for its due time. */
  armJob(component: string, row: Row | null): void {
    if (this.isHalted) return;
    const due = this.jobs.due(component, row);
    if (due !== null) this.scheduler.arm({ id: due.id, component, path: due.path }, due.time);
  }

  /** Runs `work` as one piece of work from outside. */
  async asWork<T>(name: string, run: (work: Work) => Promise<T>): Promise<T> {
    installGlobals();
    const work: Work = { name, timers: new Set() };
    this.works.add(work);
    try {
      return await outside(() => run(work));
    } finally {
      this.works.delete(work);
    }
  }
}
