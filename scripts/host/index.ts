import { HttpRouter } from "convex/server";
import type { Value } from "convex/values";
import type { Contention, Outcome } from "./commits";
import { Core, type Run } from "./core";
import type { Caller, FunctionKind, FunctionPath, Work } from "./execution";
import { invoke } from "./invocation";
import type { Registered } from "./functions";
import type { Part } from "./parts";
import type { PlatformClass } from "./places";
import { passed } from "./store/values";

/**
 * A stand-in for Convex's backend in this process, for development and checks: the application's functions run with the
 * convex package's own context over an indexed store in memory. It enforces the platform's rules as far as code can:
 * conflicting transactions run again, limits per transaction, document and value, the frozen clock and seeded random
 * numbers of queries and mutations, and limits of concurrency and time.
 */
export type Host = {
  /**
   * The application's HTTP action at `path` (with its query). Throws what the action throws. `init.signal` is the
   * client's: when it hangs up, the action stops where it is.
   */
  fetch: (path: string, init: RequestInit, caller?: Caller) => Promise<Response>;
  run: (kind: FunctionKind, path: FunctionPath, args: object, caller?: Caller) => Promise<Value>;
  /** Runs a handler outside any function as a mutation. */
  inline: <T>(handler: (ctx: object) => Promise<T>, componentPath?: string) => Promise<T>;
  find: (path: FunctionPath) => Promise<Registered | null>;
  /** One of the application's modules; undefined if there is none. */
  load: (module: string) => Promise<unknown>;
  core: Core;
  /** Stops it for good: running work has no further effect. */
  stop: () => void;
  /** Running work that does not wait for a timer. */
  busy: () => string[];
};

export type HostOptions = {
  parts: readonly Part[];
  /** Enforces the platform's limits per query and mutation. */
  limited?: boolean;
  /** S16 is the platform's smallest. */
  platformClass?: PlatformClass;
  /** The seed of the random numbers of queries and mutations. */
  seed?: number;
  /** Makes a query fail that reads the clock: on the platform its answer may be old. */
  strictClock?: boolean;
  onWrite?: () => void;
  contention?: Contention;
  /** Holds queries and mutations to the platform's second, by this clock of the processor's time (ms). */
  processorMs?: () => number;
};

export function createHost(options: HostOptions): Host {
  const core = new Core({
    limited: options.limited ?? true,
    platformClass: options.platformClass ?? "S16",
    seed: options.seed ?? 1,
    strictClock: options.strictClock ?? false,
    onWrite: options.onWrite ?? (() => undefined),
    contention: options.contention ?? null,
    processorMs: options.processorMs ?? null,
  });
  for (const part of options.parts) core.parts.add(part);
  const runFor = (caller: Caller, work: Work): Run => ({
    identity: caller.identity ?? null,
    request: core.requestOf(caller),
    work,
  });
  return {
    core,
    find: (path) => core.parts.find(path),
    load: (module) => core.parts.modulesOf("").load(module),
    run: (kind, path, args, caller = {}) =>
      core.asWork(path.udfPath, (work) => core[kind](path, passed(args), runFor(caller, work))),
    inline: (handler, componentPath = "") =>
      core.asWork("inline", (work) => {
        const path = { componentPath, udfPath: "inline" };
        const run = runFor({}, work);
        return core.commits.mutate({
          run: (transaction) => invoke(core.execution(path, "mutation", run, transaction), handler, {}),
          finish: resultOf,
          isPatient: false,
          work,
          name: path.udfPath,
        });
      }),
    fetch: (path, init, caller = {}) =>
      core.asWork(path, (work) =>
        core.permitted("action", work, () => fetchFrom(core, path, init, runFor(caller, work))),
      ),
    stop: () => core.halt(),
    busy: () => [...core.works].filter(({ timers }) => timers.size === 0).map(({ name }) => name),
  };
}

function resultOf<T>(outcome: Outcome<T>): T {
  if ("error" in outcome) throw outcome.error;
  return outcome.value;
}

async function fetchFrom(
  core: Core,
  path: string,
  { signal = null, ...init }: RequestInit,
  run: Run,
): Promise<Response> {
  const module = await core.parts.modulesOf("").load("http");
  const router: unknown =
    typeof module === "object" && module !== null ? Reflect.get(module, "default") : null;
  if (!isRouter(router)) throw new Error("convex/http.ts exports no router");
  // A path that begins with two slashes is still a path, not another host's address.
  const url = new URL(new URL(process.env.CONVEX_SITE_URL ?? "https://local.convex.site").origin + path);
  const found = router.lookup(url.pathname, methodOf(init.method ?? "GET"));
  if (found === null) return new Response("No matching routes found", { status: 404 });
  const handler: unknown = Reflect.get(found[0], "_handler");
  if (!isHttpHandler(handler)) throw new Error("A route has no handler");
  const request = new Request(url, init);
  const place = { componentPath: "", udfPath: "http" };
  const handle = (ctx: object) => handler(ctx, request);
  return resultOf(await core.limitedInTime(place, "http", run, handle, null, signal));
}

type HttpHandler = (ctx: object, request: Request) => Promise<Response>;
const isHttpHandler = (value: unknown): value is HttpHandler => typeof value === "function";

const METHODS = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "HEAD"] as const;
function methodOf(name: string): (typeof METHODS)[number] {
  const method = METHODS.find((one) => one === name);
  if (method === undefined) throw new Error(`The platform routes no ${name}`);
  return method;
}

/** Recognised by its method: the router may come from another copy of the package. */
function isRouter(value: unknown): value is HttpRouter {
  return value instanceof HttpRouter || (typeof value === "object" && value !== null && "lookup" in value);
}
export type { Caller, FunctionKind };
