import type { Value } from "convex/values";
import type { Commits } from "./commits";
import type { Execution, FunctionPath } from "./execution";
import type { Row } from "./store/tables";
import type { Transaction } from "./store/transaction";
import { sizeOf, type Document } from "./store/values";

export const JOBS = "_scheduled_functions";

/** The row of a scheduled function, by its component and id. */
export type JobPlace = { component: string; id: string };

/** The rows of scheduled functions: pending ones, and their outcomes. */
export class Jobs {
  /** Addresses of jobs that were scheduled by a handle: their functions belong to another component. */
  readonly addresses = new Map<string, FunctionPath>();

  constructor(readonly commits: Commits) {}

  /** @param time Epoch ms. @returns The job's id. @throws Error for an unknown function. */
  schedule(execution: Execution, path: FunctionPath, args: Value, time: number): string {
    const { componentPath: component, core, transaction } = execution;
    if (!core.parts.modulesOf(path.componentPath).declares(path.udfPath))
      throw new Error(`Attempted to schedule function at nonexistent path: ${path.udfPath}`);
    const add = (within: Transaction) => {
      within.count("functionsScheduled");
      within.count("scheduledFunctionArgsBytes", sizeOf(args));
      const job = { args: [args], name: path.udfPath, scheduledTime: time, state: { kind: "pending" } };
      const { _id } = within.insert({ component, table: JOBS }, job, core.nowOf(execution)).document;
      if (path.componentPath !== component) this.addresses.set(_id, path);
      return _id;
    };
    core.options.onWrite();
    return transaction === null ? this.commits.at(add) : add(transaction);
  }

  cancel({ componentPath: component, core, transaction }: Execution, id: string): void {
    const place = { component, table: JOBS };
    const mark = (within: Transaction) => {
      const job = within.get(place, id)?.document;
      if (job === undefined) throw new Error(`There is no scheduled function ${id}`);
      if (isOver(job)) return;
      within.put(place, { ...job, state: { kind: "canceled" } });
    };
    core.options.onWrite();
    if (transaction === null) this.commits.at(mark);
    else mark(transaction);
  }

  /** Ends a scheduled mutation in its own transaction. @param time Epoch ms. */
  complete(transaction: Transaction, { component, id }: JobPlace, time: number): void {
    const place = { component, table: JOBS };
    const job = transaction.get(place, id)?.document;
    if (job !== undefined)
      transaction.put(place, { ...job, state: { kind: "success" }, completedTime: time });
  }

  /** The function of a pending job, and its time; null for any other row. */
  due(component: string, row: Row | null): { path: FunctionPath; id: string; time: number } | null {
    if (row === null || kindOf(row.document) !== "pending") return null;
    const { _id: id, scheduledTime } = row.document;
    const path = this.addresses.get(id) ?? { componentPath: component, udfPath: functionOf(row.document) };
    return { id, path, time: Number(scheduledTime) };
  }
}

/** The function of a job, by its name where it was scheduled. */
export function functionOf({ name }: Document): string {
  return typeof name === "string" ? name : "";
}

export function kindOf(job: Document): string {
  const { state } = job;
  const kind: unknown = typeof state === "object" && state !== null ? Reflect.get(state, "kind") : undefined;
  return String(kind);
}

/** Whether a job is neither waiting nor running. */
export const isOver = (job: Document): boolean => !["pending", "inProgress"].includes(kindOf(job));

export function argsOf(job: Document): Value {
  return Array.isArray(job.args) ? (job.args[0] ?? {}) : {};
}
