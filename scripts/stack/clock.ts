import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { promisify } from "node:util";
import { real } from "../real";

/** The application's clock. */
export type Clock = {
  /** How many times faster than real time it runs. */
  readonly speed: number;
  now: () => number;
  /** Runs `work`, and everything it starts, in the application's time. The rest of the process keeps real time. */
  inside: <T>(work: () => T) => T;
  /** Restores the process's own globals. */
  stop: () => void;
};

/**
 * The clock of the local stack. At speed 1 it is the real one and nothing is replaced. At higher speeds, `Date`, the
 * timers and `fetch` are replaced for the code that runs `inside`: time runs `speed` times faster, but never past the
 * next due timer before that timer has fired (a slow machine delays the clock, never a timer), and it stands still
 * during a call to the outside.
 */
export function createClock(speed: number): Clock {
  if (speed === 1) return { speed, now: () => real.Date.now(), inside: (work) => work(), stop: () => {} };
  const time = new VirtualTime(speed);
  const current = new AsyncLocalStorage<VirtualTime>();
  Object.assign(globalThis, replacements(current));
  return {
    speed,
    now: () => time.now(),
    inside: (work) => current.run(time, work),
    stop: () => {
      const { Date, fetch, setTimeout, clearTimeout, setInterval, clearInterval } = real;
      Object.assign(globalThis, { Date, fetch, setTimeout, clearTimeout, setInterval, clearInterval });
      time.stop();
    },
  };
}

/** Handles are numbers, as in browsers; no virtual time shares one. */
type VirtualTimer = { id: number; fire: () => void; period: number | null; due: number };
const times = new Map<number, VirtualTime>();
let lastId = 0;

class VirtualTime {
  /** The virtual time at the real moment `anchor`. */
  #time = real.Date.now();
  #anchor = performance.now();
  #holds = 0;
  /** In the order in which they are due. */
  #timers: VirtualTimer[] = [];
  #disarm: () => void = () => {};
  #stopped = false;

  constructor(readonly speed: number) {}

  now(): number {
    if (this.#holds > 0 || this.#stopped) return this.#time;
    const time = this.#time + (performance.now() - this.#anchor) * this.speed;
    const due = this.#timers[0]?.due;
    return due === undefined || time < due ? time : Math.max(this.#time, due);
  }

  /** @returns Its handle. */
  schedule(callback: () => void, delay: number, period: number | null): number {
    const id = ++lastId;
    times.set(id, this);
    this.#add({ id, fire: AsyncResource.bind(callback), period, due: this.now() + delay });
    return id;
  }

  #add(timer: VirtualTimer): void {
    this.#settle();
    const after = this.#timers.findIndex((other) => other.due > timer.due);
    this.#timers.splice(after === -1 ? this.#timers.length : after, 0, timer);
    this.#arm();
  }

  cancel(id: number): void {
    this.#settle();
    this.#timers = this.#timers.filter((other) => other.id !== id);
    times.delete(id);
    this.#arm();
  }

  /** Stops the clock until the returned function is called. */
  hold(): () => void {
    this.#settle();
    this.#holds += 1;
    this.#disarm();
    return () => {
      this.#settle();
      this.#holds -= 1;
      this.#arm();
    };
  }

  stop(): void {
    this.#settle();
    this.#stopped = true;
    this.#disarm();
    for (const { id } of this.#timers) times.delete(id);
    this.#timers = [];
  }

  /** Continues from this real moment, so that no change below makes the time jump. */
  #settle(): void {
    this.#time = this.now();
    this.#anchor = performance.now();
  }

  #arm(): void {
    this.#disarm();
    const next = this.#timers[0];
    if (next === undefined || this.#holds > 0 || this.#stopped) return;
    const wait = (next.due - this.now()) / this.speed;
    if (wait > 1) {
      const timer = real.setTimeout(() => this.#turn(), Math.floor(wait));
      this.#disarm = () => real.clearTimeout(timer);
    } else {
      // Also gives the event loop a turn between two due timers, in which the first one's promises settle.
      const immediate = real.setImmediate(() => this.#turn());
      this.#disarm = () => clearImmediate(immediate);
    }
  }

  #turn(): void {
    this.#settle();
    const next = this.#timers[0];
    if (next === undefined || this.#time < next.due) return this.#arm();
    this.#timers.shift();
    if (next.period === null) times.delete(next.id);
    else this.#add({ ...next, due: next.due + next.period });
    try {
      next.fire();
    } finally {
      this.#arm();
    }
  }
}

type Callback = (...args: unknown[]) => void;
type RealTimer = ReturnType<typeof setTimeout>;

/** `Reflect`'s own types answer `any`. */
const construct: (...call: Parameters<typeof Reflect.construct>) => object = Reflect.construct;
const get: (target: object, key: PropertyKey, receiver?: unknown) => unknown = Reflect.get;

/** The globals as application code sees them; other code gets the real ones. */
function replacements(current: AsyncLocalStorage<VirtualTime>) {
  const now = () => Math.floor(current.getStore()?.now() ?? real.Date.now());
  const timer =
    (ordinary: (callback: Callback, ms?: number, ...args: unknown[]) => RealTimer, repeats: boolean) =>
    (callback: Callback, ms?: number, ...args: unknown[]) => {
      const time = current.getStore();
      if (time === undefined) return ordinary(callback, ms, ...args);
      const delay = Math.max(1, Number(ms) || 0);
      return time.schedule(() => callback(...args), delay, repeats ? delay : null);
    };
  const cancel = (handle?: RealTimer | string | number) => {
    const time = typeof handle === "number" ? times.get(handle) : undefined;
    if (time === undefined) real.clearTimeout(handle);
    else time.cancel(Number(handle));
  };
  return {
    Date: new Proxy(real.Date, {
      construct: (target, args: unknown[], newTarget) =>
        construct(target, args.length === 0 ? [now()] : args, newTarget),
      apply: () => new real.Date(now()).toString(),
      get: (target, key, receiver) => (key === "now" ? now : get(target, key, receiver)),
    }),
    // Libraries promisify the global; theirs stays on real time.
    setTimeout: Object.assign(timer(real.setTimeout, false), {
      [promisify.custom]: get(real.setTimeout, promisify.custom),
    }),
    clearTimeout: cancel,
    setInterval: timer(real.setInterval, true),
    clearInterval: cancel,
    fetch: (input: RequestInfo | URL, init?: RequestInit) => {
      const time = current.getStore();
      // Node's fetch sets timers of its own, also while a body is read, and those must not stop with this clock.
      return current.exit(() => createCountingFetch(real.fetch, () => time?.hold())(input, init));
    },
  };
}

type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` that holds the clock from the call until the last byte of the answer has arrived: it answers with all of it.
 * @param hold Stops the clock and returns its release; nothing if there is no clock to stop.
 */
export function createCountingFetch(fetch: Fetch, hold: () => (() => void) | undefined): Fetch {
  return async (input, init) => {
    const end = hold();
    if (end === undefined) return fetch(input, init);
    try {
      const response = await fetch(input, init);
      const { status, statusText, headers, url, redirected } = response;
      const body = response.body === null ? null : await response.arrayBuffer();
      const whole = new Response(body, { status, statusText, headers });
      return Object.defineProperties(whole, { url: { value: url }, redirected: { value: redirected } });
    } finally {
      // Let the caller's code after the last byte run before time continues.
      setImmediate(end);
    }
  };
}
