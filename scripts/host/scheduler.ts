import type { Value } from "convex/values";
import type { Core } from "./core";
import { outside, type FunctionPath, type Work } from "./execution";
import { outer } from "./globals";
import { argsOf, isOver, JOBS, kindOf } from "./jobs";
import type { Document } from "./store/values";
import { unmeasured } from "./billing/usage";

/** Node's longest timer: a longer one would fire immediately. */
const LONGEST_DELAY = 2 ** 31 - 1;

type Due = { id: string; component: string; path: FunctionPath };

/** Runs scheduled functions when they are due, as many at a time as the platform does. */
export class Scheduler {
  readonly #waiting: Due[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #armed = new Set<ReturnType<typeof outer.setTimeout>>();

  constructor(
    readonly core: Core,
    /** How many run at the same time. */
    readonly slots: number,
  ) {}

  /** Schedules a committed job for its time, by its scheduler's clock. */
  arm(due: Due, time: number): void {
    const wait = Math.max(0, time - outer.now());
    const timer = outside(() =>
      unmeasured(() =>
        outer.setTimeout(
          () => {
            this.#armed.delete(timer);
            if (wait > LONGEST_DELAY) return this.arm(due, time);
            this.#waiting.push(due);
            this.#fill();
          },
          Math.min(wait, LONGEST_DELAY),
        ),
      ),
    );
    this.#armed.add(timer);
  }

  /** Starts no further jobs: a timer that is left would fire in whatever time comes next. */
  disarm(): void {
    for (const timer of this.#armed) outer.clearTimeout(timer);
    this.#armed.clear();
  }

  /** Resolves when none is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #fill(): void {
    while (this.#running.size < this.slots && !this.core.isHalted) {
      const due = this.#waiting.shift();
      if (due === undefined) return;
      const run = this.core
        .asWork(due.path.udfPath, (work) => this.#run(due, work))
        .catch((error: unknown) => {
          if (!this.core.isHalted) console.error(`The job ${due.path.udfPath} could not be run`, error);
        })
        .finally(() => {
          this.#running.delete(run);
          this.#fill();
        });
      this.#running.add(run);
    }
  }

  async #run({ id, component, path }: Due, work: Work): Promise<void> {
    const job = this.#document(component, id);
    if (job === null || kindOf(job) !== "pending") return;
    const args = argsOf(job);
    const found = await this.core.parts.find(path);
    const request = this.core.requestOf({}, id);
    try {
      if (found?.kind === "mutation") {
        // Its end is part of its transaction: it runs exactly once.
        await this.core.mutation(path, args, { request, work, identity: null, finishes: { component, id } });
        return;
      }
      this.#set(component, id, { kind: "inProgress" });
      await this.core.action(path, args, { request, work, identity: null });
      this.#finish(component, id, { kind: "success" });
    } catch (error) {
      if (this.core.isHalted) return;
      console.error(`Error when running scheduled function ${path.udfPath}`, error);
      const message = error instanceof Error ? error.message : String(error);
      this.#finish(component, id, { kind: "failed", error: message.slice(0, 1_000).toWellFormed() });
    }
  }

  #document(component: string, id: string): Document | null {
    return this.core.parts.databaseOf(component).table(JOBS).rows.get(id)?.document ?? null;
  }

  #finish(component: string, id: string, state: Record<string, Value>): void {
    const job = this.#document(component, id);
    // A job that was cancelled while it ran stays cancelled.
    if (job === null || isOver(job)) return;
    this.#set(component, id, state, { completedTime: outer.now() });
  }

  #set(
    component: string,
    id: string,
    state: Record<string, Value>,
    rest: { completedTime?: number } = {},
  ): void {
    const job = this.#document(component, id);
    if (job === null) return;
    this.core.commits.at((transaction) =>
      transaction.put({ component, table: JOBS }, { ...job, ...rest, state }),
    );
  }
}
