import { expect, test } from "vitest";
import { capacityPage, keptMeasurements, withCosts } from "../../scripts/bench/capacity";

test("the page on capacity shows what was measured last: npm run bench -- platform --write writes both", () => {
  const page = capacityPage();
  const measured = keptMeasurements();
  expect(page).toBe(withCosts(page, measured));
  const dearer = { ...measured, shift: { ...measured.shift, calls: 2 * measured.shift.calls } };
  expect(page).not.toBe(withCosts(page, dearer));
});
