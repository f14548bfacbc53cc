import { scaleLog, scaleUtc } from "d3-scale";
import { html, type Html } from "../markup";
import { bigUsd } from "../../lib/text/numbers";
import { across, chart, share, SPAN, timeMarks } from "./frame";

const BOTTOM = 880;
/** The beginning and end of the window, beside the words of the scale. */
const ACROSS = [140, SPAN - 15] as const;
const GLYPHS = { bullish: "▲", bearish: "▼", neutral: "●" } as const;

type Movement = { amount: number; direction: keyof typeof GLYPHS; detectedAt: number };

/** Movements by time and size; each direction has a shape of its own. At least one. @param window Epoch ms. */
export function movementsChart(
  movements: readonly Movement[],
  { from, to }: { from: number; to: number },
): Html {
  const amounts = movements.map(({ amount }) => amount);
  const [least, most] = [Math.min(...amounts), Math.max(...amounts)];
  const x = scaleUtc().domain([from, to]).range(ACROSS);
  const y = scaleLog()
    .domain([least / 1.6, most * 1.6])
    .range([BOTTOM, 20]);
  const lines = [1, 10, 100, 1_000, 10_000]
    .map((millions) => millions * 100_000)
    .filter((value) => value > least / 1.6 && value < most * 1.6)
    .map(
      (value) =>
        html`${across(y(value), "grid-line")}<text class="axis" x="0" y="${share(y(value))}" dy="-4"
            >${bigUsd(value).replace(/\.0+/, "")}</text
          >`,
    );
  const glyphs = movements.map(
    ({ amount, direction, detectedAt }) =>
      html`<text class="glyph ${direction}" x="${share(x(detectedAt))}" y="${share(y(amount))}" dy="4"
        >${GLYPHS[direction]}</text
      >`,
  );
  const count = (wanted: Movement["direction"]) =>
    movements.filter(({ direction }) => direction === wanted).length;
  return chart(
    {
      id: "movements",
      title: "Large movements by time and size in USD",
      says: `${count("bullish")} bullish, ${count("bearish")} bearish, ${count("neutral")} neutral; the largest ${bigUsd(most)}.`,
    },
    { plot: null, marks: html`${lines}${glyphs}${timeMarks(from, to, ACROSS)}` },
  );
}
