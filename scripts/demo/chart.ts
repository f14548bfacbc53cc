import { signed } from "../../convex/lib/text/numbers";
import { dim, green, red } from "../terminal";

/** A line chart in text: braille dots, two across and four down in each character. */

type Point = { at: number; value: number };

const HEIGHT = 14;
const AXIS = 9;
/** The bit of each dot of a braille character, by column and row. */
const DOTS = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;
const BRAILLE = 0x2800;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** @param points In order of time; values in percent. @param columns How wide it may be. */
export function chartOf(points: readonly Point[], columns: number): string {
  const width = columns - AXIS - 1;
  const values = points.map(({ value }) => value);
  const top = Math.max(0.01, ...values);
  const bottom = Math.min(-0.01, ...values);
  const rowOf = (value: number) => Math.round(((top - value) / (top - bottom)) * (HEIGHT * 4 - 1));
  const cells = Array.from({ length: HEIGHT }, () => new Array<number>(width).fill(0));
  const dot = (x: number, y: number) => {
    const row = cells[y >> 2];
    const bit = DOTS[x & 1]?.[y & 3];
    if (row !== undefined && bit !== undefined) row[x >> 1] = (row[x >> 1] ?? 0) | bit;
  };
  let previous = rowOf(values[0] ?? 0);
  for (let x = 0; x < width * 2; x++) {
    const y = rowOf(valueAt(points, x / (width * 2 - 1)));
    for (let at = Math.min(y, previous); at <= Math.max(y, previous); at++) dot(x, at);
    previous = y;
  }

  const zero = rowOf(0) >> 2;
  const lines = cells.map((row, index) => {
    const label = labelOf(index, zero, top, bottom);
    const paint = index <= zero ? green : red;
    const line = row
      .map((bits) =>
        bits > 0 ? paint(String.fromCodePoint(BRAILLE + bits)) : index === zero ? dim("┈") : " ",
      )
      .join("");
    return `${label.padStart(AXIS - 2)} ${index === zero ? "┼" : "┤"}${line}`.trimEnd();
  });
  return [...lines, dateAxis(points, width)].join("\n");
}

/** The value on the straight line between the two points around a place from 0 (first) to 1 (last). */
function valueAt(points: readonly Point[], place: number): number {
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return 0;
  const at = first.at + (last.at - first.at) * place;
  const next = points.findIndex((point) => point.at >= at);
  const right = points[next] ?? last;
  const left = points[next - 1] ?? first;
  if (right.at <= left.at) return right.value;
  return left.value + ((at - left.at) / (right.at - left.at)) * (right.value - left.value);
}

/** Zero, the ends, and every third line between. */
function labelOf(row: number, zero: number, top: number, bottom: number): string {
  if (row === zero) return "0 %";
  const isFree = Math.abs(row - zero) > 1 && row < HEIGHT - 2;
  const isShown = row === 0 || row === HEIGHT - 1 || (row % 3 === 0 && isFree);
  if (!isShown) return "";
  return signed(top - (row / (HEIGHT - 1)) * (top - bottom), 1);
}

/** Four dates along the bottom, the first and the last at its ends. */
function dateAxis(points: readonly Point[], width: number): string {
  const first = points[0]?.at ?? 0;
  const last = points.at(-1)?.at ?? first;
  const labels = [0, 1, 2, 3].map((third) => shortDate(first + ((last - first) * third) / 3));
  const axis = new Array<string>(width).fill(" ");
  labels.forEach((label, third) => {
    const centre = Math.round(((width - 1) * third) / 3 - label.length / 2);
    const start = Math.min(Math.max(0, centre), width - label.length);
    [...label].forEach((char, i) => (axis[start + i] = char));
  });
  return dim(`${" ".repeat(AXIS)}${axis.join("")}`.trimEnd());
}

/** `20 Nov`, UTC. */
export function shortDate(moment: number | string): string {
  const date = new Date(moment);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""}`;
}
