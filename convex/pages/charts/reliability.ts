import { scaleLinear } from "d3-scale";
import type { SignalStats } from "../../signals/statistics/shapes";
import { html, type Html } from "../markup";
import { below, chart, dot, scaleLines, share, SPAN } from "./frame";

const BOTTOM = 890;

/** The stated chance to win against the actual share of wins: on the diagonal both agree. */
export function reliabilityChart(bins: SignalStats["calibration"]["bins"]): Html {
  const x = scaleLinear()
    .domain([0, 100])
    .range([90, SPAN - 20]);
  const y = scaleLinear().domain([0, 100]).range([BOTTOM, 40]);
  const shares = bins.flatMap(({ n, meanConfidence, winrate }) =>
    meanConfidence === null || winrate === null ? [] : [{ n, meanConfidence, winrate }],
  );
  const most = Math.max(1, ...shares.map(({ n }) => n));
  const dots = shares.map(({ n, meanConfidence, winrate }) =>
    dot(x(meanConfidence), y(winrate), "up", Number((4 + 8 * Math.sqrt(n / most)).toFixed(1))),
  );
  const stated = [0, 50, 100].map((value) => below(x(value), `${value} %`));
  const says = shares.map(
    ({ n, meanConfidence, winrate }) =>
      `${Math.round(meanConfidence)} % stated, ${Math.round(winrate)} % won, of ${n}`,
  );
  return chart(
    {
      id: "reliability",
      size: "square",
      title: "Stated confidence (across) against the share that won (up)",
      says: says.length === 0 ? "No signal was won or lost yet." : `${says.join("; ")}.`,
    },
    {
      plot: null,
      marks: html`${scaleLines(y, (value) => `${value} %`, 3)}<line
          class="issue"
          x1="${share(x(0))}"
          y1="${share(y(0))}"
          x2="${share(x(100))}"
          y2="${share(y(100))}"
        />${dots}${stated}`,
    },
  );
}
