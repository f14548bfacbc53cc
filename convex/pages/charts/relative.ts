import { scaleLinear, scaleUtc } from "d3-scale";
import type { PricePoint } from "../../market/views";
import { html, type Html } from "../markup";
import { signed } from "../../lib/text/numbers";
import { chart, course, dot, namesBeside, scaleLines, spread, timeMarks, type Canvas } from "./frame";

type Moved = Pick<PricePoint, "at" | "priceUsd">;

/**
 * The moves of prices since their first, in percent; the chart is about the first token. Each token has at least two
 * prices.
 */
export function relativeChart(
  id: string,
  tokens: readonly { name: string; path: readonly Moved[] }[],
  canvas: Canvas,
): Html {
  const lines = tokens.map(({ name, path }) => ({ name, moves: movesOf(path) }));
  const times = lines.flatMap(({ moves }) => moves.map(({ at }) => at));
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const x = scaleUtc().domain([from, to]).range([canvas.begin, canvas.names]);
  const y = scaleLinear()
    .domain(spread([0, ...lines.flatMap(({ moves }) => moves.map(({ percent }) => percent))]))
    .range([canvas.bottom, canvas.top]);
  const lasts = lines.map(({ moves }) => moves.at(-1)?.percent ?? 0);
  const kindOf = (index: number) => (index === 0 ? ((lasts[0] ?? 0) >= 0 ? "up" : "down") : "beside");
  const paths = lines.map(({ moves }, index) => {
    const places = moves.map(({ at, percent }): [number, number] => [x(at), y(percent)]);
    return html`<path class="path ${kindOf(index)}" d="${course(places, canvas)}" />`;
  });
  const ends = lines.map(({ moves }, index) =>
    dot(x(moves.at(-1)?.at ?? to), y(lasts[index] ?? 0), kindOf(index), 4 * canvas.marks),
  );
  const named = lines.map(({ name }, index) => ({
    kind: index === 0 ? "" : "beside",
    at: y(lasts[index] ?? 0),
    words: `${name} ${signed(lasts[index] ?? 0)}`,
  }));
  return chart(
    {
      id,
      title: `${lines.map(({ name }) => name).join(" against ")} since the start, in percent`,
      says: `${named.map(({ words }) => words).join(", ")}.`,
    },
    {
      // The token that the chart is about lies on top.
      plot: paths.toReversed(),
      marks: html`${scaleLines(y, (value) => signed(value, 1), canvas.values)}${ends}${namesBeside(named, canvas)}${timeMarks(from, to, [canvas.begin, canvas.names])}`,
    },
    canvas,
  );
}

function movesOf(path: readonly Moved[]): { at: number; percent: number }[] {
  const first = path[0]?.priceUsd ?? 1;
  return path.map(({ at, priceUsd }) => ({ at: Date.parse(at), percent: (priceUsd / first - 1) * 100 }));
}
