import { dayOf, iso } from "../../lib/time";
import type { DayTrade } from "../statistics/days";
import { armPnl, armTrades, type ArmTrade } from "../trade/controls";
import { chanceOf } from "../trade/edge";
import { rounded } from "../statistics/ratios";
import { afterCosts, pnlPercent, positionOf } from "../trade/rules";
import { dayTradeOf, excessIn } from "../statistics/standing";
import type { PublicSignal } from "./shapes";
import type { Signal } from "../record/tables";

/** Signals as callers see them. */

/** `BTC-2026-11-20`: a token has one signal a day. */
export function signalId({ token, slot }: Pick<Signal, "token" | "slot">): string {
  return `${token}-${dayOf(slot)}`;
}

export function signalView(row: Signal): PublicSignal {
  const { token, signal, entry, tp1, tp2, sl, confidence, reasoning, status, model, promptVersion } = row;
  const { generatedAt, expiresAt, closedAt, exitPrice, decidedBy, gapMinutes, costBps } = row;
  const position = positionOf(row);
  const pnl = row.pnlPercent;
  const excess = excessIn(row);
  const trade = dayTradeOf(row);
  return {
    id: signalId(row),
    token,
    timeframe: "1h",
    ...{ signal, entry, tp1, tp2, sl, confidence },
    calibratedConfidence: row.calibrated.confidence,
    chancePercent: position === null ? null : rounded(100 * chanceOf(position), 6),
    costPercent: costBps / 100,
    ...{ reasoning, model, promptVersion, status },
    generatedAt: iso(generatedAt),
    expiresAt: iso(expiresAt),
    ...(closedAt === undefined ? {} : { closedAt: iso(closedAt) }),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    gapMinutes,
    ...(exitPrice === undefined ? {} : { exitPrice }),
    ...(pnl === undefined ? {} : { pnlPercent: pnl, afterCostsPercent: net(pnl, costBps) }),
    ...(closedAt === undefined ? {} : { excessPoints: excess === null ? null : rounded(100 * excess, 6) }),
    ...(trade === null ? {} : { controls: controlsView(trade) }),
  };
}

/** How the control arms of a trade ended. */
export function controlsView(trade: DayTrade): NonNullable<PublicSignal["controls"]> {
  const { position, compared, costBps } = trade;
  const arms = armTrades(trade);
  const shown = (arm: ArmTrade) => {
    const pnl = armPnl(arm);
    return { signal: arm.position.signal, pnlPercent: pnl, afterCostsPercent: net(pnl, costBps) };
  };
  const { holdExitPrice } = compared;
  const held = holdExitPrice === null ? null : pnlPercent("BUY", position.entry, holdExitPrice);
  return {
    coin: shown(arms.coin),
    momentum: arms.momentum === undefined ? null : shown(arms.momentum),
    alwaysLong: shown(arms.alwaysLong),
    buyAndHold: { signal: "BUY", pnlPercent: held, afterCostsPercent: net(held, costBps) },
  };
}

function net(pnl: number | null, costBps: number): number | null {
  return pnl === null ? null : afterCosts(pnl, costBps);
}
