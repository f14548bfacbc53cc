import { v } from "convex/values";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { statisticsOf, winrateOf } from "../../convex/signals/statistics/figures";
import { signalStats } from "../../convex/signals/statistics/shapes";
import {
  addClosed,
  addResult,
  emptyTotals,
  NO_RESULTS,
  type ClosedSignal,
} from "../../convex/signals/statistics/totals";
import { totalsFields, type Totals } from "../../convex/signals/statistics/rows";
import { batch, flat } from "./textbook";

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
    calibratedConfidence: confidence,
    ...{ costBps: 15, gapMinutes: 0, excess: 0, chance: 0.4 },
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
    fc.record({
      confidence: fc.integer({ min: 0, max: 100 }),
      calibratedConfidence: fc.double({ min: 0, max: 100, noNaN: true }),
      costBps: fc.integer({ min: 0, max: 50 }),
      gapMinutes: fc.integer({ min: 0, max: 12 }),
      excess: fc.double({ min: -0.5, max: 1, noNaN: true }),
      chance: fc.double({ min: 0.1, max: 5 / 9, noNaN: true }),
    }),
  )
  .map(([signal, [status, pnlPercent], rest]) => ({ signal, status, pnlPercent, ...rest }));
const hold = fc.integer({ min: 0, max: 100 }).map((confidence) => {
  const none = { calibratedConfidence: 50, costBps: 15, gapMinutes: 0, excess: 0, chance: 0.4 };
  return { signal: "HOLD", status: "EXPIRED", pnlPercent: null, confidence, ...none } as const;
});
const anyHistory: fc.Arbitrary<ClosedSignal[]> = fc
  .array(fc.oneof({ weight: 6, arbitrary: closed }, { weight: 1, arbitrary: hold }), { maxLength: 90 })
  .map((all) => all.map((one, day) => ({ ...one, closedAt: START + day * DAY })));

describe("hand-computed histories", () => {
  test("nothing closed: counts of zero, and null for everything that would divide by them", () => {
    expect(statsOf()).toMatchObject({
      n: 0,
      winrate: null,
      edge: { trades: 0, days: 0, excessPoints: null, eValue: 1, verdict: "no record yet" },
      beforeCosts: {
        ...{ totalPnlPercent: 0, expectancyPercent: null, profitFactor: null },
        ...{ bestPnlPercent: null, worstPnlPercent: null },
      },
      risk: { n: 0, sharpe: null, sortino: null, maxDrawdown: null },
      streaks: { current: null, longestWins: 0, longestLosses: 0 },
      calibration: { n: 0, brier: null },
    });
  });

  test("the statistics of a mixed week are those computed by hand", () => {
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
      averageWinPercent: 3.5,
      averageLossPercent: -2,
      beforeCosts: {
        totalPnlPercent: 2,
        // The expired trade counts: 2 / 5.
        expectancyPercent: 0.4,
        bestPnlPercent: 4,
        worstPnlPercent: -2,
        // (4 + 3) / (2 + 2 + 1)
        profitFactor: 1.4,
      },
      // 0.15 % a trade.
      afterCosts: {
        totalPnlPercent: 1.25,
        expectancyPercent: 0.25,
        bestPnlPercent: 3.85,
        worstPnlPercent: -2.15,
      },
      risk: { n: 5, sharpe: null, sortino: null, maxDrawdown: null },
      streaks: { current: { outcome: "LOSS", length: 1 }, longestWins: 1, longestLosses: 1 },
    });
    // (0.8-1)² + 0.6² + (0.7-1)² + 0.85² = 0.04 + 0.36 + 0.09 + 0.7225
    expect(stats.calibration.brier).toBeCloseTo(1.2125 / 4, 6);
    expect(stats.calibration.bins[8]).toEqual({ from: 80, to: 90, n: 2, meanConfidence: 82.5, winrate: 50 });
    expect(stats.calibration.bins[9]).toMatchObject({ n: 0, meanConfidence: null, winrate: null });
  });

  test("ratios and drawdown are told from 30 trades on, after costs", () => {
    // After costs 1.85 and -1.15 in turn, then the falls below.
    const even = Array.from({ length: 28 }, (_, n): Short => (n % 2 === 0 ? ["WIN", 2] : ["LOSS", -1]));
    expect(statsOf(...even, ["WIN", 2]).risk).toEqual({
      n: 29,
      sharpe: null,
      sortino: null,
      maxDrawdown: null,
    });
    const { risk } = statsOf(...even, ["LOSS", -3], ["LOSS", -3]);
    // Fourteen pairs of 0.7 and two losses of 3.15; the peak stands after the last win, one loss before the two.
    const mean = (14 * 0.7 - 6.3) / 30;
    const squares = 14 * ((1.85 - mean) ** 2 + (1.15 + mean) ** 2) + 2 * (3.15 + mean) ** 2;
    expect(risk.n).toBe(30);
    expect(risk.sharpe).toBeCloseTo(mean / Math.sqrt(squares / 29), 9);
    expect(risk.sortino).toBeCloseTo(mean / Math.sqrt((14 * 1.15 ** 2 + 2 * 3.15 ** 2) / 30), 9);
    expect(risk.maxDrawdown?.percent).toBeCloseTo(1.15 + 6.3, 9);
    expect([risk.maxDrawdown?.peakAt, risk.maxDrawdown?.troughAt]).toEqual([at(26), at(29)]);
  });

  test("a drawdown may begin before the first trade, goes on through a recovery, and of two equal ones the first is told", () => {
    const free = (...results: number[]) =>
      results.reduce((curve, result, day) => addResult(curve, result, day + 1, START + day * DAY), NO_RESULTS)
        .drawdown;
    const peak = (day: number) => START + day * DAY;
    expect(free(-3, 10, -2)).toEqual({ percent: 3, peakAt: null, troughAt: peak(0) });
    expect(free(5, -2, 4, -2)).toEqual({ percent: 2, peakAt: peak(0), troughAt: peak(1) });
    expect(free(5, -3, 2, -3)).toEqual({ percent: 4, peakAt: peak(0), troughAt: peak(3) });
  });

  test("streaks go on behind an expired signal and a HOLD", () => {
    const stats = statsOf(["WIN", 1], ["EXPIRED", -1], ["WIN", 1], ["HOLD", null], ["WIN", 1], ["LOSS", -1]);
    expect(stats.streaks).toEqual({
      current: { outcome: "LOSS", length: 1 },
      longestWins: 3,
      longestLosses: 1,
    });
  });

  test("equal results have no deviation, and without a loss there is no ratio to one", () => {
    const won = Array.from({ length: 30 }, (): Short => ["WIN", 0.5]);
    expect(statsOf(...won)).toMatchObject({
      risk: { n: 30, sharpe: null, sortino: null, maxDrawdown: null },
      beforeCosts: { profitFactor: null },
    });
    expect(statsOf(["LOSS", -1])).toMatchObject({ beforeCosts: { profitFactor: 0 } });
  });

  test("confidence 100 falls into the last bin and 10 into the second", () => {
    const { bins } = statsOf(["WIN", 1, 100], ["WIN", 1, 10], ["WIN", 1, 9]).calibration;
    expect(bins.map(({ n }) => n)).toEqual([1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
  });

  test("sums of decimals read as decimals", () => {
    expect(statsOf(["WIN", 0.1], ["WIN", 0.2]).beforeCosts.totalPnlPercent).toBe(0.3);
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
            expect([name, Math.abs(told - value) <= 1e-9 * Math.max(1, Math.abs(value))]).toEqual([
              name,
              true,
            ]);
          } else expect([name, told]).toEqual([name, value]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("holds confidence against the chance of the levels from 30 trades on", () => {
    const trades = Array.from({ length: 30 }, (_, n): Short => [
      n % 3 === 0 ? "WIN" : "LOSS",
      n % 3 === 0 ? 1 : -1,
      70,
    ]);
    expect(statsOf(...trades.slice(0, 29)).calibration).toMatchObject({
      n: 29,
      skill: null,
      calibratedSkill: null,
    });
    // 10 of 30 won: (10 x 0.3² + 20 x 0.7²) against (10 x 0.6² + 20 x 0.4²).
    const { skill, calibratedSkill } = statsOf(...trades).calibration;
    expect(skill).toBeCloseTo(1 - 10.7 / 6.8, 9);
    expect(calibratedSkill).toBe(skill);
  });

  test("keeps the answer's contract, and its row stays within bounds", () => {
    fc.assert(
      fc.property(anyHistory, (signals) => {
        const totals = totalsOf(signals);
        expect(Object.keys(totals).toSorted()).toEqual(Object.keys(v.object(totalsFields).fields).toSorted());
        expect(JSON.stringify(totals).length).toBeLessThan(6_500);
        const stats = signalStats.parse(statisticsOf(totals));
        expect(stats.n).toBe(signals.length);
        const { maxDrawdown } = stats.risk;
        if (maxDrawdown?.peakAt != null) expect(maxDrawdown.peakAt < maxDrawdown.troughAt).toBe(true);
        expect(stats.calibration.bins.reduce((sum, { n }) => sum + n, 0)).toBe(stats.wins + stats.losses);
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
    ...{ calibratedConfidence: 50, costBps: 15, gapMinutes: 0, excess: 0, chance: 0.4 },
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
    { confidence: 70.5 },
    { calibratedConfidence: 100.1 },
    { costBps: -1 },
    { gapMinutes: Number.NaN },
    { closedAt: Number.NaN },
    { excess: Number.NaN },
  ])("%o", (change: Partial<ClosedSignal>) => {
    expect(() => addClosed(emptyTotals(), { ...good, ...change })).toThrow(RangeError);
  });
});

test("the win rate of nothing is null", () => {
  expect([winrateOf(0, 0), winrateOf(0, 2), winrateOf(2, 1)]).toEqual([null, 0, 66.6666666667]);
});
