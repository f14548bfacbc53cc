import type { Signal, SignalRecord, Story, Findings } from "./record";

/** The record's figures, computed again from the events alone, and their differences from the published ones. */

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);
const computeMean = (values: readonly number[]) => sum(values) / values.length;
const ratio = (over: number, under: number) => (under === 0 ? null : over / under);

/** The least excess of a day: reward to risk is at least 0.8, and the target lies beyond the costs. */
const [LEAST, LEAST_NET] = [-(5 / 9) - 1e-6, -1 - 1e-6];

/** Wealth of a bet on days above `m` (below it with `sign` -1): Waudby-Smith and Ramdas, JRSS B 86, 2024. */
function wealth(days: readonly number[], m: number, floor: number, sign = 1): number {
  const worst = sign === 1 ? m - floor : 1 - m;
  const stakes = [0.1, 0.2, 0.3, 0.4, 0.8, 1.2].map((most) => Math.min(most, 0.7 / worst));
  return computeMean(
    stakes.map((stake) => Math.exp(sum(days.map((x) => Math.log1p(stake * sign * (x - m)))))),
  );
}

const computeResults = (values: readonly number[]) => ({
  totalPnlPercent: sum(values),
  expectancyPercent: ratio(sum(values), values.length),
  profitFactor: ratio(sum(values.filter((one) => one > 0)), -sum(values.filter((one) => one < 0))),
});

/** A record's figures, except for those of risk, which decide nothing. */
export function computeStatistics(signals: readonly Signal[]) {
  const ended = signals.filter(({ status }) => status !== "PENDING");
  const trades = ended.filter(({ side }) => side !== 0).toSorted((a, b) => a.closedAt - b.closedAt);
  const count = (countedStatus: Signal["status"]) =>
    ended.filter(({ status }) => status === countedStatus).length;
  // BTC and ETH move together, so a day is one observation.
  const names = [...new Set(trades.map(({ day }) => day))];
  const days = names.map((name) => trades.filter(({ day }) => day === name));
  const means = (of: "least" | "most" | "net") => days.map((day) => computeMean(day.map((one) => one[of])));
  const [least, most, net] = [means("least"), means("most"), means("net")];
  const results = trades.flatMap(({ pnlPercent: of, costBps }) => (of === null ? [] : [{ of, costBps }]));
  const afterCosts = results.map(({ of, costBps }) => Number((of - costBps / 100).toFixed(6)));
  const isWorse = wealth(most, 0, LEAST, -1) >= 20;
  const judged = isWorse ? "worse than chance" : "not told from chance";
  const verdict = wealth(net, 0, LEAST_NET) >= 20 ? "better than chance" : judged;
  return {
    n: ended.length,
    wins: count("WIN"),
    losses: count("LOSS"),
    expired: count("EXPIRED"),
    holds: ended.length - trades.length,
    gaps: trades.filter(({ gapMinutes }) => gapMinutes > 5).length,
    winrate: ratio(100 * count("WIN"), count("WIN") + count("LOSS")),
    trades: results.length,
    beforeCosts: computeResults(results.map(({ of }) => of)),
    afterCosts: computeResults(afterCosts),
    edge: {
      days: days.length,
      excessPoints: ratio(100 * sum(least), days.length),
      afterCostsPoints: ratio(100 * sum(net), days.length),
      verdict: trades.length < 30 ? "no record yet" : verdict,
    },
    reliability: { bins: [0, 20, 40, 60, 80].map((from) => computeBin(trades, from)) },
  };
}

/** The decided and won signals of a range of confidence. */
function computeBin(trades: readonly Signal[], from: number) {
  const binTrades = trades.filter(({ confidence }) => Math.min(80, confidence - (confidence % 20)) === from);
  const won = binTrades.filter(({ status }) => status === "WIN").length;
  const n = binTrades.filter(({ status }) => status !== "EXPIRED").length;
  return { from, n, winrate: ratio(100 * won, n) };
}

/** The differences between published and computed figures, beyond rounding. Fields that are not computed are ignored. */
export function listDifferences(given: unknown, due: unknown, path: string): string[] {
  if (typeof due === "object" && due !== null) {
    const givenFields = new Map<string, unknown>(
      Object.entries(typeof given === "object" ? (given ?? {}) : {}),
    );
    return Object.entries(due).flatMap(([key, value]) =>
      listDifferences(givenFields.get(key), value, `${path}.${key}`),
    );
  }
  const isNumber = typeof due === "number" && typeof given === "number";
  const isSame = isNumber ? Math.abs(given - due) <= 1e-6 * Math.max(1, Math.abs(due)) : given === due;
  return isSame ? [] : [`${path} is shown as ${String(given)}, it is ${String(due)}`];
}

/** The differences between events and published signals. */
const HIDDEN = new Set(["day", "costBps", "priceSource", "priceObservedAt"]);

export function checkPublicFigures(
  { signals, stats }: SignalRecord,
  stories: readonly Story[],
  found: Findings,
): void {
  const issued = stories.flatMap(({ signal, ...story }) => (signal === null ? [] : [{ ...story, signal }]));
  const signalsById = new Map(signals.map((one) => [one.id, one]));
  for (const { name, told } of issued) {
    const due = Object.fromEntries(Object.entries(told).filter(([field]) => !HIDDEN.has(field)));
    found.problems.push(...listDifferences(signalsById.get(name), due, name));
    signalsById.delete(name);
  }
  for (const id of signalsById.keys()) found.problems.push(`${id} is shown, but no event issued it`);
  for (const [scope, told] of Object.entries(stats)) {
    const scopeSignals = issued
      .map(({ signal }) => signal)
      .filter(({ token }) => scope === "" || scope === token);
    found.problems.push(
      ...listDifferences(told, computeStatistics(scopeSignals), `stats of ${scope || "both"}`),
    );
  }
}
