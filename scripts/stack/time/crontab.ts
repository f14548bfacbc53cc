import { Cron } from "croner";
import * as z from "zod";

/** When a cron runs: at an interval, or at the UTC minutes of its five fields. */
export type Timetable = { kind: "interval"; every: number } | { kind: "fields"; fields: Cron };

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;

const minuteUTC = z.int().min(0).max(59).default(0);
const hourUTC = z.int().min(0).max(23);

/** A schedule as `convex/crons.ts` exports it. Convex picks a minute if none is given; here it is the first. */
export const scheduleShape = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("interval"),
      seconds: z.number().default(0),
      minutes: z.number().default(0),
      hours: z.number().default(0),
    })
    .transform(({ seconds, minutes, hours }): Timetable => {
      return { kind: "interval", every: seconds * SECOND + minutes * MINUTE + hours * HOUR };
    }),
  z.object({ type: z.literal("hourly"), minuteUTC }).transform((at) => fields(`${at.minuteUTC} * * * *`)),
  z
    .object({ type: z.literal("daily"), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC} ${at.hourUTC} * * *`)),
  z
    .object({ type: z.literal("weekly"), dayOfWeek: z.enum(WEEKDAYS), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC} ${at.hourUTC} * * ${WEEKDAYS.indexOf(at.dayOfWeek)}`)),
  z
    .object({ type: z.literal("monthly"), day: z.int().min(1).max(31), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC} ${at.hourUTC} ${at.day} * *`)),
  z.object({ type: z.literal("cron"), cron: z.string() }).transform((at) => fields(at.cron)),
]);

/** The first due time after `time`, both in milliseconds since 1970; for an interval, one interval later. */
export function nextDue(timetable: Timetable, time: number): number {
  if (timetable.kind === "interval") return time + timetable.every;
  const next = timetable.fields.nextRun(new Date(time));
  if (next === null) throw new Error("A cron's schedule never comes due");
  return next.getTime();
}

/** @throws Error unless there are five fields. */
function fields(cron: string): Timetable {
  try {
    return { kind: "fields", fields: new Cron(cron, { paused: true, utcOffset: 0, mode: "5-part" }) };
  } catch (error) {
    throw new Error(`The cron "${cron}" is malformed`, { cause: error });
  }
}
