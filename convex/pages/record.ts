import { siteUrl } from "../lib/env";
import { many } from "../lib/text/strings";
import { verdictWords } from "../signals/statistics/figures";
import { DECISIVE } from "../signals/statistics/inference";
import { ARM_NAMES } from "../signals/views/signals";
import { drawdownChart, equityChart } from "./charts/equity";
import { excessChart } from "./charts/excess";
import { reliabilityChart } from "./charts/reliability";
import { weekChart } from "./charts/week";
import { labSection } from "./lab";
import type { Page } from "./layout";
import { html, type Html, type Part } from "./markup";
import { facts, signalLink, signalTable, wideTable } from "./parts";
import type { OwnRecordData, RecordData } from "./shapes";
import { points, signed } from "../lib/text/numbers";
import { ARM_WORDS, moment, orNone, sourceNames } from "./words";

/** How the signals have done. */

export function recordPage(data: RecordData): Page {
  const content = html`<h1>The record of the signals</h1>
    <p class="lead">
      One BTC and one ETH signal a day, each closed at its target, at its stop or after six hours, and none
      withdrawn. What follows counts all of them.
    </p>
    ${sections(data, "No signal has been issued yet: the first come at 08:00 UTC.", DECISIVE)}
    ${labSection(data.lab)}
    <h2 id="verify">Check it yourself</h2>
    ${verifySection(data)}`;
  return {
    title: "The record of the signals",
    description: "How every trading signal of this service turned out.",
    path: "/record",
    data: ["/record", "/mcp/signals/history", "/signals/proof", "/signals/shadow"],
    content,
  };
}

/** The same of a person's own arm. */
export function ownRecordPage(data: OwnRecordData): Page {
  const { arm, name, number, of, since, endedAt, left, listed, needed } = data.arm;
  const title = `The record of ${name ?? arm}`;
  const ended =
    endedAt === null ? "" : left ? " Its owner has left; the record stays." : " Its owner has ended it.";
  const content = html`<h1>${title}</h1>
    <p class="lead">
      A user of this service proposes these signals, at most one a token and day, before the fact. The service
      measures their entry and their end, and none is withdrawn. What follows counts all of them since
      ${moment(since)}.${ended}
    </p>
    <p class="note">
      It is number ${number} of the ${many(of, "arm")} that its owner has had: one of several seems good
      sooner than one alone, so its e-values have to reach
      ${needed}.${listed ? "" : " It is not listed: fewer than 30 of its signals have ended."}
    </p>
    ${sections(data, "Nothing has been proposed yet.", needed)}
    <h2 id="verify">Check it yourself</h2>
    ${verifySection(data, data.heldBy)}`;
  return {
    title,
    description: "How the signals of a user's own arm turned out.",
    path: `/record/${arm}`,
    data: [`/record/${arm}`, "/records/proof", "/signals/proof"],
    content,
  };
}

type Shown = Omit<RecordData, "lab">;

function sections({ stats, signals, equity, closes, cuts }: Shown, none: string, needed: number): Html {
  if (stats.n === 0 && signals.length === 0) return html`<p class="note">${none}</p>`;
  return html`${headline(stats, needed)} ${excessSection(stats)} ${partsSection(cuts)}
    ${equitySection(equity, stats)} ${calibrationSection(stats)}
    <h2 id="week">The last seven days</h2>
    ${weekSection(signals, closes)}
    <h2 id="all">The newest signals</h2>
    ${signals.length === 0 ? html`<p>None yet.</p>` : html`<div class="card">${signalTable("Signals, newest first", signals)}</div>`}`;
}

type Stats = RecordData["stats"];

/** Trades in the table; all that are drawn are in the JSON. */
const LISTED = 30;

const VERDICTS = {
  "no record yet": "flat",
  "better than chance": "up",
  "better before costs": "flat",
  "worse than chance": "down",
  "not told from chance": "flat",
} as const;

function headline(
  { summary, edge, wins, losses, expired, holds, refusedDays, trades, afterCosts, risk }: Stats,
  needed: number,
): Html {
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
      : html`${signed(-risk.maxDrawdown.percent)}<small
            >from the highest sum to the lowest after it, in points</small
          >`;
  const ended = html`${wins} won<small
      >${losses} lost, ${expired}
      expired${holds === 0 ? "" : ` (${holds} without a position)`}${
        refusedDays === 0 ? "" : `; no signal on ${many(refusedDays, "day")}`
      }</small
    >`;
  const told = [
    ["Excess over chance", excess],
    ["Ended", ended],
    ["Average trade", average],
    ["Worst losing stretch", fall],
  ] as const;
  return html`<p class="note">${summary}</p>
    <p>
      <span class="tag ${VERDICTS[edge.verdict]}">${verdictWords(edge.verdict)}</span>
      <span class="soft"
        >E-value ${edge.afterCosts.eValue.toFixed(2)} after costs, ${edge.eValue.toFixed(2)} before: both must
        reach ${needed} to count as better than chance.</span
      >
    </p>
    <dl class="grid facts">${told.map((one) => html`<div>${facts([one])}</div>`)}</dl>`;
}

/** `+3.1 points, from -4.0 to +10.2, e-value 1.40`. */
function pairWords({ excessPoints, lowPoints, highPoints, eValue }: Stats["paired"]["coin"]): string {
  if (excessPoints === null) return "none yet";
  return `${points(excessPoints)} points, from ${points(lowPoints)} to ${points(highPoints)}, e-value ${eValue.toFixed(2)}`;
}

function excessSection({ controls, paired, gaps, costsPercent, exposure }: Stats): Html {
  const table = wideTable("Average trade", ["model", ...ARM_NAMES] as const, [
    { head: "Arm", kind: "name", cell: (arm) => ARM_WORDS[arm] },
    { head: "Trades", kind: "right", cell: (arm) => controls[arm].trades },
    {
      head: "Before costs",
      kind: "right",
      cell: (arm) => orNone(controls[arm].averageBeforeCostsPercent, signed),
    },
    {
      head: "After costs",
      kind: "right",
      cell: (arm) => orNone(controls[arm].averageAfterCostsPercent, signed),
    },
  ]);
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
      <div class="card">
        ${table}
        <dl>
          ${facts([
            ["Trade by trade against the coin", pairWords(paired.coin)],
            ["Trade by trade against always long", pairWords(paired.alwaysLong)],
            ["Always HOLD", "0: the zero of every result"],
            ["Costs in all", signed(-costsPercent)],
            [
              "Open on average",
              orNone(exposure.averageHours, (hours) => `${hours.toFixed(1)} hours`, "none yet"),
            ],
            ["Trades with gaps", orNone(gaps.sharePercent, (share) => `${share.toFixed(1)} %`, "none yet")],
          ])}
        </dl>
      </div>
    </div>`;
}

const CUT_WORDS = new Map([
  ["calm", "price calm (below 35 % a year)"],
  ["usual", "price as usual"],
  ["wild", "price wild (65 % a year and more)"],
]);

function partsSection(cuts: Shown["cuts"]): Html {
  if (cuts.length === 0) return html``;
  const table = wideTable("Parts of the record", cuts, [
    { head: "Part", kind: "name", cell: ({ cut }) => CUT_WORDS.get(cut) ?? cut },
    { head: "Signals", kind: "right", cell: ({ n }) => n },
    { head: "Won", kind: "right", cell: ({ wins }) => wins },
    { head: "Lost", kind: "right", cell: ({ losses }) => losses },
    {
      head: "Average after costs",
      kind: "right",
      cell: ({ averageAfterCostsPercent }) => orNone(averageAfterCostsPercent, signed),
    },
    { head: "Excess a day", kind: "right", cell: ({ edge }) => orNone(edge.excessPoints, points) },
    { head: "E-value", kind: "right", cell: ({ edge }) => edge.eValue.toFixed(2) },
  ]);
  return html`<h2 id="parts">By side, by how far the price moved, by who wrote</h2>
    <div class="card">
      ${table}
      <p class="small">
        Counted since these parts are kept. Of several parts one looks good sooner than the whole: for a claim
        only the whole counts.
      </p>
    </div>`;
}

function equitySection(equity: RecordData["equity"], { afterCosts, beforeCosts }: Stats): Html {
  if (equity.length === 0)
    return html`<h2 id="equity-heading">How results added up</h2>
      <p>No trade has ended yet.</p>`;
  const listed = equity.toReversed().slice(0, LISTED);
  const table = wideTable("Trades in closing order, newest first; sums after costs", listed, [
    { head: "Signal", kind: "name", cell: ({ id }) => signalLink(id) },
    { head: "Closed", cell: ({ closedAt }) => moment(closedAt) },
    { head: "Result", kind: "right", cell: ({ afterCostsPercent }) => signed(afterCostsPercent) },
    { head: "Sum", kind: "right", cell: ({ sumPercent }) => signed(sumPercent) },
    { head: "Below highest", kind: "right", cell: ({ fallPercent }) => signed(-fallPercent) },
    ...ARM_NAMES.map((arm) => ({
      head: ARM_WORDS[arm],
      kind: "right" as const,
      cell: ({ controls }: (typeof listed)[number]) => signed(controls[arm]),
    })),
  ]);
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
        ${table}
      </details>
    </div>`;
}

function calibrationSection({ calibration }: Stats): Html {
  const { n, brier, calibratedBrier, skill, calibratedSkill, logScore, bins } = calibration;
  const told = bins.filter((bin) => bin.n > 0);
  const table = wideTable("Stated and won", told, [
    { head: "Stated", kind: "name", cell: ({ from, to }) => `${from} to ${to} %` },
    { head: "Signals", kind: "right", cell: (bin) => bin.n },
    { head: "Mean stated, %", kind: "right", cell: ({ meanConfidence }) => meanConfidence?.toFixed(1) ?? "" },
    { head: "Won, %", kind: "right", cell: ({ winrate }) => winrate?.toFixed(1) ?? "" },
  ]);
  const score =
    brier === null
      ? ""
      : ` Brier score ${brier.toFixed(3)}${calibratedBrier === null ? "" : `, of the calibrated confidence ${calibratedBrier.toFixed(3)}`}: 0 is perfect, 0.25 a coin toss.`;
  const skills =
    skill === null || calibratedSkill === null
      ? " Against the chance of the levels alone: no record yet."
      : ` Skill against the chance of the levels alone ${skill.toFixed(2)}, calibrated ${calibratedSkill.toFixed(2)}: below 0 the levels say more.`;
  return html`<h2 id="reliability">What the confidence was worth</h2>
    <div class="grid aside">
      <div class="card">
        <figure>
          ${reliabilityChart(bins)}
          <figcaption>
            Stated confidence across, share won upwards, for ${n} decided signals. On the dashed line both
            agree; larger dots are more signals.${score}${skills}${logWords(logScore)}
          </figcaption>
        </figure>
      </div>
      <div class="card">${told.length === 0 ? html`<p>No signal was won or lost yet.</p>` : table}</div>
    </div>`;
}

function logWords({ stated, calibrated, chance }: Stats["calibration"]["logScore"]): string {
  if (stated === null || calibrated === null || chance === null) return "";
  return ` Mean logarithmic score ${stated.toFixed(3)}, calibrated ${calibrated.toFixed(3)}, of the levels alone ${chance.toFixed(3)}: 0 is perfect, -0.693 a coin toss.`;
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

/** @param heldBy Of people's chain, which event of the record has its head. */
function verifySection({ head, anchor, stats, unanchored }: Shown, heldBy?: number | null): Html {
  if (head === null) return html`<p>The chain of events begins with the first signal.</p>`;
  return html`<div class="card">
    <p>
      Every signal is an event when it is issued and others when it is closed and compared. Each event carries
      the hash of the one before it, and the messenger's cards publish the last: nothing can be changed, moved
      or left out without changing it.
    </p>
    <dl>
      ${facts([
        ["Events", head.sequence],
        ["Last hash", html`<code>${head.hash}</code>`],
        ...(heldBy === undefined
          ? []
          : [["Held by the service's record", heldBy === null ? "not yet" : `event ${heldBy}`] as const]),
        anchorFact(anchor),
        ["Not anchored before their outcome", `${unanchored} of ${many(stats.n, "closed signal")}`],
      ])}
    </dl>
    <p>From a copy of the source, this reads all events and works the record out again:</p>
    <p>
      <code
        >npm run verify-signals -- ${siteUrl()}${anchor === null ? "" : ` --anchor ${anchor.address}`}</code
      >
    </p>
  </div>`;
}

/** A block holds what was so when it was made. */
function anchorFact(anchor: RecordData["anchor"]): [string, Part] {
  if (anchor === null) return ["Anchor on Base", "none yet"];
  const { address, sequence, signedAt, status, txHashes } = anchor;
  const event = sequence === null ? "nothing" : `event ${sequence}`;
  const hash = html`<code>${txHashes.at(-1) ?? "not signed"}</code>`;
  const by = html`<br />by <code>${address}</code>`;
  return ["Last anchor on Base", html`${event}, ${moment(signedAt)}, ${status}<br />${hash}${by}`];
}
