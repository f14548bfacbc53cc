import type { TestConvex } from "convex-test";
import {
  makeFunctionReference,
  type FunctionReference,
  type GenericActionCtx,
  type GenericDataModel,
  type GenericDocument,
  type GenericSchema,
  type SchemaDefinition,
  type UserIdentity,
} from "convex/server";
import * as z from "zod";
import { convexToJson, ConvexError, type JSONValue, type Value } from "convex/values";
import { readdir } from "node:fs/promises";
import { createRequire, register } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import schema from "../../convex/schema";
import type { Clock } from "./clock";

/**
 * The application on Convex's own test library: a stand-in for the platform, for development and checks. Transactions
 * run one after the other, so nothing here conflicts; production is a Convex deployment.
 */

type Caller = { ip?: string | null; userAgent?: string | null; identity?: UserIdentity | null };
type FunctionArgs = Record<string, Value>;
export type FunctionKind = "query" | "mutation" | "action";
/** Every row of every table, by table. */
export type Rows = Record<string, GenericDocument[]>;

/** The application as the local stack sees it. Functions are named as in `research/shifts:startShift`. */
export type Application = {
  /** Runs the HTTP action at `path` (with its query). Throws what the action throws. */
  fetch: (path: string, init: RequestInit, caller?: Caller) => Promise<Response>;
  run: (kind: FunctionKind, name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  /** The kind of the function with this name; null if there is none. */
  describe: (name: string) => Promise<{ kind: FunctionKind; isPublic: boolean } | null>;
  /** The default export of one of the application's modules. */
  defaultExport: (module: string) => Promise<unknown>;
  rows: () => Promise<Rows>;
  /** Restores rows, with their ids, into a new application. */
  restore: (rows: Rows) => Promise<void>;
  /** How many functions have run: rows can only change with it. */
  count: () => number;
  /** Deletes the rows of finished scheduled functions that were due before `time`. */
  forgetJobs: (time: number) => Promise<void>;
  /** No function starts afterwards. */
  stop: () => void;
};

/** The calls that an action can make, by name or handle, and its caller. */
export type Calls = {
  run: (kind: FunctionKind, name: string, args: FunctionArgs) => Promise<Value>;
  schedule: (time: number, name: string, args: FunctionArgs) => Promise<string>;
  identity: () => Promise<UserIdentity | null>;
  metadata: () => Promise<{ ip: string | null; userAgent: string | null }>;
};
/** Runs actions outside this process's own globals. */
export type ActionHost = {
  action: (name: string, args: FunctionArgs, calls: Calls) => Promise<Value>;
  fetch: (url: string, init: RequestInit, calls: Calls) => Promise<Response>;
};

type Test = TestConvex<AnySchema>;
type Modules = Record<string, () => Promise<object>>;
type Handler = (...given: unknown[]) => unknown;
type Registered = Handler & {
  _handler: Handler;
  isQuery?: boolean;
  isMutation?: boolean;
  isAction?: boolean;
  isPublic?: boolean;
};

type AnySchema = SchemaDefinition<GenericSchema, boolean>;
/** With tables of any name, because rows are stored and restored unchecked. */
const tables: AnySchema = schema;

// In Vitest, a plugin does this.
if (process.env["VITEST"] === undefined) register("./quicker.ts", import.meta.url);
const { convexTest } = await import("convex-test");

/** A member of a module, of unknown type. */
const member: (module: object, name: string) => unknown = Reflect.get;

const convexDirectory = fileURLToPath(new URL("../../convex", import.meta.url));

/** The error of functions of a stopped application. */
export const STOPPED = "The local stack has stopped";

/** @param host Runs actions and HTTP actions, in place of the library. */
export async function createApplication(clock: Clock, host: ActionHost | null = null): Promise<Application> {
  let count = 0;
  let stopped = false;
  const meterCall = (name: string, registered: Registered) => {
    const handler =
      host === null || registered.isAction !== true ? registered._handler : defineHostedAction(host, name);
    return async (ctx: unknown, ...given: unknown[]) => {
      if (stopped) throw new Error(STOPPED);
      count++;
      return await handler(ctx, ...given);
    };
  };
  const modules = await loadModules(convexDirectory, "ts", meterCall);
  const t: Test = convexTest({ schema: tables, modules, transactionLimits: true });
  await registerComponents(t);

  const as = ({ ip, userAgent, identity }: Caller = {}) => {
    const one = t.withRequestMetadata({ ip: ip ?? null, userAgent: userAgent ?? null });
    return identity === undefined || identity === null ? one : one.withIdentity(identity);
  };
  const run = (kind: FunctionKind, name: string, args: FunctionArgs, caller?: Caller): Promise<Value> => {
    const one = as(caller);
    if (kind === "query") return one.query(makeFunctionReference<"query", FunctionArgs, Value>(name), args);
    if (kind === "mutation")
      return one.mutation(makeFunctionReference<"mutation", FunctionArgs, Value>(name), args);
    return one.action(makeFunctionReference<"action", FunctionArgs, Value>(name), args);
  };
  const loadModule = (name: string) => modules[`./convex/${name}.js`]?.() ?? Promise.resolve({});
  const describe = async (name: string) => {
    const [file = "", exported = "default"] = name.split(":");
    const found = member(await loadModule(file.replace(/\.[jt]s$/, "")), exported);
    if (!isRegistered(found)) return null;
    const kind = found.isQuery === true ? "query" : found.isMutation === true ? "mutation" : "action";
    return { kind, isPublic: found.isPublic === true } as const;
  };
  const isMutation = async (name: string) => (await describe(name))?.kind === "mutation";
  return {
    // The library does not forward signals.
    fetch: (url, { signal: _, ...init }, caller = {}) =>
      clock.inside(() =>
        host === null
          ? as(caller).fetch(url, init)
          : host.fetch(`${process.env["CONVEX_SITE_URL"] ?? ""}${url}`, init, {
              run: (kind, name, args) => run(kind, name, args, caller),
              schedule: (time, name, args) =>
                as(caller).run(({ scheduler }) => scheduler.runAt(time, referenceTo<"action">(name), args)),
              identity: () => Promise.resolve(caller.identity ?? null),
              metadata: () => Promise.resolve({ ip: caller.ip ?? null, userAgent: caller.userAgent ?? null }),
            }),
      ),
    run: (kind, name, args, caller) => clock.inside(() => run(kind, name, args, caller)),
    describe,
    defaultExport: async (name) => member(await loadModule(name), "default"),
    rows: () => clock.inside(() => readRows(t, isMutation)),
    restore: (rows) => clock.inside(() => restoreRows(t, rows)),
    count: () => count,
    forgetJobs: (time) =>
      clock.inside(() =>
        t.run(async ({ db }) => {
          for (const { _id, state, scheduledTime } of await db.system.query("_scheduled_functions").collect())
            if (!["pending", "inProgress"].includes(state.kind) && scheduledTime < time) await db.delete(_id);
        }),
      ),
    stop: () => {
      stopped = true;
    },
  };
}

/** An action as the library calls it, run by a host. */
function defineHostedAction(host: ActionHost, name: string): Handler {
  return (given, args) => {
    const ctx = actionContext.parse(given);
    return host.action(name, argsOf.parse(args), {
      run: (kind, target, args) => {
        if (kind === "query") return ctx.runQuery(referenceTo<"query">(target), args);
        if (kind === "mutation") return ctx.runMutation(referenceTo<"mutation">(target), args);
        return ctx.runAction(referenceTo<"action">(target), args);
      },
      schedule: (time, target, args) => ctx.scheduler.runAt(time, referenceTo<"action">(target), args),
      identity: () => ctx.auth.getUserIdentity(),
      metadata: () => ctx.meta.getRequestMetadata(),
    });
  };
}

const actionContext = z.custom<GenericActionCtx<GenericDataModel>>();
const argsOf = z.custom<FunctionArgs>().default({});

/** A handle stands for itself, as on the platform. */
function referenceTo<Kind extends FunctionKind>(name: string) {
  const handle = z.custom<FunctionReference<Kind, "internal", FunctionArgs, Value>>();
  return name.startsWith("function://")
    ? handle.parse(name)
    : makeFunctionReference<Kind, FunctionArgs, Value>(name);
}

/** The library has checked a function's errors. */
const anyValue = z.custom<Value>();

/** A failed function's error for its caller: the message, and the data of a `ConvexError`. */
export function toFailure(error: unknown): { message: string; data?: JSONValue } {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ConvexError)) return { message };
  return { message, data: convexToJson(anyValue.parse(error.data)) };
}

function isRegistered(value: unknown): value is Registered {
  return typeof value === "function" && "_handler" in value && typeof value._handler === "function";
}

/** The library's form of a folder's modules; their registered functions are replaced by `wrapped` ones. */
async function loadModules(
  directory: string,
  ending: "ts" | "js",
  wrapped: (name: string, registered: Registered) => Handler = (_, { _handler }) => _handler,
): Promise<Modules> {
  const modules: Modules = { "./convex/_generated/api.js": () => Promise.resolve({}) };
  for (const file of await readdir(directory, { recursive: true })) {
    const name = file.split(path.sep).join("/");
    const isCode = name.endsWith(`.${ending}`) && !name.endsWith(".d.ts") && !/\.test\./.test(name);
    if (!isCode || /^(?:_generated\/|schema\.|(?:convex|auth)\.config)/.test(name)) continue;
    const bare = name.slice(0, -1 - ending.length);
    const url = pathToFileURL(path.join(directory, file)).href;
    let loaded: Promise<object> | undefined;
    modules[`./convex/${bare}.js`] = () =>
      (loaded ??= import(/* @vite-ignore */ url).then((module: object) => {
        const entries = Object.entries(module).map(([key, value]: [string, unknown]): [string, unknown] => {
          if (!isRegistered(value)) return [key, value];
          const handler = wrapped(key === "default" ? bare : `${bare}:${key}`, value);
          return [key, Object.assign((...given: unknown[]) => value(...given), value, { _handler: handler })];
        });
        const members: object = Object.fromEntries(entries);
        return members;
      }));
  }
  return modules;
}

/** As in `convex/convex.config.ts`, which cannot be imported outside Convex's own tools. */
async function registerComponents(t: Test): Promise<void> {
  const limiter = await component(path.join(convexDirectory, "convex.config.js"), "@convex-dev/rate-limiter");
  t.registerComponent("rateLimiter", limiter.schema, limiter.modules);
  const worker = await component(limiter.config, "@convex-dev/batch-worker");
  t.registerComponent("rateLimiter/batchWorker", worker.schema, worker.modules);
}

/** A component's schema and modules, which its package brings as JavaScript. @param from The file that uses it. */
async function component(from: string, name: string) {
  const config = createRequire(from).resolve(`${name}/convex.config.js`);
  const directory = path.dirname(config);
  const module: unknown = await import(
    /* @vite-ignore */ pathToFileURL(path.join(directory, "schema.js")).href
  );
  const found = typeof module === "object" && module !== null ? member(module, "default") : null;
  if (!isSchema(found)) throw new Error(`There is no schema in ${directory}`);
  return { config, schema: found, modules: await loadModules(directory, "js") };
}

function isSchema(value: unknown): value is AnySchema {
  return typeof value === "object" && value !== null && "tables" in value && "schemaValidation" in value;
}

/** The platform's table of scheduled functions, which are as durable as rows. */
const SCHEDULED = "_scheduled_functions";

/**
 * Every row of every table of the schema, and the scheduled functions that a restart does not lose: those that have not
 * begun, and mutations that have not ended.
 */
export async function readRows(t: Test, isMutation: (name: string) => Promise<boolean>): Promise<Rows> {
  return t.run(async ({ db }) => {
    const rows: Rows = {};
    for (const table of Object.keys(schema.tables)) {
      const found = await db.query(table).collect();
      if (found.length > 0) rows[table] = found;
    }
    rows[SCHEDULED] = [];
    for (const job of await db.system.query(SCHEDULED).collect()) {
      const { kind } = job.state;
      if (kind === "pending" || (kind === "inProgress" && (await isMutation(job.name))))
        rows[SCHEDULED].push(job);
    }
    return rows;
  });
}

const scheduledShape = z.looseObject({
  name: z.string(),
  scheduledTime: z.number(),
  args: z.tuple([z.custom<FunctionArgs>()]),
});

/** Rows that one transaction restores. */
const TOGETHER = 5_000;

/**
 * The library numbers ids from 10,000, whatever the table: rows are inserted in the order of their ids, and gaps are
 * filled with rows that are deleted again. Their creation times come from the clock.
 */
export async function restoreRows(t: Test, { [SCHEDULED]: scheduled = [], ...rows }: Rows): Promise<void> {
  const all = Object.entries(rows)
    .flatMap(([table, documents]) =>
      documents.map((document) => ({ table, document, number: toNumber(document) })),
    )
    .sort((a, b) => a.number - b.number);
  for (let start = 0; start < all.length; start += TOGETHER) {
    await t.run(async ({ db }) => {
      const usual = Date;
      for (const { table, document, number } of all.slice(start, start + TOGETHER)) {
        const { _id, _creationTime, ...fields } = document;
        Object.assign(globalThis, { Date: at(usual, Number(_creationTime)) });
        for (;;) {
          const id = await db.insert(table, fields);
          if (id === _id) break;
          if (toNumber({ _id: id }) > number) throw new Error(`A row of ${table} cannot be restored`);
          await db.delete(id);
        }
      }
    });
  }
  await t.run(async ({ scheduler }) => {
    for (const job of scheduled) {
      const { name, scheduledTime, args } = scheduledShape.parse(job);
      await scheduler.runAt(scheduledTime, referenceTo<"action">(name), args[0]);
    }
  });
}

function at(usual: DateConstructor, time: number): DateConstructor {
  return new Proxy(usual, {
    get: (target, key): unknown => (key === "now" ? () => time : Reflect.get(target, key)),
  });
}

function toNumber({ _id }: GenericDocument): number {
  return typeof _id === "string" ? Number.parseInt(_id, 10) : Number.NaN;
}
