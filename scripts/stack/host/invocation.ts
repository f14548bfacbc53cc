import {
  actionGeneric,
  httpActionGeneric,
  mutationGeneric,
  queryGeneric,
  type FunctionReference,
} from "convex/server";
import { ConvexError, type Value } from "convex/values";
import { assertFits, returned, type Run } from "./core";
import { currentExecution, executions, type Execution, type FunctionKind } from "./execution";
import { pathOfReference } from "./functions";
import { asyncSyscall, syscall } from "./syscalls";
import { note } from "./usage";
import { passed } from "./values";

/**
 * Runs handlers with the context that the convex package itself makes: its `ctx.db` and the rest reach this host by the
 * system calls. Only calls of other functions go directly, without a way through JSON.
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

const body = async (ctx: object): Promise<null> => {
  await currentExecution().body(ctx);
  return null;
};

const invokers = {
  query: method(queryGeneric({ handler: body }), "invokeQuery"),
  mutation: method(mutationGeneric({ handler: body }), "invokeMutation"),
  action: method(actionGeneric({ handler: body }), "invokeAction"),
  http: method(
    httpActionGeneric(async (ctx) => {
      await body(ctx);
      return new Response();
    }),
    "invokeHttpAction",
  ),
};

type Method = (...args: unknown[]) => Promise<unknown>;

/** What the platform calls of a registered function; the package's types leave it out. */
function method(of: object, name: string): Method {
  const found: unknown = Reflect.get(of, name);
  if (!isMethod(found)) throw new Error(`This version of convex has no ${name}`);
  return found;
}
function isMethod(value: unknown): value is Method {
  return typeof value === "function";
}

const ARGUMENTS = { query: ["[]"], mutation: ["[]"], action: ["", "[]"], http: [null] };

/** @returns What the handler returned, as it is. @throws what it threw, as it is. */
export async function invoke<T>(
  execution: Execution,
  handler: (ctx: object, args: unknown) => T | Promise<T>,
  args: unknown,
): Promise<T> {
  let outcome: Outcome<T> = { error: new Error("The function was not run") };
  execution.body = async (ctx) => {
    outcome = await outcomeOf(async () => handler({ ...ctx, ...callsOf(execution) }, args));
  };
  Object.assign(globalThis, { Convex: { syscall, asyncSyscall } });
  if (execution.componentPath === "") note({ modules: [execution.udfPath.replace(/(?:\.[jt]s)?:.*$/, "")] });
  await executions.run(execution, () => invokers[execution.kind](...ARGUMENTS[execution.kind]));
  const { current } = { current: outcome };
  return valueOf(current);
}

function valueOf<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
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
  execution.callNested = nestedCall(execution);
  const nested =
    (kind: "query" | "mutation"): Call =>
    async (reference, args, options) => {
      const path = pathOfReference(reference, execution.componentPath);
      const stale = kind === "query" && options?.useStaleSnapshot === true;
      return execution.callNested(kind, path, passed(args ?? {}), stale);
    };
  return { runQuery: nested("query"), runMutation: nested("mutation") };
}

/** Auth does not reach into components, nor out of them. */
function runOf({ identity, request, work, componentPath }: Execution, to: { componentPath: string }): Run {
  return { identity: to.componentPath === componentPath ? identity : null, request, work };
}

/** Calls of functions that run in their caller's transaction. */
function nestedCall(execution: Execution): Execution["callNested"] {
  const { core, transaction, frozen } = execution;
  return async (kind, path, args, stale) => {
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
