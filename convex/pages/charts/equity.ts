import { scaleLinear, scaleUtc } from "d3-scale";
import type { EquityPoint } from "../../signals/views/shapes";
import { ARM_NAMES } from "../../signals/views/signals";
import { html, type Html } from "../markup";
import { signed } from "../../lib/text/numbers";
import { ARM_WORDS } from "../words";
import { chart, dot, namesBeside, PAGE, scaleLines, spread, steps, timeMarks } from "./frame";

const BOTTOM = 900;
/** Between the values at the left and the names at the right. */
const BEGIN = 60;
/** The names at the right take a quarter of a phone's width. */
const END = 720;
const APART = 65;

/** The sums of results, compared with those of the control arms. At least one trade. */
export function equityChart(points: readonly EquityPoint[]): Html {
  const sums = points.map(({ sumPercent }) => sumPercent);
  const arms = points.flatMap(({ controls }) => ARM_NAMES.map((arm) => controls[arm]));
  const [last, lastPoint] = [sums.at(-1) ?? 0, points.at(-1)];
  const x = timeOf(points);
  const y = scaleLinear()
    .domain(spread([0, ...sums, ...arms]))
    .range([BOTTOM, 30]);
  const course = (of: (point: EquityPoint) => number) =>
    steps(points.map((point) => [x(new Date(point.closedAt)), y(of(point))]));
  const ends = [
    { words: "The signals", kind: "", value: last },
    ...ARM_NAMES.map((arm) => ({
      words: ARM_WORDS[arm],
      kind: `arm ${arm}`,
      value: lastPoint?.controls[arm] ?? 0,
    })),
  ].map((end) => ({ ...end, at: y(end.value) }));
  return chart(
    {
      id: "equity",
      title: "The sum of all results after costs, trade by trade, in percentage points",
      says: `After ${points.length} trades: ${ends.map(({ words, value }) => `${words} ${signed(value)}`).join(", ")}.`,
    },
    {
      plot: html`${ARM_NAMES.map((arm) => html`<path class="arm ${arm}" d="${course(({ controls }) => controls[arm])}" />`)}<path
          class="path main"
          d="${course(({ sumPercent }) => sumPercent)}"
        />`,
      marks: html`${scaleLines(y, (value) => signed(value, tickDigits(y.ticks(4))))}${dot(END, y(last), last >= 0 ? "up" : "down")}${namesBeside(ends, { ...PAGE, apart: APART })}${timeMarksOf(points)}`,
    },
  );
}

/** How far the sum is below its highest. At least one trade. */
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
  const course = steps(places);
  const fall = `${course}V${y(0)}H${Math.round(places[0]?.[0] ?? BEGIN)}Z`;
  return chart(
    {
      id: "drawdown",
      size: "low",
      title: "How far the sum is below its highest, in percentage points",
      says: `At most ${signed(deepest)}; ${signed(falls.at(-1) ?? 0)} after the last trade.`,
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
  return scaleUtc().domain(spanOf(points)).range([BEGIN, END]);
}

function timeMarksOf(points: readonly EquityPoint[]): Html[] {
  return timeMarks(...spanOf(points), [BEGIN, END]);
}

/** As many decimals as distinguish neighbouring marks. */
function tickDigits([first = 0, second = 1]: readonly number[]): number {
  return Math.max(0, Math.ceil(-Math.log10(Math.abs(second - first)) - 1e-9));
}
