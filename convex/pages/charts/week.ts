import { scaleLinear, scaleUtc } from "d3-scale";
import { curveMonotoneX, line } from "d3-shape";
import { DAY } from "../../lib/time";
import type { PricePoint } from "../../prices/shown";
import type { PublicSignal } from "../../signals/shapes";
import { html, type Html } from "../markup";
import { shortUsd, usd } from "../words";
import { chart, dot, scaleLines, SPAN, spread, timeMarks, upright } from "./frame";

const WEEK_MS = 7 * DAY;
const BOTTOM = 900;
/** Behind the values at the left. */
const BEGIN = 120;

/** A token's signals on the path of its price: from stop to first target, with the entry; at least two prices. */
export function weekChart(
  token: string,
  signals: readonly PublicSignal[],
  closes: readonly PricePoint[],
): Html {
  const hours = closes.map(({ at }) => Date.parse(at));
  const newest = Math.max(...hours);
  const shown = signals.filter(({ generatedAt }) => newest - Date.parse(generatedAt) <= WEEK_MS);
  const times = [...hours, ...shown.map(({ generatedAt }) => Date.parse(generatedAt))];
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const prices = closes.map(({ priceUsd }) => priceUsd);
  const levels = shown.flatMap(({ entry, tp1, sl }) => [entry, tp1 ?? entry, sl ?? entry]);
  const x = scaleUtc().domain([from, to]).range([BEGIN, SPAN]);
  const y = scaleLinear()
    .domain(spread([...prices, ...levels]))
    .range([BOTTOM, 30]);
  const course = line().curve(curveMonotoneX).digits(1)(
    closes.map(({ at, priceUsd }): [number, number] => [x(new Date(at)), y(priceUsd)]),
  );
  const marks = shown.map(({ generatedAt, entry, tp1, sl, status }) => {
    const place = x(new Date(generatedAt));
    const kind = status.toLowerCase();
    const reach = tp1 === null || sl === null ? null : upright(place, `reach ${kind}`, [y(tp1), y(sl)]);
    return html`${reach}${dot(place, y(entry), kind)}`;
  });
  const ended = shown.map(
    ({ signal, status, entry }) => `${signal} at ${usd(entry)}: ${status.toLowerCase()}`,
  );
  return chart(
    {
      id: `week-${token}`,
      title: `${token} in USD over a week, with its signals`,
      says: ended.length === 0 ? "No signal in this time." : `${ended.join("; ")}.`,
    },
    {
      plot: html`<path class="path" d="${course}" />`,
      marks: html`${scaleLines(y, shortUsd)}${marks}${timeMarks(from, to, [BEGIN, SPAN])}`,
    },
  );
}
