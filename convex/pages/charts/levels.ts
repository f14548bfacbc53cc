import { scaleLinear, scaleUtc } from "d3-scale";
import { line } from "d3-shape";
import type { PricePoint } from "../../prices/shown";
import type { PublicSignal } from "../../signals/shapes";
import { html, type Html } from "../markup";
import { shortUsd, usd } from "../words";
import { across, apart, chart, dot, share, spread, timeMarks, upright } from "./frame";

/** Where the names of the levels begin. */
const END = 740;
/** Above the words below the plot, and so far apart that names of levels can be read. */
const BOTTOM = 900;
const APART = 75;

type Level = { name: string; price: number; kind: "entry" | "target" | "stop" };

/** A signal's levels on the path of the price. @param window Epoch ms: from where to where. */
export function levelsChart(
  signal: PublicSignal,
  path: readonly PricePoint[],
  window: { from: number; to: number },
): Html {
  const { id, token, entry, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const levels = levelsOf(signal);
  const known = [...levels.map(({ price }) => price), ...path.map(({ priceUsd }) => priceUsd)];
  const x = scaleUtc().domain([window.from, window.to]).range([0, END]);
  const y = scaleLinear().domain(spread(known)).range([BOTTOM, 20]);
  const at = (moment: string) => x(new Date(moment));
  const course = line().digits(1)(
    path.map(({ at: moment, priceUsd }): [number, number] => [at(moment), y(priceUsd)]),
  );
  const [begins, ends] = [at(generatedAt), at(expiresAt)];
  const zone = (kind: string, price: number | null) => {
    if (price === null) return null;
    const [top, bottom] = [Math.min(y(price), y(entry)), Math.max(y(price), y(entry))];
    return html`<rect
      class="${kind}"
      x="${begins.toFixed(1)}"
      y="${top.toFixed(1)}"
      width="${(ends - begins).toFixed(1)}"
      height="${(bottom - top).toFixed(1)}"
    />`;
  };
  const heights = apart(
    levels.map(({ price }) => y(price)),
    APART,
  );
  const names = levels.map(
    ({ name, price, kind }, index) =>
      html`${across(y(price), `level ${kind}`, [begins, ends])}<text
          class="named ${kind}"
          x="100%"
          y="${share(heights[index] ?? 0)}"
          dy="4"
          text-anchor="end"
          >${name} ${shortUsd(price)}</text
        >`,
  );
  const isPriced = closedAt !== undefined && typeof exitPrice === "number";
  const end = isPriced ? dot(at(closedAt), y(exitPrice), signal.status.toLowerCase(), 6) : null;
  return chart(
    { id: `levels-${id}`, title: `${token} around the signal, in USD`, says: saying(signal, path) },
    {
      plot: html`${zone("gain far", signal.tp2)}${zone("gain", signal.tp1)}${zone("risk", signal.sl)}<path
          class="path"
          d="${course ?? ""}"
        />`,
      marks: html`${upright(begins, "issue", [0, BOTTOM])}${names}${dot(begins, y(entry), "pending", 5)}${end}${timeMarks(window.from, window.to, [0, END])}`,
    },
  );
}

function levelsOf({ entry, tp1, tp2, sl }: PublicSignal): Level[] {
  const further: [string, number | null, Level["kind"]][] = [
    ["TP2", tp2, "target"],
    ["TP1", tp1, "target"],
    ["SL", sl, "stop"],
  ];
  return [
    { name: "Entry", price: entry, kind: "entry" },
    ...further.flatMap(([name, price, kind]) => (price === null ? [] : [{ name, price, kind }])),
  ];
}

function saying(signal: PublicSignal, path: readonly PricePoint[]): string {
  const levels = levelsOf(signal).map(({ name, price }) => `${name} ${usd(price)}`);
  const last = path.at(-1);
  const course = last === undefined ? "No price is known." : `Last price shown: ${usd(last.priceUsd)}.`;
  return `${levels.join(", ")}. ${course}`;
}
