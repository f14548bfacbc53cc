import { AsyncLocalStorage } from "node:async_hooks";
import { convexTest } from "convex-test";
import type { UserIdentity } from "convex/server";
import type { Value } from "convex/values";
import type { Clock } from "./clock";
import { installMetering } from "./metering";
import { loadSources, preloaded, type Source } from "./modules";
import { hostFunctions, jobShape, JOBS, type JobFate, type Row } from "./rows";

/** Who calls, as far as the host can tell. */
export type Caller = { ip?: string | null; userAgent?: string | null; identity?: UserIdentity | null };

export type FunctionKind = "query" | "mutation" | "action";
export type FunctionArgs = Record<string, Value>;

/** All rows by component path; `""` is the application itself. */
export type Dump = Record<string, Row[]>;

/** The application as the host sees it. Functions are named as in `research/shifts:start`. */
export type Application = {
  /** Runs the HTTP action at `path` (with its query). Throws what the action throws. */
  fetch: (path: string, init: RequestInit, caller?: Caller) => Promise<Response>;
  runQuery: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  runMutation: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  runAction: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  /** What kind of function has this name; null when none has. */
  describe: (name: string) => Promise<{ kind: FunctionKind; isPublic: boolean } | null>;
  /** The default export of one of the application's modules, if there is such a module. */
  defaultExport: (module: string) => Promise<unknown>;
  /** All rows of all components, as they stood at one moment. */
  dump: () => Promise<Dump>;
  /** Puts rows into a new application. Due scheduled functions start when all rows are back. */
  restore: (dump: Dump) => Promise<void>;
  /** Deletes the rows of scheduled functions that ended and were due before `time`. */
  forgetJobs: (time: number) => Promise<void>;
};

type FunctionPath = { componentPath: string; udfPath: string };
/** What convex-test's accessors have at runtime beyond their types. */
type ByPath = {
  queryFromPath: (path: FunctionPath, args: FunctionArgs) => Promise<Value>;
  mutationFromPath: (path: FunctionPath, args: FunctionArgs) => Promise<Value>;
  actionFromPath: (path: FunctionPath, args: FunctionArgs) => Promise<Value>;
};

/** The host's own functions live here; convex-test also finds the root of a module map by this folder's name. */
const HOST_MODULE = "_generated/host";

/** Set while the host reads or restores everything, to which a transaction's limits do not apply. */
const unlimited = new AsyncLocalStorage<true>();

/**
 * The application in `directory` with its components, hosted on convex-test. A stand-in for development and checks:
 * production is a Convex deployment.
 */
export async function createApplication(options: {
  directory: string;
  clock: Clock;
  /** Enforces the platform's limits per query and mutation. */
  transactionLimits: boolean;
  /** Loads all modules beforehand: loading one later would take a time that a simulated clock does not see. */
  preload?: boolean;
}): Promise<Application> {
  const { clock } = options;
  const loaded = await loadSources(options.directory);
  const sources = (options.preload === true ? await Promise.all(loaded.map(preloaded)) : loaded).map(
    withHostFunctions,
  );
  const [app] = sources;
  if (app === undefined) throw new Error(`There is no application in ${options.directory}`);

  const root = convexTest({
    schema: app.schema,
    modules: app.modules,
    transactionLimits: options.transactionLimits ? limits : false,
  });
  for (const { path, schema, modules } of sources.slice(1)) root.registerComponent(path, schema, modules);
  installMetering();

  const host = byPath(root);
  const as = ({ ip = null, userAgent = null, identity = null }: Caller = {}) =>
    (identity === null ? root : root.withIdentity(identity)).withRequestMetadata({ ip, userAgent });
  const run =
    (call: keyof ByPath) =>
    (name: string, args: FunctionArgs, caller?: Caller): Promise<Value> =>
      clock.inside(() => byPath(as(caller))[call]({ componentPath: "", udfPath: name }, args));
  const describeIn = async (source: Source, name: string) => kindOf(await exported(source, name));

  /** Runs one of the host's functions in every component, all in one transaction. */
  const everywhere = (kind: "dump" | "restore" | "forget") =>
    clock.inside(() =>
      unlimited.run(true, async () => {
        const call = kind === "dump" ? host.queryFromPath : host.mutationFromPath;
        const inEach = async () => {
          for (const { path } of sources) {
            await call({ componentPath: path, udfPath: `${HOST_MODULE}:${kind}` }, {});
          }
        };
        await (kind === "dump" ? root.query(inEach) : root.mutation(inEach));
      }),
    );

  const dump = async () => {
    await everywhere("dump");
    return Object.fromEntries(sources.map((source) => [source.path, source.functions.collect()]));
  };

  return {
    fetch: (path, init, caller) => clock.inside(() => as(caller).fetch(path, init)),
    runQuery: run("queryFromPath"),
    runMutation: run("mutationFromPath"),
    runAction: run("actionFromPath"),
    describe: (name) => describeIn(app, name),
    defaultExport: (module) => exported(app, module),
    dump: async () => {
      // A job's state is set just after its own transaction; caught between the two, a mutation would run twice.
      for (let tries = 0; ; tries++) {
        const rows = await dump();
        if (tries === 50 || !(await isMutationUnderWay(sources, rows, describeIn))) return rows;
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    restore: async (rows) => {
      for (const source of sources) {
        const fates = (rows[source.path] ?? []).map(async (row) => {
          return { row, fate: await fateOf(row, (name) => describeIn(source, name)) };
        });
        source.functions.give(await Promise.all(fates));
      }
      await everywhere("restore");
      for (const source of sources) source.functions.give([]);
    },
    forgetJobs: async (time) => {
      for (const source of sources) source.functions.forgetBefore(time);
      await everywhere("forget");
    },
  };
}

function withHostFunctions(source: Source) {
  const functions = hostFunctions(Object.keys(source.schema.tables));
  const modules = {
    ...source.modules,
    [`./convex/${HOST_MODULE}.ts`]: () => Promise.resolve(functions.module),
  };
  return { ...source, modules, functions };
}

async function exported(source: Source, name: string): Promise<unknown> {
  const [module = "", exportName = "default"] = name.split(":");
  const file = module.replace(/\.[jt]s$/, "");
  const load = source.modules[`./convex/${file}.ts`] ?? source.modules[`./convex/${file}.js`];
  const loaded = await load?.();
  return typeof loaded === "object" && loaded !== null ? Reflect.get(loaded, exportName) : undefined;
}

function kindOf(value: unknown): { kind: FunctionKind; isPublic: boolean } | null {
  if (typeof value !== "function") return null;
  const isPublic = Reflect.get(value, "isPublic") === true;
  if (Reflect.get(value, "isQuery") === true) return { kind: "query", isPublic };
  if (Reflect.get(value, "isMutation") === true) return { kind: "mutation", isPublic };
  if (Reflect.get(value, "isAction") === true) return { kind: "action", isPublic };
  return null;
}

type Describe = (name: string) => Promise<{ kind: FunctionKind } | null>;

/** A scheduled mutation runs exactly once and an action at most once, as on the platform. */
async function fateOf({ table, document }: Row, describe: Describe): Promise<JobFate> {
  if (table !== JOBS) return { kind: "keep" };
  const job = jobShape.parse(document);
  if (job.state.kind === "pending") return { kind: "run" };
  if (job.state.kind !== "inProgress") return { kind: "keep" };
  const cutOff: JobFate = { kind: "fail", error: "The server stopped while the function was running" };
  return (await describe(job.name))?.kind === "mutation" ? { kind: "run" } : cutOff;
}

async function isMutationUnderWay(
  sources: readonly Source[],
  rows: Dump,
  describeIn: (source: Source, name: string) => ReturnType<Describe>,
): Promise<boolean> {
  for (const source of sources) {
    for (const { table, document } of rows[source.path] ?? []) {
      if (table !== JOBS) continue;
      const job = jobShape.parse(document);
      if (job.state.kind !== "inProgress") continue;
      if ((await describeIn(source, job.name))?.kind === "mutation") return true;
    }
  }
  return false;
}

function byPath(accessor: object): ByPath {
  if (!hasByPath(accessor)) throw new Error("This version of convex-test cannot run functions by path");
  return accessor;
}

function hasByPath(accessor: object): accessor is ByPath {
  return ["queryFromPath", "mutationFromPath", "actionFromPath"].every((name) => name in accessor);
}

const MiB = 1024 * 1024;
const limit = (value: number) => (unlimited.getStore() === undefined ? value : Infinity);

/** The platform's limits per transaction, read anew by convex-test as each transaction begins. */
const limits = {
  get bytesRead() {
    return limit(16 * MiB);
  },
  get bytesWritten() {
    return limit(16 * MiB);
  },
  get documentsRead() {
    return limit(32_000);
  },
  get databaseQueries() {
    return limit(4_096);
  },
  get documentsWritten() {
    return limit(16_000);
  },
  get functionsScheduled() {
    return limit(1_000);
  },
  get scheduledFunctionArgsBytes() {
    return limit(16 * MiB);
  },
};
