import { makeFunctionReference } from "convex/server";
import { vi } from "vitest";
import crons from "../../convex/crons";
import { createWorld, verbs, type WorldOptions } from "./world";

/** The application under test on a simulated clock that runs the scheduler and the interval crons of `convex/crons.ts`. */

export { closeApp } from "./world";

const MINUTE = 60_000;

// Taken before the clock is simulated: these go on in real time.
const realSetTimeout = globalThis.setTimeout.bind(globalThis);
const realSleep = (ms: number) => new Promise<void>((resolve) => realSetTimeout(resolve, ms));

export type App = ReturnType<typeof createApp>;

export const START = Date.UTC(2026, 0, 5, 9, 0, 0);

export function createApp(options: WorldOptions & { now?: number } = {}) {
  vi.useFakeTimers({
    now: options.now ?? START,
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
  });
  const world = createWorld(options);
  const { t, standins } = world;
  // Those at a time of day are run by the tests that are about them.
  const scheduledCrons = Object.values(crons.crons).flatMap(({ name, schedule }) =>
    schedule.type === "interval" && "minutes" in schedule
      ? [{ name, everyMs: schedule.minutes * MINUTE, dueAt: Date.now() }]
      : [],
  );

  /** Lets work under way go on, `steps` times a quarter of a simulated second. */
  async function settle(steps = 12): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await vi.advanceTimersByTimeAsync(250);
      await Promise.race([t.finishInProgressScheduledFunctions(), realSleep(10)]);
    }
  }

  let waiting = 0;
  let pump: Promise<void> | null = null;

  /** Waits for a promise while simulated time passes; promises awaited together share one passing of time. */
  async function during<Value>(promise: Promise<Value>): Promise<Value> {
    waiting++;
    pump ??= (async () => {
      while (waiting > 0) {
        await vi.advanceTimersByTimeAsync(50);
        await realSleep(0);
      }
      pump = null;
    })();
    try {
      return await promise;
    } finally {
      waiting--;
    }
  }

  /** Moves time on, minute by minute, running every cron when it is due. */
  async function pass(ms: number, { cronsRun = true } = {}): Promise<void> {
    const end = Date.now() + ms;
    while (Date.now() < end) {
      for (const cron of scheduledCrons) {
        if (cron.dueAt > Date.now()) continue;
        while (cron.dueAt <= Date.now()) cron.dueAt += cron.everyMs;
        if (cronsRun) await t.mutation(makeFunctionReference<"mutation">(cron.name), {});
      }
      const next = Math.min(end, ...scheduledCrons.map(({ dueAt }) => dueAt));
      await settle();
      await vi.advanceTimersByTimeAsync(Math.max(0, next - Date.now()));
    }
    await settle();
  }

  return {
    ...world,
    ...verbs((method, path, init) => during(world.call(method, path, init))),
    settle,
    pass,
    during,
    /** What the messenger was sent. */
    cards: () => standins.sent("messenger").filter((one) => one.method === "sendMessage"),
  };
}
