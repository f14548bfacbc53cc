import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nameHeights, PAGE, type Canvas } from "../../convex/pages/charts/frame";
import { leavesChart, levelsChart, levelScale } from "../../convex/pages/charts/levels";
import { html } from "../../convex/pages/markup";
import { canvasBeside, rows } from "../../convex/pictures/card";
import { signalExample } from "../../convex/signals/http";

/** A signal's levels, on a page and in a picture. */

/** The canvases of a picture of two signals, as `pictures/signals` has them. */
function pictureCanvases(): Canvas[] {
  const found: Canvas[] = [];
  rows([1, 2], (_, row) => {
    const fitted = { above: 8, below: 34, apart: 30, values: 0, begin: 0, names: 715, marks: 1.8 };
    found.push(canvasBeside(250, row, fitted));
    return html``;
  });
  return found;
}

const CANVASES = [PAGE, ...pictureCanvases()];

const rowsOfSignals = fc.record({
  entry: fc.double({ min: 0.0001, max: 150_000, noNaN: true }),
  way: fc.constantFrom(1, -1),
  near: fc.double({ min: 0.002, max: 0.03, noNaN: true }),
  far: fc.double({ min: 1, max: 3, noNaN: true }),
  risk: fc.double({ min: 0.0015, max: 0.04, noNaN: true }),
  path: fc.array(fc.double({ min: 0.7, max: 1.4, noNaN: true }), { maxLength: 12 }),
});

test("of 4,000 signals no level is cut or overdrawn, and a quarter of the height at least is theirs", () => {
  const faults: string[] = [];
  const check = (isSo: boolean, what: string) => void (isSo || faults.push(what));
  fc.assert(
    fc.property(rowsOfSignals, ({ entry, way, near, far, risk, path }) => {
      const levels = [
        entry,
        entry * (1 + way * near * far),
        entry * (1 + way * near),
        entry * (1 - way * risk),
      ];
      const points = path.map((factor) => ({ priceUsd: entry * factor }));
      for (const canvas of CANVASES) {
        const y = levelScale(levels, points, canvas);
        const lines = levels.map((price) => y(price));
        const names = nameHeights(lines, canvas).toSorted((a, b) => a - b);
        const [first = NaN, last = NaN] = [names[0], names.at(-1)];
        check(first >= canvas.apart / 2 - 1e-6 && last <= canvas.bottom + 1e-6, "a name is cut");
        const gaps = names.slice(1).map((at, index) => at - (names[index] ?? NaN));
        check(Math.min(...gaps) >= canvas.apart - 1e-6, "names overlap");
        check(Math.min(...lines) >= canvas.top && Math.max(...lines) <= canvas.bottom, "a level is cut");
        const taken = Math.max(...lines) - Math.min(...lines);
        check(taken > (canvas.bottom - canvas.top) / 4, "the levels are small");
      }
    }),
    { numRuns: 4_000 },
  );
  expect([...new Set(faults)]).toEqual([]);
});

test("is drawn so, with each name once", () => {
  for (const canvas of CANVASES) {
    const { entry, tp1, tp2, sl } = signalExample;
    const at = Date.parse(signalExample.generatedAt);
    const { text } = levelsChart(signalExample, [], { from: at, to: at + 21_600_000 }, canvas);
    const levels = [entry, tp2 ?? entry, tp1 ?? entry, sl ?? entry];
    const names = nameHeights(levels.map(levelScale(levels, [], canvas)), canvas);
    const drawn = Array.from(text.matchAll(/class="named[^"]*"\s+x="100%"\s+y="([\d.]+)%"/g), ([, y]) =>
      Number(y),
    );
    expect(drawn).toEqual(names.map((one) => Number((one / 10).toFixed(2))));
  }
});

test("a price that went further than the levels are wide leaves the chart, one within their width does not", () => {
  const { entry, tp2, sl } = signalExample;
  const width = Math.abs((tp2 ?? entry) - (sl ?? entry));
  const top = Math.max(tp2 ?? entry, sl ?? entry);
  const leaves = (priceUsd: number) =>
    leavesChart(signalExample, [{ at: signalExample.generatedAt, priceUsd, source: "coinbase" }]);
  expect([entry, top + 0.9 * width, top + 2 * width].map(leaves)).toEqual([false, false, true]);
});
