import { scaleLinear, scaleLog, scaleUtc } from "d3-scale";
import { area, line } from "d3-shape";
import { DAY, iso } from "../lib/time";

/**
 * The one chart over time, on pages and in pictures: lines, levels, bands, reaches and dots. On a page it fills the width
 * of its place and its words keep their size: shapes are drawn in a plot of a thousand by a thousand, which is stretched,
 * and words and marks stand at shares of it. Words have gutters of their own beside and below the plot, so that no line
 * runs over them.
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

export type TimeChart = {
  /** Unique on the page. */
  id: string;
  /** What it shows, and `says` the same in words for who cannot see it. */
  title: string;
  says: string;
  size?: "spark" | "low";
  /** Epoch ms. */
  from: number;
  to: number;
  lines?: readonly { kind: string; points: readonly Point[]; isFilled?: boolean }[];
  /** Values that hold for a time, or for all of it, with a name beside the plot. */
  levels?: readonly { kind: string; value: number; name?: string; from?: number; to?: number }[];
  bands?: readonly { kind: string; low: number; high: number; from: number; to: number }[];
  reaches?: readonly { kind: string; at: number; low: number; high: number }[];
  /** A dot, or a sign in its place. */
  dots?: readonly (Point & { kind: string; sign?: string })[];
  /** Names beside the ends of lines. */
  names?: readonly { kind: string; value: number; words: string }[];
  /** Values at the left as they are written; without it there are none. */
  axis?: (value: number) => string;
  /** Each step up is ten times the one below. */
  isLog?: boolean;
};

const SPAN = 1_000;

/** Whether there is enough to draw: a line needs two points. */
export function isDrawn(points: readonly unknown[]): boolean {
  return points.length > 1;
}

/** @param frame Its place in a picture; a page's style decides otherwise. */
export function Chart({ frame, ...chart }: TimeChart & { frame?: Frame }) {
  const { id, title, says, from, to, axis, isLog = false } = chart;
  const { lines = [], levels = [], bands = [], reaches = [], dots = [], names = [] } = chart;
  const values = [
    ...lines.flatMap(({ points }) => points.map(({ value }) => value)),
    ...[...bands, ...reaches].flatMap(({ low, high }) => [low, high]),
    ...[...levels, ...dots].map(({ value }) => value),
  ];
  const x = scaleUtc().domain([from, to]).range([0, SPAN]);
  const y = (isLog ? scaleLog() : scaleLinear()).domain(spread(values, isLog)).range([SPAN, 0]);
  const { across, down, shareAcross, shareDown } = lengthsOf(frame);
  const path = line().digits(frame === undefined ? 0 : 1);
  const filled = area()
    .digits(frame === undefined ? 0 : 1)
    .y0(down(SPAN));
  const placed = (points: readonly Point[]) =>
    points.map(({ at, value }): [number, number] => [across(x(at)), down(y(value))]);
  const size = frame?.size ?? 12;

  const shapes = [
    ...bands.map((band) => {
      const [left, right] = [across(x(band.from)), across(x(band.to))];
      const [top, bottom] = [down(y(band.high)), down(y(band.low))];
      return <path class={`band ${band.kind}`} d={boxOf([left, top], [right, bottom])} />;
    }),
    ...lines.map(({ kind, points, isFilled }) => (
      <>
        {isFilled === true && <path class={`fill ${kind}`} d={filled(placed(points)) ?? ""} />}
        <path class={`path ${kind}`} d={path(placed(points)) ?? ""} />
      </>
    )),
  ];

  const named = [
    ...levels.flatMap(({ kind, value, name }) => (name === undefined ? [] : [{ kind, value, words: name }])),
    ...names,
  ];
  const heights = apart(
    named.map(({ value }) => y(value)),
    frame === undefined ? 78 : (1.25 * size * SPAN) / plotOf(frame).height,
  );
  const marks = (
    <>
      {axis !== undefined &&
        ticksOf(y, isLog).map((value) => (
          <>
            <line
              class={value === 0 ? "zero" : "grid-line"}
              x1={shareAcross(0)}
              x2={shareAcross(SPAN)}
              y1={shareDown(y(value))}
              y2={shareDown(y(value))}
            />
            <text
              class="axis"
              x={shareAcross(0)}
              y={shareDown(y(value))}
              dx={-0.7 * size}
              dy="0.33em"
              text-anchor="end"
            >
              {axis(value)}
            </text>
          </>
        ))}
      {reaches.map(({ kind, at, low, high }) => (
        <line
          class={`reach ${kind}`}
          x1={shareAcross(x(at))}
          x2={shareAcross(x(at))}
          y1={shareDown(y(high))}
          y2={shareDown(y(low))}
        />
      ))}
      {levels.map(({ kind, value, from: begin = from, to: end = to }) => (
        <line
          class={`level ${kind}`}
          x1={shareAcross(x(begin))}
          x2={shareAcross(x(end))}
          y1={shareDown(y(value))}
          y2={shareDown(y(value))}
        />
      ))}
      {dots.map(({ kind, at, value, sign }) =>
        sign === undefined ? (
          <circle class={`dot ${kind}`} cx={shareAcross(x(at))} cy={shareDown(y(value))} r={0.42 * size} />
        ) : (
          <text
            class={`sign ${kind}`}
            x={shareAcross(x(at))}
            y={shareDown(y(value))}
            dy="0.33em"
            text-anchor="middle"
          >
            {sign}
          </text>
        ),
      )}
      {named.map(({ kind, words }, index) => (
        <text
          class={`named ${kind}`}
          x={shareAcross(SPAN)}
          y={shareDown(heights[index] ?? 0)}
          dx={0.7 * size}
          dy="0.33em"
        >
          {words}
        </text>
      ))}
      {chart.size !== "spark" &&
        timesOf(from, to).map(({ at, words }) => (
          <text
            class="axis"
            x={shareAcross(x(at))}
            y={shareDown(SPAN)}
            dy="1.55em"
            text-anchor={
              x(at) < 40 && axis === undefined
                ? "start"
                : x(at) > 960 && named.length === 0
                  ? "end"
                  : "middle"
            }
          >
            {words}
          </text>
        ))}
    </>
  );

  if (frame !== undefined) {
    return (
      <g class="chart" transform={`translate(${frame.x + frame.left} ${frame.y})`}>
        {shapes}
        {marks}
      </g>
    );
  }
  const gutters = [chart.size, axis === undefined ? null : "valued", named.length === 0 ? null : "labelled"];
  return (
    <svg
      class={["chart", ...gutters.filter(Boolean)].join(" ")}
      role="img"
      aria-labelledby={`${id}-title ${id}-says`}
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

function plotOf({ width, height, left, right, below }: Frame) {
  return { width: width - left - right, height: height - below };
}

/** How lengths of the plot are written: of shapes, and of words and marks. A picture's renderer knows pixels alone. */
function lengthsOf(frame: Frame | undefined) {
  const { width, height } = frame === undefined ? { width: SPAN, height: SPAN } : plotOf(frame);
  const across = (length: number) => (length / SPAN) * width;
  const down = (length: number) => (length / SPAN) * height;
  if (frame === undefined) {
    const share = (length: number) => `${Number((length / (SPAN / 100)).toFixed(2))}%`;
    return { across, down, shareAcross: share, shareDown: share };
  }
  const pixels = (scaled: (length: number) => number) => (length: number) => scaled(length).toFixed(1);
  return { across, down, shareAcross: pixels(across), shareDown: pixels(down) };
}

function boxOf([left, top]: readonly [number, number], [right, bottom]: readonly [number, number]): string {
  const [a, b, c, d] = [left, top, right, bottom].map((length) => Number(length.toFixed(1)));
  return `M${a} ${b}H${c}V${d}H${a}z`;
}

/** The least and the greatest, with 6 % of their distance on both sides. */
function spread(values: readonly number[], isLog: boolean): [number, number] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (isLog) return [least / 1.6, most * 1.6];
  const room = (most - least) * 0.06 || Math.abs(most) * 0.01 || 1;
  return [least - room, most + room];
}

type Scale = { ticks: (count: number) => number[] };

function ticksOf(scale: Scale, isLog: boolean): number[] {
  const ticks = scale.ticks(4);
  return isLog ? ticks.filter((value) => Number.isInteger(Math.log10(value))) : ticks;
}

/** The room that a time needs on a phone, in lengths of the plot. */
const WORD = 210;

/** Times below the plot: hours if it covers two days or less, otherwise days; as many as a phone has room for. */
function timesOf(from: number, to: number): { at: number; words: string }[] {
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
 * The heights of names beside things at these heights, in the given order: moved apart where they would overlap, and
 * never outside the plot. If it is too short for all of them, they share it.
 */
export function apart(heights: readonly number[], least: number): number[] {
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

const HOURS = [
  [".", "up"],
  ["~", "trouble"],
  ["x", "down"],
] as const;

/** There is room for all columns from the first day on, so that a day is never as wide as a page. */
const LEAST_DAYS = 30;

/** The hours of many days: a column each, with the day's first hour at the top. */
export function HoursChart({ days }: { days: readonly { day: number; hours: string }[] }) {
  const count = (mark: string) => days.reduce((sum, { hours }) => sum + hours.split(mark).length - 1, 0);
  const [first, last] = [days[0]?.day ?? 0, days.at(-1)?.day ?? 0];
  return (
    <svg class="chart low" role="img" aria-labelledby="hours-title hours-says">
      <title id="hours-title">How each hour went</title>
      <desc id="hours-says">
        {count(".")} hours well, {count("~")} with trouble, {count("x")} not served, from{" "}
        {iso(first).slice(0, 10)} to {iso(last).slice(0, 10)}.
      </desc>
      <svg viewBox={`0 0 ${Math.max(days.length, LEAST_DAYS)} 24`} preserveAspectRatio="none">
        {HOURS.map(([mark, kind]) => (
          <path class={`hours ${kind}`} d={cells(days, mark)} />
        ))}
      </svg>
    </svg>
  );
}

/** Equal hours that follow one another are one shape. */
function cells(days: readonly { hours: string }[], mark: string): string {
  return days
    .flatMap(({ hours }, column) => {
      const runs: string[] = [];
      for (let from = hours.indexOf(mark); from >= 0;) {
        let to = from;
        while (hours[to] === mark) to++;
        runs.push(`M${column} ${from}h.9v${to - from}h-.9z`);
        from = hours.indexOf(mark, to);
      }
      return runs;
    })
    .join("");
}
