import { AsyncResource } from "node:async_hooks";
import { real } from "../real";
import { VirtualTimer } from "../stack/time/virtualTime";

/** A simulated clock for measurements that count rather than time. */
export type SteppedClock = {
  now: () => number;
  /** Calls back `ms` from now. */
  after: (ms: number, work: () => void) => void;
  /** Stops time until the returned function is called. */
  hold: () => () => void;
  /** Lets `ms` pass. */
  advance: (ms: number) => Promise<void>;
  /** Lets time pass until the promise is settled. */
  during: <T>(promise: Promise<T>) => Promise<T>;
  /** Time stops for good. */
  freeze: () => void;
  /** Fires everything that is due at this moment of a frozen clock; nothing later ever comes. */
  flush: () => void;
  /** Restores the process's own globals. */
  stop: () => void;
};

/** After so many idle turns of the event loop, everything counts as at rest. */
const TURNS = 3;
/** After so many turns without outside work, seemingly busy work waits for another's timer: actions share a module's state here. */
const MOST_TURNS = 20_000;
/** Work that is held for longer waits for another process, which needs the processor more than this loop does. */
const MOST_HELD = 50;

/**
 * Replaces the process's `Date`, timeouts and deadlines by simulated ones, which start at `start` (epoch ms). Time
 * stands still while there is work, however long the machine takes, and then jumps to the next due timer, so that the
 * same work has the same times on any machine. Work that waits for anything but timers has to `hold` the clock, or to
 * show as busy.
 * @param isBusy Whether there is work that waits for no timer.
 */
export function createSteppedClock(start: number, isBusy: () => boolean = () => false): SteppedClock {
  let now = start;
  let holds = 0;
  let frozen = false;
  /** In the order in which they are due. */
  const timers: VirtualTimer[] = [];
  const originals = { Date: real.Date, setTimeout: real.setTimeout, clearTimeout: real.clearTimeout };

  const enter = (timer: VirtualTimer) => {
    const later = timers.findLastIndex(({ due }) => due <= timer.due) + 1;
    timers.splice(later, 0, timer);
  };
  const remove = (timer: unknown) => {
    const index = timers.findIndex((one) => one === timer);
    if (index !== -1) timers.splice(index, 1);
  };
  const time = { now: () => now, add: enter, cancel: remove };
  const add = (ms: number, work: () => void): VirtualTimer => {
    const wait = Math.max(0, ms);
    // A fired timer belongs to its creator, not to the code that lets time pass.
    const timer = new VirtualTimer(time, AsyncResource.bind(work), wait, null, now + wait);
    enter(timer);
    return timer;
  };
  const rest = async () => {
    for (let turns = 0, spun = 0, held = 0; turns < TURNS && spun < MOST_TURNS && !frozen;) {
      held = holds > 0 ? held + 1 : 0;
      spun = held > 0 ? 0 : spun + 1;
      turns = held > 0 || isBusy() ? 0 : turns + 1;
      await new Promise<void>(
        (resolve) => void (held > MOST_HELD ? real.setTimeout(resolve, 1) : real.setImmediate(resolve)),
      );
    }
  };
  const fireNext = () => {
    const next = timers.shift();
    if (next === undefined) throw new Error("Nothing is due any more: the work waits for something else");
    now = Math.max(now, next.due);
    next.fire();
  };

  class SimulatedDate extends real.Date {
    constructor(...args: [] | [number | string | Date]) {
      super(args[0] ?? Math.floor(now));
    }
    static override now(): number {
      return Math.floor(now);
    }
  }
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: (work: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) =>
      add(ms ?? 0, () => work(...args)),
    clearTimeout: remove,
  });
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController();
    const expired = new DOMException("The operation was aborted due to timeout", "TimeoutError");
    add(ms, () => controller.abort(expired));
    return controller.signal;
  };

  return {
    now: () => now,
    after: (ms, work) => void add(ms, work),
    hold: () => {
      holds += 1;
      return () => void (holds -= 1);
    },
    advance: async (ms) => {
      const end = now + ms;
      await rest();
      for (; !frozen && timers[0] !== undefined && timers[0].due <= end; await rest()) fireNext();
      if (!frozen) now = end;
    },
    during: async (promise) => {
      let settled = false;
      const done = () => void (settled = true);
      promise.then(done, done);
      for (await rest(); !settled; await rest()) fireNext();
      return promise;
    },
    freeze: () => void (frozen = true),
    flush: () => {
      for (const { due, fire } of timers.splice(0)) if (due <= now + 1) fire();
    },
    stop: () => {
      Object.assign(globalThis, originals);
      AbortSignal.timeout = timeout;
    },
  };
}
