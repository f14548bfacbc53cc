import { AsyncLocalStorage } from "node:async_hooks";
import { promisify } from "node:util";
import { countingFetch } from "./outsideCalls";
import { real } from "../../real";
import { VirtualTime, VirtualTimer } from "./virtualTime";

type Callback = (...args: unknown[]) => void;
type RealTimer = ReturnType<typeof setTimeout>;

/** The application's clock. */
export type Clock = {
  /** How many times faster than real time it runs. */
  readonly speed: number;
  now: () => number;
  /** Moves the clock forward to `time`, unless it is past it. To be called before anything runs inside. */
  notBefore: (time: number) => void;
  /** Runs `work`, and everything it starts, in the application's time. The rest of the process keeps real time. */
  inside: <T>(work: () => T) => T;
  /** Calls back after `ms` of the application's time; the returned function cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  /** Restores the process's own globals. */
  stop: () => void;
};

/** Node's longest timer; a longer one would fire immediately. */
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * The clock of the local stack. At speed 1 it is the real one and nothing is replaced, unless it is moved forward: then
 * `Date` is replaced for the code that runs `inside`, and stays as far ahead. At higher speeds, `Date`, the timers and
 * `fetch` are replaced for the code that runs `inside`: time runs `speed` times faster, but never past the next due
 * timer before that timer has fired (a slow machine delays the clock, never a timer), and it stands still during a call
 * to the outside.
 */
export function createClock(speed: number): Clock {
  return speed === 1 ? ordinaryClock() : acceleratedClock(speed);
}

function ordinaryClock(): Clock {
  let ahead = 0;
  const time = { now: () => real.Date.now() + ahead };
  const current = new AsyncLocalStorage<Pick<VirtualTime, "now">>();
  return {
    speed: 1,
    now: time.now,
    notBefore: (earliest) => {
      if (earliest <= time.now()) return;
      ahead = earliest - real.Date.now();
      Object.assign(globalThis, { Date: dateOf(current) });
    },
    inside: (work) => (ahead === 0 ? work() : current.run(time, work)),
    after: realAfter,
    stop: () => {
      if (ahead !== 0) Object.assign(globalThis, { Date: real.Date });
    },
  };
}

function acceleratedClock(speed: number): Clock {
  const time = new VirtualTime(speed);
  const current = new AsyncLocalStorage<VirtualTime>();
  Object.assign(globalThis, replacements(current));
  return {
    speed,
    now: () => time.now(),
    notBefore: (earliest) => time.moveTo(earliest),
    inside: (work) => current.run(time, work),
    after: (ms, callback) => {
      const timer = time.schedule(callback, ms, null);
      return () => time.cancel(timer);
    },
    stop: () => {
      const { Date, fetch, setTimeout, clearTimeout, setInterval, clearInterval } = real;
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

/** `Reflect`'s own types answer `any`. */
const construct: (...call: Parameters<typeof Reflect.construct>) => object = Reflect.construct;
const get: (target: object, key: PropertyKey, receiver?: unknown) => unknown = Reflect.get;

/** `Date` as application code sees it; other code gets the real one, here and below. */
function dateOf(current: AsyncLocalStorage<Pick<VirtualTime, "now">>) {
  const now = () => Math.floor(current.getStore()?.now() ?? real.Date.now());
  return new Proxy(real.Date, {
    construct: (target, args: unknown[], newTarget) =>
      construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new real.Date(now()).toString(),
    get: (target, key, receiver) => (key === "now" ? now : get(target, key, receiver)),
  });
}

/** The globals as application code sees them. */
function replacements(current: AsyncLocalStorage<VirtualTime>) {
  const timer =
    (ordinary: (callback: Callback, ms?: number, ...args: unknown[]) => RealTimer, repeats: boolean) =>
    (callback: Callback, ms?: number, ...args: unknown[]) => {
      const time = current.getStore();
      if (time === undefined) return ordinary(callback, ms, ...args);
      const delay = Math.max(1, Number(ms) || 0);
      return time.schedule(() => callback(...args), delay, repeats ? delay : null);
    };
  const cancel = (handle?: VirtualTimer | RealTimer | string | number) => {
    if (handle instanceof VirtualTimer) handle.close();
    else if (typeof handle === "number" && VirtualTimer.byId.has(handle))
      VirtualTimer.byId.get(handle)?.close();
    else real.clearTimeout(handle);
  };
  return {
    Date: dateOf(current),
    // Libraries promisify the global; theirs stays on real time.
    setTimeout: Object.assign(timer(real.setTimeout, false), {
      [promisify.custom]: get(real.setTimeout, promisify.custom),
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
