import { scaleLinear, scaleUtc } from "d3-scale";
import { DAY } from "../../lib/time";
import type { PricePoint } from "../../market/views";
import type { PublicSignal } from "../../signals/shapes";
import { html, type Html } from "../markup";
import { shortUsd, usd } from "../../lib/text/numbers";
import { chart, course, dot, PAGE, scaleLines, SPAN, spread, timeMarks, upright, type Canvas } from "./frame";

const WEEK_MS = 7 * DAY;

/** On a phone there is room for a price of six digits at the left. */
const WEEK: Canvas = { ...PAGE, begin: 165 };

/** A token's signals on the path of its price: from stop to first target, with the entry; at least two prices. */
export function weekChart(
  token: string,
  signals: readonly PublicSignal[],
  closes: readonly PricePoint[],
  canvas: Canvas = WEEK,
): Html {
  const hours = closes.map(({ at }) => Date.parse(at));
  const newest = Math.max(...hours);
  const shown = signals.filter(({ generatedAt }) => newest - Date.parse(generatedAt) <= WEEK_MS);
  const times = [...hours, ...shown.map(({ generatedAt }) => Date.parse(generatedAt))];
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const prices = closes.map(({ priceUsd }) => priceUsd);
  const levels = shown.flatMap(({ entry, tp1, sl }) => [entry, tp1 ?? entry, sl ?? entry]);
  const x = scaleUtc().domain([from, to]).range([canvas.begin, SPAN]);
  const y = scaleLinear()
    .domain(spread([...prices, ...levels]))
    .range([canvas.bottom, canvas.top]);
  const places = closes.map(({ at, priceUsd }): [number, number] => [x(new Date(at)), y(priceUsd)]);
  const marks = shown.map(({ generatedAt, entry, tp1, sl, status }) => {
    const place = x(new Date(generatedAt));
    const kind = status.toLowerCase();
    const reach = tp1 === null || sl === null ? null : upright(place, `reach ${kind}`, [y(tp1), y(sl)]);
    return html`${reach}${dot(place, y(entry), kind, 5 * canvas.marks)}`;
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
      plot: html`<path class="path" d="${course(places, canvas)}" />`,
      marks: html`${scaleLines(y, shortUsd, canvas.values)}${marks}${timeMarks(from, to, [canvas.begin, SPAN])}`,
    },
    canvas,
  );
}
