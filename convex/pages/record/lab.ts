import { many } from "../../lib/text/strings";
import type { ShadowArm, ShadowLab } from "../../signals/arms/shapes";
import { VERDICT_WORDS } from "../../signals/statistics/figures";
import { html, type Html } from "../markup";
import { numbers, wideTable } from "../parts";
import { points } from "../../lib/text/numbers";
import { moment, orNone } from "../words";

/** The shadow arms, in a section of the record's page; empty if there never was one. */
export function labSection({ writer, arms, promotions, head }: ShadowLab): Html {
  if (arms.length === 0 && promotions.length === 0) return html``;
  const promoted = promotions.map(
    ({ sequence, arm, previousModel, previousPromptVersion, at, eValue, needed, days, forced }) =>
      html`<li>
        ${moment(at)}: <code>${arm}</code> in place of
        <code>${`${previousModel}@${previousPromptVersion}`}</code>, with evidence of ${eValue.toFixed(2)}
        over ${many(days, "day")} (${needed} needed)${forced === null ? "" : `; by hand: “${forced}”`}. Event
        ${sequence}.
      </li>`,
  );
  return html`<h2 id="lab">What else could write the signals</h2>
    <p>
      The signals are written by <code>${writer}</code>. Other models and prompts are asked for BTC, ETH and
      SOL every hour; nobody is sent what they say, and none of it counts above. The hours of a day overlap,
      so a day is one observation: the excess over chance of all that was issued before 17:00 UTC, spread over
      the 51 times it could have been. Chance alone gives evidence of 1, and 20 counts as better; to take
      over, one needs 20 against the one that writes, for each that is compared.
    </p>
    ${arms.length === 0 ? null : html`<div class="card">${armTable(arms)}</div>`}
    ${
      promoted.length === 0
        ? html``
        : html`<ul>
            ${promoted}
          </ul>`
    }
    ${head === null ? html`` : html`<p>Its chain has ${head.sequence} events, the last <code>${head.hash}</code>.</p>`}`;
}

function armTable(arms: readonly ShadowArm[]): Html {
  const state = ({ writes, asked }: ShadowArm) =>
    writes ? "writes" : asked ? "asked now" : "no longer asked";
  return wideTable("Models and prompts that are tried out", arms, [
    {
      head: "Model and prompt",
      kind: "name",
      cell: (one) => html`<code>${one.arm}</code> <span class="soft">${state(one)}</span>`,
    },
    numbers("Signals", ({ n }) => n),
    numbers("Trades", ({ n, holds }) => n - holds),
    numbers("Excess per trade", ({ excessPoints }) => orNone(excessPoints, points)),
    numbers("Days", ({ edge }) => edge.days),
    {
      head: "Excess per hour",
      cell: ({ edge }) =>
        `${orNone(edge.excessPoints, points)}, from ${points(edge.lowPoints)} to ${points(edge.highPoints)}: ${VERDICT_WORDS[edge.verdict].within}`,
    },
    numbers("Evidence", ({ edge }) => edge.eValue.toFixed(2)),
    numbers("Score of the stated confidence", ({ calibration }) => orNone(calibration.brier, thousandths)),
    numbers("Calibrated", ({ calibration }) => orNone(calibration.calibratedBrier, thousandths)),
    numbers("Against the writer", ({ againstWriter: against }) =>
      against === null ? "" : `${against.eValue.toFixed(2)} of ${against.needed}`,
    ),
  ]);
}

function thousandths(value: number): string {
  return value.toFixed(3);
}
