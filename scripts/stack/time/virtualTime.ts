import { AsyncResource } from "node:async_hooks";
import { real } from "../../real";

/** A time that has timers. */
type Timed = { now: () => number; add: (timer: VirtualTimer) => void; cancel: (timer: VirtualTimer) => void };

/** A timer handle with the members of Node's own. */
export class VirtualTimer {
  static readonly byId = new Map<number, VirtualTimer>();
  static #nextId = 1;
  readonly id = VirtualTimer.#nextId++;

  constructor(
    readonly time: Timed,
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

/** Time that runs `speed` times faster than real time; `createClock` has its rules. */
export class VirtualTime {
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

  /** Moves the clock forward to `time`, unless it is past it. To be called before anything is scheduled. */
  moveTo(time: number): void {
    this.#settle();
    this.#time = Math.max(this.#time, time);
  }

  /** Stops the clock until the returned function is called. */
  hold(): () => void {
    this.#settle();
    this.#holds += 1;
    this.#disarm();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#settle();
      this.#holds -= 1;
      this.#arm();
    };
  }

  stop(): void {
    this.#settle();
    this.#stopped = true;
    this.#disarm();
    for (const timer of this.#timers) VirtualTimer.byId.delete(timer.id);
    this.#timers = [];
  }

  /** Counts time from this real moment, so that no change below can make it jump. */
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
      // Also the turn of the event loop between two due timers, in which the first one's work settles.
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
