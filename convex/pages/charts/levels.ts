import { scaleLinear, scaleUtc } from "d3-scale";
import type { PricePoint } from "../../market/views";
import type { PublicSignal } from "../../signals/shapes";
import { html, type Html } from "../markup";
import { shortUsd, usd } from "../../lib/text/numbers";
import {
  across,
  box,
  chart,
  course,
  dot,
  namesBeside,
  PAGE,
  spread,
  timeMarks,
  upright,
  type Canvas,
} from "./frame";

type Level = { name: string; price: number; kind: "entry" | "target" | "stop" };

/** A signal's levels on the path of the price. @param window Epoch ms: from where to where. */
export function levelsChart(
  signal: PublicSignal,
  path: readonly PricePoint[],
  window: { from: number; to: number },
  canvas: Canvas = PAGE,
): Html {
  const { bottom, names: end } = canvas;
  const { id, token, entry, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const levels = levelsOf(signal);
  const x = scaleUtc().domain([window.from, window.to]).range([0, end]);
  const y = levelScale(
    levels.map(({ price }) => price),
    path,
    canvas,
  );
  const at = (moment: string) => x(new Date(moment));
  const places = path.map(({ at: moment, priceUsd }): [number, number] => [at(moment), y(priceUsd)]);
  // Once it is closed, nothing is at stake any more.
  const [begins, ends] = [at(generatedAt), at(closedAt ?? expiresAt)];
  const zone = (kind: string, price: number | null) => {
    if (price === null) return null;
    return box(kind, [begins, ends], [Math.min(y(price), y(entry)), Math.max(y(price), y(entry))], canvas);
  };
  const lines = levels.map(({ price, kind }) => across(y(price), `level ${kind}`, [begins, ends]));
  const names = namesBeside(
    levels.map(({ name, price, kind }) => ({ kind, at: y(price), words: `${name} ${shortUsd(price)}` })),
    canvas,
  );
  const isPriced = closedAt !== undefined && typeof exitPrice === "number";
  const exit = isPriced
    ? dot(at(closedAt), y(exitPrice), signal.status.toLowerCase(), 6 * canvas.marks)
    : null;
  return chart(
    { id: `levels-${id}`, title: `${token} around the signal, in USD`, says: saying(signal, path) },
    {
      isCut: true,
      plot: html`${zone("gain far", signal.tp2)}${zone("gain", signal.tp1)}${zone("risk", signal.sl)}<path
          class="path"
          d="${course(places, canvas)}"
        />`,
      marks: html`${upright(begins, "issue", [0, bottom])}${lines}${names}${dot(begins, y(entry), "pending", 5 * canvas.marks)}${exit}${timeMarks(window.from, window.to, [0, end])}`,
    },
    canvas,
  );
}

function levelsOf({ entry, tp1, tp2, sl }: PublicSignal): Level[] {
  const all = [
    ["Entry", entry, "entry"],
    ["TP2", tp2, "target"],
    ["TP1", tp1, "target"],
    ["SL", sl, "stop"],
  ] as const;
  return all.flatMap(([name, price, kind]) => (price === null ? [] : [{ name, price, kind }]));
}

/**
 * The height of a price: the whole path is shown, as long as the levels remain readable. If it went further away than
 * the levels are apart, it leaves the chart.
 */
export function levelScale(
  levels: readonly number[],
  path: readonly Pick<PricePoint, "priceUsd">[],
  { top, bottom }: Canvas,
) {
  const prices = path.map(({ priceUsd }) => priceUsd);
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const room = high - low;
  // A single level does not make a scale.
  const shown =
    room === 0
      ? [...levels, ...prices]
      : [...levels, ...prices.map((price) => Math.min(high + room, Math.max(low - room, price)))];
  return scaleLinear().domain(spread(shown)).range([bottom, top]);
}

/** Whether the price went further from the levels than the chart shows. */
export function leavesChart(signal: PublicSignal, path: readonly PricePoint[]): boolean {
  const levels = levelsOf(signal).map(({ price }) => price);
  const [least = 0, most = 0] = levelScale(levels, path, PAGE).domain();
  return path.some(({ priceUsd }) => priceUsd < least || priceUsd > most);
}

function saying(signal: PublicSignal, path: readonly PricePoint[]): string {
  const levels = levelsOf(signal).map(({ name, price }) => `${name} ${usd(price)}`);
  const last = path.at(-1);
  const course = last === undefined ? "No price is known." : `Last price shown: ${usd(last.priceUsd)}.`;
  return `${levels.join(", ")}. ${course}`;
}
