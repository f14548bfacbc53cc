import { iso } from "../lib/time";
import { excessPointsOf, fallsOf, rounded } from "./record";
import { afterCosts, breakEvenOf, chanceOf, positionOf, signalId } from "./rules";
import type { EquityPoint, PublicSignal } from "./shapes";
import type { Signal } from "./tables";

/** Signals as callers see them. Pure. */

export function signalView(row: Signal): PublicSignal {
  const position = positionOf(row);
  const { closedAt, pnlPercent, costBps } = row;
  return {
    id: signalId(row),
    token: row.token,
    timeframe: "1h",
    signal: row.signal,
    entry: row.entry,
    tp1: row.tp1,
    tp2: row.tp2,
    sl: row.sl,
    confidence: row.confidence,
    chancePercent: position === null ? null : rounded(100 * chanceOf(position), 6),
    costPercent: costBps / 100,
    breakEvenPercent: position === null ? null : rounded(100 * breakEvenOf(position, costBps), 6),
    reasoning: row.reasoning,
    model: row.model,
    promptVersion: row.promptVersion,
    status: row.status,
    generatedAt: iso(row.generatedAt),
    expiresAt: iso(row.expiresAt),
    gapMinutes: row.gapMinutes,
    ...(closedAt === undefined
      ? {}
      : {
          closedAt: iso(closedAt),
          decidedBy: row.decidedBy ?? null,
          exitPrice: row.exitPrice ?? null,
          pnlPercent: pnlPercent ?? null,
          afterCostsPercent: typeof pnlPercent === "number" ? afterCosts(pnlPercent, costBps) : null,
          excessPoints: excessPointsOf(row),
        }),
  };
}

/** The trades of a record in the order in which they were closed, added up. */
export function equityOf(signals: readonly Signal[]): EquityPoint[] {
  const closed = signals
    .flatMap((one) => {
      const { pnlPercent, closedAt } = one;
      return typeof pnlPercent === "number" && closedAt !== undefined
        ? [{ id: signalId(one), closedAt, result: afterCosts(pnlPercent, one.costBps) }]
        : [];
    })
    .toSorted((a, b) => a.closedAt - b.closedAt);
  const falls = fallsOf(closed.map(({ result }) => result));
  let total = 0;
  return closed.map(({ id, closedAt, result }, index) => {
    total += result;
    return {
      id,
      closedAt: iso(closedAt),
      afterCostsPercent: result,
      sumPercent: rounded(total, 6),
      fallPercent: rounded(falls[index] ?? 0, 6),
    };
  });
}

const SHEET = [
  "id",
  "token",
  "signal",
  "status",
  "generatedAt",
  "entry",
  "tp1",
  "tp2",
  "sl",
  "confidence",
  "expiresAt",
  "closedAt",
  "exitPrice",
  "pnlPercent",
  "afterCostsPercent",
  "excessPoints",
  "gapMinutes",
  "decidedBy",
  "model",
] as const satisfies readonly (keyof PublicSignal)[];

/** Signals as lines of comma-separated values (RFC 4180), with a line of names. */
export function sheetOf(signals: readonly PublicSignal[]): string {
  const cell = (value: string | number | null | undefined) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = signals.map((one) => SHEET.map((name) => cell(one[name])).join(","));
  return [SHEET.join(","), ...lines, ""].join("\r\n");
}
