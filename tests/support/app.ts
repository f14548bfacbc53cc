import { makeFunctionReference } from "convex/server";
import { test as base, vi } from "vitest";
import crons from "../../convex/crons";
import { MINUTE } from "../../convex/lib/time";
import { real } from "../../scripts/real";
import { createWorld, replace, verbs, type WorldOptions } from "./world";

/**
 * The application under test on a simulated clock that runs the scheduler and the interval crons of `convex/crons.ts`.
 * Time stands still while there is work, however long the machine takes, and then jumps to the next due time. Deadlines
 * use the same time.
 */

export { closeApp } from "./world";

/** How many idle turns of the event loop mean that everything rests. */
const CALM_TURNS = 12;
const MOST_LOOKS = 20_000;
/** Ends a hanging wait, in ms of real time; far beyond what any work takes on a busy machine. */
const REST_LIMIT_MS = 300_000;

export type App = ReturnType<typeof createApp>;

export const START = Date.UTC(2026, 0, 5, 9, 0, 0);

export type AppSettings = WorldOptions & { now?: number };

/** Tests that use `app`, made with the `settings` of their file or group. */
export const test = base.extend<{ settings: AppSettings; app: App }>({
  settings: {},
  app: async ({ settings }, use) => use(createApp(settings)),
});

export function createApp(options: AppSettings = {}) {
  vi.useFakeTimers({ now: options.now ?? START, toFake: ["setTimeout", "clearTimeout", "Date"] });
  const timers = recordTimers();
  const world = createWorld(options);
  const { t, standins } = world;
  // Daily crons are run by the tests that need them.
  const scheduledCrons = Object.values(crons.crons).flatMap(({ name, schedule }) =>
    schedule.type === "interval" && "minutes" in schedule
      ? [{ name, everyMs: schedule.minutes * MINUTE, dueAt: Date.now() }]
      : [],
  );

  /** Waits until all running work waits for time to pass. */
  async function rest(): Promise<void> {
    const give = performance.now() + REST_LIMIT_MS;
    for (let calm = 0, turns = 0; calm < CALM_TURNS; turns++) {
      if (performance.now() > give) throw new Error(`There is no rest: ${world.outside()} calls outside`);
      // A chain's answer takes a while: its process needs the machine more than this loop does.
      await new Promise<void>((go) => void (turns < 100 ? real.setImmediate(go) : real.setTimeout(go, 1)));
      calm = world.outside() > 0 ? 0 : calm + 1;
    }
  }

  /** The library runs some steps on turns of its own: nothing due, and nothing moving, for long is a hang. */
  let looks = 0;
  async function lookAgain(): Promise<void> {
    if (++looks > MOST_LOOKS) throw new Error("Nothing is due: the work waits for something else");
    await new Promise<void>((go) => void real.setTimeout(go, 2));
  }

  /** Lets `ms` pass, from one due timer to the next. */
  async function advance(ms: number): Promise<void> {
    const end = Date.now() + ms;
    for (await rest(); timers.nextDue() <= end; await rest()) await world.within(timers.fireNext);
    await world.within(() => timers.goTo(end));
  }

  /** Lets running work continue for `steps` quarters of a simulated second. */
  const settle = (steps = 12): Promise<void> => advance(steps * 250);

  /** Waits for a promise while simulated time passes; promises that are awaited together share the passing time. */
  let waiting = 0;
  let pump: Promise<void> | null = null;
  async function during<Value>(promise: Promise<Value>): Promise<Value> {
    waiting++;
    const done = promise.then(
      () => void waiting--,
      () => void waiting--,
    );
    pump ??= (async () => {
      for (await rest(); waiting > 0; await rest()) {
        if (timers.nextDue() !== Infinity) await world.within(timers.fireNext);
        else await lookAgain();
      }
    })().finally(() => (pump = null));
    await Promise.race([done, pump.then(() => done)]);
    return promise;
  }

  /** Skips a cron's runs up to that time. */
  const skipTo = (cron: { dueAt: number; everyMs: number }, time: number) => {
    while (cron.dueAt <= time) cron.dueAt += cron.everyMs;
  };

  /** Moves time on, running every cron when it is due. */
  async function pass(ms: number, { cronsRun = true, settles = true } = {}): Promise<void> {
    const end = Date.now() + ms;
    if (!cronsRun) await advance(ms);
    while (Date.now() < end) {
      for (const cron of scheduledCrons) {
        if (cron.dueAt > Date.now()) continue;
        await t.mutation(makeFunctionReference<"mutation">(cron.name), {});
        skipTo(cron, Date.now());
      }
      const next = Math.min(end, ...scheduledCrons.map(({ dueAt }) => dueAt));
      await advance(next - Date.now());
    }
    for (const cron of cronsRun ? [] : scheduledCrons) skipTo(cron, end - 1);
    if (settles) await settle();
  }

  return {
    ...world,
    ...verbs((method, path, init) => during(world.call(method, path, init))),
    advance,
    settle,
    pass,
    during,
    /** The messages that the messenger was sent, including captions of pictures and edits. */
    cards: () =>
      standins
        .sent("messenger")
        .filter(({ method }) => /^(?:send(?:Message|Photo|Document)|editMessage\w+)$/.test(method)),
  };
}

/** The simulated clock's timers, and when they are due; deadlines become such timers. */
function recordTimers() {
  const due = new Map<unknown, number>();
  // If a test sets the clock, also while time passes, every timer keeps its remaining time.
  const set = vi.setSystemTime;
  replace(vi, "setSystemTime", (time) => {
    const before = Date.now();
    set(time);
    for (const [timer, at] of due) due.set(timer, at + Date.now() - before);
    return vi;
  });
  const { setTimeout: start, clearTimeout: stop } = globalThis;
  const startTimer = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    // No time passes until then: others may wait for it without a timer of their own.
    if (!(ms >= 1)) return real.setImmediate(work, ...args);
    const timer = start(() => {
      due.delete(timer);
      work(...args);
    }, ms);
    due.set(timer, Date.now() + ms);
    return timer;
  };
  const stopTimer = (timer: ReturnType<typeof setTimeout> | NodeJS.Immediate | undefined) => {
    if (timer !== undefined && "_onImmediate" in timer) clearImmediate(timer);
    else {
      due.delete(timer);
      stop(timer);
    }
  };
  // The mark shows the simulated clock what to restore; without it, it would delete the global.
  const ours = { hadOwnProperty: true };
  Object.assign(globalThis, {
    setTimeout: Object.assign(startTimer, ours),
    clearTimeout: Object.assign(stopTimer, ours),
  });
  replace(AbortSignal, "timeout", (ms) => {
    const controller = new AbortController();
    const expire = () =>
      controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    startTimer(expire, ms);
    return controller.signal;
  });
  const move = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms));
  const nextDue = () => Math.min(...due.values());
  return {
    nextDue,
    fireNext: () => move(Math.max(1, Math.ceil(nextDue() - Date.now()))),
    goTo: (time: number) => move(Math.max(0, time - Date.now())),
  };
}
