export type Deferred<T> = {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: Error) => void;
};

/** A promise that others settle. */
export function deferred<T>(): Deferred<T> {
  let settle: Pick<Deferred<T>, "resolve" | "reject"> | undefined;
  const promise = new Promise<T>((resolve, reject) => (settle = { resolve, reject }));
  if (settle === undefined) throw new Error("A promise calls its executor immediately");
  return { promise, ...settle };
}

/** The result of `work` as a promise, even if it throws immediately. */
export function promised<T>(work: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}

/** Gives a lock to the next; to be called once. */
type Release = () => void;

/** One holder at a time, in the order they asked. */
export class Lock {
  #isHeld = false;
  readonly #waiting: (() => void)[] = [];

  /** Most locks are free, and a promise would cost more than the rest. */
  acquire(): Release | Promise<Release> {
    const release = () => this.#give();
    if (!this.#isHeld) {
      this.#isHeld = true;
      return release;
    }
    const { promise, resolve } = deferred<Release>();
    this.#waiting.push(() => resolve(release));
    return promise;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.acquire();
    const release = turn instanceof Promise ? await turn : turn;
    try {
      return await work();
    } finally {
      release();
    }
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#isHeld = false;
    else next();
  }
}

type Timer = ReturnType<typeof setTimeout>;

/** `count` holders at a time, in the order they asked; a request that waits longer than `patience` ms is refused. */
export class Permits {
  #free: number;
  readonly #waiting: { grant: () => void; timer: Timer }[] = [];

  constructor(
    count: number,
    readonly timers: {
      patience: number;
      set: (work: () => void, ms: number) => Timer;
      clear: (timer: Timer) => void;
    },
    readonly refusal: string,
  ) {
    this.#free = count;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#handedOn();
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  async #handedOn(): Promise<void> {
    const { promise, resolve, reject } = deferred<void>();
    const one = {
      grant: resolve,
      timer: this.timers.set(() => {
        this.#waiting.splice(this.#waiting.indexOf(one), 1);
        reject(new Error(this.refusal));
      }, this.timers.patience),
    };
    this.#waiting.push(one);
    await promise;
  }

  #give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.timers.clear(next.timer);
    next.grant();
  }
}
