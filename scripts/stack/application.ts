import type { Value } from "convex/values";
import type { Clock } from "./time/clock";
import { createHost, type Caller, type FunctionKind, type Host } from "../host";
import type { Bill } from "../host/billing/bill";
import type { Contention } from "../host/commits";
import { loadParts, preloaded, type Source } from "./modules";
import { dumpRows, forgetJobs, restoreRows, type Dump } from "./state/rows";

export type { Caller, Dump, FunctionKind };
export type FunctionArgs = Record<string, Value>;

/** The application as the local stack sees it. Functions are named as in `research/shifts:start`. */
export type Application = {
  /** Runs the HTTP action at `path` (with its query). Throws what the action throws. */
  fetch: (path: string, init: RequestInit, caller?: Caller) => Promise<Response>;
  runQuery: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  runMutation: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  runAction: (name: string, args: FunctionArgs, caller?: Caller) => Promise<Value>;
  /** The kind of the function with this name; null if there is none. */
  describe: (name: string) => Promise<{ kind: FunctionKind; isPublic: boolean } | null>;
  /** The default export of one of the application's modules, if there is such a module. */
  defaultExport: (module: string) => Promise<unknown>;
  /** All rows of all components at one moment. */
  dump: () => Dump;
  /** Restores rows into a new application. Due scheduled functions start when all rows are back. */
  restore: (dump: Dump) => Promise<void>;
  /** Deletes the rows of scheduled functions that ended and were due before `time`. */
  forgetJobs: (time: number) => void;
  /** What the platform would have billed so far. */
  usage: () => Bill;
  host: Host;
};

/** An application with its components, on the local host, in the time of `clock`. */
export async function createApplication(options: {
  source: Source;
  clock: Clock;
  /** Loads all modules in advance: loading one later would take time that a simulated clock does not see. */
  preload?: boolean;
  /** Called after every write of a function, in its context. */
  onWrite?: () => void;
  contention?: Contention;
}): Promise<Application> {
  const { clock, source, preload, ...rest } = options;
  const loaded = await loadParts(source);
  const host = createHost({
    parts: preload === true ? await Promise.all(loaded.map(preloaded)) : loaded,
    ...rest,
  });
  const { core } = host;
  /** Every answer to a caller, including errors, waits until its commits are stored. */
  const kept = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await clock.inside(work);
    } finally {
      await core.durability?.synced();
    }
  };
  const run = (kind: FunctionKind) => (name: string, args: FunctionArgs, caller?: Caller) =>
    kept(() => host.run(kind, { componentPath: "", udfPath: name }, args, caller));
  return {
    host,
    fetch: (path, init, caller) => kept(() => host.fetch(path, init, caller)),
    runQuery: run("query"),
    runMutation: run("mutation"),
    runAction: run("action"),
    describe: async (name) => {
      const found = await host.find({ componentPath: "", udfPath: name });
      return found === null ? null : { kind: found.kind, isPublic: found.isPublic };
    },
    defaultExport: async (name) => {
      const module = await host.load(name);
      const value: unknown =
        typeof module === "object" && module !== null ? Reflect.get(module, "default") : undefined;
      return value;
    },
    dump: () => dumpRows(core),
    restore: (dump) => clock.inside(() => restoreRows(core, dump)),
    forgetJobs: (time) => forgetJobs(core, time),
    usage: () => clock.inside(() => core.billing.told()),
  };
}
