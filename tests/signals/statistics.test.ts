import { v } from "convex/values";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { signalStats, statisticsOf, winrateOf } from "../../convex/signals/statistics";
import {
  addClosed,
  emptyTotals,
  totalsFields,
  type ClosedSignal,
  type Totals,
} from "../../convex/signals/totals";

const DAY = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const at = (day: number) => new Date(START + day * DAY).toISOString();

/** `["WIN", 2, 80]`: a BUY that won 2 % with confidence 80; one a day. */
type Short = ["WIN" | "LOSS" | "EXPIRED" | "HOLD", number | null, number?];

function history(...shorts: Short[]): ClosedSignal[] {
  return shorts.map(([kind, pnlPercent, confidence = 50], day) => ({
    signal: kind === "HOLD" ? "HOLD" : "BUY",
    status: kind === "HOLD" ? "EXPIRED" : kind,
    pnlPercent,
    confidence,
    closedAt: START + day * DAY,
  }));
}

const totalsOf = (signals: readonly ClosedSignal[]): Totals => signals.reduce(addClosed, emptyTotals());
const statsOf = (...shorts: Short[]) => statisticsOf(totalsOf(history(...shorts)));

const pnl = fc.double({ min: -60, max: 60, noNaN: true });
const closed = fc
  .tuple(
    fc.constantFrom("BUY" as const, "SELL" as const),
    fc.oneof(
      pnl.map((value) => (value >= 0 ? (["WIN", value] as const) : (["LOSS", value] as const))),
      pnl.map((value) => ["EXPIRED", value] as const),
      fc.constant(["EXPIRED", null] as const),
    ),
    fc.double({ min: 0, max: 100, noNaN: true }),
  )
  .map(([signal, [status, pnlPercent], confidence]) => ({ signal, status, pnlPercent, confidence }));
const hold = fc
  .double({ min: 0, max: 100, noNaN: true })
  .map((confidence) => ({ signal: "HOLD", status: "EXPIRED", pnlPercent: null, confidence }) as const);
const anyHistory: fc.Arbitrary<ClosedSignal[]> = fc
  .array(fc.oneof({ weight: 6, arbitrary: closed }, { weight: 1, arbitrary: hold }), { maxLength: 80 })
  .map((all) => all.map((one, day) => ({ ...one, closedAt: START + day * DAY })));

describe("hand-computed histories", () => {
  test("nothing closed: counts of zero, and null for everything that would divide by them", () => {
    expect(statsOf()).toMatchObject({
      n: 0,
      winrate: null,
      winrateInterval: null,
      averagePnlPercent: null,
      bestPnlPercent: null,
      worstPnlPercent: null,
      totalPnlPercent: 0,
      expectancyPercent: null,
      profitFactor: null,
      maxDrawdown: null,
      sharpe: null,
      sortino: null,
      streaks: { current: null, longestWins: 0, longestLosses: 0 },
      calibration: { n: 0, brier: null },
    });
  });

  test("a mixed week", () => {
    // PnL 4, -2, 3, -2, -1 (expired), and a HOLD: cumulative 4, 2, 5, 3, 2.
    const stats = statsOf(
      ["WIN", 4, 80],
      ["LOSS", -2, 60],
      ["WIN", 3, 70],
      ["HOLD", null, 90],
      ["LOSS", -2, 85],
      ["EXPIRED", -1, 40],
    );
    expect(stats).toMatchObject({ n: 6, wins: 2, losses: 2, expired: 2, holds: 1, trades: 5, winrate: 50 });
    expect(stats).toMatchObject({
      totalPnlPercent: 2,
      averagePnlPercent: 0.4,
      bestPnlPercent: 4,
      worstPnlPercent: -2,
      averageWinPercent: 3.5,
      averageLossPercent: -2,
      // 0.5 x 3.5 - 0.5 x 2
      expectancyPercent: 0.75,
      // (4 + 3) / (2 + 2 + 1)
      profitFactor: 1.4,
      maxDrawdown: { percent: 3, peakAt: at(2), troughAt: at(5) },
      streaks: { current: { outcome: "LOSS", length: 1 }, longestWins: 1, longestLosses: 1 },
    });
    // Deviations from 0.4: 3.6, -2.4, 2.6, -2.4, -1.4; their squares' sum is 33.2, so s = sqrt(33.2 / 4).
    expect(stats.sharpe).toBeCloseTo(0.4 / Math.sqrt(8.3), 6);
    // Losing results' squares 4 + 4 + 1, over all five trades.
    expect(stats.sortino).toBeCloseTo(0.4 / Math.sqrt(9 / 5), 6);
    // (0.8-1)² + 0.6² + (0.7-1)² + 0.85² = 0.04 + 0.36 + 0.09 + 0.7225
    expect(stats.calibration.brier).toBeCloseTo(1.2125 / 4, 6);
    expect(stats.calibration.bins[8]).toEqual({ from: 80, to: 90, n: 2, meanConfidence: 82.5, winrate: 50 });
    expect(stats.calibration.bins[9]).toMatchObject({ n: 0, meanConfidence: null, winrate: null });
  });

  test.each([
    // Published values of the Wilson score interval without continuity correction.
    { wins: 0, n: 10, low: 0, high: 27.7533 },
    { wins: 10, n: 10, low: 72.2467, high: 100 },
    { wins: 5, n: 10, low: 23.6593, high: 76.3407 },
    { wins: 81, n: 263, low: 25.53, high: 36.62 },
  ])("the Wilson interval of $wins in $n", ({ wins, n, low, high }) => {
    const shorts = Array.from({ length: n }, (_, i): Short => (i < wins ? ["WIN", 1] : ["LOSS", -1]));
    const { winrateInterval } = statsOf(...shorts);
    expect(winrateInterval?.n).toBe(n);
    expect(winrateInterval?.low).toBeCloseTo(low, 2);
    expect(winrateInterval?.high).toBeCloseTo(high, 2);
  });

  test("a drawdown may begin before the first trade, and a later shallower one does not replace it", () => {
    const stats = statsOf(["LOSS", -3], ["WIN", 10], ["LOSS", -2]);
    expect(stats.maxDrawdown).toEqual({ percent: 3, peakAt: null, troughAt: at(0) });
  });

  test("of two equal drawdowns the first is told", () => {
    const stats = statsOf(["WIN", 5], ["LOSS", -2], ["WIN", 4], ["LOSS", -2]);
    expect(stats.maxDrawdown).toEqual({ percent: 2, peakAt: at(0), troughAt: at(1) });
  });

  test("a drawdown goes on through a recovery that falls short of the peak", () => {
    const stats = statsOf(["WIN", 5], ["LOSS", -3], ["WIN", 2], ["LOSS", -3]);
    expect(stats.maxDrawdown).toEqual({ percent: 4, peakAt: at(0), troughAt: at(3) });
  });

  test("streaks go on behind an expired signal and a HOLD", () => {
    const stats = statsOf(["WIN", 1], ["EXPIRED", -1], ["WIN", 1], ["HOLD", null], ["WIN", 1], ["LOSS", -1]);
    expect(stats.streaks).toEqual({
      current: { outcome: "LOSS", length: 1 },
      longestWins: 3,
      longestLosses: 1,
    });
  });

  test("one trade has no deviation; equal trades have none either; nor is there a ratio without a loss", () => {
    expect(statsOf(["WIN", 2])).toMatchObject({ sharpe: null, sortino: null, profitFactor: null });
    expect(statsOf(["WIN", 0.1], ["WIN", 0.1], ["WIN", 0.1])).toMatchObject({ sharpe: null, sortino: null });
    expect(statsOf(["LOSS", -1])).toMatchObject({ profitFactor: 0, sortino: null });
  });

  test("a trade that expired without a price is counted and brings nothing", () => {
    expect(statsOf(["EXPIRED", null], ["WIN", 1])).toMatchObject({ n: 2, expired: 1, holds: 0, trades: 1 });
  });

  test("confidence 100 falls into the last bin and 10 into the second", () => {
    const { bins } = statsOf(["WIN", 1, 100], ["WIN", 1, 10], ["WIN", 1, 9.99]).calibration;
    expect(bins.map(({ n }) => n)).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("sums of decimals read as decimals", () => {
    expect(statsOf(["WIN", 0.1], ["WIN", 0.2]).totalPnlPercent).toBe(0.3);
  });
});

describe("any history", () => {
  test("comes to the same, signal by signal, as computed from all of it", () => {
    fc.assert(
      fc.property(anyHistory, (signals) => {
        const stats = statisticsOf(totalsOf(signals));
        for (const [name, value] of Object.entries(batch(signals))) {
          const told: unknown = flat(stats)[name];
          if (typeof value === "number" && typeof told === "number") {
            expect([name, Math.abs(told - value) < 1e-5 * Math.max(1, Math.abs(value))]).toEqual([
              name,
              true,
            ]);
          } else expect([name, told]).toEqual([name, value]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("keeps the answer's contract, and its row stays within bounds", () => {
    fc.assert(
      fc.property(anyHistory, (signals) => {
        const totals = totalsOf(signals);
        expect(Object.keys(totals).toSorted()).toEqual(Object.keys(v.object(totalsFields).fields).toSorted());
        expect(JSON.stringify(totals).length).toBeLessThan(2_500);
        const stats = signalStats.parse(statisticsOf(totals));
        const { winrate, winrateInterval, maxDrawdown } = stats;
        expect(stats.n).toBe(signals.length);
        if (winrate !== null && winrateInterval !== null) {
          expect(winrateInterval.low).toBeLessThanOrEqual(winrate);
          expect(winrateInterval.high).toBeGreaterThanOrEqual(winrate);
        }
        if (maxDrawdown?.peakAt != null) expect(maxDrawdown.peakAt < maxDrawdown.troughAt).toBe(true);
        expect(stats.calibration.bins.reduce((sum, { n }) => sum + n, 0)).toBe(stats.wins + stats.losses);
      }),
    );
  });

  test("tells the same but for streaks and drawdown when its signals close in another order", () => {
    const shuffled = anyHistory.chain((signals) =>
      fc.tuple(
        fc.constant(signals),
        fc.shuffledSubarray(signals, { minLength: signals.length, maxLength: signals.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([signals, other]) => {
        const ordered = flat(statisticsOf(totalsOf(signals)));
        const reordered = flat(statisticsOf(totalsOf(other)));
        for (const [name, value] of Object.entries(ordered)) {
          if (/^(?:streak|drawdown)/.test(name)) continue;
          const told = reordered[name];
          if (typeof value === "number" && typeof told === "number") {
            expect(Math.abs(told - value)).toBeLessThan(1e-5 * Math.max(1, Math.abs(value)));
          } else expect([name, told]).toEqual([name, value]);
        }
      }),
    );
  });

  test("is left as it was by the next signal", () => {
    fc.assert(
      fc.property(anyHistory, closed, (signals, next) => {
        const totals = totalsOf(signals);
        const before = structuredClone(totals);
        addClosed(totals, { ...next, closedAt: START });
        expect(totals).toEqual(before);
      }),
    );
  });
});

describe("what no signal can close as is refused", () => {
  const good: ClosedSignal = {
    signal: "BUY",
    status: "WIN",
    pnlPercent: 1,
    confidence: 50,
    closedAt: START,
  };
  test.each([
    { signal: "HOLD", status: "WIN" } as const,
    { signal: "HOLD", status: "EXPIRED", pnlPercent: 1 } as const,
    { pnlPercent: null },
    { status: "LOSS", pnlPercent: null } as const,
    { pnlPercent: Number.NaN },
    { pnlPercent: Number.POSITIVE_INFINITY },
    { confidence: 101 },
    { confidence: Number.NaN },
    { closedAt: Number.NaN },
  ])("%o", (change: Partial<ClosedSignal>) => {
    expect(() => addClosed(emptyTotals(), { ...good, ...change })).toThrow(RangeError);
  });
});

test("the win rate of nothing is null", () => {
  expect([winrateOf(0, 0), winrateOf(0, 2), winrateOf(2, 1)]).toEqual([null, 0, 66.666667]);
});

/** The order-dependent figures named so that they can be told apart. */
function flat(stats: ReturnType<typeof statisticsOf>): Record<string, unknown> {
  const { maxDrawdown, streaks, calibration, winrateInterval: _interval, ...rest } = stats;
  return {
    ...rest,
    drawdown: maxDrawdown?.percent ?? null,
    drawdownPeakAt: maxDrawdown?.peakAt ?? null,
    streakCurrent: streaks.current,
    streakWins: streaks.longestWins,
    streakLosses: streaks.longestLosses,
    brier: calibration.brier,
    binned: calibration.bins.map(({ n, winrate }) => [n, winrate]),
  };
}

/** The same figures by their textbook definitions, from the whole history at once. */
function batch(signals: readonly ClosedSignal[]): Record<string, unknown> {
  const trades = signals.filter(({ signal }) => signal !== "HOLD");
  const results = trades.flatMap(({ pnlPercent }) => (pnlPercent === null ? [] : [pnlPercent]));
  const decided = trades.filter(({ status }) => status !== "EXPIRED");
  const won = decided.filter(({ status }) => status === "WIN");
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const mean = (values: readonly number[]) => (values.length === 0 ? null : sum(values) / values.length);
  const average = mean(results);
  const losing = results.filter((value) => value < 0);
  const gained = sum(results.filter((value) => value > 0));
  const average0 = average ?? 0;
  const variance = sum(results.map((value) => (value - average0) ** 2)) / (results.length - 1);
  const downside = Math.sqrt(sum(losing.map((value) => value ** 2)) / results.length);
  const runs = (outcome: string) =>
    decided
      .map(({ status }) => (status === outcome ? "x" : " "))
      .join("")
      .split(" ")
      .map(({ length }) => length);
  const brier = mean(
    decided.map(({ status, confidence }) => (confidence / 100 - (status === "WIN" ? 1 : 0)) ** 2),
  );
  return {
    n: signals.length,
    wins: won.length,
    losses: decided.length - won.length,
    expired: signals.filter(({ status }) => status === "EXPIRED").length,
    trades: results.length,
    winrate: decided.length === 0 ? null : (100 * won.length) / decided.length,
    averagePnlPercent: average,
    totalPnlPercent: sum(results),
    expectancyPercent: mean(decided.map(({ pnlPercent }) => pnlPercent ?? 0)),
    // Below a ten-thousandth the ratios are of rounding noise, not of results.
    ...(sum(losing) < -1e-4 || losing.length === 0
      ? { profitFactor: losing.length === 0 ? null : gained / -sum(losing) }
      : {}),
    ...(results.length < 2
      ? { sharpe: null, sortino: null }
      : {
          ...(Math.sqrt(variance) > 1e-4 ? { sharpe: average0 / Math.sqrt(variance) } : {}),
          ...(downside > 1e-4 ? { sortino: average0 / downside } : {}),
        }),
    drawdown: deepestFall(results),
    streakWins: Math.max(0, ...runs("WIN")),
    streakLosses: Math.max(0, ...runs("LOSS")),
    brier,
  };
}

/** Over every pair of moments: the largest fall from the earlier to the later. */
function deepestFall(results: readonly number[]): number | null {
  let total = 0;
  const curve = [0, ...results.map((value) => (total += value))];
  const falls = curve.flatMap((from, i) => curve.slice(i + 1).map((to) => from - to));
  const deepest = Math.max(0, ...falls);
  return deepest > 0 ? deepest : null;
}
