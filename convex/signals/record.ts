import { formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { DAY, toIso } from "../lib/time";
import {
  subtractCosts,
  computeBreakEven,
  computeChance,
  getDayStart,
  toPosition,
  toSignalId,
  type Position,
} from "./rules";
import type { PublicSignal, SignalStats, SignalTotals } from "./shapes";
import type { Signal } from "./tables";

/**
 * The record of the signals, computed from their rows alone. Pure. Percentages are numbers: 1.5 is 1.5 %. A rate without a
 * denominator is null.
 */

/** A signal in the form of answers. */
export function toPublicSignal(row: Signal): PublicSignal {
  const { day: _, price: __, costBps, generatedAt, expiresAt, closedAt, ...fields } = row;
  const position = toPosition(row);
  const share = (value: number) => round(100 * value, 6);
  const buildEnd = (at: number) => ({
    closedAt: toIso(at),
    afterCostsPercent: typeof row.pnlPercent === "number" ? subtractCosts(row.pnlPercent, costBps) : null,
    excessPoints: position === null ? null : share(computeExcess({ ...row, position }).least),
  });
  return {
    ...fields,
    id: toSignalId(row),
    timeframe: "1h",
    chancePercent: position === null ? null : share(computeChance(position)),
    costPercent: costBps / 100,
    breakEvenPercent: position === null ? null : share(computeBreakEven(position, costBps)),
    generatedAt: toIso(generatedAt),
    expiresAt: toIso(expiresAt),
    ...(closedAt === undefined ? {} : buildEnd(closedAt)),
  };
}

/** The fewest results for a verdict and for ratios of risk. */
const RECORD_FROM = 30;
/** With more minutes without a candle, the end of a trade is uncertain. */
const MAX_GAP_MINUTES = 5;

export function computeRecord(rows: readonly Signal[]): SignalStats {
  const closed = rows
    .filter(({ status }) => status !== "PENDING")
    .toSorted((a, b) => (a.closedAt ?? 0) - (b.closedAt ?? 0));
  const trades = closed.flatMap((row) => {
    const position = toPosition(row);
    return position === null ? [] : [{ ...row, position }];
  });
  const count = (countedStatus: Signal["status"]) =>
    closed.filter(({ status }) => status === countedStatus).length;
  const [wins, losses, expired] = [count("WIN"), count("LOSS"), count("EXPIRED")];
  const results = trades.flatMap(({ pnlPercent, costBps }) =>
    typeof pnlPercent === "number" ? [{ gross: pnlPercent, net: subtractCosts(pnlPercent, costBps) }] : [],
  );
  const net = results.map((one) => one.net);
  const edge = computeEdge(trades);
  const held = computeBuyAndHold(closed);
  const after = computeResults(net);
  return {
    summary: summarizeRecord(net.length, { net: after.totalPnlPercent, held, verdict: edge.verdict }),
    n: closed.length,
    wins,
    losses,
    expired,
    holds: closed.length - trades.length,
    missingDays: countMissingDays(closed),
    gaps: trades.filter(hasGaps).length,
    winrate: divide(100 * wins, wins + losses),
    trades: net.length,
    beforeCosts: computeResults(results.map((one) => one.gross)),
    afterCosts: after,
    buyAndHoldPercent: held,
    risk: computeRisk(net),
    edge,
    reliability: computeReliability(trades.filter(({ status }) => status !== "EXPIRED")),
  };
}

/** The results of a few signals: of a day, of a week. */
export function computeTotals(signals: readonly Signal[]): SignalTotals {
  const {
    n,
    wins,
    losses,
    expired,
    winrate,
    trades,
    beforeCosts,
    afterCosts: after,
  } = computeRecord(signals);
  return {
    wins,
    losses,
    expired,
    pending: signals.length - n,
    winrate,
    trades,
    totalPnlPercent: beforeCosts.totalPnlPercent,
    totalAfterCostsPercent: after.totalPnlPercent,
  };
}

type Trade = Signal & { position: Position };

const hasGaps = ({ gapMinutes = 0 }: Signal) => gapMinutes > MAX_GAP_MINUTES;

function computeResults(results: readonly number[]): SignalStats["afterCosts"] {
  const gains = sum(results.filter((one) => one > 0));
  const falls = -sum(results.filter((one) => one < 0));
  return {
    totalPnlPercent: round(sum(results)),
    expectancyPercent: divide(sum(results), results.length),
    profitFactor: divide(gains, falls),
  };
}

function computeRisk(results: readonly number[]): SignalStats["risk"] {
  const n = results.length;
  if (n < RECORD_FROM) return { sharpe: null, sortino: null, maxDrawdownPercent: null };
  const mean = sum(results) / n;
  const deviation = Math.sqrt(sum(results.map((one) => (one - mean) ** 2)) / (n - 1));
  const downside = Math.sqrt(sum(results.map((one) => Math.min(0, one) ** 2)) / n);
  return {
    sharpe: round(deviation) === 0 ? null : divide(mean, deviation),
    sortino: divide(mean, downside),
    maxDrawdownPercent: computeDrawdown(results),
  };
}

function computeDrawdown(results: readonly number[]): number {
  let [total, peak, deepest] = [0, 0, 0];
  for (const one of results) {
    total += one;
    peak = Math.max(peak, total);
    deepest = Math.max(deepest, peak - total);
  }
  return round(deepest);
}

/**
 * The result of a purchase at the first signal, held to the end of the last, each token with the same stake; `null`
 * without a signal.
 */
function computeBuyAndHold(closed: readonly Signal[]): number | null {
  const changes = groupRows(closed, ({ token }) => token).flatMap((ofToken) => {
    const byDay = ofToken.toSorted((a, b) => (a.day < b.day ? -1 : 1));
    const [first, last] = [byDay[0], byDay.at(-1)];
    if (first === undefined || last === undefined) return [];
    return [100 * ((last.exitPrice ?? last.entry) / first.entry - 1)];
  });
  return divide(sum(changes), changes.length);
}

/** Days between the first and the last closed signal on which a token got none, counted for each token. */
function countMissingDays(closed: readonly Signal[]): number {
  const days = closed.map(({ day }) => getDayStart(day));
  if (days.length === 0) return 0;
  const span = (Math.max(...days) - Math.min(...days)) / DAY + 1;
  return new Set(closed.map(({ token }) => token)).size * span - closed.length;
}

/**
 * The end of a trade between stop (0) and target (1), minus its chance: the lower and upper bound, and the lower one
 * after costs. Without a price the bounds are the stop and the target; with gaps they are its chance and the other side
 * of it.
 */
export type Excess = { least: number; most: number; net: number };

function computeExcess(trade: Trade): Excess {
  const { position, exitPrice, costBps } = trade;
  const { tp1, sl } = position;
  const chance = computeChance(position);
  const exactExcess = exitPrice == null ? null : (exitPrice - sl) / (tp1 - sl) - chance;
  const [low, high] = [exactExcess ?? -chance, exactExcess ?? 1 - chance];
  const [least, most] = hasGaps(trade) ? [Math.min(0, low), Math.max(0, high)] : [low, high];
  return { least, most, net: least - (computeBreakEven(position, costBps) - chance) };
}

/** BTC and ETH move together, so a day is one observation. */
function computeDayExcesses(trades: readonly Trade[]): Excess[] {
  return groupRows(trades, ({ day }) => day).map((day) => {
    const all = day.map(computeExcess);
    const mean = (of: keyof Excess) => sum(all.map((one) => one[of])) / all.length;
    return { least: mean("least"), most: mean("most"), net: mean("net") };
  });
}

/** The decisive e-value: without an edge, the probability of ever reaching it is at most 5 %. */
const DECISIVE = 20;

/** The least excess of a day, since reward to risk is at least 0.8; and after costs, since the target lies beyond them. */
const [LEAST, LEAST_NET] = [-(5 / 9) - 1e-6, -1 - 1e-6];

/** The verdict of the days. @param trades The number of their trades. */
export function judgeEdge(days: readonly Excess[], trades: number): SignalStats["edge"]["verdict"] {
  if (trades < RECORD_FROM) return "no record yet";
  const net = days.map((one) => one.net);
  const most = days.map((one) => one.most);
  if (computeWealth(net, 0, LEAST_NET) >= DECISIVE) return "better than chance";
  return computeWealth(most, 0, LEAST, -1) >= DECISIVE ? "worse than chance" : "not told from chance";
}

/** The excess over chance, with bounds that each hold at 95 % over any number of readings. */
function computeEdge(trades: readonly Trade[]): SignalStats["edge"] {
  const days = computeDayExcesses(trades);
  const all = (of: keyof Excess) => days.map((one) => one[of]);
  return {
    days: days.length,
    excessPoints: divide(100 * sum(all("least")), days.length),
    afterCostsPoints: divide(100 * sum(all("net")), days.length),
    lowPoints: computeBound(all("least"), 1),
    highPoints: computeBound(all("most"), -1),
    verdict: judgeEdge(days, trades.length),
  };
}

const STAKES = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2];
/** The largest loss of a day, as a share of the gambler's wealth. */
const MOST_AT_STAKE = 0.7;

/**
 * The wealth of a gambler who begins with 1 and stakes shares of it on days above the mean `m` (below it with `sign` -1). If
 * `m` is the true mean, the wealth ever reaches 20 with a probability of at most 5 % (Waudby-Smith and Ramdas, JRSS B 86,
 * 2024).
 */
function computeWealth(days: readonly number[], m: number, floor: number, sign: 1 | -1 = 1): number {
  const worst = sign === 1 ? m - floor : 1 - m;
  const owned = STAKES.map((most) => {
    const stake = Math.min(most, MOST_AT_STAKE / worst);
    return Math.exp(sum(days.map((x) => Math.log1p(stake * sign * (x - m)))));
  });
  return sum(owned) / owned.length;
}

/** The mean nearest to the observed one that the days rule out, by bisection; in points. */
function computeBound(days: readonly number[], sign: 1 | -1): number {
  const isOut = (m: number) => computeWealth(days, m, LEAST, sign) >= DECISIVE;
  let [out, within] = [sign === 1 ? LEAST : 1, days.length === 0 ? 0 : sum(days) / days.length];
  if (!isOut(out)) return round(100 * out);
  for (let step = 0; step < 50; step++) {
    const middle = (out + within) / 2;
    if (isOut(middle)) out = middle;
    else within = middle;
  }
  return round(100 * within);
}

/** Confidences in fifths: 0 to 19, 20 to 39, … 80 to 100. */
const BINS = 5;
/** The number of fullest bins in the sentence. */
const MOST_NAMED = 2;

/** The calibration of the stated confidences: for each fifth, the decided trades and the share of won ones. */
function computeReliability(decided: readonly Trade[]): SignalStats["reliability"] {
  const bins = Array.from({ length: BINS }, (_, bin) => {
    const binTrades = decided.filter(
      ({ confidence }) => Math.min(BINS - 1, Math.floor((confidence * BINS) / 100)) === bin,
    );
    const won = binTrades.filter(({ status }) => status === "WIN").length;
    const to = bin === BINS - 1 ? 100 : ((bin + 1) * 100) / BINS - 1;
    return {
      from: (bin * 100) / BINS,
      to,
      n: binTrades.length,
      winrate: divide(100 * won, binTrades.length),
    };
  });
  const largest = bins
    .filter(({ n }) => n > 0)
    .toSorted((a, b) => b.n - a.n)
    .slice(0, MOST_NAMED);
  const says = largest.map(
    ({ from, to, n, winrate }) =>
      `of ${formatCount(n, "signal")} stated at ${from}–${to} %, ${(winrate ?? 0).toFixed(0)} % were won`,
  );
  const text = says.join("; ");
  return { says: text === "" ? null : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, bins };
}

/** A verdict as a sentence of its own. */
const VERDICTS = {
  "no record yet": "Too early to call it anything",
  "better than chance": "Better than chance, after costs too",
  "worse than chance": "Worse than chance",
  "not told from chance": "Too early to call it skill",
} as const satisfies Record<SignalStats["edge"]["verdict"], string>;

/** `59 trades: +0.42 % after costs; buying and holding −7.20 %. Too early to call it skill.` */
function summarizeRecord(
  trades: number,
  { net, held, verdict }: { net: number; held: number | null; verdict: SignalStats["edge"]["verdict"] },
): string {
  if (trades === 0) return "No trade has ended yet.";
  const holding = held === null ? "" : `; buying and holding ${formatSignedPercent(held)}`;
  return `${formatCount(trades, "trade")}: ${formatSignedPercent(net)} after costs${holding}. ${VERDICTS[verdict]}.`;
}

function groupRows<Row>(rows: readonly Row[], getKey: (row: Row) => string): Row[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(getKey(row));
    if (group === undefined) groups.set(getKey(row), [row]);
    else group.push(row);
  }
  return [...groups.values()];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0);
}

/** Rounded to so many decimals, so that 0.1 + 0.2 is 0.3; never -0. */
function round(value: number, decimals = 10): number {
  return Number(value.toFixed(decimals)) + 0;
}

/** `null` if there is nothing to divide by. */
function divide(over: number, under: number): number | null {
  return under === 0 || !Number.isFinite(over / under) ? null : round(over / under);
}
