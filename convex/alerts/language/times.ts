import { DAY, HOUR, MINUTE } from "../../lib/time";
import { isTimeZone } from "./grammar";

/** Times of the day, and when they come. */

const CLOCK_TIME = /^(\d{1,2})(?:[:.h](\d{2}))? ?(am|pm|a\.m|p\.m)?(?:,? (?!(?:am|pm)\b)(.+))?$/;

/** `07:30`, `7:30 pm`, `7pm`, each with what follows it; `null` for a time that could be two. */
export function timeOf(said: string): { time: string; rest: string } | null {
  const [matched, hour = "", minute, half, rest = ""] = CLOCK_TIME.exec(said) ?? [];
  if (matched === undefined || (minute === undefined && half === undefined)) return null;
  let hours = Number(hour);
  if (half !== undefined) {
    // Noon and midnight are told apart by 12 in no way that all agree on.
    if (hours < 1 || hours > 11) return null;
    if (half.startsWith("p")) hours += 12;
  }
  if (hours > 23 || Number(minute ?? 0) > 59) return null;
  return { time: `${String(hours).padStart(2, "0")}:${minute ?? "00"}`, rest };
}

/** The zone that is named; UTC where none is; `null` for one that the platform does not know, or that is several. */
export function zoneOf(said: string, spaced: string): string | null {
  if (said === "" || said === "utc" || said === "gmt" || said === "z") return "UTC";
  const at = spaced.toLowerCase().lastIndexOf(said);
  const name = spaced.slice(at, at + said.length);
  if (!isTimeZone(name)) return null;
  // The platform knows some zones by older names than people do, whose writing then stays.
  const known = new Intl.DateTimeFormat("en-GB", { timeZone: name }).resolvedOptions().timeZone;
  return known.toLowerCase() === name.toLowerCase() ? known : name;
}

/** How far a zone's clocks are ahead of UTC at a moment (epoch ms), in ms. */
function offsetAt(timeZone: string, at: number): number {
  const parts = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    hourCycle: "h23",
    ...{ year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" },
  }).formatToParts(at);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value ?? NaN);
  const shown = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"));
  return shown - Math.floor(at / MINUTE) * MINUTE;
}

/**
 * When the clocks of a zone next show a time, later than `after` (epoch ms). An hour that clocks leave out is taken for the
 * one behind it, and of an hour that they show twice the first counts: one digest a day.
 */
export function nextTime(time: string, timeZone: string, after: number): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  const ofDay = hours * HOUR + minutes * MINUTE;
  const today = Math.floor((after + offsetAt(timeZone, after)) / DAY);
  for (const day of [today - 1, today, today + 1, today + 2]) {
    const wall = day * DAY + ofDay;
    // The offset before the day's change of clocks, then the one after it: whichever shows the time first.
    const candidates = [
      wall - offsetAt(timeZone, wall - DAY),
      wall - offsetAt(timeZone, wall + DAY),
    ].toSorted((a, b) => a - b);
    const shown = candidates.find((at) => at + offsetAt(timeZone, at) === wall) ?? candidates.at(-1) ?? wall;
    if (shown > after) return shown;
  }
  throw new Error("A day has every time, or the one behind it");
}
