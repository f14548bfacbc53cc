import { scaleLinear, scaleUtc } from "d3-scale";
import { area, curveStepAfter, line } from "d3-shape";
import { DAY } from "../lib/time";

/**
 * The chart over time of pages and pictures: lines, levels, bands and dots. On a page it fills the width of its place, and
 * its words keep their size: shapes are drawn in a plot of a thousand by a thousand, which is stretched, and words and marks
 * are placed at percentages of it. Words have gutters beside and below the plot, so that no line crosses them.
 */

export type Point = { /** Epoch ms. */ at: number; value: number };

/** A place in a picture, in pixels. `left`, `right` and `below` are the gutters for words; a font is `size` high. */
export type Frame = {
  x: number;
  y: number;
  width: number;
  height: number;
  left: number;
  right: number;
  below: number;
  size: number;
};

type TimeChart = {
  /** Unique on the page. */
  id: string;
  /** Its title, and in `says` its content in words, for screen readers. */
  title: string;
  says: string;
  /** `levels`: a phone shows no axis of values, because the levels have them in their names. */
  size?: "spark" | "levels";
  /** Epoch ms. */
  from: number;
  to: number;
  lines?: readonly { kind: string; points: readonly Point[]; isFilled?: boolean; isStepped?: boolean }[];
  /** Horizontal lines for a time or the whole window, with a name beside the plot; of no length, the name alone. */
  levels?: readonly { kind: string; value: number; name?: string; from?: number; to?: number }[];
  /** `says`: what a pointer reads. */
  bands?: readonly { kind: string; low: number; high: number; from: number; to: number; says?: string }[];
  dots?: readonly (Point & { kind: string })[];
  /** Formats the values of the axis at the left; no axis without it. */
  axis?: (value: number) => string;
  /** The unit of its lines, for the pages' script, which shows the values under the pointer. */
  unit?: "$" | " %";
};

const SPAN = 1_000;

/** Prices as points. */
export function toPoints(prices: readonly { at: string; priceUsd: number }[]): Point[] {
  return prices.map(({ at, priceUsd }) => ({ at: Date.parse(at), value: priceUsd }));
}

/** Whether the points suffice for a line. */
export function isDrawn(points: readonly unknown[]): boolean {
  return points.length > 1;
}

/** @param frame Its place in a picture; on a page the style decides. */
export function Chart({ frame, ...chart }: TimeChart & { frame?: Frame | undefined }) {
  const { id, title, says, from, to, axis } = chart;
  const { lines = [], levels = [], bands = [], dots = [] } = chart;
  const values = [
    ...lines.flatMap(({ points }) => points.map(({ value }) => value)),
    ...bands.flatMap(({ low, high }) => [low, high]),
    ...[...levels, ...dots].map(({ value }) => value),
  ];
  const range = computeRange(values);
  const x = scaleUtc().domain([from, to]).range([0, SPAN]);
  const y = scaleLinear().domain(range).range([SPAN, 0]);
  const { across, down, shareAcross, shareDown } = createLengths(frame);
  const path = line().digits(frame === undefined ? 0 : 1);
  const steps = line()
    .curve(curveStepAfter)
    .digits(frame === undefined ? 0 : 1);
  const filled = area()
    .digits(frame === undefined ? 0 : 1)
    .y0(down(SPAN));
  const placePoints = (points: readonly Point[]) =>
    points.map(({ at, value }): [number, number] => [across(x(at)), down(y(value))]);
  const size = frame?.size ?? 12;

  const shapes = [
    ...bands.map((band) => {
      const [left, right] = [across(x(band.from)), across(x(band.to))];
      const [top, bottom] = [down(y(band.high)), down(y(band.low))];
      return (
        <path class={`band ${band.kind}`} d={buildBox([left, top], [right, bottom])}>
          {band.says !== undefined && <title>{band.says}</title>}
        </path>
      );
    }),
    ...lines.flatMap(({ kind, points, isFilled = false, isStepped = false }) => [
      isFilled && <path class={`fill ${kind}`} d={filled(placePoints(points)) ?? ""} />,
      <path class={`path ${kind}`} d={(isStepped ? steps : path)(placePoints(points)) ?? ""} />,
    ]),
  ];

  const [atX, atY] = [(at: number) => shareAcross(x(at)), (value: number) => shareDown(y(value))];
  const namedLevels = levels.filter(({ name }) => name !== undefined);
  const heights = spreadHeights(
    namedLevels.map(({ value }) => y(value)),
    frame === undefined ? 78 : (1.25 * size * SPAN) / getPlotSize(frame).height,
  );
  /** Keeps the label of a time within a chart without a gutter beside it. */
  const anchorAt = (at: number) =>
    x(at) < 40 && axis === undefined ? "start" : x(at) > 960 && namedLevels.length === 0 ? "end" : "middle";
  const ticks = axis === undefined ? [] : y.ticks(4);
  const times = listTimes(from, to);
  const [beside, begin, end] = [0.7 * size, shareAcross(0), shareAcross(SPAN)];
  const marks = [
    ...ticks.flatMap((value) => [
      <line class="grid-line" x1={begin} x2={end} y1={atY(value)} y2={atY(value)} />,
      <text class="axis value" x={begin} y={atY(value)} dx={-beside} dy="0.33em" text-anchor="end">
        {axis?.(value)}
      </text>,
    ]),
    ...levels.map(({ kind, value, from: first = from, to: last = to }) => (
      <line class={`level ${kind}`} x1={atX(first)} x2={atX(last)} y1={atY(value)} y2={atY(value)} />
    )),
    ...dots.map(({ kind, at, value }) => (
      <circle class={`dot ${kind}`} cx={atX(at)} cy={atY(value)} r={0.42 * size} />
    )),
    ...namedLevels.map(({ kind, name }, index) => (
      <text class={`named ${kind}`} x={end} y={shareDown(heights[index] ?? 0)} dx={beside} dy="0.33em">
        {name}
      </text>
    )),
    ...times.map(({ at, words }) => (
      <text class="axis" x={atX(at)} y={shareDown(SPAN)} dy="1.55em" text-anchor={anchorAt(at)}>
        {words}
      </text>
    )),
  ];

  if (frame !== undefined) {
    return (
      <g class="chart" transform={`translate(${frame.x + frame.left} ${frame.y})`}>
        {shapes}
        {marks}
      </g>
    );
  }
  const gutters = [
    chart.size,
    axis === undefined ? null : "valued",
    namedLevels.length === 0 ? null : "labelled",
  ];
  return (
    <svg
      class={["chart", ...gutters.filter(Boolean)].join(" ")}
      role="img"
      aria-labelledby={`${id}-title ${id}-says`}
      data-range={chart.unit === undefined ? undefined : [from, to, ...range].join(" ")}
      data-unit={chart.unit}
    >
      <title id={`${id}-title`}>{title}</title>
      <desc id={`${id}-says`}>{says}</desc>
      <svg class="plot" viewBox={`0 0 ${SPAN} ${SPAN}`} preserveAspectRatio="none">
        {shapes}
      </svg>
      {marks}
    </svg>
  );
}

function getPlotSize({ width, height, left, right, below }: Frame) {
  return { width: width - left - right, height: height - below };
}

/** Converts lengths of the plot, for shapes and for words and marks. A picture's renderer knows only pixels. */
function createLengths(frame: Frame | undefined) {
  const { width, height } = frame === undefined ? { width: SPAN, height: SPAN } : getPlotSize(frame);
  const across = (length: number) => (length / SPAN) * width;
  const down = (length: number) => (length / SPAN) * height;
  if (frame === undefined) {
    const share = (length: number) => `${Number((length / (SPAN / 100)).toFixed(2))}%`;
    return { across, down, shareAcross: share, shareDown: share };
  }
  const pixels = (scaled: (length: number) => number) => (length: number) => scaled(length).toFixed(1);
  return { across, down, shareAcross: pixels(across), shareDown: pixels(down) };
}

function buildBox(
  [left, top]: readonly [number, number],
  [right, bottom]: readonly [number, number],
): string {
  const [a, b, c, d] = [left, top, right, bottom].map((length) => Number(length.toFixed(1)));
  return `M${a} ${b}H${c}V${d}H${a}z`;
}

/** The range of the values, with 6 % of it added on both sides. */
function computeRange(values: readonly number[]): [number, number] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * 0.06 || Math.abs(most) * 0.01 || 1;
  return [least - room, most + room];
}

/** The width of a time's label on a phone, in lengths of the plot. */
const WORD = 260;

/** The labels of times below the plot: hours for up to two days, otherwise days; as many as fit on a phone. */
function listTimes(from: number, to: number): { at: number; words: string }[] {
  const x = scaleUtc().domain([from, to]).range([0, SPAN]);
  const written = x.tickFormat(4, to - from <= 2 * DAY ? "%H:%M" : "%-d %b");
  const ticks = x.ticks(4);
  const [first, second] = ticks.map((tick) => x(tick));
  const every = first === undefined || second === undefined ? 1 : Math.ceil(WORD / (second - first));
  return ticks
    .filter((_, index) => index % every === 0)
    .map((tick) => ({ at: tick.getTime(), words: written(tick) }));
}

/**
 * The heights of names beside levels at these heights, in the given order: moved apart where they would overlap, and never
 * outside the plot. A plot that is too short for all of them is shared evenly.
 */
function spreadHeights(heights: readonly number[], least: number): number[] {
  const order = heights.map((_, index) => index).toSorted((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const step = Math.min(least, SPAN / Math.max(1, order.length - 1));
  const placed = [...heights];
  let lowest = -step;
  for (const index of order) {
    lowest = Math.max(placed[index] ?? 0, lowest + step);
    placed[index] = lowest;
  }
  let highest = SPAN + step;
  for (const index of order.toReversed()) {
    highest = Math.min(placed[index] ?? 0, highest - step);
    placed[index] = highest;
  }
  return placed;
}
