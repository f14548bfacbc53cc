import { getFunctionAddress, type FunctionReference } from "convex/server";
import type { Value } from "convex/values";
import type { Outcome } from "./commits";
import type { FunctionKind, FunctionPath } from "./execution";
import { checkOf, type Check } from "./store/validators";
import { passed } from "./store/values";

/** Modules by path below the application's or component's folder, without the ending. */
export type Modules = Record<string, () => Promise<unknown>>;

/** A function that `query`, `mutation`, `action` and their internal forms made. */
export type Registered = {
  kind: FunctionKind;
  isPublic: boolean;
  module: string;
  handler: (ctx: object, args: unknown) => unknown;
  checkArgs: Check;
  checkReturns: Check;
};

/** The modules of the application or of one component, each loaded once; a module that failed is loaded again. */
export class ModuleSet {
  readonly #loaded = new Map<string, Promise<unknown>>();
  readonly #functions = new Map<string, Registered | null>();

  constructor(readonly modules: Modules) {}

  load(module: string): Promise<unknown> {
    let loaded = this.#loaded.get(module);
    if (loaded === undefined) {
      const load = this.modules[module];
      loaded = load === undefined ? Promise.resolve(undefined) : load();
      this.#loaded.set(module, loaded);
      loaded.catch(() => this.#loaded.delete(module));
    }
    return loaded;
  }

  /** The earlier result of `find`; undefined if it was not called. */
  known(udfPath: string): Registered | null | undefined {
    return this.#functions.get(udfPath);
  }

  /** Whether such a function may exist: modules are not loaded to find out. */
  declares(udfPath: string): boolean {
    const [file = ""] = udfPath.split(":");
    return file.replace(/\.[jt]s$/, "") in this.modules && this.known(udfPath) !== null;
  }

  /** The function `module/path:name`; null if there is none. */
  async find(udfPath: string): Promise<Registered | null> {
    const known = this.#functions.get(udfPath);
    if (known !== undefined) return known;
    const [file = "", name = "default"] = udfPath.split(":");
    const module = file.replace(/\.[jt]s$/, "");
    const loaded = await this.load(module);
    const value: unknown =
      typeof loaded === "object" && loaded !== null ? Reflect.get(loaded, name) : undefined;
    const found = typeof value === "function" ? registered(value, module) : null;
    this.#functions.set(udfPath, found);
    return found;
  }
}

/** Their validators are slow to make: they are kept for all hosts of the process. */
const known = new WeakMap<object, Registered | null>();

function registered(value: object, module: string): Registered | null {
  let found = known.get(value);
  if (found === undefined) known.set(value, (found = asRegistered(value, module)));
  return found;
}

function asRegistered(value: object, module: string): Registered | null {
  const is = (name: string) => Reflect.get(value, name) === true;
  const kind = is("isQuery") ? "query" : is("isMutation") ? "mutation" : is("isAction") ? "action" : null;
  const handler: unknown = Reflect.get(value, "_handler");
  if (kind === null || !isHandler(handler)) return null;
  return {
    kind,
    isPublic: is("isPublic"),
    module,
    handler,
    checkArgs: checkOf(exported(value, "exportArgs")),
    checkReturns: checkOf(exported(value, "exportReturns")),
  };
}

function isHandler(value: unknown): value is Registered["handler"] {
  return typeof value === "function";
}

function exported(value: object, name: string): unknown {
  const method: unknown = Reflect.get(value, name);
  if (typeof method !== "function") throw new Error(`A function has no ${name}`);
  const json: unknown = Reflect.apply(method, value, []);
  return JSON.parse(String(json));
}

/** @param problem What is wrong with the arguments, or null. */
export function assertFits(problem: string | null, { udfPath }: FunctionPath): void {
  if (problem !== null) throw new Error(`Invalid arguments for "${udfPath}": ${problem}`);
}

/** A function's result, as its callers get it. @throws the function's error, or an Error if the result does not fit. */
export function returned(
  outcome: Outcome<unknown>,
  { checkReturns }: Registered,
  { udfPath }: FunctionPath,
): Value {
  if ("error" in outcome) throw outcome.error;
  const value = outcome.value === undefined ? null : passed(outcome.value);
  const problem = checkReturns(value);
  if (problem !== null) throw new Error(`Return value of "${udfPath}": ${problem}`);
  return value;
}

/** The target of one of convex's function addresses, as seen from a component. */
export type Address = {
  name?: string | undefined;
  reference?: string | undefined;
  functionHandle?: string | undefined;
};

export function pathOf(address: Address, componentPath: string): FunctionPath {
  if (address.functionHandle !== undefined) {
    const [component = "", udfPath = ""] = address.functionHandle.replace("function://", "").split(";");
    return { componentPath: component, udfPath };
  }
  if (address.name !== undefined) return { componentPath, udfPath: address.name };
  // As in `_reference/childComponent/deliveryPool/path/to/module/name`.
  const [, , child = "", ...rest] = (address.reference ?? "").split("/");
  const name = rest.pop() ?? "";
  return {
    componentPath: componentPath === "" ? child : `${componentPath}/${child}`,
    udfPath: `${rest.join("/")}:${name}`,
  };
}

export type AnyReference = FunctionReference<FunctionKind, "public" | "internal">;

export function pathOfReference(reference: AnyReference, componentPath: string): FunctionPath {
  const address: unknown = getFunctionAddress(reference);
  const field = (name: keyof Address) => {
    const value: unknown =
      typeof address === "object" && address !== null ? Reflect.get(address, name) : null;
    return typeof value === "string" ? value : undefined;
  };
  const [name, path, handle] = [field("name"), field("reference"), field("functionHandle")];
  return pathOf({ name, reference: path, functionHandle: handle }, componentPath);
}

export const handleOf = ({ componentPath, udfPath }: FunctionPath) =>
  `function://${componentPath};${udfPath}`;
