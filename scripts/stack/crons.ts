import { jsonToConvex } from "convex/values";
import * as z from "zod";
import { log } from "../../convex/lib/log";
import { toFailure, type Application } from "./application";
import type { Clock } from "./clock";

/** When each cron is due next, by its identifier. */
export type DueTimes = Record<string, number>;

export type Crons = {
  dueTimes: () => DueTimes;
  /** Starts no further runs, and waits for the running ones, so that their writes are saved. */
  stop: () => Promise<void>;
};

/** A cron's schedule: an interval after its last run, or, with `from`, at these epoch ms and in intervals after them. */
type Timetable = { everyMs: number; from: number | null };

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
/** The epoch began on a Thursday. */
const WEEKDAYS = ["thursday", "friday", "saturday", "sunday", "monday", "tuesday", "wednesday"] as const;
const at = { minuteUTC: z.int().default(0), hourUTC: z.int() };

/** A schedule as `convex/crons.ts` exports it. Convex picks a minute if none is given; here it is the first. */
export const scheduleShape = z.discriminatedUnion("type", [
  z
    .object({ type: z.literal("interval"), minutes: z.number().default(0), hours: z.number().default(0) })
    .transform(({ minutes, hours }): Timetable => ({ everyMs: minutes * MINUTE + hours * HOUR, from: null })),
  z
    .object({ type: z.literal("hourly"), minuteUTC: at.minuteUTC })
    .transform(({ minuteUTC }): Timetable => ({ everyMs: HOUR, from: minuteUTC * MINUTE })),
  z.object({ type: z.literal("daily"), ...at }).transform(({ hourUTC, minuteUTC }): Timetable => ({
    everyMs: DAY,
    from: hourUTC * HOUR + minuteUTC * MINUTE,
  })),
  z
    .object({ type: z.literal("weekly"), dayOfWeek: z.enum(WEEKDAYS), ...at })
    .transform(({ dayOfWeek, hourUTC, minuteUTC }): Timetable => ({
      everyMs: 7 * DAY,
      from: WEEKDAYS.indexOf(dayOfWeek) * DAY + hourUTC * HOUR + minuteUTC * MINUTE,
    })),
]);

/** The first due time after `time`, in epoch ms; for an interval, one interval later. */
export function nextDue({ everyMs, from }: Timetable, time: number): number {
  return from === null ? time + everyMs : from + (Math.floor((time - from) / everyMs) + 1) * everyMs;
}

/** The export of `convex/crons.ts`. */
const cronsShape = z.object({
  crons: z.record(
    z.string(),
    z.object({
      name: z.string(),
      args: z.tuple([z.record(z.string(), z.json())]),
      schedule: scheduleShape,
    }),
  ),
});

/**
 * Runs the application's crons on its clock, as the platform does: one run of a cron at a time, an interval's first run
 * at the very first start, and after a pause only one late run.
 * @param saved Due times from before a restart; without them every start would be a first one.
 */
export async function startCrons(application: Application, clock: Clock, saved: DueTimes): Promise<Crons> {
  const { crons } = cronsShape.parse(await application.defaultExport("crons"));
  const due = new Map<string, number>();
  const timers = new Map<string, ReturnType<typeof setTimeout>>();
  const running = new Set<Promise<void>>();
  let stopped = false;

  const arm = (id: string, time: number) => {
    due.set(id, time);
    const begin = () => {
      const run = fire(id, time).finally(() => running.delete(run));
      running.add(run);
    };
    clock.inside(() => timers.set(id, setTimeout(begin, Math.max(0, time - clock.now()))));
  };
  const fire = async (id: string, time: number) => {
    const cron = crons[id];
    if (cron === undefined) return;
    const { name, args, schedule } = cron;
    try {
      const described = await application.describe(name);
      const given = Object.entries(args[0]).map(([key, value]) => [key, jsonToConvex(value)] as const);
      await application.run(described?.kind ?? "mutation", name, Object.fromEntries(given));
    } catch (error) {
      log.error("cron.failed", { cron: id, message: toFailure(error).message });
    }
    if (stopped) return;
    let next = nextDue(schedule, time);
    let skipped = 0;
    for (; next <= clock.now(); next = nextDue(schedule, next)) skipped++;
    // An accelerated clock is late by design: it does not wait for a running cron.
    if (skipped > 0 && clock.speed === 1) log.warn("cron.late", { cron: id, skipped });
    arm(id, next);
  };

  for (const [id, { schedule }] of Object.entries(crons)) {
    const first = schedule.from === null ? clock.now() : nextDue(schedule, clock.now());
    arm(id, saved[id] ?? first);
  }
  return {
    dueTimes: () => Object.fromEntries(due),
    stop: async () => {
      stopped = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(running);
    },
  };
}
