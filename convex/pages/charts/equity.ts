import { scaleLinear, scaleUtc } from "d3-scale";
import { area, curveStepAfter, line } from "d3-shape";
import type { EquityPoint } from "../../signals/equity";
import { html, type Html } from "../markup";
import { signed } from "../words";
import { chart, dot, scaleLines, SPAN, spread, timeMarks } from "./frame";

const BOTTOM = 900;
/** Behind the values at the left. */
const BEGIN = 60;

/** How results add up. At least one result. */
export function equityChart(points: readonly EquityPoint[]): Html {
  const sums = points.map(({ sumPercent }) => sumPercent);
  const last = sums.at(-1) ?? 0;
  const x = timeOf(points);
  const y = scaleLinear()
    .domain(spread([0, ...sums]))
    .range([BOTTOM, 30]);
  const places = points.map(({ closedAt, sumPercent }): [number, number] => [
    x(new Date(closedAt)),
    y(sumPercent),
  ]);
  const below = area().y0(y(0)).curve(curveStepAfter).digits(1)(places);
  const course = line().curve(curveStepAfter).digits(1)(places);
  const way = last >= 0 ? "up" : "down";
  return chart(
    {
      id: "equity",
      title: "The sum of all results, signal by signal, in percentage points",
      says: `At ${signed(last)} after the last of ${points.length} results; lowest ${signed(Math.min(...sums))}, highest ${signed(Math.max(...sums))}.`,
    },
    {
      plot: html`<path class="fill ${way}" d="${below}" /><path class="path" d="${course}" />`,
      marks: html`${scaleLines(y, (value) => signed(value, tickDigits(y.ticks(4))))}${dot(x(new Date(points.at(-1)?.closedAt ?? 0)), y(last), way)}${timeMarksOf(points)}`,
    },
  );
}

/** How far the sum is below its highest. At least one result. */
export function drawdownChart(points: readonly EquityPoint[]): Html {
  const falls = points.map(({ fallPercent }) => -fallPercent);
  const x = timeOf(points);
  const deepest = Math.min(...falls);
  const y = scaleLinear()
    .domain([Math.min(deepest * 1.1, -0.1), 0])
    .range([BOTTOM, 120]);
  const places = points.map(({ closedAt, fallPercent }): [number, number] => [
    x(new Date(closedAt)),
    y(-fallPercent),
  ]);
  const fall = area().y0(y(0)).curve(curveStepAfter).digits(1)(places);
  const course = line().curve(curveStepAfter).digits(1)(places);
  return chart(
    {
      id: "drawdown",
      size: "low",
      title: "How far the sum is below its highest, in percentage points",
      says: `At most ${signed(deepest)}; ${signed(falls.at(-1) ?? 0)} after the last result.`,
    },
    {
      plot: html`<path class="fill down" d="${fall}" /><path class="path down" d="${course}" />`,
      marks: html`${scaleLines(y, (value) => signed(value, tickDigits(y.ticks(2))), 2)}${timeMarksOf(points)}`,
    },
  );
}

function spanOf(points: readonly EquityPoint[]): [number, number] {
  const times = points.map(({ closedAt }) => Date.parse(closedAt));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  return [from, to === from ? from + 1 : to];
}

function timeOf(points: readonly EquityPoint[]) {
  return scaleUtc().domain(spanOf(points)).range([BEGIN, SPAN]);
}

function timeMarksOf(points: readonly EquityPoint[]): Html[] {
  return timeMarks(...spanOf(points), [BEGIN, SPAN]);
}

/** As many places as tell neighbouring marks apart. */
function tickDigits([first = 0, second = 1]: readonly number[]): number {
  return Math.max(0, Math.ceil(-Math.log10(Math.abs(second - first)) - 1e-9));
}
