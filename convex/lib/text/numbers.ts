import { groupedDigits, smallFigure } from "./strings";

/** Figures for readers, on cards, pages and pictures alike. Pure. */

/** A thin non-breaking space, as before every percent sign. */
const THIN = "\u202F";
const MINUS = "−";

/** `1.25 %`, with the significant digits or a given number of decimals. */
export function percent(value: number, places?: number): string {
  const digits =
    places === undefined
      ? Math.abs(value).toLocaleString("en-US", { maximumFractionDigits: 6 })
      : Math.abs(value).toFixed(places);
  return `${value < 0 && Number(digits) !== 0 ? MINUS : ""}${digits}${THIN}%`;
}

/** `+1.42 %`, `−0.35 %`. */
export function signed(value: number, places = 2): string {
  return `${points(value, places)}${THIN}%`;
}

/** `+3.1`: hundredths of the distance from stop to target. */
export function points(value: number, places = 1): string {
  const digits = Math.abs(value).toFixed(places);
  if (Number(digits) === 0) return digits;
  return `${value > 0 ? "+" : MINUS}${digits}`;
}

/** `97,250.50`: an amount as `dollars` writes it, but always with its cents, for columns. */
export function usd(value: number): string {
  return Math.abs(value) < 1 ? smallFigure(value) : grouped(value.toFixed(2));
}

/** For the narrow places of charts: `97,250`, `3,410.2`, `3,400`. */
export function shortUsd(value: number): string {
  if (Math.abs(value) < 1) return smallFigure(value, 4);
  const places = Math.abs(value) >= 10_000 || Number.isInteger(value) ? 0 : Math.abs(value) >= 1_000 ? 1 : 2;
  return grouped(value.toFixed(places));
}

const SIZES = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "K"],
] as const;

/** `$4.20M`, `$317K`, `$0.60`: three significant digits, so that figures in a column are equally exact. */
export function bigUsd(value: number): string {
  // A value that would round up to a thousand of one size is shown in the next.
  const [size, letter] = SIZES.find(([least]) => Math.abs(value) >= 0.9995 * least) ?? [1, ""];
  return `$${Math.abs(value) < 1 ? value.toFixed(2) : (value / size).toPrecision(3)}${letter}`;
}

function grouped(fixed: string): string {
  const [whole = "", part] = fixed.replace("-", "").split(".");
  const digits = groupedDigits(whole) + (part === undefined ? "" : `.${part}`);
  return fixed.startsWith("-") ? `${MINUS}${digits}` : digits;
}

/** A text with its figures in that style: `-4.38%` becomes `−4.38 %`. Dates, ranges, names and `%20` stay. */
export function typeset(words: string): string {
  return words
    .replace(/(?<=\d)[ \u00A0\u2009]?%(?!\w)/gu, `${THIN}%`)
    .replace(/(?<![\p{L}\p{N}.,%_-])-(?=\d[\d,]*(?:\.\d|\u202F%))/gu, MINUS);
}
