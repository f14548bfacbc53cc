import type { PublicSignal } from "../signals/shapes";
import { iso } from "../lib/time";
import type { SignalData, WhalesData } from "./shapes";
import { levelsChart } from "./charts/levels";
import { html, type Html } from "./markup";
import { windowOf } from "./reading";
import { bigUsd, moment, signed, since, sourceNames, usd } from "./words";

/** What several pages show alike. */

const SIDES = { BUY: ["up", "▲"], SELL: ["down", "▼"], HOLD: ["flat", "■"] } as const;
const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

/** `▲ BUY`. */
export function sideTag({ signal }: Pick<PublicSignal, "signal">): Html {
  const [kind, mark] = SIDES[signal];
  return html`<span class="tag ${kind}"><span aria-hidden="true">${mark}</span> ${signal}</span>`;
}

/** `won +1.20 %`, `open`, `expired without a price`. */
export function ending({ signal, status, pnlPercent, exitPrice }: PublicSignal): Html {
  const kind = status.toLowerCase();
  const result =
    typeof pnlPercent === "number"
      ? ` ${signed(pnlPercent)}`
      : exitPrice === null && signal !== "HOLD"
        ? " without a price"
        : "";
  return html`<span class="${kind}">${ENDINGS[status]}${result}</span>`;
}

/** The chart of one signal with what is to be known of its prices. */
export function signalFigure({ signal, issued, path }: SignalData): Html {
  const known =
    path.length === 0
      ? "No prices are known for these hours."
      : `Prices by ${sourceNames([...path, { source: issued.source }])}. Shaded: from entry to the targets, and to the stop, while the signal is open.`;
  return html`<figure>
    ${levelsChart(signal, path, windowOf(signal))}
    <figcaption>${known}</figcaption>
  </figure>`;
}

const KINDS = {
  cex_inflow: "into an exchange",
  cex_outflow: "out of an exchange",
  large_transfer: "large transfer",
  smart_money: "smart money",
} as const;
const WAYS = { bullish: "▲", bearish: "▼", neutral: "●" } as const;

/** Movements, newest first, each in the agent's own words. */
export function movementList(alerts: WhalesData["alerts"], now: number): Html {
  const items = alerts.map(
    ({ token, alertType, amount, direction, description, detectedAt, verified, source }) =>
      html`<li>
        <div class="head">
          <span
            ><strong>${token} ${bigUsd(amount)}</strong> <span class="soft">${KINDS[alertType]}</span></span
          ><span class="small"
            ><span class="${direction}"><span aria-hidden="true">${WAYS[direction]}</span> ${direction}</span>
            ·
            ${since(iso(detectedAt), now)}${source === "measured" ? " · measured on Base" : verified ? " · reported, and found on Base" : " · reported"}</span
          >
        </div>
        <p class="small">${description}</p>
      </li>`,
  );
  return html`<ul class="list">
    ${items}
  </ul>`;
}

/** A row of a list of signals, with the way to its page. */
export function signalRow(signal: PublicSignal): Html {
  const { id, token, entry, confidence, generatedAt } = signal;
  return html`<tr>
    <th scope="row"><a href="/signals/${id}">${token} ${id.slice(token.length + 1)}</a></th>
    <td>${sideTag(signal)}</td>
    <td>${ending(signal)}</td>
    <td class="right">${usd(entry)}</td>
    <td class="right">${confidence}</td>
    <td class="soft">${moment(generatedAt)}</td>
  </tr>`;
}

/** A table that can be scrolled by keyboard where it is wider than its place. */
export function wideTable(name: string, head: Html, rows: readonly Html[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
    <table>
      <caption>
        ${name}
      </caption>
      <thead>
        <tr>
          ${head}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
