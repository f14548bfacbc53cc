import fc from "fast-check";
import { expect, test } from "vitest";
import { MINUTE } from "../../convex/lib/time";
import { getDueReport, getNextReportDueAt, REPORTS } from "../../convex/research/model";
import type { ReportKind } from "../../convex/research/tables";

test("with checks at any times, each report of a shift is due at most once, in order and not too early", () => {
  const minutes = fc.oneof(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 200 }));
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 41 }), fc.array(minutes, { maxLength: 200 }), (at, gaps) => {
      const kinds: ReportKind[] = [];
      let now = at;
      let next: number | undefined = at + REPORTS.interim1.dueAfterMs;
      for (const gap of [...gaps, 480]) {
        now += gap * MINUTE;
        const due = getDueReport(at, next ?? Infinity, now);
        if (due === null) continue;
        kinds.push(due);
        next = getNextReportDueAt(due, at);
        expect(now - at).toBeGreaterThanOrEqual(REPORTS[due].dueAfterMs);
      }
      const order: ReportKind[] = ["interim1", "interim2", "final"];
      expect(kinds).toEqual(order.filter((kind) => kinds.includes(kind)));
      expect(kinds.at(-1)).toBe("final");
    }),
  );
});
