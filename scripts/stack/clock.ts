import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { promisify } from "node:util";
import { countingFetch } from "./outsideCalls";

/** Node's own clock and timers, whatever has been installed over them. */
export const real = {
  Date: globalThis.Date,
  fetch: globalThis.fetch,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
};

type Callback = (...args: unknown[]) => void;
type RealTimer = ReturnType<typeof setTimeout>;

/** The application's clock. */
export type Clock = {
  /** How many times faster than real time it runs. */
  readonly speed: number;
  now: () => number;
  /** Runs `work`, and all it starts, in the application's time. Everything else in the process keeps real time. */
  inside: <T>(work: () => T) => T;
  /** Calls back after `ms` of the application's time; the answer cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  /** Puts the process's own globals back. */
  stop: () => void;
};

/** The longest delay Node's timers take; a longer one would fire at once. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * The clock of the local stack. At speed 1 it is the real one and nothing is replaced. Above, `Date`, the timers and
 * `fetch` are replaced for the code that runs `inside`: time runs `speed` times faster, but never past the next due
 * timer before that timer has fired (a slow machine makes the clock lag, never a timer late), and it stands still
 * while a call to the outside is under way.
 */
export function createClock(speed: number): Clock {
  if (speed === 1) {
    return { speed, now: () => real.Date.now(), inside: (work) => work(), after: realAfter, stop: () => {} };
  }
  const time = new VirtualTime(speed);
  const current = new AsyncLocalStorage<VirtualTime>();
  const originals = { ...real };
  Object.assign(globalThis, replacements(current));
  return {
    speed,
    now: () => time.now(),
    inside: (work) => current.run(time, work),
    after: (ms, callback) => {
      const timer = time.schedule(callback, ms, null);
      return () => time.cancel(timer);
    },
    stop: () => {
      const { Date, fetch, setTimeout, clearTimeout, setInterval, clearInterval } = originals;
      Object.assign(globalThis, { Date, fetch, setTimeout, clearTimeout, setInterval, clearInterval });
      time.stop();
    },
  };
}

function realAfter(ms: number, callback: () => void): () => void {
  const due = real.Date.now() + ms;
  let timer: RealTimer;
  const arm = () => {
    const left = due - real.Date.now();
    timer = left > LONGEST_DELAY ? real.setTimeout(arm, LONGEST_DELAY) : real.setTimeout(callback, left);
  };
  arm();
  return () => real.clearTimeout(timer);
}

/** The globals as application code sees them; other code falls through to the real ones. */
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
  const cancel = (handle: unknown) => {
    if (handle instanceof VirtualTimer) handle.close();
    else if (typeof handle === "number" && VirtualTimer.byId.has(handle)) VirtualTimer.byId.get(handle)?.close();
    else real.clearTimeout(isRealHandle(handle) ? handle : undefined);
  };
  return {
    Date: new Proxy(real.Date, {
      construct: (target, args: unknown[], newTarget) =>
        Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
      apply: () => new real.Date(now()).toString(),
      get: (target, key, receiver) => (key === "now" ? now : Reflect.get(target, key, receiver)),
    }),
    // Libraries promisify the global; theirs stays on real time.
    setTimeout: Object.assign(timer(real.setTimeout, false), {
      [promisify.custom]: Reflect.get(real.setTimeout, promisify.custom),
    }),
    clearTimeout: cancel,
    setInterval: timer(real.setInterval, true),
    clearInterval: cancel,
    fetch: countingFetch(
      // Node's fetch sets timers of its own, which must not stop with the clock that waits for it.
      (input, init) => current.exit(() => real.fetch(input, init)),
      () => current.getStore()?.hold(),
    ),
  };
}

function isRealHandle(handle: unknown): handle is RealTimer {
  return typeof handle === "object" && handle !== null && "hasRef" in handle;
}

/** A handle with what Node's own has. */
class VirtualTimer {
  static readonly byId = new Map<number, VirtualTimer>();
  static #nextId = 1;
  readonly id = VirtualTimer.#nextId++;

  constructor(
    readonly time: VirtualTime,
    readonly fire: () => void,
    readonly delay: number,
    readonly period: number | null,
    public due: number,
  ) {}

  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
  refresh(): this {
    this.time.cancel(this);
    this.due = this.time.now() + this.delay;
    this.time.add(this);
    return this;
  }
  close(): this {
    this.time.cancel(this);
    return this;
  }
  [Symbol.toPrimitive](): number {
    return this.id;
  }
}

class VirtualTime {
  /** The virtual time at the real moment `anchor`. */
  #time = real.Date.now();
  #anchor = performance.now();
  #holds = 0;
  /** In the order they are due. */
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

  schedule(callback: () => void, delay: number, period: number | null): VirtualTimer {
    const timer = new VirtualTimer(this, AsyncResource.bind(callback), delay, period, this.now() + delay);
    this.add(timer);
    return timer;
  }

  add(timer: VirtualTimer): void {
    this.#settle();
    const after = this.#timers.findIndex((other) => other.due > timer.due);
    this.#timers.splice(after === -1 ? this.#timers.length : after, 0, timer);
    VirtualTimer.byId.set(timer.id, timer);
    this.#arm();
  }

  cancel(timer: VirtualTimer): void {
    this.#settle();
    this.#timers = this.#timers.filter((other) => other !== timer);
    VirtualTimer.byId.delete(timer.id);
    this.#arm();
  }

  /** Stops the clock until the answer is called. */
  hold(): () => void {
    this.#settle();
    this.#holds += 1;
    this.#disarm();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#settle();
      this.#holds -= 1;
      this.#arm();
    };
  }

  stop(): void {
    this.#settle();
    this.#stopped = true;
    this.#disarm();
  }

  /** Makes this real moment the one time is counted from, so that no change below can make it jump. */
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
      // Also the turn of the event loop between two due timers, in which what the first one started settles.
      const immediate = real.setImmediate(() => this.#turn());
      this.#disarm = () => clearImmediate(immediate);
    }
  }

  #turn(): void {
    this.#settle();
    const next = this.#timers[0];
    if (next === undefined || this.#time < next.due) return this.#arm();
    this.#timers.shift();
    if (next.period === null) {
      VirtualTimer.byId.delete(next.id);
    } else {
      next.due += next.period;
      this.add(next);
    }
    try {
      next.fire();
    } finally {
      this.#arm();
    }
  }
}
