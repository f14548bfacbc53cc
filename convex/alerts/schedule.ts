import { DAY, HOUR, MINUTE } from "../lib/time";

/** Times of day in people's zones: read from words, counted, and written. Pure. */

/** A time of day in a zone, on some days of the week (0 is Sunday) or on one of the month. */
export type Schedule = { time: string; timeZone: string; days?: number[]; dayOfMonth?: number };

/** Weekdays from Sunday on, as they are written in words. */
const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
/** Monday to Friday. */
const WORKDAYS = [1, 2, 3, 4, 5];

/** What a person or a program says of a schedule. */
export type SaidSchedule = {
  /** `day`, `weekday`, `week`, `month`, or days such as `Monday and friday`. */
  every: string;
  /** Of a week `mon` to `sun`, of a month 1 to 28. */
  on?: string | undefined;
  /** `09:00`, `9`, `9 pm`. */
  at?: string | undefined;
  zone?: string | undefined;
};

/** Why words cannot be read, for the person who wrote them. */
export type Refusal = { refusal: string };

/** Reads a schedule. */
export function parseSchedule({ every, on, at = "", zone = "UTC" }: SaidSchedule): Schedule | Refusal {
  if (/^(?:other|\d+) |minute|hour/i.test(every))
    return { refusal: `It comes at most once a day, not every ${every}: write it like every day at 09:00.` };
  const [, hour = "", minute = "00", half = ""] = /^(\d{1,2})(?::(\d\d))? ?(am|pm)?$/i.exec(at) ?? [];
  const hours = half === "" ? Number(hour) : (Number(hour) % 12) + (/p/i.test(half) ? 12 : 0);
  if (hour === "" || hours > 23 || Number(minute) > 59)
    return { refusal: "At what time? Write it like: every Monday at 09:00 Europe/Berlin." };
  const timeZone = /^(?:utc|gmt|z)$/i.test(zone) ? "UTC" : zone;
  if (!isTimeZone(timeZone))
    return { refusal: `I do not know the zone ${zone}: write one such as Europe/Berlin.` };
  const schedule = { time: `${String(hours).padStart(2, "0")}:${minute}`, timeZone };
  if (/^month$/i.test(every)) {
    const dayOfMonth = Number.parseInt(on ?? "", 10);
    if (dayOfMonth >= 1 && dayOfMonth <= 28) return { ...schedule, dayOfMonth };
    return { refusal: "A month needs its day, 1 to 28: every month on the 1st." };
  }
  const isWeek = /^week$/i.test(every);
  if (isWeek && on === undefined)
    return { refusal: "A week needs its day, such as Monday: every week on Monday." };
  if (!isWeek && on !== undefined) return { refusal: `every ${every} takes no day.` };
  const days = readDays(isWeek ? (on ?? "") : every);
  if (days === null) return { refusal: `${on ?? every} is no day of the week: every week on Monday.` };
  return days === "all" ? schedule : { ...schedule, days };
}

/** The days of `day`, `weekday`, or of names in any spelling from three letters on; `null` for other words. */
function readDays(words: string): number[] | "all" | null {
  const names = words.toLowerCase().split(/,? and |, ?/);
  if (names.join("") === "day") return "all";
  if (/^weekdays?$/.test(names.join(""))) return WORKDAYS;
  const days = names.map((name) =>
    WEEKDAYS.findIndex((one) => one.slice(0, 3).toLowerCase() === name.slice(0, 3)),
  );
  return days.includes(-1) ? null : [...new Set(days)].sort((a, b) => a - b);
}

/** `every weekday at 07:30 Europe/Berlin`. */
export function formatSchedule({ time, timeZone, days, dayOfMonth }: Schedule): string {
  const isWorkdays = days?.length === WORKDAYS.length && WORKDAYS.every((day) => days.includes(day));
  const named = days?.map((day) => WEEKDAYS[day] ?? "").join(", ");
  const on =
    dayOfMonth === undefined ? (isWorkdays ? "weekday" : (named ?? "day")) : `month on day ${dayOfMonth}`;
  return `every ${on} at ${time} ${timeZone}`;
}

/** Whether the platform knows a zone of this name. A short form (`CST`) stands for several zones, and the signs of `Etc/GMT+2` are inverted. */
export function isTimeZone(name: string): boolean {
  if (name === "UTC") return true;
  if (!/^(?!etc\/)[a-z]+(?:\/[a-z0-9_+-]+){1,2}$/i.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** How far a zone's clocks are ahead of UTC at a moment (epoch ms), in ms. */
function getOffset(timeZone: string, at: number): number {
  // Swedish dates are written as in ISO 8601.
  const zoned = new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });
  return Date.parse(`${zoned.replace(" ", "T")}Z`) - Math.floor(at / MINUTE) * MINUTE;
}

/** Whether a schedule counts a day (days since 1970). */
function isDay({ days, dayOfMonth }: Schedule, day: number): boolean {
  const date = new Date(day * DAY);
  return (
    (days === undefined || days.includes(date.getUTCDay())) &&
    (dayOfMonth === undefined || dayOfMonth === date.getUTCDate())
  );
}

const toLocalDay = (timeZone: string, at: number): number => Math.floor((at + getOffset(timeZone, at)) / DAY);

/**
 * When the clocks of a zone next show a schedule's time, later than `after` (epoch ms). If they skip it in spring, the hour
 * after it counts, so that every day has one.
 */
export function getNextTime(schedule: Schedule, after: number): number {
  const { time, timeZone } = schedule;
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  for (let day = toLocalDay(timeZone, after); ; day++) {
    if (!isDay(schedule, day)) continue;
    const wall = day * DAY + hours * HOUR + minutes * MINUTE;
    // The offset just before: a time that autumn repeats counts once, at its first.
    const guess = wall - getOffset(timeZone, wall - getOffset(timeZone, wall - DAY) - 1);
    const at = wall - getOffset(timeZone, guess) === guess ? guess : wall - getOffset(timeZone, wall - DAY);
    if (at > after) return at;
  }
}

/** How often a schedule's time comes after one moment, and not after another (epoch ms). */
export function countTimes(schedule: Schedule, after: number, until: number): number {
  const { time, timeZone } = schedule;
  const first = getNextTime(schedule, after);
  if (first > until) return 0;
  const last = toLocalDay(timeZone, until);
  const midnight = until - ((until + getOffset(timeZone, until)) % DAY);
  const hasCome = getNextTime({ time, timeZone }, midnight - 1) <= until;
  let count = isDay(schedule, last) && hasCome ? 1 : 0;
  for (let day = toLocalDay(timeZone, first); day < last; day++) if (isDay(schedule, day)) count++;
  return count;
}
