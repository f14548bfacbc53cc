import { AsyncLocalStorage } from "node:async_hooks";
import { posix } from "node:path";
import vm from "node:vm";
import type { BundledModule } from "./bundle";

/**
 * Globals of Convex's default runtime that a bare V8 context lacks and that reach nothing outside.
 * Source: the runtime's own set-up in get-convex/convex-backend.
 */
const PROVIDED = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "DOMException",
  "Event",
  "EventTarget",
  "File",
  "FormData",
  "Headers",
  "ReadableStream",
  "Request",
  "Response",
  "TextDecoder",
  "TextDecoderStream",
  "TextEncoder",
  "TextEncoderStream",
  "TransformStream",
  "URL",
  "URLSearchParams",
  "WritableStream",
  "atob",
  "btoa",
  "crypto",
  "performance",
  "structuredClone",
] as const satisfies readonly (keyof typeof globalThis)[];

/** What Node has and that runtime has not: using one throws there, asking with `typeof` finds nothing. */
const LACKING = ["Buffer", "global", "module", "navigator", "queueMicrotask", "require", "setImmediate"];
const LACKING_TOO = ["CompressionStream", "DecompressionStream", "URLPattern", "WebSocket", "window"];

/** Not to be done while a module is evaluated: the platform refuses it at push. */
const NOT_AT_IMPORT = ["fetch", "setTimeout", "setInterval"];

export type Evaluation = {
  /** The module's exports; null when it did not evaluate. */
  exports: Record<string, unknown> | null;
  /** Why it did not evaluate. */
  error: string | null;
  /** What it touched at import that the runtime lacks; harmless when only asked for with `typeof`. */
  lacking: string[];
  /** Environment variables it read at import. */
  environmentRead: string[];
  /** Everything it made the runtime load, itself included. */
  loaded: string[];
  /** Time to link and evaluate it and all it imports in a fresh context, in ms. */
  milliseconds: number;
};

/**
 * Evaluates a module of the bundle and all that it imports in a context of its own, which has what Convex's default
 * runtime has and nothing of Node. Needs `node --experimental-vm-modules`.
 */
export async function evaluateBare(modules: readonly BundledModule[], path: string): Promise<Evaluation> {
  const sources = new Map(modules.map((one) => [one.path, one.source]));
  const seen = { lacking: new Set<string>(), environment: new Set<string>(), loaded: new Set<string>() };
  const context = bareContext(seen);
  const cache = new Map<string, vm.SourceTextModule>();

  const moduleAt = (at: string): vm.SourceTextModule => {
    const known = cache.get(at);
    if (known !== undefined) return known;
    const source = sources.get(at);
    if (source === undefined) throw new Error(`${at} is not in the bundle`);
    const loading = async (specifier: string) => {
      const target = moduleAt(relative(at, specifier));
      await target.link(link);
      await target.evaluate();
      return target;
    };
    const made = new vm.SourceTextModule(source, {
      context,
      identifier: at,
      importModuleDynamically: (specifier) => loading(specifier),
    });
    cache.set(at, made);
    seen.loaded.add(at);
    return made;
  };
  const link = (specifier: string, from: vm.Module) => moduleAt(relative(from.identifier, specifier));

  const startedAt = performance.now();
  let error: string | null = null;
  let exports: Record<string, unknown> | null = null;
  try {
    const entry = moduleAt(path);
    await entry.link(link);
    await entry.evaluate();
    exports = Object.fromEntries(Object.entries(entry.namespace));
  } catch (cause) {
    error = describe(cause);
  }
  return {
    exports,
    error,
    lacking: [...seen.lacking].sort(),
    environmentRead: [...seen.environment].sort(),
    loaded: [...seen.loaded].sort(),
    milliseconds: performance.now() - startedAt,
  };
}

function bareContext(seen: { lacking: Set<string>; environment: Set<string> }): vm.Context {
  const globals: Record<string, unknown> = { AsyncLocalStorage };
  for (const name of PROVIDED) globals[name] = globalThis[name];
  const nothing = () => {};
  globals.console = { debug: nothing, error: nothing, info: nothing, log: nothing, warn: nothing };
  globals.clearTimeout = nothing;
  globals.clearInterval = nothing;
  for (const name of NOT_AT_IMPORT) {
    globals[name] = () => {
      throw new Error(`${name}() was called while the module was evaluated`);
    };
  }
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get: (_env, name) => {
        if (typeof name === "string") seen.environment.add(name);
        return undefined;
      },
    },
  );
  globals.process = { env };
  const context = vm.createContext(globals, { codeGeneration: { strings: false, wasm: true } });
  Object.assign(globals, { self: globals });
  for (const name of [...LACKING, ...LACKING_TOO]) {
    Object.defineProperty(globals, name, {
      get: () => {
        seen.lacking.add(name);
        return undefined;
      },
    });
  }
  return context;
}

function relative(from: string, specifier: string): string {
  if (!specifier.startsWith(".")) throw new Error(`${from} imports ${specifier}, which is not bundled`);
  return posix.join(posix.dirname(from), specifier);
}

/** Errors of another context are not instances of this one's `Error`. */
function describe(cause: unknown): string {
  if (typeof cause === "object" && cause !== null && "message" in cause) return String(cause.message);
  return String(cause);
}
