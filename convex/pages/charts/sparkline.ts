import { scaleLinear, scaleUtc } from "d3-scale";
import { area, curveMonotoneX, line } from "d3-shape";
import type { PricePoint } from "../../market/views";
import { html, type Html } from "../markup";
import { usd } from "../../lib/text/numbers";
import { chart, dot, SPAN, spread } from "./frame";

/** A price's course without scales; `null` for fewer than two prices. */
export function sparkline(id: string, token: string, points: readonly PricePoint[]): Html | null {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2) return null;
  const prices = points.map(({ priceUsd }) => priceUsd);
  const x = scaleUtc()
    .domain([new Date(first.at), new Date(last.at)])
    .range([0, SPAN]);
  const y = scaleLinear().domain(spread(prices)).range([SPAN, 0]);
  const places = points.map(({ at, priceUsd }): [number, number] => [x(new Date(at)), y(priceUsd)]);
  const way = last.priceUsd > first.priceUsd ? "up" : last.priceUsd < first.priceUsd ? "down" : "flat";
  const course = line().curve(curveMonotoneX).digits(1)(places);
  const below = area().y0(SPAN).curve(curveMonotoneX).digits(1)(places);
  return chart(
    {
      id,
      size: "spark",
      title: `${token} in USD, hour by hour`,
      says: `From ${usd(first.priceUsd)} to ${usd(last.priceUsd)}; lowest ${usd(Math.min(...prices))}, highest ${usd(Math.max(...prices))}.`,
    },
    {
      plot: html`<path class="fill ${way}" d="${below}" /><path class="path ${way}" d="${course}" />`,
      marks: dot(SPAN, y(last.priceUsd), way, 4),
    },
  );
}
