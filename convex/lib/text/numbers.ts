import { trimTrailing } from "./strings";

/** Figures for readers, on cards, pages and pictures alike. Pure. */

/** A thin non-breaking space, as before every percent sign. */
const THIN = "\u202F";
const MINUS = "−";

/** A way of writing numbers, made when it is first used: making one takes longer than using it many times. */
function createStyle(options: Intl.NumberFormatOptions): (value: number) => string {
  let style: Intl.NumberFormat | undefined;
  return (value) => (style ??= new Intl.NumberFormat("en-US", options)).format(value);
}

const writeSignificant = createStyle({ maximumFractionDigits: 6 });

/** `1.25 %`, with the significant digits or a given number of decimals. */
export function formatPercent(value: number, places?: number): string {
  const digits = places === undefined ? writeSignificant(Math.abs(value)) : Math.abs(value).toFixed(places);
  return `${value < 0 && Number(digits) !== 0 ? MINUS : ""}${digits}${THIN}%`;
}

/** `+1.42 %`, `−0.35 %`. */
export function formatSignedPercent(value: number, places = 2): string {
  return `${formatPoints(value, places)}${THIN}%`;
}

/** `+3.1`: hundredths of the distance from stop to target. */
export function formatPoints(value: number, places = 1): string {
  const digits = Math.abs(value).toFixed(places);
  if (Number(digits) === 0) return digits;
  return `${value > 0 ? "+" : MINUS}${digits}`;
}

const writeDecimals = (places: number) =>
  createStyle({ minimumFractionDigits: places, maximumFractionDigits: places });
/** By the number of decimals. */
const WRITE_GROUPED = { 0: writeDecimals(0), 1: writeDecimals(1), 2: writeDecimals(2) } as const;

/** `97,250.50`: with so many decimals. */
export function formatGrouped(value: number, places: keyof typeof WRITE_GROUPED): string {
  return WRITE_GROUPED[places](Number(value.toFixed(places))).replace("-", MINUS);
}

/** A number between −1 and 1 with its significant digits, at least two decimals: `0.60`, `0.0000071`. */
export function formatSmall(value: number, digits = 5): string {
  const first = value === 0 ? 0 : -Math.floor(Math.log10(Math.abs(value)));
  const [whole = "0", decimals = ""] = value
    .toFixed(Math.min(Math.max(first + digits - 1, 2), 18))
    .split(".");
  return `${whole}.${decimals.slice(0, 2)}${trimTrailing(decimals.slice(2), "0")}`;
}

/** `$104,500.25`, `$3,480`; below a dollar with five significant digits. */
export function formatDollars(value: number): string {
  if (value < 1) return value === 0 ? "$0" : `$${formatSmall(value)}`;
  return `$${formatGrouped(value, 2).replace(/\.00$/, "")}`;
}

/** `97,250.50`: an amount as `formatDollars` writes it, but always with its cents, for columns. */
export function formatUsd(value: number): string {
  return Math.abs(value) < 1 ? formatSmall(value) : formatGrouped(value, 2);
}

/** `$97,250.50`: an amount or a price on pages and in pictures. */
export function formatMoney(value: number): string {
  return `$${formatUsd(value)}`;
}

/** `+$2.50`, `−$0.30`: a sum with its sign and its cents. */
export function formatGain(usd: number): string {
  const cents = Number(Math.abs(usd).toFixed(2));
  return `${cents === 0 ? "" : usd < 0 ? MINUS : "+"}$${formatUsd(cents)}`;
}

/** For the narrow places of charts: `97,250`, `3,410.2`, `3,400`. */
export function formatShortUsd(value: number): string {
  const size = Math.abs(value);
  if (size < 1) return formatSmall(value, 4);
  return formatGrouped(value, size >= 10_000 || Number.isInteger(value) ? 0 : size >= 1_000 ? 1 : 2);
}

const writeCompact = createStyle({
  notation: "compact",
  minimumSignificantDigits: 3,
  maximumSignificantDigits: 3,
});

/** `$4.20M`, `$317K`, `$0.60`: three significant digits, so that figures in a column are equally exact. */
export function formatBigUsd(value: number): string {
  return `$${Math.abs(value) < 1 ? value.toFixed(2) : writeCompact(value)}`;
}

/** A text with its figures in that style: `-4.38%` becomes `−4.38 %`. Dates, ranges, names and `%20` stay. */
export function typeset(words: string): string {
  return words
    .replace(/(?<=\d)[ \u00A0\u2009]?%(?!\w)/gu, `${THIN}%`)
    .replace(/(?<![\p{L}\p{N}.,%_-])-(?=\d[\d,]*(?:\.\d|\u202F%))/gu, MINUS);
}
