import { expect, test } from "vitest";
import { nextDue, scheduleShape } from "../../scripts/stack/crons";

const NOW = "2026-01-05T10:07:30Z"; // a Monday

function next(schedule: unknown, from = NOW): string {
  return new Date(nextDue(scheduleShape.parse(schedule), Date.parse(from))).toISOString();
}

test.each([
  [{ type: "interval", minutes: 5 }, "2026-01-05T10:12:30.000Z"],
  [{ type: "hourly", minuteUTC: 7 }, "2026-01-05T11:07:00.000Z"],
  [{ type: "hourly" }, "2026-01-05T11:00:00.000Z"],
  [{ type: "daily", hourUTC: 8, minuteUTC: 0 }, "2026-01-06T08:00:00.000Z"],
  [{ type: "weekly", dayOfWeek: "sunday", hourUTC: 23, minuteUTC: 59 }, "2026-01-11T23:59:00.000Z"],
])("the next run of %j", (schedule, expected) => {
  expect(next(schedule)).toBe(expected);
});
