import { jsonToConvex } from "convex/values";
import * as z from "zod";
import { log } from "../../../convex/lib/log";
import { failureOf, type Application, type FunctionArgs } from "../application";
import type { Clock } from "./clock";
import { nextDue, scheduleShape } from "./crontab";

/** When each cron is due next, by its identifier. */
export type DueTimes = Record<string, number>;

export type Crons = {
  dueTimes: () => DueTimes;
  /** Starts no further runs, and waits for the running ones, so that their writes are saved. */
  stop: () => Promise<void>;
};

const args = z.record(z.string(), z.json()).transform((json): FunctionArgs => {
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, jsonToConvex(value)]));
});

/** What `convex/crons.ts` exports. */
const cronsShape = z.object({
  crons: z.record(z.string(), z.object({ name: z.string(), args: z.tuple([args]), schedule: scheduleShape })),
});
type Cron = z.infer<typeof cronsShape>["crons"][string];

/**
 * Runs the application's crons on its clock, as the platform does: one run of a cron at a time, an interval's first run
 * at the very first start, and after a pause only one late run.
 * @param saved Due times from before a restart; without them every start would be a first one.
 */
export async function startCrons(application: Application, clock: Clock, saved: DueTimes): Promise<Crons> {
  const exported = await application.defaultExport("crons");
  const crons = exported === undefined ? {} : cronsShape.parse(exported).crons;
  const due = new Map<string, number>();
  const timers = new Map<string, () => void>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  const arm = (id: string, cron: Cron, time: number) => {
    due.set(id, time);
    timers.set(
      id,
      clock.after(Math.max(0, time - clock.now()), () => {
        const run = fire(id, cron, time).finally(() => running.delete(run));
        running.add(run);
      }),
    );
  };
  const fire = async (id: string, cron: Cron, time: number) => {
    await run(application, id, cron);
    if (stopped) return;
    let next = nextDue(cron.schedule, time);
    let skipped = 0;
    for (; next <= clock.now(); next = nextDue(cron.schedule, next)) skipped++;
    // An accelerated clock is late by design: it does not wait for a running cron.
    if (skipped > 0 && clock.speed === 1) log.warn("cron.late", { cron: id, skipped });
    arm(id, cron, next);
  };

  for (const [id, cron] of Object.entries(crons)) {
    const first = cron.schedule.kind === "interval" ? clock.now() : nextDue(cron.schedule, clock.now());
    arm(id, cron, saved[id] ?? first);
  }
  return {
    dueTimes: () => Object.fromEntries(due),
    stop: async () => {
      stopped = true;
      for (const cancel of timers.values()) cancel();
      await Promise.all(running);
    },
  };
}

async function run(application: Application, id: string, cron: Cron): Promise<void> {
  try {
    const described = await application.describe(cron.name);
    if (described === null) throw new Error(`There is no function ${cron.name}`);
    await application.run(described.kind, cron.name, cron.args[0]);
  } catch (error) {
    log.error("cron.failed", { cron: id, message: failureOf(error).message });
  }
}
