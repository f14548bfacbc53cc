import { verdictWords } from "../signals/edgeShown";
import { many } from "../lib/text";
import type { ShadowArm, ShadowLab } from "../signals/lab/shapes";
import { html, type Html } from "./markup";
import { wideTable } from "./parts";
import { moment, points } from "./words";

/** The shadow arms, in a section of their own on the record's page; nothing where there never was one. */
export function labSection({ writer, arms, promotions, head }: ShadowLab): Html {
  if (arms.length === 0 && promotions.length === 0) return html``;
  const promoted = promotions.map(
    ({ sequence, arm, previousModel, previousPromptVersion, at, eValue, needed, days, forced }) =>
      html`<li>
        ${moment(at)}: <code>${arm}</code> in place of
        <code>${`${previousModel}@${previousPromptVersion}`}</code>, with an e-value of ${eValue.toFixed(2)}
        over ${many(days, "day")} (${needed} needed)${forced === null ? "" : `; the operator: “${forced}”`}.
        Event ${sequence}.
      </li>`,
  );
  const table =
    arms.length === 0
      ? html``
      : html`<div class="card">${wideTable("Shadow arms", HEAD, arms.map(armRow))}</div>`;
  return html`<h2 id="lab">What else could write the signals</h2>
    <p>
      The signals are written by <code>${writer}</code>. Other models and prompts are asked for BTC, ETH and
      SOL every hour; nobody is sent what they say, and none of it counts above. The hours of a day overlap,
      so a day is one observation: the excess over chance of all that was issued before 17:00 UTC, spread over
      the 51 times it could have been. An e-value of 20 counts as better; to take over, an arm needs 20
      against the one that writes, for each arm compared.
    </p>
    ${table}
    ${
      promoted.length === 0
        ? html``
        : html`<ul>
            ${promoted}
          </ul>`
    }
    ${head === null ? html`` : html`<p>Its chain has ${head.sequence} events, the last <code>${head.hash}</code>.</p>`}`;
}

const HEAD = html`<th scope="col">Arm</th>
  <th scope="col" class="right">Signals</th>
  <th scope="col" class="right">Trades</th>
  <th scope="col" class="right">Excess per trade</th>
  <th scope="col" class="right">Days</th>
  <th scope="col">Excess per slot</th>
  <th scope="col" class="right">E-value</th>
  <th scope="col" class="right">Brier</th>
  <th scope="col" class="right">Calibrated</th>
  <th scope="col" class="right">Against the writer</th>`;

function armRow(one: ShadowArm): Html {
  const { arm, asked, writes, n, holds, edge, calibration, againstWriter } = one;
  const state = writes ? "writes" : asked ? "asked now" : "no longer asked";
  return html`<tr>
    <th scope="row"><code>${arm}</code> <span class="soft">${state}</span></th>
    <td class="right">${n}</td>
    <td class="right">${n - holds}</td>
    <td class="right">${orNone(one.excessPoints, points)}</td>
    <td class="right">${edge.days}</td>
    <td>
      ${orNone(edge.excessPoints, points)}, from ${points(edge.lowPoints)} to ${points(edge.highPoints)}:
      ${verdictWords(edge.verdict)}
    </td>
    <td class="right">${edge.eValue.toFixed(2)}</td>
    <td class="right">${orNone(calibration.brier, (brier) => brier.toFixed(3))}</td>
    <td class="right">${orNone(calibration.calibratedBrier, (brier) => brier.toFixed(3))}</td>
    <td class="right">
      ${againstWriter === null ? "" : `${againstWriter.eValue.toFixed(2)} of ${againstWriter.needed}`}
    </td>
  </tr>`;
}

function orNone(value: number | null, told: (value: number) => string): string {
  return value === null ? "none" : told(value);
}
