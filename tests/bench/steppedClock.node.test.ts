import { expect, test } from "vitest";
import { createSteppedClock } from "../../scripts/bench/steppedClock";
import { real } from "../../scripts/real";

const START = Date.UTC(2026, 0, 1);

test("time jumps from timer to timer and stands still while something is held", async () => {
  const clock = createSteppedClock(START);
  try {
    const seen: [string, number][] = [];
    const see = (name: string) => seen.push([name, Date.now() - START]);
    setTimeout(() => see("late"), 5_000);
    setTimeout(() => {
      const release = clock.hold();
      setImmediate(() =>
        setImmediate(() => setImmediate(() => setImmediate(() => (see("held"), release())))),
      );
    }, 1_000);
    clearTimeout(setTimeout(() => see("cancelled"), 2_000));
    await clock.advance(10_000);
    expect(seen).toEqual([
      ["held", 1_000],
      ["late", 5_000],
    ]);
    const nap = new Promise((resolve) => setTimeout(() => resolve("woke"), 3_600_000));
    expect(await clock.during(nap)).toBe("woke");
    expect(new Date().getTime()).toBe(START + 10_000 + 3_600_000);
    await expect(clock.during(new Promise(() => {}))).rejects.toThrow("Nothing is due");
  } finally {
    clock.stop();
  }
  expect([Date, setTimeout, clearTimeout]).toEqual([real.Date, real.setTimeout, real.clearTimeout]);
});
