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

/** One holder at a time, in the order they asked. */
export class Lock {
  #tail: Promise<void> = Promise.resolve();

  async acquire(): Promise<() => void> {
    const before = this.#tail;
    const { promise, resolve } = deferred<void>();
    this.#tail = promise;
    await before;
    return resolve;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
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
