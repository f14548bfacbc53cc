import type { PublicSignal } from "../signals/shapes";
import { optional } from "../lib/env";
import { iso } from "../lib/time";
import type { SignalData, WhalesData } from "./shapes";
import { leavesChart, levelsChart } from "./charts/levels";
import { addedBy, newsOf } from "../whales/cards";
import { html, type Html, type Part } from "./markup";
import { windowOf } from "./data";
import { signed, usd } from "../lib/text/numbers";
import { moment, since, sourceNames } from "./words";

/** Parts that several pages have in common. */

const SIDES = {
  BUY: ["up", "▲"],
  SELL: ["down", "▼"],
  HOLD: ["flat", "■"],
  bullish: ["up", "▲"],
  bearish: ["down", "▼"],
  neutral: ["flat", "●"],
} as const;
const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

/** `▲ BUY`, `● neutral`. */
export function sideTag(side: keyof typeof SIDES): Html {
  const [kind, mark] = SIDES[side];
  return html`<span class="tag ${kind}"><span aria-hidden="true">${mark}</span> ${side}</span>`;
}

/** `won +1.05 %` after costs, `open`, `expired without a price`. */
export function ending({ signal, status, afterCostsPercent, exitPrice }: PublicSignal): Html {
  const kind = status.toLowerCase();
  const result =
    typeof afterCostsPercent === "number"
      ? ` ${signed(afterCostsPercent)}`
      : exitPrice === null && signal !== "HOLD"
        ? " without a price"
        : "";
  return html`<span class="${kind}">${ENDINGS[status]}${result}</span>`;
}

/** The chart of one signal, with notes on its prices. */
export function signalFigure({ signal, issued, path }: SignalData): Html {
  const known =
    path.length === 0
      ? "No prices are known for these hours."
      : `Prices by ${sourceNames([...path, { source: issued.source }])}. Shaded: from entry to the targets, and to the stop, while the signal is open.${leavesChart(signal, path) ? " Where the line ends at the edge, the price went further." : ""}`;
  return html`<figure>
    ${levelsChart(signal, path, windowOf(signal))}
    <figcaption>${known}</figcaption>
  </figure>`;
}

/** A link to the bot; empty if the operator has not named it. */
export function botLink(words: string): Html | null {
  const bot = optional("MESSENGER_BOT_NAME");
  return bot === undefined
    ? null
    : html`${words}: <a href="https://t.me/${bot}" rel="noopener nofollow">@${bot}</a>.`;
}

/** The same with a command for it. */
export function askBot(words: string, command: string): Html {
  const bot = optional("MESSENGER_BOT_NAME");
  const name =
    bot === undefined ? null : html` <a href="https://t.me/${bot}" rel="noopener nofollow">@${bot}</a>`;
  return html`${words}${name}: <code>${command}</code>`;
}

/** Movements, newest first, each with the additional words of its description. */
export function movementList(alerts: WhalesData["alerts"], now: number): Html {
  const items = alerts.map((alert) => {
    const { direction, detectedAt, verified, source } = alert;
    const added = addedBy(alert);
    return html`<li>
      <div class="head">
        <strong>${newsOf(alert)}</strong
        ><span class="small"
          ><span class="${direction}"
            ><span aria-hidden="true">${SIDES[direction][1]}</span> ${direction}</span
          >
          ·
          ${since(iso(detectedAt), now)}${source === "measured" ? " · measured on Base" : verified ? " · reported, and found on Base" : " · reported"}</span
        >
      </div>
      ${added === null ? null : html`<p class="small">${added}</p>`}
    </li>`;
  });
  return html`<ul class="list">
    ${items}
  </ul>`;
}

/** A list of signals, each with a link to its page. */
export function signalTable(name: string, signals: readonly PublicSignal[]): Html {
  return wideTable(name, signals, [
    {
      head: "Signal",
      kind: "name",
      cell: ({ id }) => html`<a href="/signals/${id}">${id}</a>`,
    },
    { head: "Side", cell: ({ signal }) => sideTag(signal) },
    { head: "End", cell: ending },
    { head: "Entry", kind: "right extra", cell: ({ entry }) => usd(entry) },
    {
      head: "Issued",
      kind: "extra",
      cell: ({ generatedAt }) => html`<span class="soft">${moment(generatedAt)}</span>`,
    },
  ]);
}

type Column<Row> = {
  head: string;
  /**
   * `name`: the name of a row. `right`: figures, one below the other. `extra`: a column for which a phone has no room.
   */
  kind?: "name" | "right" | "extra" | "right extra";
  cell: (row: Row) => Part;
};

/** A column of figures, one below the other. */
export function numbers<Row>(head: string, cell: (row: Row) => Part): Column<Row> {
  return { head, kind: "right", cell };
}

/** A table that can be scrolled by keyboard if it is wider than its place. */
export function wideTable<Row>(name: string, rows: readonly Row[], columns: readonly Column<Row>[]): Html {
  const classOf = (kind?: string) => (kind === undefined || kind === "name" ? null : html` class="${kind}"`);
  const heads = columns.map(({ head, kind }) => html`<th scope="col" ${classOf(kind)}>${head}</th>`);
  const cells = (row: Row) =>
    columns.map(({ kind, cell }) =>
      kind === "name" ? html`<th scope="row">${cell(row)}</th>` : html`<td${classOf(kind)}>${cell(row)}</td>`,
    );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${name}">
    <table>
      <caption>
        ${name}
      </caption>
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${cells(row)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** A list of terms with their values. */
export function facts(terms: readonly (readonly [term: string, value: Part])[]): Html[] {
  return terms.map(
    ([term, value]) =>
      html`<div>
        <dt>${term}</dt>
        <dd>${value}</dd>
      </div>`,
  );
}

/** Other choices of the same page, one of which is shown. */
export function chips(
  label: string,
  choices: readonly { href: string; name: string; isShown: boolean }[],
): Html {
  const items = choices.map(({ href, name, isShown }) =>
    isShown
      ? html`<li><a href="${href}" aria-current="true">${name}</a></li>`
      : html`<li><a href="${href}">${name}</a></li>`,
  );
  return html`<ul class="chips" aria-label="${label}">
    ${items}
  </ul>`;
}
