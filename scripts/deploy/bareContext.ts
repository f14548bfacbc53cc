import { posix } from "node:path";
import vm from "node:vm";
import type { BundledModule } from "./bundle";
import { LACKING, platformGlobals } from "./globals";

export type Evaluation = {
  /** The module's exports; null if it could not be evaluated. */
  exports: Record<string, unknown> | null;
  /** Why it could not be evaluated. */
  error: string | null;
  /** Uses that end a function on the platform, even if the error was caught here. */
  fatal: string[];
  /** Environment variables it read at import. */
  environmentRead: string[];
  /** All modules that it made the runtime load, itself included. */
  loaded: string[];
};

/**
 * A context with the members of Convex's default runtime and none of Node's, in which entry points are evaluated one
 * after another; shared modules are evaluated once, for the first one that imports them. Needs `node
 * --experimental-vm-modules`.
 */
export class BareContext {
  /** Missing members that a module asked for; harmless if only with `typeof`. */
  readonly lacking = new Set<string>();
  #fatal = new Set<string>();
  #environment = new Set<string>();
  readonly #sources: ReadonlyMap<string, string>;
  readonly #modules = new Map<string, vm.SourceTextModule>();
  readonly #globals: Record<string, unknown>;
  readonly #context: vm.Context;

  constructor(modules: readonly BundledModule[]) {
    this.#sources = new Map(modules.map((one) => [one.path, one.source]));
    this.#globals = platformGlobals({
      lacking: (name) => this.lacking.add(name),
      fatal: (name) => this.#fatal.add(name),
    });
    const env = new Proxy<Record<string, string>>(
      {},
      {
        get: (_env, name) => {
          if (typeof name === "string") this.#environment.add(name);
          return undefined;
        },
      },
    );
    this.#globals.process = { env };
    this.#globals.self = this.#globals;
    this.#context = vm.createContext(this.#globals, { codeGeneration: { strings: false, wasm: true } });
    for (const name of LACKING) {
      const get = () => {
        this.lacking.add(name);
        return undefined;
      };
      Object.defineProperty(this.#globals, name, { get, configurable: true });
    }
  }

  async evaluate(path: string): Promise<Evaluation> {
    this.#fatal = new Set();
    this.#environment = new Set();
    let error: string | null = null;
    let exports: Record<string, unknown> | null = null;
    try {
      const entry = this.#moduleAt(path);
      await entry.link(this.#link);
      await entry.evaluate();
      exports = Object.fromEntries(Object.entries(entry.namespace));
    } catch (cause) {
      error = describe(cause);
    }
    return {
      exports,
      error,
      fatal: [...this.#fatal].sort(),
      environmentRead: [...this.#environment].sort(),
      loaded: this.#loadedBy(path),
    };
  }

  #moduleAt(path: string): vm.SourceTextModule {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const source = this.#sources.get(path);
    if (source === undefined) throw new Error(`${path} is not in the bundle`);
    const made = new vm.SourceTextModule(source, {
      context: this.#context,
      identifier: path,
      importModuleDynamically: (specifier) => this.#loaded(relative(path, specifier)),
    });
    this.#modules.set(path, made);
    return made;
  }

  /** A module that a function imports when it is called. */
  async #loaded(path: string): Promise<vm.Module> {
    const module = this.#moduleAt(path);
    if (module.status === "unlinked") await module.link(this.#link);
    if (module.status === "linked") await module.evaluate();
    return module;
  }

  readonly #link = (specifier: string, from: vm.Module) =>
    this.#moduleAt(relative(from.identifier, specifier));

  /** The modules of static imports. Imports inside functions are loaded when these are called. */
  #loadedBy(path: string, seen = new Set<string>()): string[] {
    if (!seen.has(path)) {
      seen.add(path);
      for (const specifier of this.#modules.get(path)?.dependencySpecifiers ?? []) {
        this.#loadedBy(relative(path, specifier), seen);
      }
    }
    return [...seen];
  }
}

/**
 * The processor time to link and evaluate an entry point with all its imports in a context of its own, in ms, including
 * later imports of a function in it.
 */
export async function timeAlone(
  modules: readonly BundledModule[],
  path: string,
  ...later: readonly string[]
): Promise<number> {
  const before = process.cpuUsage();
  const context = new BareContext(modules);
  for (const one of [path, ...later]) await context.evaluate(one);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
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
