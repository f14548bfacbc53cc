import { real } from "../real";

export type Loop = {
  /** Does work when the works before it have ended. */
  inTurn: Turns;
  /** After this resolves, no work of the loop's turns is done. */
  pause: () => Promise<void>;
  resume: () => void;
  paused: () => boolean;
  /** Resolves when the current turn, if any, has ended. */
  stop: () => Promise<void>;
};

type Turns = <Value>(work: () => Promise<Value>) => Promise<Value>;

/** Works that are done one after another, whatever becomes of each. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work, work);
    last = result.catch(() => undefined);
    return result;
  };
}

/**
 * Takes turns until stopped, in real time; each returns how many ms to wait before the next, and looks itself whether the
 * loop is paused. Of consecutive failures only the first is logged.
 */
export function startLoop(options: {
  turn: () => Promise<number>;
  /** The wait after a failure, in ms. */
  retryMs: number;
  failed: (error: unknown) => void;
}): Loop {
  const inTurn = createTurns();
  let running = true;
  let paused = false;
  let failing = false;
  let wake: () => void = () => undefined;

  const turn = async () => {
    try {
      const wait = await options.turn();
      failing = false;
      return wait;
    } catch (error) {
      if (running && !failing) options.failed(error);
      failing = true;
      return options.retryMs;
    }
  };

  const turns = async () => {
    while (running) {
      const wait = await turn();
      // It may have been stopped in between, when there was nothing to wake.
      if (running)
        await new Promise<void>((resolve) => {
          const timer = real.setTimeout(resolve, wait);
          wake = () => {
            real.clearTimeout(timer);
            resolve();
          };
        });
    }
  };
  // A moment later: the first turn may ask the loop that is returned here.
  const over = Promise.resolve().then(turns);

  return {
    inTurn,
    pause: () => {
      paused = true;
      return inTurn(() => Promise.resolve());
    },
    resume: () => {
      paused = false;
    },
    paused: () => paused,
    stop: () => {
      running = false;
      wake();
      return over;
    },
  };
}
