import {
  actionGeneric,
  httpActionGeneric,
  mutationGeneric,
  queryGeneric,
  type FunctionReference,
} from "convex/server";
import { ConvexError, type Value } from "convex/values";
import * as z from "zod";
import type { Run } from "./core";
import { databaseOf } from "./context/database";
import { currentExecution, executions, inTransaction, isForNobody, never } from "./execution";
import type { Execution, FunctionKind, FunctionPath } from "./execution";
import { assertFits, pathOf, pathOfReference, returned, type Address } from "./functions";
import { promised } from "./locks";
import { asyncSyscall, message, syscall } from "./context/syscalls";
import type { Transaction } from "./store/transaction";
import { noteRun } from "./billing/usage";
import { fromJson, passed, toJson } from "./store/values";

/**
 * Runs handlers with the context that the convex package itself makes, which reaches this host by its system calls.
 * Only the database and calls of other functions take a direct way, without JSON.
 */

type Options = { useStaleSnapshot?: boolean };
type Call = (reference: FunctionReference<FunctionKind>, args?: object, options?: Options) => Promise<Value>;

const contextShape = z.looseObject({
  db: z.looseObject({}).optional(),
  auth: z.looseObject({}),
  meta: z.looseObject({}).default({}),
});

/** The convex package's context for a kind of function; it holds no state of a run. */
const contexts: Record<Execution["kind"], object> = {
  query: contextOf((body) => queryGeneric({ handler: body }), "invokeQuery", "[]"),
  mutation: contextOf((body) => mutationGeneric({ handler: body }), "invokeMutation", "[]"),
  action: contextOf((body) => actionGeneric({ handler: body }), "invokeAction", "", "[]"),
  http: contextOf((body) => httpActionGeneric(body), "invokeHttpAction", null),
};

/** Lets the package call one of its own functions, as the platform does, and captures its context. */
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
  const { db, auth, meta } = contextShape.parse(context);
  return {
    ...context,
    ...(db === undefined ? {} : { db: databaseOf(db) }),
    // Every request asks for it.
    auth: { ...auth, getUserIdentity: () => promised(() => copyOf(currentExecution().identity)) },
    ...("getRequestMetadata" in meta
      ? { meta: { ...meta, getRequestMetadata: () => promised(() => copyOf(currentExecution().request)) } }
      : {}),
  };
}

function copyOf<T extends object | null>(value: T): T {
  return value === null ? value : { ...value };
}

function isMethod(value: unknown): value is (...args: unknown[]) => Promise<unknown> {
  return typeof value === "function";
}

/** The functions behind the package's contexts, and the components' own code for what no context has. */
const Convex = {
  syscall,
  asyncSyscall: (operation: string, json: string): Promise<string> =>
    isForNobody(currentExecution())
      ? never()
      : operation === "1.0/runUdf"
        ? runUdf(json)
        : asyncSyscall(operation, json),
};

/** @returns What the handler returned, as it is. @throws what it threw, as it is. */
export function invoke<T>(
  execution: Execution,
  handler: (ctx: object, args: unknown) => T | Promise<T>,
  args: unknown,
): Promise<T> {
  Object.assign(globalThis, { Convex });
  if (execution.componentPath === "") noteRun(execution.udfPath);
  const ctx = { ...contexts[execution.kind], ...callsOf(execution) };
  return executions.run(execution, () => promised(() => handler(ctx, args)));
}

/** The functions by which a context calls others. They are anonymous, because naming them would cost at every run. */
function callsOf(execution: Execution): Record<string, Call> {
  const { transaction } = execution;
  if (transaction === null) {
    return {
      runQuery: callFrom(execution, "query"),
      runMutation: callFrom(execution, "mutation"),
      runAction: callFrom(execution, "action"),
    };
  }
  return {
    runQuery: async (reference, args, options) => {
      const path = pathOfReference(reference, execution.componentPath);
      const stale = options?.useStaleSnapshot === true;
      return callWithin(execution, transaction, { kind: "query", path, args: passed(args ?? {}), stale });
    },
    runMutation: async (reference, args) => {
      const path = pathOfReference(reference, execution.componentPath);
      const given = passed(args ?? {});
      return callWithin(execution, transaction, { kind: "mutation", path, args: given, stale: false });
    },
  };
}

function callFrom(execution: Execution, kind: FunctionKind): Call {
  return async (reference, args) => {
    currentExecution();
    if (isForNobody(execution)) return never();
    const path = pathOfReference(reference, execution.componentPath);
    try {
      return await execution.core[kind](path, passed(args ?? {}), runOf(execution, path));
    } catch (error) {
      throw acrossBoundary(error);
    }
  };
}

/** Auth does not reach into components, nor out of them. */
function runOf({ identity, request, work, componentPath }: Execution, to: { componentPath: string }): Run {
  return { identity: to.componentPath === componentPath ? identity : null, request, work };
}

type Within = {
  kind: "query" | "mutation";
  path: FunctionPath;
  args: Value;
  /** Shows it only committed data. */
  stale: boolean;
};

/** Calls a function that runs in its caller's transaction. */
async function callWithin(
  execution: Execution,
  transaction: Transaction,
  { kind, path, args, stale }: Within,
): Promise<Value> {
  const { core, frozen } = execution;
  const resolved = core.parts.resolve(path, kind);
  const found = resolved instanceof Promise ? await resolved : resolved;
  assertFits(found.checkArgs(args), path);
  const child = { ...core.execution(path, kind, runOf(execution, path), transaction), frozen };
  try {
    return await execution.nested.during(async () => {
      if (kind === "mutation")
        return inFrame(transaction, async () =>
          returned({ value: await invoke(child, found.handler, args) }, found, path),
        );
      const value = stale
        ? await transaction.stale(() => invoke(child, found.handler, args))
        : await invoke(child, found.handler, args);
      return returned({ value }, found, path);
    });
  } catch (error) {
    throw acrossBoundary(error);
  }
}

type RunUdf = Address & { udfType: "query" | "snapshotQuery" | "mutation"; args: unknown };

/** Calls a function by its address within the transaction. */
async function runUdf(json: string): Promise<string> {
  const execution = currentExecution();
  const { udfType, args, ...address } = message<RunUdf>(json);
  const value = await callWithin(execution, inTransaction(execution), {
    kind: udfType === "mutation" ? "mutation" : "query",
    path: pathOf(address, execution.componentPath),
    args: passed(fromJson(args)),
    stale: udfType === "snapshotQuery",
  });
  return toJson(value);
}

async function inFrame(transaction: Transaction, work: () => Promise<Value>): Promise<Value> {
  transaction.begin();
  try {
    const value = await work();
    transaction.keep();
    return value;
  } catch (error) {
    transaction.drop();
    throw error;
  }
}

/** By the package's own mark: a bundle has its own copy of the class. */
export function isConvexError(error: unknown): error is ConvexError<Value> {
  return typeof error === "object" && error !== null && Symbol.for("ConvexError") in error;
}

/** The data in a `ConvexError` of the class that the application was bundled with. */
function sameError(error: ConvexError<Value>): Error {
  let prototype: unknown = Object.getPrototypeOf(error);
  while (typeof prototype === "object" && prototype !== null && prototype.constructor.name !== "ConvexError")
    prototype = Object.getPrototypeOf(prototype);
  const bundled: unknown =
    prototype === null || prototype === undefined ? null : Reflect.get(Object(prototype), "constructor");
  const data = passed(error.data);
  const same: unknown = typeof bundled === "function" ? Reflect.construct(bundled, [data]) : null;
  return same instanceof Error ? same : new ConvexError(data);
}

/** An error reaches the calling function as text, and a `ConvexError` with its data, without its class. */
function acrossBoundary(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  const copy = isConvexError(error) ? sameError(error) : new Error(message);
  return Object.assign(copy, { message, stack: error instanceof Error ? error.stack : undefined });
}
