import { iso } from "../../lib/time";
import { html, type Html } from "../markup";

/** The hours of many days: a column each, with the day's first hour at the top. */

const KINDS = [
  [".", "up"],
  ["~", "trouble"],
  ["x", "down"],
] as const;

/** There is room for all columns from the first day on, so that a day is never as wide as a page. */
const LEAST_DAYS = 30;

export function uptimeChart(days: readonly { day: number; hours: string }[]): Html {
  const paths = KINDS.map(([mark, kind]) => html`<path class="hours ${kind}" d="${cells(days, mark)}" />`);
  const count = (mark: string) => days.reduce((sum, { hours }) => sum + hours.split(mark).length - 1, 0);
  const [first, last] = [days[0]?.day ?? 0, days.at(-1)?.day ?? 0];
  return html`<svg class="chart low" role="img" aria-labelledby="uptime-title uptime-says">
    <title id="uptime-title">How each hour went</title>
    <desc id="uptime-says">
      ${count(".")} hours well, ${count("~")} with trouble, ${count("x")} not served, from
      ${iso(first).slice(0, 10)} to ${iso(last).slice(0, 10)}.
    </desc>
    <svg viewBox="0 0 ${Math.max(days.length, LEAST_DAYS)} 24" preserveAspectRatio="none">${paths}</svg>
  </svg>`;
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
