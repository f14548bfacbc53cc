import { DAY, HOUR, MINUTE } from "../../lib/time";

/** When times of the day come. */

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
  throw new Error("No moment of the day fits the time asked for");
}
