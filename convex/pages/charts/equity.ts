import { scaleLinear, scaleUtc } from "d3-scale";
import type { EquityPoint } from "../../signals/shapes";
import { html, type Html } from "../markup";
import { signed } from "../../lib/text/numbers";
import { chart, dot, scaleLines, SPAN, spread, steps, timeMarks } from "./frame";

const BOTTOM = 900;
/** Between the values at the left and the names at the right. */
const BEGIN = 60;
const END = SPAN - 15;

/** The sum of results, trade by trade. At least one trade. */
export function equityChart(points: readonly EquityPoint[]): Html {
  const sums = points.map(({ sumPercent }) => sumPercent);
  const last = sums.at(-1) ?? 0;
  const x = timeOf(points);
  const y = scaleLinear()
    .domain(spread([0, ...sums]))
    .range([BOTTOM, 30]);
  const course = steps(
    points.map((point): [number, number] => [x(new Date(point.closedAt)), y(point.sumPercent)]),
  );
  return chart(
    {
      id: "equity",
      title: "The sum of all results after costs, trade by trade, in percentage points",
      says: `After ${points.length} trades: ${signed(last)}.`,
    },
    {
      plot: html`<path class="path main" d="${course}" />`,
      marks: html`${scaleLines(y, (value) => signed(value, tickDigits(y.ticks(4))))}${dot(END, y(last), last >= 0 ? "up" : "down")}${timeMarks(...spanOf(points), [BEGIN, END])}`,
    },
  );
}

function spanOf(points: readonly EquityPoint[]): [number, number] {
  const times = points.map(({ closedAt }) => Date.parse(closedAt));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  return [from, to === from ? from + 1 : to];
}

function timeOf(points: readonly EquityPoint[]) {
  return scaleUtc().domain(spanOf(points)).range([BEGIN, END]);
}

/** As many decimals as distinguish neighbouring marks. */
function tickDigits([first = 0, second = 1]: readonly number[]): number {
  return Math.max(0, Math.ceil(-Math.log10(Math.abs(second - first)) - 1e-9));
}
