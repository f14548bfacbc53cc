import { real } from "../real";

export type Loop = {
  /** Resolves when the current turn, if any, has ended. */
  stop(): Promise<void>;
};

/**
 * Takes turns until stopped, in real time; each returns how many ms to wait before the next. Of consecutive failures
 * only the first is logged.
 */
export function startLoop(options: {
  turn: () => Promise<number>;
  /** The wait after a failure, in ms. */
  retryMs: number;
  failed: (error: unknown) => void;
}): Loop {
  let running = true;
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
  const over = turns();

  return {
    stop: () => {
      running = false;
      wake();
      return over;
    },
  };
}
