import fc from "fast-check";
import { expect, test } from "vitest";
import { dueReport, REPORTS } from "../../convex/research/model";
import type { ReportKind } from "../../convex/research/tables";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Walks a shift with checks at the given gaps; returns its reports, with their minutes of the shift. */
function walk(startedAt: number, gaps: number[]): [ReportKind, number][] {
  const reports: [ReportKind, number][] = [];
  let now = startedAt;
  for (const gap of gaps) {
    now += gap;
    const due = dueReport(reports.at(-1)?.[0], startedAt, now);
    if (due !== null) reports.push([due, (now - startedAt) / MINUTE]);
  }
  return reports;
}

test("with checks at any times, each report of a shift is due at most once, in order and not too early", () => {
  const gaps = fc.array(
    fc
      .oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }))
      .map((minutes) => minutes * MINUTE),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 41 }), gaps, (startedAt, chosen) => {
      const reports = walk(startedAt, [...chosen, 8 * HOUR]);
      const order: ReportKind[] = ["interim1", "interim2", "final"];
      const kinds = reports.map(([kind]) => kind);
      expect(kinds).toEqual(order.filter((kind) => kinds.includes(kind)));
      expect(kinds.at(-1)).toBe("final");
      for (const [kind, at] of reports) expect(at).toBeGreaterThanOrEqual(REPORTS[kind].dueAfterMs / MINUTE);
    }),
  );
});
