import {
  actionGeneric,
  httpActionGeneric,
  mutationGeneric,
  queryGeneric,
  type FunctionReference,
} from "convex/server";
import { ConvexError, type Value } from "convex/values";
import { assertFits, returned, type Run } from "./core";
import { databaseOf } from "./database";
import {
  currentExecution,
  executions,
  type Execution,
  type FunctionKind,
  type FunctionPath,
} from "./execution";
import { pathOfReference } from "./functions";
import { asyncSyscall, syscall } from "./syscalls";
import { note } from "./usage";
import { passed } from "./values";

/**
 * Runs handlers with the context that the convex package itself makes, which reaches this host by its system calls. Only
 * the database and calls of other functions go directly, without a way through JSON.
 */

type Outcome<T> = { value: T } | { error: unknown };
type Options = { useStaleSnapshot?: boolean };
type Call = (reference: FunctionReference<FunctionKind>, args?: object, options?: Options) => Promise<Value>;

export async function outcomeOf<T>(work: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error };
  }
}

/** A context as the convex package makes it for a kind of function; it holds nothing of one run. */
const contexts: Record<Execution["kind"], object> = {
  query: contextOf((body) => queryGeneric({ handler: body }), "invokeQuery", "[]"),
  mutation: contextOf((body) => mutationGeneric({ handler: body }), "invokeMutation", "[]"),
  action: contextOf((body) => actionGeneric({ handler: body }), "invokeAction", "", "[]"),
  http: contextOf((body) => httpActionGeneric(body), "invokeHttpAction", null),
};

/** Has the package call a function of its own making, as the platform does, and takes what that is given. */
function contextOf(make: (body: (ctx: object) => never) => object, name: string, ...args: unknown[]): object {
  const made: object[] = [];
  const registered = make((ctx) => {
    made.push(ctx);
    throw new Error("Only its context is wanted");
  });
  const method: unknown = Reflect.get(registered, name);
  if (!isMethod(method)) throw new Error(`This version of convex has no ${name}`);
  method(...args).catch(() => undefined);
  const [context] = made;
  if (context === undefined) throw new Error(`This version of convex makes its contexts later than ${name}`);
  const { db }: { db?: unknown } = context;
  return typeof db === "object" && db !== null ? { ...context, db: databaseOf(db) } : context;
}

function isMethod(value: unknown): value is (...args: unknown[]) => Promise<unknown> {
  return typeof value === "function";
}

/** What the package calls behind its contexts. */
const Convex = { syscall, asyncSyscall };

/** @returns What the handler returned, as it is. @throws what it threw, as it is. */
export async function invoke<T>(
  execution: Execution,
  handler: (ctx: object, args: unknown) => T | Promise<T>,
  args: unknown,
): Promise<T> {
  Object.assign(globalThis, { Convex });
  if (execution.componentPath === "") note({ modules: [execution.udfPath.replace(/(?:\.[jt]s)?:.*$/, "")] });
  const ctx = { ...contexts[execution.kind], ...callsOf(execution) };
  return executions.run(execution, () => handler(ctx, args));
}

function callsOf(execution: Execution): Record<string, Call> {
  const { core } = execution;
  if (execution.transaction === null) {
    const call =
      (kind: FunctionKind): Call =>
      async (reference, args) => {
        currentExecution();
        const path = pathOfReference(reference, execution.componentPath);
        const outcome = await outcomeOf(() => core[kind](path, passed(args ?? {}), runOf(execution, path)));
        return acrossBoundary(outcome);
      };
    return { runQuery: call("query"), runMutation: call("mutation"), runAction: call("action") };
  }
  const run = nestedCall(execution);
  const nested =
    (kind: "query" | "mutation"): Call =>
    async (reference, args, options) => {
      const path = pathOfReference(reference, execution.componentPath);
      const stale = kind === "query" && options?.useStaleSnapshot === true;
      return run(kind, path, passed(args ?? {}), stale);
    };
  return { runQuery: nested("query"), runMutation: nested("mutation") };
}

/** Auth does not reach into components, nor out of them. */
function runOf({ identity, request, work, componentPath }: Execution, to: { componentPath: string }): Run {
  return { identity: to.componentPath === componentPath ? identity : null, request, work };
}

/** Calls of functions that run in their caller's transaction. */
function nestedCall(execution: Execution) {
  const { core, transaction, frozen } = execution;
  /** @param stale Shows it only what is committed. */
  return async (kind: "query" | "mutation", path: FunctionPath, args: Value, stale: boolean) => {
    if (transaction === null) throw new Error("Only transactions nest");
    const found = await core.resolve(path, kind);
    assertFits(found.checkArgs(args), path);
    const inner = (): Promise<Value> => {
      const child = { ...core.execution(path, kind, runOf(execution, path), transaction), frozen };
      return invoke(child, found.handler, args).then((value) => returned({ value }, found, path));
    };
    const outcome = await execution.nested.during(() =>
      outcomeOf(() => {
        if (kind === "mutation") return inFrame(execution, inner);
        return stale ? transaction.stale(inner) : inner();
      }),
    );
    return acrossBoundary(outcome);
  };
}

async function inFrame({ transaction }: Execution, work: () => Promise<Value>): Promise<Value> {
  transaction?.begin();
  try {
    const value = await work();
    transaction?.keep();
    return value;
  } catch (error) {
    transaction?.drop();
    throw error;
  }
}

/** By the package's own mark: a bundle brings a class of its own. */
export function isConvexError(error: unknown): error is ConvexError<Value> {
  return typeof error === "object" && error !== null && Symbol.for("ConvexError") in error;
}

/** The data in a plain `ConvexError`, of the class that the application itself was bundled with. */
function sameError(error: ConvexError<Value>): Error {
  let prototype: unknown = Object.getPrototypeOf(error);
  while (typeof prototype === "object" && prototype !== null && prototype.constructor.name !== "ConvexError")
    prototype = Object.getPrototypeOf(prototype);
  const bundled: unknown =
    prototype === null || prototype === undefined ? null : Reflect.get(Object(prototype), "constructor");
  const data = passed(error.data);
  const told: unknown = typeof bundled === "function" ? Reflect.construct(bundled, [data]) : null;
  return told instanceof Error ? told : new ConvexError(data);
}

/** An error reaches the calling function by its text, and a `ConvexError` with its data; its class is lost. */
function acrossBoundary(outcome: Outcome<Value>): Value {
  if (!("error" in outcome)) return outcome.value;
  const { error } = outcome;
  const message = error instanceof Error ? error.message : String(error);
  const told = isConvexError(error) ? sameError(error) : new Error(message);
  throw Object.assign(told, { message, stack: error instanceof Error ? error.stack : undefined });
}
