import { sourceName } from "../lib/publicSources";
import { groupedDigits, many, smallFigure } from "../lib/text/strings";
import { DAY, dateTime, HOUR, MINUTE } from "../lib/time";
import { html, type Html } from "./markup";

/** Figures and times as the pages write them. Pure. */

/** `97,250.50`; whole from a hundred thousand up, five digits that count below one. */
export function usd(value: number): string {
  if (Math.abs(value) < 1) return smallFigure(value);
  return grouped(value.toFixed(Math.abs(value) >= 100_000 ? 0 : 2));
}

/** For the narrow places of charts: `97,250`, `3,410.2`. */
export function shortUsd(value: number): string {
  if (Math.abs(value) < 1) return smallFigure(value, 4);
  return grouped(value.toFixed(Math.abs(value) >= 10_000 ? 0 : Math.abs(value) >= 1_000 ? 1 : 2));
}

const SIZES = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
] as const;

/** `$4.20M`, `$317k`, `$0.60`: three digits that count, so that those below one another are equally exact. */
export function bigUsd(value: number): string {
  // What would be rounded to a thousand of a size is one of the next.
  const [size, letter] = SIZES.find(([least]) => Math.abs(value) >= 0.9995 * least) ?? [1, ""];
  return `$${Math.abs(value) < 1 ? value.toFixed(2) : (value / size).toPrecision(3)}${letter}`;
}

function grouped(fixed: string): string {
  const [whole = "", part] = fixed.replace("-", "").split(".");
  const digits = groupedDigits(whole) + (part === undefined ? "" : `.${part}`);
  return fixed.startsWith("-") ? `−${digits}` : digits;
}

/** `+1.42 %`, with a minus sign that is one. */
export function signed(value: number, digits = 2): string {
  return `${points(value, digits)} %`;
}

/** `+3.1`: hundredths of the way from stop to target. */
export function points(value: number, digits = 1): string {
  const shown = Math.abs(value).toFixed(digits);
  if (Number(shown) === 0) return shown;
  return `${value > 0 ? "+" : "−"}${shown}`;
}

/** A figure that may not exist. */
export function orNone(value: number | null, told: (value: number) => string, none = "none"): string {
  return value === null ? none : told(value);
}

/** The arms of the record. */
export const ARM_WORDS = {
  model: "The signals",
  coin: "Coin flip",
  momentum: "Momentum",
  alwaysLong: "Always long",
  buyAndHold: "Buy and hold",
} as const;

/** A change with its direction in a shape, not in colour alone. */
export function change(value: number | null): Html {
  if (value === null) return html`<span class="flat">24 h change unknown</span>`;
  const [kind, mark] = value > 0 ? ["up", "▲"] : value < 0 ? ["down", "▼"] : ["flat", "■"];
  return html`<span class="change ${kind}"><span aria-hidden="true">${mark}</span> ${signed(value)}</span>`;
}

/** `3 minutes`, `2 hours`, `5 days`: how long ago that was. */
export function span(ms: number): string {
  const [size, word]: [number, string] =
    ms < 2 * HOUR ? [MINUTE, "minute"] : ms < 2 * DAY ? [HOUR, "hour"] : [DAY, "day"];
  return many(Math.max(0, Math.round(ms / size)), word);
}

/** `just now`, `3 minutes ago`; a moment to come: `in 3 minutes`. */
export function ago(at: number, now: number): string {
  if (at - now > MINUTE) return `in ${span(at - now)}`;
  return now - at < MINUTE ? "just now" : `${span(now - at)} ago`;
}

/** `20 Nov 2026, 15:30 UTC` for people and programs. */
export function moment(iso: string): Html {
  return html`<time datetime="${iso}">${dateTime(Date.parse(iso))}</time>`;
}

/** The same with how long ago that is. */
export function since(iso: string, now: number): Html {
  return html`<time datetime="${iso}" title="${dateTime(Date.parse(iso))}"
    >${ago(Date.parse(iso), now)}</time
  >`;
}

/** `Chainlink and Coinbase`. */
export function sourceNames(points: readonly { source: string }[]): string {
  const names = [...new Set(points.map(({ source }) => sourceName(source)))];
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}
