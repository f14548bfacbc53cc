import { scaleLinear } from "d3-scale";
import type { SignalStats } from "../../signals/statistics/shapes";
import { html, type Html } from "../markup";
import { points } from "../../lib/text/numbers";
import { ARM_WORDS } from "../words";
import { across, below, chart, dot, share, SPAN, upright } from "./frame";

const TESTED = ["model", "coin", "momentum", "alwaysLong"] as const;
const BEGIN = 270;
const BOTTOM = 880;

/** The excess over chance of the signals and of the control arms, each with the interval that holds at all times. */
export function excessChart(controls: SignalStats["controls"]): Html {
  const arms = TESTED.map((arm) => ({ name: ARM_WORDS[arm], isModel: arm === "model", ...controls[arm] }));
  const widest = Math.max(5, ...arms.flatMap(({ lowPoints, highPoints }) => [-lowPoints, highPoints]));
  const x = scaleLinear()
    .domain([-widest, widest])
    .range([BEGIN, SPAN - 15]);
  const rows = arms.map(({ name, isModel, excessPoints, lowPoints, highPoints }, index) => {
    const height = ((index + 0.5) * BOTTOM) / arms.length;
    const mean =
      excessPoints === null ? null : dot(x(excessPoints), height, isModel ? "up" : "", isModel ? 6 : 5);
    return html`<text class="${isModel ? "named" : "axis"}" x="0" y="${share(height)}" dy="4">${name}</text
      >${across(height, `interval ${isModel ? "model" : ""}`, [x(lowPoints), x(highPoints)])}${mean}`;
  });
  const ticks = x.ticks(4).map((value) => {
    const line = upright(x(value), value === 0 ? "zero" : "grid-line", [0, BOTTOM]);
    return html`${line}${below(x(value), points(value, 0))}`;
  });
  const says = arms.map(({ name, excessPoints, lowPoints, highPoints }) =>
    excessPoints === null
      ? `${name}: no day yet`
      : `${name} ${points(excessPoints)}, from ${points(lowPoints)} to ${points(highPoints)}`,
  );
  return chart(
    {
      id: "excess",
      size: "low",
      title: "Excess over chance in points, with the interval that holds at all times",
      says: `${says.join("; ")}.`,
    },
    { plot: null, marks: html`${ticks}${rows}` },
  );
}
