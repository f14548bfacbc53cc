/**
 * The bridge between a context and this process. It runs inside the context, so that every value it passes on is an
 * instance of the context's own classes. Convex's runtime calls it in place of the platform's backend.
 */

/** This process, from inside a context. */
export type Outside = {
  op: (name: string, given: readonly unknown[]) => unknown;
  /** One of the two callbacks gets the answer; neither after the context is closed. */
  asyncOp: (name: string, given: readonly unknown[], done: Done, failed: Failed) => void;
  asyncSyscall: (name: string, json: string, done: Done, failed: Failed) => void;
  /** Reports a difference from the platform. */
  fault: (what: string) => void;
  /** Called for each WebAssembly instance, with its memory. */
  grown: (memory: WebAssembly.Memory) => void;
};
type Done = (value: unknown) => void;
type Thrown = { name: string; message: string; data?: unknown };
type Failed = (error: Thrown) => void;

type Backend = {
  op: (name: string, ...given: unknown[]) => unknown;
  asyncOp: (name: string, ...given: unknown[]) => Promise<unknown>;
  syscall: (name: string, json: string) => never;
  asyncSyscall: (name: string, json: string) => Promise<unknown>;
  getContinuationPreservedEmbedderData: () => unknown;
  setContinuationPreservedEmbedderData: (data: unknown) => void;
};

/** Puts Convex's runtime on the context's globals. */
export function enter(outside: Outside, setup: (global: object) => void): void {
  let continuation: unknown;
  const callOutside = (begin: (done: Done, failed: Failed) => void): Promise<unknown> =>
    new Promise((resolve, reject) =>
      begin(
        (value) => resolve(toOwn(value)),
        (error) => reject(toOwnError(error)),
      ),
    );
  const backend: Backend = {
    op: (name, ...given) => {
      try {
        return toOwn(outside.op(name, given));
      } catch (error) {
        throw toOwnError(error);
      }
    },
    asyncOp: (name, ...given) => callOutside((done, failed) => outside.asyncOp(name, given, done, failed)),
    // Available in transactions only.
    syscall: (name) => {
      outside.fault(`an action makes the system call ${name}`);
      throw new Error(name);
    },
    asyncSyscall: (name, json) =>
      callOutside((done, failed) => outside.asyncSyscall(name, json, done, failed)),
    getContinuationPreservedEmbedderData: () => continuation,
    setContinuationPreservedEmbedderData: (data) => {
      continuation = data;
    },
  };
  Object.assign(globalThis, { Convex: backend });
  bringUp();
  setup(globalThis);
  watchPrograms(outside);
  watchFetch(outside);
}

/** Adds the functions of the platform's newer engine that the runtime uses. */
function bringUp(): void {
  if ("transfer" in ArrayBuffer.prototype) return;
  Object.defineProperty(ArrayBuffer.prototype, "transfer", {
    value(this: ArrayBuffer) {
      return this.slice(0);
    },
  });
}

function watchPrograms({ grown }: Outside): void {
  const usual = WebAssembly.instantiate;
  Object.assign(WebAssembly, {
    instantiate: async (bytes: BufferSource, imports?: WebAssembly.Imports) => {
      const made = await usual(bytes, imports);
      const { memory } = made.instance.exports;
      if (memory instanceof WebAssembly.Memory) grown(memory);
      return made;
    },
  });
}

function watchFetch({ fault }: Outside): void {
  const usual = globalThis.fetch;
  globalThis.fetch = (input, init) => {
    if (init?.signal?.aborted === true)
      fault("a fetch begins with a signal that has been aborted: it is sent all the same");
    return usual(input, init);
  };
}

/** Copies a value of another context into this one. */
function toOwn(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isBytes(value)) return new Uint8Array(value);
  if (isBuffer(value)) return new Uint8Array(value).slice().buffer;
  if (isList(value)) return Array.from(value, toOwn);
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, toOwn(one)]));
}

const getTag = (value: object): string => Object.prototype.toString.call(value);
// By their tags, because they are instances of the other context's classes.
const isBytes = (value: object): value is Uint8Array => getTag(value) === "[object Uint8Array]";
const isBuffer = (value: object): value is ArrayBuffer => getTag(value) === "[object ArrayBuffer]";
const isList = (value: object): value is unknown[] => Array.isArray(value);

function toOwnError(error: unknown): Error {
  const { name, message, data } = isThrown(error) ? error : { name: "Error", message: String(error) };
  if (name === "AbortError") return new DOMException(message, name);
  const made = name === "TypeError" ? new TypeError(message) : new Error(message);
  return data === undefined ? made : Object.assign(made, { data: toOwn(data) });
}

const isThrown = (error: unknown): error is Thrown =>
  typeof error === "object" && error !== null && "message" in error;
