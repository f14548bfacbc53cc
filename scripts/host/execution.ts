import { AsyncLocalStorage } from "node:async_hooks";
import type { UserIdentity } from "convex/server";
import type { Core } from "./core";
import type { Lock } from "./locks";
import type { Transaction } from "./store/transaction";

/** The caller, as far as the host knows. */
export type Caller = { ip?: string | null; userAgent?: string | null; identity?: UserIdentity | null };

export type FunctionKind = "query" | "mutation" | "action";

/** A function's place: the component's path (`""` is the application) and `module/path:name`. */
export type FunctionPath = { componentPath: string; udfPath: string };

/**
 * A piece of work from start to end, with the timers it waits for, so that the host knows when everything rests.
 * `isGone`: its client has hung up, so that none of its later requests is answered, and its `finally` blocks do not get
 * far.
 */
export type Work = { name: string; timers: Set<unknown>; isGone?: true };

/** The request of the outermost function, shared by nested ones. */
export type RequestInfo = {
  ip: string | null;
  userAgent: string | null;
  requestId: string;
  scheduledFunctionId: string | null;
  authToken: string | null;
};

/** One run of one function. */
export type Execution = FunctionPath & {
  core: Core;
  kind: FunctionKind | "http";
  /** Of a query or mutation. */
  transaction: Transaction | null;
  /** Functions that it calls in its transaction run one at a time. */
  nested: Lock;
  identity: UserIdentity | null;
  request: RequestInfo;
  work: Work;
  /**
   * Frozen clock and seeded random numbers of a query or mutation. `isTimeless`: it is part of a query's answer, which
   * is cached while what it has read stays the same.
   */
  frozen: { now: number; random: () => number; isTimeless: boolean } | null;
  pages: number;
  /** An action past its time limit: its further effects do not count. */
  cutOff: boolean;
};

export const executions = new AsyncLocalStorage<Execution | undefined>();

/** Runs `work` outside any function. Not with `exit`, which turns the tracking of promises off and on for the whole process. */
export function outside<T>(work: () => T): T {
  return executions.run(undefined, work);
}

/** The error of everything after the host has stopped. */
export const HALTED = "The host was stopped";

export function currentExecution(): Execution {
  const execution = executions.getStore();
  if (execution === undefined) throw new Error("This works inside a running function only");
  if (execution.core.isHalted) throw new Error(HALTED);
  if (execution.cutOff) throw new Error("The function was cut off at its time limit");
  return execution;
}

/** Whether an action's client has gone, so that nobody needs the request. A transaction that has begun runs to its end. */
export function isForNobody({ work, transaction }: Execution): boolean {
  return work.isGone === true && transaction === null;
}

/** Nobody waits for it any more. */
export const never = (): Promise<never> => new Promise(() => undefined);

export function inTransaction(execution: Execution): Transaction {
  if (execution.transaction === null) throw new Error("An action has no database");
  return execution.transaction;
}
