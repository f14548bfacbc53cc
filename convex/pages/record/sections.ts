import { points, signed } from "../../lib/text/numbers";
import { many } from "../../lib/text/strings";
import { VERDICT_WORDS } from "../../signals/statistics/figures";
import { ARM_NAMES } from "../../signals/views/signals";
import { drawdownChart, equityChart } from "../charts/equity";
import { excessChart } from "../charts/excess";
import { reliabilityChart } from "../charts/reliability";
import { weekChart } from "../charts/week";
import { html, type Html } from "../markup";
import { facts, numbers, signalLink, signalTable, wideTable } from "../parts";
import type { RecordData } from "../shapes";
import { ARM_WORDS, moment, orNone, sourceNames } from "../words";

/** The parts of a record's page. */

/** The parts that every record has. */
export type Shown = Omit<RecordData, "lab" | "token">;

export function sections(
  { stats, signals, equity, closes, cuts }: Shown,
  none: string,
  needed: number,
): Html {
  if (stats.n === 0 && signals.length === 0) return html`<p class="note">${none}</p>`;
  return html`${headline(stats, needed)} ${excessSection(stats)} ${partsSection(cuts)}
    ${equitySection(equity, stats)} ${calibrationSection(stats)}
    <h2 id="week">The last seven days</h2>
    ${weekSection(signals, closes)}
    <h2 id="all">The newest signals</h2>
    ${signals.length === 0 ? html`<p>None yet.</p>` : html`<div class="card">${signalTable("Signals, newest first; results after costs", signals)}</div>`}`;
}

/** The whole result in one sentence. */
export function sentence({ stats }: Shown): Html | null {
  return stats.n === 0 ? null : html`<p class="note">${stats.summary}</p>`;
}

type Stats = RecordData["stats"];

/** How many trades the table has; the JSON has all that are drawn. */
const LISTED = 8;

const VERDICTS = {
  "no record yet": "flat",
  "better than chance": "up",
  "better before costs": "flat",
  "worse than chance": "down",
  "not told from chance": "flat",
} as const;

function headline(
  { edge, wins, losses, expired, holds, refusedDays, trades, afterCosts, risk }: Stats,
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
      : html`${signed(-risk.maxDrawdown.percent)}<small>from the highest sum to the lowest after it</small>`;
  const ended = html`${wins} won<small
      >${losses} lost, ${expired}
      expired${holds === 0 ? "" : ` (${holds} without a position)`}${
        refusedDays === 0 ? "" : `; no signal on ${many(refusedDays, "day")}`
      }</small
    >`;
  const terms = [
    ["Excess over chance", excess],
    ["Ended", ended],
    ["Average trade", average],
    ["Worst losing stretch", fall],
  ] as const;
  return html`<p>
      <span class="tag ${VERDICTS[edge.verdict]}">${VERDICT_WORDS[edge.verdict].within}</span>
      <span class="soft"
        >Evidence against chance: ${edge.afterCosts.eValue.toFixed(2)} after costs, ${edge.eValue.toFixed(2)}
        before. Chance alone gives 1; both must reach ${needed} to count as better.</span
      >
    </p>
    <dl class="grid facts">${facts(terms)}</dl>`;
}

/** `+3.1 points, from -4.0 to +10.2, evidence 1.40`. */
function pairWords({ excessPoints, lowPoints, highPoints, eValue }: Stats["paired"]["coin"]): string {
  if (excessPoints === null) return "none yet";
  return `${points(excessPoints)} points, from ${points(lowPoints)} to ${points(highPoints)}, evidence ${eValue.toFixed(2)}`;
}

function excessSection({ controls, paired, gaps, costsPercent, exposure }: Stats): Html {
  const table = wideTable("Average trade", ["model", ...ARM_NAMES] as const, [
    { head: "Rule", kind: "name", cell: (arm) => ARM_WORDS[arm] },
    numbers("Trades", (arm) => controls[arm].trades),
    numbers("Before costs", (arm) => orNone(controls[arm].averageBeforeCostsPercent, signed)),
    numbers("After costs", (arm) => orNone(controls[arm].averageAfterCostsPercent, signed)),
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
            ["Always HOLD", "0: the zero point of every result"],
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
  const table = wideTable("Parts of the record, of both tokens", cuts, [
    {
      head: "Part",
      kind: "name",
      cell: ({ cut }) => CUT_WORDS.get(cut) ?? cut.replace("@signal-", ", prompt "),
    },
    numbers("Signals", ({ n }) => n),
    numbers("Won", ({ wins }) => wins),
    numbers("Lost", ({ losses }) => losses),
    numbers("After costs", ({ averageAfterCostsPercent }) => orNone(averageAfterCostsPercent, signed)),
    { head: "Excess a day", kind: "right extra", cell: ({ edge }) => orNone(edge.excessPoints, points) },
    { head: "Evidence", kind: "right extra", cell: ({ edge }) => edge.eValue.toFixed(2) },
  ]);
  return html`<h2 id="parts">By side, by how far the price moved, and by writer</h2>
    <div class="card">
      ${table}
      <p class="small">
        Counted from when these parts were first kept. Among several parts, one soon looks good by luck: only
        the whole record supports a claim.
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
    numbers("Result", ({ afterCostsPercent }) => signed(afterCostsPercent)),
    numbers("Sum", ({ sumPercent }) => signed(sumPercent)),
    numbers("Below highest", ({ fallPercent }) => signed(-fallPercent)),
    ...ARM_NAMES.map((arm) =>
      numbers<(typeof listed)[number]>(ARM_WORDS[arm], ({ controls }) => signed(controls[arm])),
    ),
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
  const filled = bins.filter((bin) => bin.n > 0);
  const table = wideTable("Stated and won", filled, [
    { head: "Stated", kind: "name", cell: ({ from, to }) => `${from} to ${to} %` },
    numbers("Signals", (bin) => bin.n),
    numbers("Mean stated, %", ({ meanConfidence }) => meanConfidence?.toFixed(1) ?? ""),
    numbers("Won, %", ({ winrate }) => winrate?.toFixed(1) ?? ""),
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
      <div class="card">${filled.length === 0 ? html`<p>No signal was won or lost yet.</p>` : table}</div>
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
