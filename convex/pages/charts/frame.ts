import { scaleUtc } from "d3-scale";
import { line } from "d3-shape";
import { DAY } from "../../lib/time";
import { html, type Html, type Part } from "../markup";

/**
 * Charts as SVG text that is as wide as its place and keeps the size of its words: shapes are drawn in a plot of a
 * thousand by a thousand, which is stretched; words and marks are placed at shares of the width and height.
 */

export const SPAN = 1_000;

/** The canvas of a chart. */
export type Canvas = {
  /** Its place in a picture, in pixels; `null` on a page, where the style decides. */
  place: { x: number; y: number; width: number; height: number } | null;
  /** Where the plot begins, and where it ends and the words below it begin, in lengths of the plot. */
  top: number;
  bottom: number;
  /** About this many values stand at the left, and the plot begins after them. */
  values: number;
  begin: number;
  /** Where the plot ends and names beside it begin. */
  names: number;
  /** The least distance between such names. */
  apart: number;
  /** The size of marks, relative to a page. */
  marks: number;
};

export const PAGE: Canvas = {
  place: null,
  top: 30,
  bottom: 900,
  values: 4,
  begin: 120,
  names: 720,
  apart: 75,
  marks: 1,
};

/**
 * How long the plot's lengths are across and down. On a page it is stretched, and strokes keep their width. The
 * renderer of pictures cannot keep it, so there the lengths are pixels.
 */
function lengths({ place }: Canvas): readonly [number, number] {
  return place === null ? [1, 1] : [place.width / SPAN, place.height / SPAN];
}

/** A path through places of the plot. */
export function course(places: readonly (readonly [number, number])[], canvas: Canvas): string {
  const [across, down] = lengths(canvas);
  // A thousandth of a page's width is a pixel.
  const path = line().digits(canvas.place === null ? 0 : 1);
  return path(places.map(([x, y]): [number, number] => [x * across, y * down])) ?? "";
}

/**
 * A path of steps through places of a page's plot, in as few letters as possible, because a page has hundreds of them.
 */
export function steps(places: readonly (readonly [number, number])[]): string {
  return places
    .map(
      ([x, y], index) =>
        `${index === 0 ? "M" : "H"}${Math.round(x)}${index === 0 ? "," : "V"}${Math.round(y)}`,
    )
    .join("");
}

/** A filled part of the plot, between two places. */
export function box(
  kind: string,
  [left, right]: readonly [number, number],
  [top, bottom]: readonly [number, number],
  canvas: Canvas,
): Html {
  const [across, down] = lengths(canvas);
  return html`<rect
    class="${kind}"
    x="${(left * across).toFixed(1)}"
    y="${(top * down).toFixed(1)}"
    width="${((right - left) * across).toFixed(1)}"
    height="${((bottom - top) * down).toFixed(1)}"
  />`;
}

/** A length of the plot as a share of the chart. */
export function share(length: number): string {
  return `${Number((length / (SPAN / 100)).toFixed(2))}%`;
}

export type Size = "" | "spark" | "low" | "square";

/**
 * @param id Unique on the page.
 * @param title What it shows, and `says` its text for screen readers.
 * @param plot Shapes in the plot's own lengths.
 * @param marks Words, lines and marks, at shares.
 * @param isCut Whether parts of the plot beyond its scale are not drawn.
 */
export function chart(
  { id, title, says, size = "" }: { id: string; title: string; says: string; size?: Size },
  { plot, marks, isCut = false }: { plot: Part; marks: Part; isCut?: boolean },
  canvas: Canvas = PAGE,
): Html {
  const { place } = canvas;
  const [across, down] = lengths(canvas);
  const placed =
    place === null
      ? null
      : html` x="${place.x}" y="${place.y}" width="${place.width}" height="${place.height}"`;
  const high = isCut ? canvas.bottom : SPAN;
  const cut = isCut ? html` height="${share(high)}"` : null;
  return html`<svg class="chart ${size}" ${placed} role="img" aria-labelledby="${id}-title ${id}-says">
    <title id="${id}-title">${title}</title>
    <desc id="${id}-says">${says}</desc>
    <svg
      class="plot ${isCut ? "cut" : ""}"
      ${cut}
      viewBox="0 0 ${SPAN * across} ${high * down}"
      preserveAspectRatio="none"
    >
      ${plot}</svg
    >${marks}
  </svg>`;
}

/** A line across at a height of the plot. */
export function across(y: number, kind: string, [from, to]: readonly [number, number] = [0, SPAN]): Html {
  return html`<line
    class="${kind}"
    x1="${share(from)}"
    x2="${share(to)}"
    y1="${share(y)}"
    y2="${share(y)}"
  />`;
}

/** A line from one height to another. */
export function upright(x: number, kind: string, [from, to]: readonly [number, number]): Html {
  return html`<line
    class="${kind}"
    x1="${share(x)}"
    x2="${share(x)}"
    y1="${share(from)}"
    y2="${share(to)}"
  />`;
}

export function dot(x: number, y: number, kind: string, radius = 5): Html {
  return html`<circle class="dot ${kind}" cx="${share(x)}" cy="${share(y)}" r="${radius}" />`;
}

/** Lines with their values above them, at the left. */
export function scaleLines(
  y: { (value: number): number; ticks: (count: number) => number[] },
  written: (value: number) => string,
  count = 4,
): Html[] {
  return y.ticks(count).map((value) => {
    const kind = value === 0 ? "zero" : "grid-line";
    const word = html`<text class="axis" x="0" y="${share(y(value))}" dy="-0.33em">${written(value)}</text>`;
    return html`${across(y(value), kind)}${word}`;
  });
}

/** The width of a day and a month on a phone. */
const WORD = 150;

/** Times below the plot, as many as a phone has room for: hours if the plot covers two days or less, otherwise days. */
export function timeMarks(from: number, to: number, [begin, end]: readonly [number, number]): Html[] {
  const x = scaleUtc().domain([from, to]).range([begin, end]);
  const written = x.tickFormat(4, to - from <= 2 * DAY ? "%H:%M" : "%-d %b");
  const ticks = x.ticks(4);
  const [first, second] = ticks.map((tick) => x(tick));
  const every = first === undefined || second === undefined ? 1 : Math.ceil(WORD / (second - first));
  return ticks.filter((_, index) => index % every === 0).map((tick) => below(x(tick), written(tick)));
}

/** A word below the plot, and within its width. */
function below(place: number, word: string): Html {
  const anchor = place < SPAN * 0.08 ? "start" : place > SPAN * 0.94 ? "end" : "middle";
  return html`<text class="axis" x="${share(place)}" y="100%" dy="-0.16em" text-anchor="${anchor}"
    >${word}</text
  >`;
}

/** Names to the right of their lines, moved apart where they would overlap; in the given order. */
export function namesBeside(
  named: readonly { kind: string; at: number; words: string }[],
  canvas: Canvas,
): Html[] {
  const heights = nameHeights(
    named.map(({ at }) => at),
    canvas,
  );
  return named.map(
    ({ kind, words }, index) =>
      html`<text
        class="named ${kind}"
        x="100%"
        y="${share(heights[index] ?? 0)}"
        dy="0.33em"
        text-anchor="end"
        >${words}</text
      >`,
  );
}

/** The least and the greatest, with 8 % of their distance on both sides. */
export function spread(values: readonly number[]): [number, number] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * 0.08 || Math.abs(most) * 0.01 || 1;
  return [least - room, most + room];
}

/**
 * The heights of names beside things at these heights, in the given order: moved apart where they would overlap, and
 * never outside the chart. If the chart is too short for all of them, they share it.
 */
export function nameHeights(heights: readonly number[], { apart: least, bottom }: Canvas): number[] {
  const top = least / 2;
  const order = heights.map((_, index) => index).toSorted((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const step = Math.min(least, (bottom - top) / Math.max(1, order.length - 1));
  const placed = [...heights];
  let lowest = top - step;
  for (const index of order) {
    lowest = Math.max(placed[index] ?? 0, lowest + step);
    placed[index] = lowest;
  }
  let highest = bottom + step;
  for (const index of order.toReversed()) {
    highest = Math.min(placed[index] ?? 0, highest - step);
    placed[index] = highest;
  }
  return placed;
}
