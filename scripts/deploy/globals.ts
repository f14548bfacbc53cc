import { AsyncLocalStorage } from "node:async_hooks";
import { types } from "node:util";

/**
 * The globals of Convex's default runtime, with its differences from Node. Source: the runtime's own set-up in
 * get-convex/convex-backend (`npm-packages/udf-runtime`, `crates/isolate`).
 */

/** Globals that a bare V8 context lacks, that reach nothing outside, and that are the same as Node's. */
const PROVIDED = [
  "AbortController",
  "Blob",
  "DOMException",
  "Event",
  "EventTarget",
  "File",
  "FormData",
  "Headers",
  "ReadableStream",
  "Response",
  "TextDecoderStream",
  "TextEncoder",
  "TextEncoderStream",
  "TransformStream",
  "WritableStream",
  "atob",
  "btoa",
  "performance",
] as const satisfies readonly (keyof typeof globalThis)[];

/** Globals of Node that the runtime lacks: using one throws there, asking with `typeof` finds nothing. */
export const LACKING = [
  "Buffer",
  "CompressionStream",
  "DecompressionStream",
  "MessageChannel",
  "URLPattern",
  "WebSocket",
  "global",
  "module",
  "navigator",
  "queueMicrotask",
  "require",
  "setImmediate",
  "window",
];

/** Forbidden while a module is evaluated: the platform refuses it at push. */
const NOT_AT_IMPORT = ["fetch", "setTimeout", "setInterval"];

/** Properties of a request that end the function there: no `catch` sees it. */
const FATAL_OF_REQUEST = [
  "cache",
  "credentials",
  "duplex",
  "integrity",
  "keepalive",
  "mode",
  "redirect",
  "referrer",
];
/** Parts of an address that cannot be set there. */
const FATAL_OF_URL = ["host", "password", "username"] as const;

/** What modules did that the runtime does not support. */
export type Noted = {
  /** A missing member was asked for: harmless with `typeof`. */
  lacking: (name: string) => void;
  /** A use that ends the function there, even if the error is caught here. */
  fatal: (name: string) => void;
};

export function platformGlobals(noted: Noted): Record<string, unknown> {
  const refuse = (name: string): never => {
    noted.fatal(name);
    throw new Error(`${name} is not supported by the platform`);
  };
  const nothing = () => undefined;
  const globals: Record<string, unknown> = {
    AbortSignal: without(AbortSignal, ["abort"], (name) => noted.lacking(`AbortSignal.${name}`)),
    AsyncLocalStorage,
    Request: requestOf(refuse),
    TextDecoder: PlatformTextDecoder,
    URL: urlOf(refuse),
    URLSearchParams: searchParams(),
    clearInterval: nothing,
    clearTimeout: nothing,
    console: { debug: nothing, error: nothing, info: nothing, log: nothing, warn: nothing },
    crypto: cryptoOf(refuse),
    structuredClone: (value: unknown, options?: unknown): unknown =>
      options === undefined ? structuredClone(value) : refuse("structuredClone with options"),
  };
  for (const name of PROVIDED) globals[name] = globalThis[name];
  for (const name of NOT_AT_IMPORT) {
    globals[name] = () => {
      throw new Error(`${name}() was called while the module was evaluated`);
    };
  }
  return globals;
}

/** Strict decoding returns `undefined` there where the standard throws, and a last call without bytes returns the empty text. */
class PlatformTextDecoder {
  readonly #strict: boolean;
  readonly #decoder: TextDecoder;

  constructor(label?: string, options?: TextDecoderOptions) {
    this.#strict = options?.fatal === true;
    this.#decoder = new TextDecoder(label, options);
  }

  decode(bytes?: AllowSharedBufferSource, options?: TextDecodeOptions): string | undefined {
    if (bytes === undefined) return "";
    try {
      return this.#decoder.decode(bytes, options);
    } catch (error) {
      if (this.#strict) return undefined;
      throw error;
    }
  }
}

function searchParams(): typeof URLSearchParams {
  class PlatformSearchParams extends URLSearchParams {}
  Object.defineProperty(PlatformSearchParams.prototype, "size", { get: () => undefined });
  return PlatformSearchParams;
}

function requestOf(refuse: (name: string) => never): typeof Request {
  class PlatformRequest extends Request {}
  for (const name of FATAL_OF_REQUEST) {
    Object.defineProperty(PlatformRequest.prototype, name, { get: () => refuse(`Request.${name}`) });
  }
  return PlatformRequest;
}

function urlOf(refuse: (name: string) => never): typeof URL {
  class PlatformUrl extends URL {}
  for (const name of FATAL_OF_URL) {
    const known = Object.getOwnPropertyDescriptor(URL.prototype, name);
    Object.defineProperty(PlatformUrl.prototype, name, {
      get(this: URL): unknown {
        return known?.get?.call(this);
      },
      set() {
        refuse(`setting URL.${name}`);
      },
    });
  }
  return PlatformUrl;
}

/** Keys are not wrapped there, and `subtle` makes nothing random while a module is evaluated. */
function cryptoOf(refuse: (name: string) => never): Crypto {
  const REFUSED = ["wrapKey", "unwrapKey", "generateKey"];
  const subtle = new Proxy(crypto.subtle, {
    get: (target, name) =>
      typeof name === "string" && REFUSED.includes(name)
        ? () => refuse(`subtle.${name}`)
        : bound(target, name),
  });
  return new Proxy(crypto, { get: (target, name) => (name === "subtle" ? subtle : bound(target, name)) });
}

function without<Value extends object>(
  value: Value,
  names: readonly string[],
  asked: (name: string) => void,
): Value {
  return new Proxy(value, {
    get: (target, name): unknown => {
      if (typeof name !== "string" || !names.includes(name)) return bound(target, name);
      asked(name);
      return undefined;
    },
    has: (target, name) => !(typeof name === "string" && names.includes(name)) && Reflect.has(target, name),
  });
}

/** A property with its methods bound to the real object, as a host's own methods require. */
function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" && !types.isProxy(value) && name !== "prototype"
    ? (...given: unknown[]): unknown => Reflect.apply(value, target, given)
    : value;
}
