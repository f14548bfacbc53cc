import { iso } from "../../lib/time";
import type { Signal } from "../record/rows";
import type { Arms, Totals } from "../statistics/rows";
import { rounded, statisticsOf } from "../statistics/figures";
import { excessIn } from "../statistics/standings";
import { armPnl, dayTradeOf, type ArmTrade, type DayTrade, type Side } from "../trade/controls";
import { signalId } from "../trade/calendar";
import { afterCosts, chanceOf, delivered, neededIn, positionOf, RECORD_FROM } from "../trade/rules";
import type { EquityPoint, PublicSignal, RecordCut } from "./shapes";

/** Signals as callers see them. */

export function signalView(row: Signal): PublicSignal {
  const { desk, arm, token, signal, entry, tp1, tp2, sl, confidence, reasoning, status } = row;
  const {
    model,
    promptVersion,
    generatedAt,
    expiresAt,
    closedAt,
    exitPrice,
    decidedBy,
    gapMinutes,
    costBps,
  } = row;
  const position = positionOf(row);
  const pnl = row.pnlPercent;
  const excess = excessIn(row);
  const trade = dayTradeOf(row);
  return {
    id: desk === "people" ? `${arm}:${signalId(row)}` : signalId(row),
    token: delivered(token),
    timeframe: "1h",
    ...{ signal, entry, tp1, tp2, sl, confidence },
    calibratedConfidence: row.calibrated.n < RECORD_FROM ? null : row.calibrated.confidence,
    chancePercent: position === null ? null : rounded(100 * chanceOf(position), 6),
    costPercent: costBps / 100,
    breakEvenPercent: position === null ? null : rounded(100 * neededIn(position, costBps), 6),
    ...{ reasoning, model, promptVersion, status },
    generatedAt: iso(generatedAt),
    expiresAt: iso(expiresAt),
    ...(closedAt === undefined ? {} : { closedAt: iso(closedAt) }),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    gapMinutes,
    ...(exitPrice === undefined ? {} : { exitPrice }),
    ...(pnl === undefined ? {} : { pnlPercent: pnl, afterCostsPercent: net(pnl, costBps) }),
    ...(closedAt === undefined ? {} : { excessPoints: excess === null ? null : rounded(100 * excess, 6) }),
    ...(trade === null ? {} : { controls: controlsView(trade, costBps) }),
  };
}

/** A part of a record. */
export function cutView(cut: string, totals: Totals, needed?: number): RecordCut {
  const { n, wins, losses, expired, trades, edge, afterCosts } = statisticsOf(totals, needed);
  const averageAfterCostsPercent = afterCosts.expectancyPercent;
  return { cut, n, wins, losses, expired, trades, edge, averageAfterCostsPercent };
}

/** How the control arms of a trade ended. */
function controlsView({ coin, momentum, alwaysLong, heldPnl }: DayTrade, costBps: number) {
  const shown = (signal: Side, pnlPercent: number | null) => {
    return { signal, pnlPercent, afterCostsPercent: net(pnlPercent, costBps) };
  };
  const arm = (trade: ArmTrade) => shown(trade.position.signal, armPnl(trade));
  return {
    ...{ coin: arm(coin), momentum: momentum === undefined ? null : arm(momentum) },
    ...{ alwaysLong: arm(alwaysLong), buyAndHold: shown("BUY", heldPnl) },
  };
}

function net(pnl: number | null, costBps: number): number | null {
  return pnl === null ? null : afterCosts(pnl, costBps);
}

export const ARM_NAMES = ["coin", "momentum", "alwaysLong", "buyAndHold"] as const;
type ArmName = (typeof ARM_NAMES)[number];

/** The results of a whole record: sums of results after costs. */
type Whole = {
  /** Of all its trades. */
  sum: number;
  /** Of the control arms; they count whole days. */
  arms: Arms;
  /** The days that the arms count, `2026-01-05`, as far back as the signals go. */
  counted: readonly string[];
};

/**
 * The trades among the newest signals of a record in the order in which they were closed, added up from its first trade
 * on. The sum of a point does not change later.
 */
export function equityOf(
  signals: readonly PublicSignal[],
  { sum: whole, arms, counted }: Whole,
): EquityPoint[] {
  const closed = signals.flatMap(({ id, closedAt, afterCostsPercent, controls, generatedAt }) => {
    if (closedAt === undefined) return [];
    const isCounted = counted.includes(generatedAt.slice(0, "2026-01-05".length));
    return [{ id, closedAt, afterCostsPercent: afterCostsPercent ?? null, controls, isCounted }];
  });
  let total = whole - closed.reduce((all, one) => all + (one.afterCostsPercent ?? 0), 0);
  const shown = closed.filter(({ isCounted }) => isCounted);
  const sums = ofEachArm((arm) => {
    const own = shown.reduce((all, { controls }) => all + (controls?.[arm]?.afterCostsPercent ?? 0), 0);
    return arms[arm].pnlSum - arms[arm].costSum - own;
  });
  let highest = Math.max(0, total);
  return closed
    .toSorted((a, b) => Date.parse(a.closedAt) - Date.parse(b.closedAt))
    .flatMap(({ id, closedAt, afterCostsPercent, controls }) => {
      for (const arm of ARM_NAMES) sums[arm] += controls?.[arm]?.afterCostsPercent ?? 0;
      if (afterCostsPercent === null) return [];
      total += afterCostsPercent;
      highest = Math.max(highest, total);
      return [
        {
          ...{ id, closedAt, afterCostsPercent },
          sumPercent: rounded(total, 6),
          fallPercent: rounded(highest - total, 6),
          controls: ofEachArm((arm) => rounded(sums[arm], 6)),
        },
      ];
    });
}

function ofEachArm(of: (arm: ArmName) => number): Record<ArmName, number> {
  return {
    ...{ coin: of("coin"), momentum: of("momentum") },
    ...{ alwaysLong: of("alwaysLong"), buyAndHold: of("buyAndHold") },
  };
}
