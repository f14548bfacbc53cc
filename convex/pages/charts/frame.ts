import { scaleUtc } from "d3-scale";
import { iso } from "../../lib/time";
import { html, type Html, type Part } from "../markup";

/**
 * Charts as SVG text that is as wide as its place and keeps the size of its words: shapes are drawn in a plot of a
 * thousand by a thousand that is stretched, words and marks stand at shares of the width and height.
 */

export const SPAN = 1_000;

/** A length of the plot as a share of the chart. */
export function share(length: number): string {
  return `${Number((length / (SPAN / 100)).toFixed(2))}%`;
}

export type Size = "" | "spark" | "low" | "square";

/**
 * @param id Of its own on the page.
 * @param title What it shows, and `says` what is to be seen, for who does not see it.
 * @param plot Shapes in the plot's own lengths. @param marks Words, lines and marks, at shares.
 */
export function chart(
  { id, title, says, size = "" }: { id: string; title: string; says: string; size?: Size },
  { plot, marks }: { plot: Part; marks: Part },
): Html {
  return html`<svg class="chart ${size}" role="img" aria-labelledby="${id}-title ${id}-says">
    <title id="${id}-title">${title}</title>
    <desc id="${id}-says">${says}</desc>
    <svg class="plot" viewBox="0 0 ${SPAN} ${SPAN}" preserveAspectRatio="none">${plot}</svg>${marks}
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

/** A line from top to bottom. */
export function upright(x: number, kind: string, [from, to]: readonly [number, number] = [0, SPAN]): Html {
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
    const word = html`<text class="axis" x="0" y="${share(y(value))}" dy="-4">${written(value)}</text>`;
    return html`${across(y(value), kind)}${word}`;
  });
}

/** Moments below the plot: hours within two days, days beyond. */
export function timeMarks(
  from: number,
  to: number,
  [begin, end]: readonly [number, number] = [0, SPAN],
): Html[] {
  const x = scaleUtc().domain([from, to]).range([begin, end]);
  const withinDays = to - from <= 2 * 86_400_000;
  return x.ticks(4).map((tick) => {
    const place = x(tick);
    const anchor = place < SPAN * 0.08 ? "start" : place > SPAN * 0.94 ? "end" : "middle";
    return html`<text class="axis" x="${share(place)}" y="100%" dy="-2" text-anchor="${anchor}"
      >${word(tick, withinDays)}</text
    >`;
  });
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function word(tick: Date, withinDays: boolean): string {
  if (withinDays) return iso(tick.getTime()).slice(11, 16);
  return `${tick.getUTCDate()} ${MONTHS[tick.getUTCMonth()] ?? ""}`;
}

/** The least and the greatest, with a share of their distance on both sides. */
export function spread(values: readonly number[], part = 0.08): [number, number] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * part || Math.abs(most) * 0.01 || 1;
  return [least - room, most + room];
}

/** Heights of words that stand in one column, moved apart where they would overlap; in the order given. */
export function apart(heights: readonly number[], least: number): number[] {
  const order = heights.map((_, index) => index).toSorted((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  const placed = [...heights];
  let lowest = -Infinity;
  for (const index of order) {
    const height = Math.max(placed[index] ?? 0, lowest + least);
    placed[index] = height;
    lowest = height;
  }
  return placed;
}
