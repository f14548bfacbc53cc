import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NEVER } from "../../convex/lib/time";
import { dueAfterMs, dueReport, nextReport, nextCollection, SHIFT_MS } from "../../convex/research/timing";
import type { ReportKind } from "../../convex/research/tables";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Walks a shift with checks at the given gaps; returns what happened when, in minutes of the shift. */
function walk(startedAt: number, gaps: number[]): { collections: number[]; reports: [ReportKind, number][] } {
  const collections = [0];
  const reports: [ReportKind, number][] = [];
  let collectAt = nextCollection(startedAt, startedAt);
  let waiting: ReportKind | null = "interim1";
  let now = startedAt;
  for (const gap of gaps) {
    now += gap;
    if (collectAt <= now && now < startedAt + SHIFT_MS) {
      collections.push((now - startedAt) / MINUTE);
      collectAt = nextCollection(startedAt, now);
    }
    const due: ReportKind | null = waiting === null ? null : dueReport(waiting, startedAt, now);
    if (due === null) continue;
    reports.push([due, (now - startedAt) / MINUTE]);
    waiting = nextReport(due);
  }
  return { collections, reports };
}

describe("a shift's timing", () => {
  test("with checks at any times: never two collections within 30 minutes, each report at most once and in order", () => {
    const gaps = fc.array(
      fc
        .oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }))
        .map((minutes) => minutes * MINUTE),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 41 }), gaps, (startedAt, chosen) => {
        const { collections, reports } = walk(startedAt, [...chosen, 8 * HOUR]);
        for (const [i, at] of collections.entries()) {
          if (i > 0) expect(at - (collections[i - 1] ?? 0)).toBeGreaterThanOrEqual(30);
          expect(at).toBeLessThan(480);
        }
        const order: ReportKind[] = ["interim1", "interim2", "final"];
        const kinds = reports.map(([kind]) => kind);
        expect(kinds).toEqual(order.filter((kind) => kinds.includes(kind)));
        expect(kinds.at(-1)).toBe("final");
        for (const [kind, at] of reports) expect(at).toBeGreaterThanOrEqual(dueAfterMs[kind] / MINUTE);
      }),
    );
  });

  test("a collection that came late is followed by one a whole interval later", () => {
    expect(nextCollection(0, 85 * MINUTE)).toBe(115 * MINUTE);
    expect(nextCollection(0, 93 * MINUTE)).toBe(123 * MINUTE);
    expect(nextCollection(0, 451 * MINUTE)).toBe(NEVER);
  });
});
