import type { Reply } from "../lib/http";
import { siteUrl } from "../lib/env";
import { many } from "../lib/text";
import { verdictWords } from "../signals/edgeShown";
import { ARM_NAMES } from "../signals/equity";
import { drawdownChart, equityChart } from "./charts/equity";
import { excessChart } from "./charts/excess";
import { reliabilityChart } from "./charts/reliability";
import { weekChart } from "./charts/week";
import { labSection } from "./lab";
import { pageReply } from "./layout";
import { html, type Html } from "./markup";
import { signalRow, wideTable } from "./parts";
import type { RecordData } from "./shapes";
import { ARM_WORDS, moment, points, signed, sourceNames } from "./words";

/** How the signals have done. */

export function recordPage(data: RecordData, now: number): Reply<string> {
  const { stats, signals, equity, closes } = data;
  const isEmpty = stats.n === 0 && signals.length === 0;
  const content = html`<h1>The record of the signals</h1>
    <p class="lead">
      One BTC and one ETH signal a day, each closed at its target, at its stop or after six hours, and none
      withdrawn. What follows counts all of them.
    </p>
    ${
      isEmpty
        ? html`<p class="note">No signal has been issued yet: the first come at 08:00 UTC.</p>`
        : html`${headline(stats)} ${excessSection(stats)} ${equitySection(equity, stats)}
            ${calibrationSection(stats)}
            <h2 id="week">The last seven days</h2>
            ${weekSection(signals, closes)}
            <h2 id="all">The newest signals</h2>
            ${signals.length === 0 ? html`<p>None yet.</p>` : html`<div class="card">${wideTable("Signals, newest first", SIGNAL_HEAD, signals.map(signalRow))}</div>`}`
    }
    ${labSection(data.lab)}
    <h2 id="verify">Check it yourself</h2>
    ${verifySection(data)}`;
  return pageReply(
    {
      title: "The record of the signals",
      description: "How every trading signal of this service turned out.",
      path: "/record",
      data: ["/record", "/mcp/signals/history", "/signals/proof", "/signals/shadow"],
      content,
    },
    now,
  );
}

const SIGNAL_HEAD = html`<th scope="col">Signal</th>
  <th scope="col">Side</th>
  <th scope="col">End</th>
  <th scope="col" class="right">Entry</th>
  <th scope="col" class="right">Confidence</th>
  <th scope="col">Issued</th>`;

type Stats = RecordData["stats"];

/** Trades in the table; all that are drawn are in the JSON. */
const LISTED = 30;

const VERDICTS = {
  "better than chance": "up",
  "worse than chance": "down",
  "not told from chance": "flat",
} as const;

function headline({
  edge,
  wins,
  losses,
  expired,
  holds,
  refusedDays,
  trades,
  afterCosts,
  risk,
}: Stats): Html {
  const excess =
    edge.excessPoints === null
      ? html`none yet`
      : html`${points(edge.excessPoints)}<small
            >points a day, from ${points(edge.lowPoints)} to ${points(edge.highPoints)} over
            ${many(edge.days, "day")}</small
          >`;
  const average =
    afterCosts.expectancyPercent === null
      ? html`none yet`
      : html`${signed(afterCosts.expectancyPercent)}<small
            >over ${many(trades, "trade")}, after costs</small
          >`;
  const fall =
    risk.maxDrawdown === null
      ? html`none yet<small>it says little before 30 trades</small>`
      : html`${signed(-risk.maxDrawdown.percent)}<small>the deepest so far, in percentage points</small>`;
  return html`<p>
      <span class="tag ${VERDICTS[edge.verdict]}">${verdictWords(edge.verdict)}</span>
      <span class="soft">E-value ${edge.eValue.toFixed(2)}; 20 or more counts as better than chance.</span>
    </p>
    <dl class="grid facts">
      <div>
        <dt>Excess over chance</dt>
        <dd>${excess}</dd>
      </div>
      <div>
        <dt>Ended</dt>
        <dd>
          ${wins} won<small
            >${losses} lost, ${expired}
            expired${holds === 0 ? "" : ` (${holds} without a position)`}${
              refusedDays === 0 ? "" : `; no signal on ${many(refusedDays, "day")}`
            }</small
          >
        </dd>
      </div>
      <div>
        <dt>Average trade</dt>
        <dd>${average}</dd>
      </div>
      <div>
        <dt>Drawdown of the sum</dt>
        <dd>${fall}</dd>
      </div>
    </dl>`;
}

function excessSection({ controls }: Stats): Html {
  const arms = Object.entries(controls).map(
    ([arm, told]) =>
      html`<tr>
        <th scope="row">${ARM_WORDS[armName(arm)]}</th>
        <td class="right">${told.trades}</td>
        <td class="right">${orNone(told.averageBeforeCostsPercent)}</td>
        <td class="right">${orNone(told.averageAfterCostsPercent)}</td>
      </tr>`,
  );
  const head = html`<th scope="col">Arm</th>
    <th scope="col" class="right">Trades</th>
    <th scope="col" class="right">Before costs</th>
    <th scope="col" class="right">After costs</th>`;
  return html`<h2 id="excess-heading">Against chance and plain rules</h2>
    <div class="grid aside">
      <div class="card">
        <figure>
          ${excessChart(controls)}
          <figcaption>
            Where between stop (0) and first target (100) a trade ended, minus what a price without direction
            would have reached. The bars hold however often anybody looks: one that does not reach 0 means
            something.
          </figcaption>
        </figure>
      </div>
      <div class="card">${wideTable("Average trade", head, arms)}</div>
    </div>`;
}

function armName(name: string): keyof typeof ARM_WORDS {
  const known = ["model", "coin", "momentum", "alwaysLong", "buyAndHold"] as const;
  return known.find((one) => one === name) ?? "model";
}

function orNone(percent: number | null): string {
  return percent === null ? "none" : signed(percent);
}

function equitySection(equity: RecordData["equity"], { afterCosts, beforeCosts }: Stats): Html {
  if (equity.length === 0)
    return html`<h2 id="equity-heading">How results added up</h2>
      <p>No trade has ended yet.</p>`;
  const listed = equity.toReversed().slice(0, LISTED);
  const rows = listed.map(
    ({ id, closedAt, afterCostsPercent, sumPercent, fallPercent, controls }) =>
      html`<tr>
        <th scope="row"><a href="/signals/${id}">${id}</a></th>
        <td>${moment(closedAt)}</td>
        <td class="right">${signed(afterCostsPercent)}</td>
        <td class="right">${signed(sumPercent)}</td>
        <td class="right">${signed(-fallPercent)}</td>
        ${ARM_NAMES.map((arm) => html`<td class="right">${signed(controls[arm])}</td>`)}
      </tr>`,
  );
  const head = html`<th scope="col">Signal</th>
    <th scope="col">Closed</th>
    <th scope="col" class="right">Result</th>
    <th scope="col" class="right">Sum</th>
    <th scope="col" class="right">Below highest</th>
    ${ARM_NAMES.map((arm) => html`<th scope="col" class="right">${ARM_WORDS[arm]}</th>`)}`;
  return html`<h2 id="equity-heading">How results added up</h2>
    <div class="card">
      <figure>
        <p class="figure">
          ${signed(afterCosts.totalPnlPercent)}
          <small class="below"
            >in all after costs, ${signed(beforeCosts.totalPnlPercent)} before: the same stake on every trade,
            gains not reinvested</small
          >
        </p>
        ${equityChart(equity)}
        <figcaption>
          The last ${equity.length} trades after costs, added up, and the same trades on other sides: a coin
          flip's, that of the last 24 hours' move, always long, and bought and held for six hours.
        </figcaption>
      </figure>
      <figure>
        ${drawdownChart(equity)}
        <figcaption>How far the sum was below its highest so far.</figcaption>
      </figure>
      <details>
        <summary>The last ${listed.length} of these as a table</summary>
        ${wideTable("Trades in closing order, newest first; sums after costs", head, rows)}
      </details>
    </div>`;
}

function calibrationSection({ calibration }: Stats): Html {
  const { n, brier, calibratedBrier, bins } = calibration;
  const told = bins.filter((bin) => bin.n > 0);
  const rows = told.map(
    ({ from, to, n: count, meanConfidence, winrate }) =>
      html`<tr>
        <th scope="row">${from} to ${to} %</th>
        <td class="right">${count}</td>
        <td class="right">${meanConfidence === null ? "" : meanConfidence.toFixed(1)}</td>
        <td class="right">${winrate === null ? "" : winrate.toFixed(1)}</td>
      </tr>`,
  );
  const head = html`<th scope="col">Stated</th>
    <th scope="col" class="right">Signals</th>
    <th scope="col" class="right">Mean stated, %</th>
    <th scope="col" class="right">Won, %</th>`;
  const score =
    brier === null
      ? ""
      : ` Brier score ${brier.toFixed(3)}${calibratedBrier === null ? "" : `, of the calibrated confidence ${calibratedBrier.toFixed(3)}`}: 0 is perfect, 0.25 a coin toss.`;
  return html`<h2 id="reliability">What the confidence was worth</h2>
    <div class="grid aside">
      <div class="card">
        <figure>
          ${reliabilityChart(bins)}
          <figcaption>
            Stated confidence across, share won upwards, for ${n} decided signals. On the dashed line both
            agree; larger dots are more signals.${score}
          </figcaption>
        </figure>
      </div>
      <div class="card">
        ${told.length === 0 ? html`<p>No signal was won or lost yet.</p>` : wideTable("Stated and won", head, rows)}
      </div>
    </div>`;
}

function weekSection(signals: RecordData["signals"], closes: RecordData["closes"]): Html {
  const charts = (["BTC", "ETH"] as const).flatMap((token) => {
    const path = closes[token];
    if (path.length < 2) return [];
    const own = signals.filter((signal) => signal.token === token);
    return [
      html`<div class="card">
        <h3>${token}</h3>
        <figure>
          ${weekChart(token, own, path)}
          <figcaption>
            Hour by hour, by ${sourceNames(path)}. A dot is an entry, the bar reaches from stop to first
            target: green won, red lost, grey expired, hollow open.
          </figcaption>
        </figure>
      </div>`,
    ];
  });
  if (charts.length === 0) return html`<p>No hours of prices are stored yet.</p>`;
  return html`<div class="grid two">${charts}</div>`;
}

function verifySection({ head, anchor }: RecordData): Html {
  if (head === null) return html`<p>The chain of events begins with the first signal.</p>`;
  return html`<div class="card">
    <p>
      Every signal is an event when it is issued and others when it is closed and compared. Each event carries
      the hash of the one before it, and the messenger's cards publish the last: nothing can be changed, moved
      or left out without changing it.
    </p>
    <dl>
      <dt>Events</dt>
      <dd>${head.sequence}</dd>
      <dt>Last hash</dt>
      <dd><code>${head.hash}</code></dd>
      ${anchorRows(anchor)}
    </dl>
    <p>From a copy of the source, this reads all events and works the record out again:</p>
    <p><code>npm run verify-signals -- ${siteUrl()}</code></p>
  </div>`;
}

/** A block holds what was so when it was made. */
function anchorRows(anchor: RecordData["anchor"]): Html {
  if (anchor === null)
    return html`<dt>Anchor on Base</dt>
      <dd>none yet</dd>`;
  const { sequence, signedAt, status, txHashes } = anchor;
  return html`<dt>Last anchor on Base</dt>
    <dd>
      ${sequence === null ? "nothing" : `event ${sequence}`}, ${moment(signedAt)}, ${status}<br /><code
        >${txHashes.at(-1) ?? "not signed"}</code
      >
    </dd>`;
}
