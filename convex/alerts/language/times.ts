import { DAY, HOUR, MINUTE } from "../../lib/time";

/** When a time of the day comes next. */

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
 * When the clocks of a zone next show a time, later than `after` (epoch ms). If clocks skip an hour, the next one
 * counts; if they repeat an hour, the first one counts: so there is one digest a day.
 */
export function nextTime(time: string, timeZone: string, after: number): number {
  const [hours = 0, minutes = 0] = time.split(":").map(Number);
  const ofDay = hours * HOUR + minutes * MINUTE;
  const today = Math.floor((after + offsetAt(timeZone, after)) / DAY);
  for (const day of [today - 1, today, today + 1, today + 2]) {
    const wall = day * DAY + ofDay;
    // The offsets before and after the day's change of clocks; the one that shows the time first counts.
    const candidates = [
      wall - offsetAt(timeZone, wall - DAY),
      wall - offsetAt(timeZone, wall + DAY),
    ].toSorted((a, b) => a - b);
    const shown = candidates.find((at) => at + offsetAt(timeZone, at) === wall) ?? candidates.at(-1) ?? wall;
    if (shown > after) return shown;
  }
  throw new Error("No moment of the day fits the requested time");
}
