import { executions, HALTED, isForNobody, never, outside } from "./execution";

/**
 * The process's globals as a running function sees them: a query or mutation has a frozen clock, seeded random numbers,
 * and neither timers nor the outside; an action's timers are counted. Other code sees the process's own, which may be
 * replaced at any time (a test's clock, a stand-in for `fetch`).
 */

const NAMES = [
  "Date",
  "fetch",
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "console",
] as const;
type Name = (typeof NAMES)[number];

type Timer = ReturnType<typeof setTimeout>;
type Callback = (...args: unknown[]) => void;

/** The process's own globals, as they are at this moment. */
export const outer = {
  setTimeout: (work: () => void, ms: number): Timer => outside(() => setTimeout(work, ms)),
  clearTimeout: (timer: Timer): void => outside(() => clearTimeout(timer)),
  now: (): number => outside(() => Date.now()),
};

/** Output of a function of a stopped host is dropped: on the platform it would not run at all. */
const silent = new Proxy(console, { get: () => () => undefined });
const ALLOWED: readonly string[] = ["Date", "console"];

const refused = (name: Name) => () => {
  throw new Error(
    `\`${name}\` is not supported in Convex queries or mutations. Move this code to an action.`,
  );
};

const inTransactions: Partial<Record<Name, unknown>> = Object.fromEntries(
  NAMES.filter((name) => !ALLOWED.includes(name)).map((name) => [name, refused(name)]),
);

const inActions: Partial<Record<Name, unknown>> = {
  setTimeout: (callback: Callback, ms?: number, ...args: unknown[]) => {
    const timers = executions.getStore()?.work.timers;
    const timer = globalOf("setTimeout")(() => {
      timers?.delete(timer);
      callback(...args);
    }, ms);
    timers?.add(timer);
    return timer;
  },
  clearTimeout: (timer: Timer | undefined) => {
    executions.getStore()?.work.timers.delete(timer);
    globalOf("clearTimeout")(timer);
  },
};

/** The getters that replace globals; a test's clock may restore an older one, and its meaning has to survive. */
const getters = new WeakSet<object>();
type Slot = {
  value: unknown;
  get: (() => unknown) | undefined;
  set: ((value: unknown) => void) | undefined;
};

function isOurs(getter: unknown): boolean {
  return typeof getter === "function" && getters.has(getter);
}

function globalOf<N extends Name>(name: N): (typeof globalThis)[N] {
  return outside(() => globalThis[name]);
}

function valueIn({ value, get }: Slot): unknown {
  return get === undefined ? value : get();
}

/** Installs what functions see, again if somebody has replaced a global since. To be called before work begins. */
export function installGlobals(): void {
  for (const name of NAMES) {
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
    if (descriptor === undefined || isOurs(Reflect.get(descriptor, "get"))) continue;
    const slot: Slot = {
      value: descriptor.value,
      get: descriptor.get?.bind(globalThis),
      set: descriptor.set?.bind(globalThis),
    };
    const get = () => seenBy(name, slot);
    getters.add(get);
    Object.defineProperty(globalThis, name, {
      configurable: true,
      enumerable: descriptor.enumerable ?? false,
      get,
      set: (value: unknown) => {
        // A loader that restores the real timers while it loads must not do so for the function that waits for it.
        if (executions.getStore() !== undefined) return;
        if (slot.set === undefined) slot.value = value;
        else slot.set(value);
      },
    });
  }
  installRandom();
}

function seenBy(name: Name, slot: Slot): unknown {
  const execution = executions.getStore();
  if (execution === undefined) return valueIn(slot);
  const { frozen, core } = execution;
  if (name === "fetch" && isForNobody(execution)) return never;
  if (name === "console") return core.isHalted ? silent : valueIn(slot);
  if (name === "fetch" && core.isHalted) return () => Promise.reject(new Error(HALTED));
  const { durability } = core;
  if (name === "fetch" && frozen === null && durability !== null) {
    // Commits are stored before anything goes outside, because that cannot be undone.
    return async (...call: Parameters<typeof fetch>) => {
      await durability.synced();
      return globalOf("fetch")(...call);
    };
  }
  if (frozen === null) return inActions[name] ?? valueIn(slot);
  if (name !== "Date") return inTransactions[name];
  return frozenDate(globalOf("Date"));
}

/** How long the platform keeps an answer of a query that reads the clock. */
const CLOCK_KEPT_MS = 5_000;

/** The frozen form of the last `Date`: one serves all transactions, each at its own time. */
let frozenLast: { ordinary: DateConstructor; frozen: DateConstructor } | null = null;

function frozenDate(ordinary: DateConstructor): DateConstructor {
  if (frozenLast?.ordinary !== ordinary) frozenLast = { ordinary, frozen: freeze(ordinary) };
  return frozenLast.frozen;
}

function freeze(ordinary: DateConstructor): DateConstructor {
  const now = () => {
    const execution = executions.getStore();
    if (execution === undefined || execution.frozen === null) return ordinary.now();
    const { core, componentPath, udfPath, frozen, transaction } = execution;
    // A component's own is not the application's to change.
    if (frozen.isTimeless && core.options.strictClock && componentPath === "")
      throw new Error(
        `The query ${udfPath} reads the clock: the platform keeps its answer while what it has read stays the same. Pass the time in, rounded`,
      );
    transaction?.reads.holdsUntil(frozen.now + CLOCK_KEPT_MS);
    return frozen.now;
  };
  return new Proxy(ordinary, {
    construct: (target, args: unknown[], newTarget) =>
      construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new ordinary(now()).toString(),
    get: (target, key, receiver): unknown => (key === "now" ? now : Reflect.get(target, key, receiver)),
  });
}

/** `Reflect`'s own types answer `any`. */
const construct: (...call: Parameters<typeof Reflect.construct>) => object = Reflect.construct;

const random = Math.random.bind(Math);
const { crypto } = globalThis;
const getRandomValues = crypto.getRandomValues.bind(crypto);
const randomUUID = crypto.randomUUID.bind(crypto);
let randomInstalled = false;

function installRandom(): void {
  if (randomInstalled) return;
  randomInstalled = true;
  const seeded = () => executions.getStore()?.frozen?.random;
  Math.random = () => (seeded() ?? random)();
  const fill = (array: ArrayBufferView<ArrayBuffer>): ArrayBufferView => {
    const source = seeded();
    if (source === undefined) return getRandomValues(array);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(source() * 256);
    return array;
  };
  const uuid = () => {
    if (seeded() === undefined) return randomUUID();
    const bytes = new Uint8Array(16);
    fill(bytes);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  Object.defineProperties(crypto, {
    getRandomValues: { value: fill, configurable: true, writable: true },
    randomUUID: { value: uuid, configurable: true, writable: true },
  });
}

/** A generator of numbers in [0, 1) that is the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
