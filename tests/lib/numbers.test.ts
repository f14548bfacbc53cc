import { expect, test } from "vitest";
import { percent, signed, typeset } from "../../convex/lib/text/numbers";

/** One style of figures. */

test("percentages have a thin space and a true minus, whoever wrote them", () => {
  for (const [written, told] of [
    ["SOL moved -4.38% in 24 hours", "SOL moved −4.38\u202F% in 24 hours"],
    ["+1.4 % [1: 24 h], (-0.5%)", "+1.4\u202F% [1: 24 h], (−0.5\u202F%)"],
    ["-17.3 points, from -3.0 to +7.4", "−17.3 points, from −3.0 to +7.4"],
    ["from 0.5-1.2% on 2026-11-20", "from 0.5-1.2\u202F% on 2026-11-20"],
    ["chat -1001, https://a.b/%20x, claude-4.5", "chat -1001, https://a.b/%20x, claude-4.5"],
  ] as const)
    expect(typeset(written)).toBe(told);
});

test("a figure that a function writes is in that style already", () => {
  for (const figure of [signed(-0.351), signed(12), percent(-0.0125), percent(65.2, 0), signed(-0.001)])
    expect(typeset(figure)).toBe(figure);
  expect([signed(-0.351), percent(0.0125), signed(-0.001)]).toEqual([
    "−0.35\u202F%",
    "0.0125\u202F%",
    "0.00\u202F%",
  ]);
});
