import { siteUrl } from "../lib/env";
import { points, signed } from "../lib/text/numbers";
import { many } from "../lib/text/strings";
import { DECISIVE, VERDICT_WORDS } from "../signals/record";
import { TOKENS } from "../signals/rules";
import { equityChart } from "./charts/equity";
import type { Page } from "./layout";
import { html, type Html, type Part } from "./markup";
import { chips, facts, numbers, signalTable, wideTable } from "./parts";
import type { RecordData } from "./shapes";
import { moment, orNone } from "./words";

/** The record of the signals: the result in a sentence, its course, the newest signals, and how to check them. */

export function recordPage(data: RecordData): Page {
  const { token, stats, signals, equity, before } = data;
  const title = `The record of the ${token === null ? "" : `${token} `}signals`;
  if (before !== null) return olderPage(title, data);
  const choices = [null, ...TOKENS].map((one) => ({
    href: one === null ? "/record" : `/record?token=${one}`,
    name: one ?? "BTC and ETH",
    isShown: one === token,
  }));
  const content = html`<h1>${title}</h1>
    ${signals.length === 0 ? html`<p class="note">No signal has been issued yet: the first come at 08:00 UTC.</p>` : html`<p class="note">${stats.summary}</p>`}
    <p class="lead">
      ${token === null ? "One BTC and one ETH signal" : `One ${token} signal`} a day, each closed at its
      target, at its stop or after six hours, and none withdrawn. All of them count.
    </p>
    ${chips("Tokens", choices)}
    <dl class="grid facts">${facts(headline(stats))}</dl>
    <div class="grid two">
      <div class="card">
        ${
          equity.length === 0
            ? html`<p>No trade has ended yet.</p>`
            : html`<figure>
                ${equityChart(equity)}
                <figcaption>
                  ${many(equity.length, "trade")} after costs, added up: the same stake on each, gains not
                  reinvested.
                </figcaption>
              </figure>`
        }
      </div>
      <div class="card">
        ${signals.length === 0 ? html`<p>None yet.</p>` : signalTable("Signals, newest first; results after costs", signals)}
        ${older(data)}
      </div>
    </div>
    <details id="figures">
      <summary>All figures</summary>
      ${figures(stats)}
    </details>
    <details id="verify">
      <summary>Check it yourself</summary>
      ${verification(data)}
    </details>`;
  return {
    title,
    description: "How every trading signal of this service turned out.",
    path: "/record",
    data: ["/record", "/mcp/signals/history", "/signals/export.csv", "/signals/proof"],
    content,
  };
}

type Stats = RecordData["stats"];

function headline({ edge, risk, afterCosts, ...stats }: Stats): [string, Part][] {
  const { wins, losses, expired, holds, missingDays, trades, winrate } = stats;
  const average = afterCosts.expectancyPercent;
  const fall = risk.maxDrawdownPercent;
  const share = orNone(winrate, (value) => `${value.toFixed(0)} % of those decided; `, "");
  return [
    [
      "Average trade",
      average === null
        ? "none yet"
        : html`${signed(average)}<small>over ${many(trades, "trade")}, after costs</small>`,
    ],
    [
      "Ended",
      html`${wins} won<small
          >${share}${losses} lost, ${expired}
          expired${holds === 0 ? "" : ` (${holds} without a position)`}${missingDays === 0 ? "" : `; ${missingDays} not issued`}</small
        >`,
    ],
    [
      "Worst losing stretch",
      fall === null
        ? html`none yet<small>it says little before 30 trades</small>`
        : html`${signed(-fall)}<small>from the highest sum to the lowest after it</small>`,
    ],
    [
      "Against chance",
      html`${VERDICT_WORDS[edge.verdict].within}${
        edge.excessPoints === null
          ? null
          : html`<small
              >${points(edge.excessPoints)} points a day, ${points(edge.lowPoints)} to
              ${points(edge.highPoints)}</small
            >`
      }`,
    ],
  ];
}

function figures({ edge, risk, beforeCosts, afterCosts, reliability, ...stats }: Stats): Html {
  const ratio = (value: number | null) => orNone(value, (known) => known.toFixed(2), "none yet");
  const bins = reliability.bins.filter(({ n }) => n > 0);
  const table = wideTable("Stated and won", bins, [
    { head: "Stated", kind: "name", cell: ({ from, to }) => `${from} to ${to} %` },
    numbers("Signals", ({ n }) => n),
    numbers("Won", ({ winrate }) => orNone(winrate, (share) => `${share.toFixed(0)} %`)),
  ]);
  return html`<div class="grid two">
    <div class="card">
      <dl>
        ${facts([
          ["In all, after costs", signed(afterCosts.totalPnlPercent)],
          ["Before costs", signed(beforeCosts.totalPnlPercent)],
          ["Bought and held instead", orNone(stats.buyAndHoldPercent, signed, "none yet")],
          ["Gains to losses, after costs", ratio(afterCosts.profitFactor)],
          ["Sharpe ratio of a trade", ratio(risk.sharpe)],
          ["Sortino ratio of a trade", ratio(risk.sortino)],
          ["Trades whose path has gaps", stats.gaps],
        ])}
      </dl>
    </div>
    <div class="card">
      <p>
        Excess over chance: where between stop (0) and first target (100) a trade ended, minus what a price
        without direction would have reached. The bounds hold however often anybody looks. A bet on an edge
        that began with 1 now owns ${edge.afterCosts.eValue.toFixed(2)} after costs; from ${DECISIVE} on the
        signals count as better than chance.
      </p>
      ${reliability.says === null ? null : html`<p>${reliability.says}</p>`}
      ${bins.length === 0 ? null : table}
    </div>
  </div>`;
}

/** The link to the signals after the listed ones. */
function older({ older: next, token }: RecordData): Html | null {
  if (next === null) return null;
  const query = token === null ? "" : `token=${token}&`;
  return html`<p><a href="${`/record?${query}before=${next}`}">Older signals</a></p>`;
}

/** Only the signals of an earlier time. */
function olderPage(title: string, data: RecordData): Page {
  const { signals, token } = data;
  const back = token === null ? "/record" : `/record?token=${token}`;
  const content = html`<h1>Older signals</h1>
    <p class="lead"><a href="${back}">${title}</a>, results after costs</p>
    ${signals.length === 0 ? html`<p>There are none.</p>` : html`<div class="card">${signalTable("Signals, newest first", signals)}</div>`}
    ${older(data)}`;
  return {
    title: `Older signals: ${title}`,
    description: "Earlier signals of this service, each with its end.",
    path: "/record",
    data: [back],
    content,
  };
}

/** How anybody can check the record against its chain of events. */
function verification({ head, anchor }: RecordData): Html {
  if (head === null) return html`<p>The chain of events begins with the first signal.</p>`;
  const check = `npm run verify-signals -- ${siteUrl()}`;
  return html`<div class="card">
    <p>
      Every signal is an event when it is issued and another when it is closed, and so is a day without one.
      Each event carries the hash of the one before it, and the messenger's cards publish the last: nothing
      can be changed, moved or left out without changing it. All signals:
      <a href="/signals/export.csv">as a table</a>, <a href="/signals/export.json">for programs</a>.
    </p>
    <dl>
      ${facts([["Events", head.sequence], ["Last hash", html`<code>${head.hash}</code>`], anchorFact(anchor)])}
    </dl>
    <p>From a copy of the source, this reads all events and works the record out again:</p>
    <p>
      <code
        >${check}${anchor === null ? "" : ` --rpc https://mainnet.base.org --anchor ${anchor.address}`}</code
      >
    </p>
  </div>`;
}

/** The content of a block existed when the block was made. */
function anchorFact(anchor: RecordData["anchor"]): [string, Part] {
  if (anchor === null) return ["Anchor on Base", "none yet"];
  const { address, sequence, signedAt, status, txHashes } = anchor;
  const event = sequence === null ? "nothing" : `event ${sequence}`;
  const hash = html`<code>${txHashes.at(-1) ?? "not signed"}</code>`;
  const by = html`<br />by <code>${address}</code>`;
  return ["Last anchor on Base", html`${event}, ${moment(signedAt)}, ${status}<br />${hash}${by}`];
}
