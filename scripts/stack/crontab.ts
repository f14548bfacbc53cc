import * as z from "zod";

/** When a cron runs: every so many milliseconds, or at the UTC minutes its five fields allow. */
export type Timetable = { kind: "interval"; every: number } | { kind: "fields"; fields: Fields };

type Fields = {
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  /** Where both the day of the month and the weekday are restricted, either will do. */
  eitherDay: boolean;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"] as const;
const MONTH_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

const minuteUTC = z.int().min(0).max(59).optional();
const hourUTC = z.int().min(0).max(23);

/** A schedule as `convex/crons.ts` exports it. Convex picks a minute where none is given; here it is the first. */
export const scheduleShape = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("interval"),
      seconds: z.number().optional(),
      minutes: z.number().optional(),
      hours: z.number().optional(),
    })
    .transform(({ seconds = 0, minutes = 0, hours = 0 }): Timetable => {
      return { kind: "interval", every: seconds * SECOND + minutes * MINUTE + hours * HOUR };
    }),
  z
    .object({ type: z.literal("hourly"), minuteUTC })
    .transform((at) => fields(`${at.minuteUTC ?? 0} * * * *`)),
  z
    .object({ type: z.literal("daily"), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC ?? 0} ${at.hourUTC} * * *`)),
  z
    .object({ type: z.literal("weekly"), dayOfWeek: z.enum(WEEKDAYS), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC ?? 0} ${at.hourUTC} * * ${WEEKDAYS.indexOf(at.dayOfWeek)}`)),
  z
    .object({ type: z.literal("monthly"), day: z.int().min(1).max(31), hourUTC, minuteUTC })
    .transform((at) => fields(`${at.minuteUTC ?? 0} ${at.hourUTC} ${at.day} * *`)),
  z.object({ type: z.literal("cron"), cron: z.string() }).transform((at) => fields(at.cron)),
]);

/** The first due time after `time`, both in milliseconds since 1970; for an interval, one interval later. */
export function nextDue(timetable: Timetable, time: number): number {
  if (timetable.kind === "interval") return time + timetable.every;
  const { fields } = timetable;
  // The longest gap there can be is eight years, from one 29 February to the next around a year such as 2100.
  const last = time + 9 * 366 * DAY;
  let at = Math.floor(time / MINUTE) * MINUTE + MINUTE;
  while (at < last) {
    const date = new Date(at);
    if (!isDay(fields, date)) at = (Math.floor(at / DAY) + 1) * DAY;
    else if (!fields.hours.has(date.getUTCHours())) at = (Math.floor(at / HOUR) + 1) * HOUR;
    else if (!fields.minutes.has(date.getUTCMinutes())) at += MINUTE;
    else return at;
  }
  throw new Error("A cron's schedule never comes due");
}

function isDay({ days, months, weekdays, eitherDay }: Fields, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const day = days.has(date.getUTCDate());
  const weekday = weekdays.has(date.getUTCDay());
  return eitherDay ? day || weekday : day && weekday;
}

function fields(cron: string): Timetable {
  const parts = cron.trim().toLowerCase().split(/\s+/);
  const [minutes, hours, days, months, weekdays] = parts;
  if (parts.length !== 5 || !minutes || !hours || !days || !months || !weekdays) {
    throw new Error(`A cron must have five fields: ${cron}`);
  }
  const weekdayNames = WEEKDAYS.map((name) => name.slice(0, 3));
  const named = (field: string, names: readonly string[], first: number) =>
    field.replace(/[a-z]{3}/g, (name) => (names.includes(name) ? String(names.indexOf(name) + first) : name));
  return {
    kind: "fields",
    fields: {
      minutes: values(minutes, 0, 59),
      hours: values(hours, 0, 23),
      days: values(days, 1, 31),
      months: values(named(months, MONTH_NAMES, 1), 1, 12),
      weekdays: new Set([...values(named(weekdays, weekdayNames, 0), 0, 7)].map((day) => day % 7)),
      eitherDay: !days.startsWith("*") && !weekdays.startsWith("*"),
    },
  };
}

/** The values one field allows: a star, `5` or `1-5`, each with a step as in `10-40/10`, and lists of these. */
function values(field: string, min: number, max: number): Set<number> {
  const allowed = new Set<number>();
  for (const item of field.split(",")) {
    const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(item);
    if (match === null) throw new Error(`A cron's field is malformed: ${field}`);
    const [, from, to, step] = match;
    const first = from === undefined ? min : Number(from);
    const open = from === undefined || (step !== undefined && to === undefined);
    const end = to !== undefined ? Number(to) : open ? max : first;
    const by = step === undefined ? 1 : Number(step);
    if (first < min || end > max || first > end || by < 1)
      throw new Error(`A cron's field is out of range: ${field}`);
    for (let value = first; value <= end; value += by) allowed.add(value);
  }
  return allowed;
}
