import { describe, expect, test } from "vitest";
import { troublesIn } from "../../convex/ops/troubles";
import { uptimeOf } from "../../convex/ops/uptime";

/** How the hours went. Who writes them down: tests/pages. */

const HOUR = 3_600_000;
const DAY = Date.parse("2026-01-05T00:00:00.000Z");

test("an hour that nobody wrote down was not served; a run of hours is one incident", () => {
  const well = (hour: number) => ({ hour, troubles: [] });
  const answers = (hour: number) => ({ hour, troubles: ["answers" as const] });
  const { since, percent, days, incidents } = uptimeOf(
    [{ day: DAY, hours: [well(10), answers(11), answers(12), well(15), answers(16)] }],
    DAY + 18.5 * HOUR,
  );
  expect([since, percent]).toEqual([DAY + 10 * HOUR, 62.5]);
  expect(days).toEqual([{ day: DAY, hours: `${" ".repeat(10)}.~~xx.~x${" ".repeat(6)}` }]);
  expect(incidents.map(({ code, from, to }) => [code, (from - DAY) / HOUR, (to - DAY) / HOUR])).toEqual([
    ["down", 17, 18],
    ["answers", 16, 17],
    ["down", 13, 15],
    ["answers", 11, 13],
  ]);
  expect(uptimeOf([], DAY)).toEqual({ since: null, percent: null, days: [], incidents: [] });
});

describe("a trouble", () => {
  const calm = { outbox: { oldestSeconds: null }, pending: { shifts: 60 }, providers: {} };

  test("is what most calls failed at, or what waits too long", () => {
    expect(troublesIn(calm)).toEqual([]);
    const llm = (calls: number, errorRate: number) => ({ ...calm, providers: { llm: { calls, errorRate } } });
    expect([llm(9, 1), llm(10, 0.5), llm(10, 0.6)].map(troublesIn)).toEqual([[], [], ["answers"]]);
    expect(troublesIn({ ...calm, outbox: { oldestSeconds: 1_900 }, pending: { shifts: 1_900 } })).toEqual([
      "late",
      "messages",
    ]);
  });
});
