import { dateTime, DAY } from "../lib/time";
import { levelsChart } from "../pages/charts/levels";
import { html, type Html } from "../pages/markup";
import type { SignalData } from "../pages/shapes";
import { usd } from "../lib/text/numbers";
import { sourceNames } from "../pages/words";
import type { PricePoint } from "../market/views";
import { canvasBeside, MARGIN, pictureOf, rows, way } from "./card";

/** The day's signals: the price of the day before each, and its levels for as long as it is open. */

/** A signal with the closes of the hours before its path. */
export type DrawnSignal = SignalData & { before: readonly PricePoint[] };

const SIDES = { BUY: "up", SELL: "down", HOLD: "flat" } as const;
const ASIDE = 250;

/** For how long before its issue a signal's price is shown. */
export const BEFORE_MS = DAY;

export function signalsPicture(signals: readonly DrawnSignal[], site: string): string {
  const issued = Math.max(...signals.map(({ signal }) => Date.parse(signal.generatedAt)));
  const points = signals.flatMap(({ path, before, issued: { source } }) => [...before, ...path, { source }]);
  return pictureOf(
    {
      title: signals.length === 1 ? "Trading signal" : "Trading signals",
      aside: dateTime(issued),
      source: `Prices by ${sourceNames(points)}`,
      site,
    },
    rows(signals, signalRow),
  );
}

function signalRow({ signal, path, before }: DrawnSignal, row: { top: number; height: number }): Html {
  const { top } = row;
  const { token, signal: side, entry, confidence, breakEvenPercent, generatedAt, expiresAt } = signal;
  const kind = SIDES[side];
  const words = html`<text class="figure" x="${MARGIN}" y="${top + 34}">${token}</text
    >${way(kind, { x: MARGIN + 104, y: top + 33, size: 24 })}<text
      class="strong ${kind}"
      x="${MARGIN + 136}"
      y="${top + 33}"
      >${side}</text
    ><text x="${MARGIN}" y="${top + 76}">${usd(entry)} USD</text
    ><text class="soft" x="${MARGIN}" y="${top + 110}">${confidence} % stated,</text
    ><text class="soft" x="${MARGIN}" y="${top + 140}"
      >${breakEvenPercent === null ? "no position" : `${breakEvenPercent.toFixed(0)} % needed`}</text
    >`;
  const fitted = { above: 8, below: 34, apart: 30, values: 0, begin: 0, names: 715, marks: 1.8 };
  const canvas = canvasBeside(ASIDE, row, fitted);
  const window = { from: Date.parse(generatedAt) - BEFORE_MS, to: Date.parse(expiresAt) };
  const start = path[0] === undefined ? Infinity : Date.parse(path[0].at);
  const earlier = before.filter(({ at }) => Date.parse(at) < start && Date.parse(at) >= window.from);
  const shown = path.filter(({ at }) => Date.parse(at) <= window.to);
  return html`${words}${levelsChart(signal, [...earlier, ...shown], window, canvas)}`;
}
