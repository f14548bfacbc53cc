import { sourceName } from "../lib/publicSources";
import { signed } from "../lib/text/numbers";
import { many } from "../lib/text/strings";
import { DAY, dateTime, HOUR, MINUTE } from "../lib/time";
import { html, type Html } from "./markup";

/** Words and times as the pages write them. Pure. */

/** A figure, or words if there is none. */
export function orNone(value: number | null, words: (value: number) => string, none = "none"): string {
  return value === null ? none : words(value);
}

/** A change with its direction as a shape, and not only as a colour. */
export function change(value: number | null): Html {
  if (value === null) return html`<span class="flat">no change known</span>`;
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
