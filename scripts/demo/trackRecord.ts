import type * as z from "zod";
import { signed as changed } from "../../convex/lib/text/numbers";
import type { SignalStats } from "../../convex/signals/statistics/shapes";
import type { publicSignal } from "../../convex/signals/views/shapes";
import { bold, dim, green, red } from "../terminal";
import { shortDate } from "./chart";

/** The signals' track record as tables of at most 80 columns. */

export type Signals = z.output<typeof publicSignal>[];
export type Records = { BTC: SignalStats; ETH: SignalStats; all: SignalStats };

const NONE = "–";
const LABEL = 24;
const CELL = 17;

type Cell = { text: string; paint?: (text: string) => string };

/** BTC, ETH and both, side by side. */
export function recordTable({ BTC, ETH, all }: Records): string {
  const of = (cell: (stats: SignalStats) => Cell | string): string =>
    [BTC, ETH, all].map((stats) => padded(cell(stats))).join("");
  const rows: [string, string][] = [
    ["signals closed", of(({ n }) => String(n))],
    ["  won / lost", of(({ wins, losses }) => `${wins} / ${losses}`)],
    ["  expired", of(({ expired, holds }) => `${expired}${holds > 0 ? ` (${holds} HOLD)` : ""}`)],
    ["  days without", of(({ refusedDays }) => String(refusedDays))],
    ["", ""],
    ["over chance, points", of(({ edge }) => figure(edge.excessPoints, 1))],
    ["  holds at all times", of(({ edge: { lowPoints, highPoints } }) => rangeOf(lowPoints, highPoints))],
    ["  trades / days", of(({ edge: { trades, days: over } }) => `${trades} / ${over}`)],
    ["  evidence (20 counts)", of(({ edge }) => figure(edge.eValue))],
    ["  coin flip", of(({ controls }) => figure(controls.coin.excessPoints, 1))],
    ["  last 24 hours", of(({ controls }) => figure(controls.momentum.excessPoints, 1))],
    ["  always long", of(({ controls }) => figure(controls.alwaysLong.excessPoints, 1))],
    ["", ""],
    ["after costs, in all", of(({ afterCosts }) => signed(afterCosts.totalPnlPercent))],
    ["  a trade", of(({ afterCosts }) => signed(afterCosts.expectancyPercent))],
    ["  buy and hold", of(({ controls }) => signed(controls.buyAndHold.averageAfterCostsPercent))],
    ["  best", of(({ afterCosts }) => signed(afterCosts.bestPnlPercent))],
    ["  worst", of(({ afterCosts }) => signed(afterCosts.worstPnlPercent))],
    ["  profit factor", of(({ afterCosts }) => figure(afterCosts.profitFactor))],
    ["", ""],
    [
      "worst losing stretch",
      of(({ risk: { maxDrawdown: one } }) => (one === null ? NONE : `${one.percent.toFixed(2)} %`)),
    ],
    [
      "  from, to",
      of(({ risk: { maxDrawdown: one } }) =>
        one === null ? NONE : `${day(one.peakAt)} → ${day(one.troughAt)}`,
      ),
    ],
    ["Sharpe a trade", of(({ risk }) => figure(risk.sharpe))],
    ["Sortino a trade", of(({ risk }) => figure(risk.sortino))],
    ["  of trades (from 30)", of(({ risk }) => String(risk.n))],
    ["longest run won / lost", of(({ streaks }) => `${streaks.longestWins} / ${streaks.longestLosses}`)],
    ["Brier score", of(({ calibration }) => figure(calibration.brier, 3))],
    ["  calibrated", of(({ calibration }) => figure(calibration.calibratedBrier, 3))],
  ];
  const head = `  ${"".padEnd(LABEL)}${["BTC", "ETH", "both"].map((name) => name.padStart(CELL)).join("")}`;
  const rule = `  ${"─".repeat(LABEL + 3 * CELL)}`;
  const lines = rows.map(([label, cells]) => `  ${label.padEnd(LABEL)}${cells}`.trimEnd());
  return [bold(head), dim(rule), ...lines].join("\n");
}

/** Confidence by tenths, with how often it came true; only tenths that occurred. */
export function calibrationTable({ calibration }: SignalStats): string {
  const head = `  ${"confidence".padEnd(14)}${"decided".padStart(8)}${"mean".padStart(10)}${"won".padStart(10)}`;
  const rows = calibration.bins
    .filter(({ n }) => n > 0)
    .map(({ from, to, n, meanConfidence, winrate }) => {
      const shares = [meanConfidence, winrate].map((share) =>
        (share === null ? NONE : `${share.toFixed(0)} %`).padStart(10),
      );
      const bar = "█".repeat(Math.round((winrate ?? 0) / 4));
      const mark = Math.round((meanConfidence ?? 0) / 4);
      const drawn = [...bar.padEnd(25)].map((char, i) => (i === mark ? "│" : char)).join("");
      return `  ${`${from}–${to} %`.padEnd(14)}${String(n).padStart(8)}${shares.join("")}   ${drawn}`.trimEnd();
    });
  return [bold(head) + dim("   █ won, │ confidence"), dim(`  ${"─".repeat(75)}`), ...rows].join("\n");
}

export function latestTable(signals: Signals): string {
  const head = `  ${"day".padEnd(8)}${"token".padEnd(7)}${"signal".padEnd(8)}${"entry".padStart(12)}${"exit".padStart(12)}${"conf.".padStart(7)}   ${"outcome".padEnd(9)}${"after costs".padStart(12)}`;
  const rows = signals.map((one) => {
    const exit = one.exitPrice === undefined || one.exitPrice === null ? NONE : usd(one.exitPrice);
    const cells = [
      day(one.generatedAt).padEnd(8),
      one.token.padEnd(7),
      one.signal.padEnd(8),
      usd(one.entry).padStart(12),
      exit.padStart(12),
      String(one.confidence).padStart(7),
      `   ${one.status.padEnd(9)}`,
      padded(signed(one.afterCostsPercent ?? null), 11),
    ];
    return `  ${cells.join("")}`.trimEnd();
  });
  return [bold(head), dim(`  ${"─".repeat(75)}`), ...rows].join("\n");
}

function padded(cell: Cell | string, width = CELL): string {
  if (typeof cell === "string") return cell.padStart(width);
  const text = cell.text.padStart(width);
  return cell.paint?.(text) ?? text;
}

/** `+1.25 %`, green or red. */
function signed(percent: number | null): Cell {
  if (percent === null) return { text: NONE };
  const text = changed(percent);
  return Number(percent.toFixed(2)) === 0 ? { text } : { text, paint: percent > 0 ? green : red };
}

function figure(value: number | null, digits = 2): string {
  return value === null ? NONE : value.toFixed(digits).replace("-", "−");
}

function rangeOf(low: number, high: number): string {
  return `${figure(low, 1)} to ${figure(high, 1)}`;
}

/** `null` before the first trade. */
function day(moment: string | null): string {
  return moment === null ? "start" : shortDate(moment);
}

function usd(value: number): string {
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}
