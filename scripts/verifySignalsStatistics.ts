import { isOfDay } from "../convex/signals/record/chain";
import type {
  ClosedContent,
  ComparedContent,
  IssuedContent,
  SignalEvent,
} from "../convex/signals/record/events";
import { addDayOfTrades, type DayTrade } from "../convex/signals/statistics/days";
import { statisticsOf } from "../convex/signals/statistics/figures";
import type { SignalStats } from "../convex/signals/statistics/shapes";
import { addClosed, emptyTotals, type Totals } from "../convex/signals/statistics/totals";
import { leastExcess, positionOf, TOKENS, type Levels } from "../convex/signals/trade/rules";

/** The statistics that follow from a chain's events, made as the service makes them, and held against what it shows. Pure. */

/** What the events say of one signal. */
export type Told = { issued?: IssuedContent; closed?: ClosedContent; compared?: ComparedContent };

/** A signal as a trade with its controls; `null` for a HOLD, and until all of it has been told. */
export function tradeOf({ issued, closed, compared }: Told): DayTrade | null {
  if (issued === undefined || closed === undefined || compared === undefined) return null;
  const position = positionOf(issued);
  const { coin, momentum, costBps } = issued;
  if (position === null || coin === null) return null;
  const { exitPrice, gapMinutes, inDoubt } = closed;
  const { mirrorStatus, mirrorExitPrice, mirrorInDoubt = false, holdExitPrice, decidedBy } = compared;
  const mirrorGapMinutes = compared.gapMinutes;
  return {
    ...{ position, coin, momentum, exitPrice, gapMinutes, inDoubt, costBps },
    compared: { mirrorStatus, mirrorExitPrice, mirrorGapMinutes, mirrorInDoubt, holdExitPrice, decidedBy },
  };
}

type Scopes = Record<"BTC" | "ETH" | "ALL", Totals>;
/** Of one day: what is told of each token; `"none"`: that it got no signal. */
type Day = Partial<Record<"BTC" | "ETH", Told | "none">>;

/** What is wrong with the statistics that callers are shown; nothing where none are. */
export function recordProblems(
  events: readonly SignalEvent[],
  stats: Record<"BTC" | "ETH" | "ALL", SignalStats> | undefined,
): string[] {
  if (stats === undefined) return [];
  let totals: Scopes;
  try {
    totals = totalsOf(events);
  } catch (error) {
    if (error instanceof RangeError) return [`The events hold an impossible result: ${error.message}`];
    throw error;
  }
  return (["BTC", "ETH", "ALL"] as const)
    .filter((scope) => JSON.stringify(statisticsOf(totals[scope])) !== JSON.stringify(stats[scope]))
    .map((scope) => `The statistics shown for ${scope} do not follow from the events`);
}

function totalsOf(events: readonly SignalEvent[]): Scopes {
  const totals: Scopes = { BTC: emptyTotals(), ETH: emptyTotals(), ALL: emptyTotals() };
  const days = new Map<string, Day>();
  for (const event of events) {
    if (!isOfDay(event)) continue;
    const { token, day: name } = event.content;
    const day = { ...days.get(name) };
    const before = day[token];
    const told = before === undefined || before === "none" ? {} : before;
    const change = (of: (totals: Totals) => Totals) => {
      for (const scope of [token, "ALL"] as const) totals[scope] = of(totals[scope]);
    };
    switch (event.kind) {
      case "issued":
        day[token] = { ...told, issued: event.content };
        break;
      case "closed":
        day[token] = { ...told, closed: event.content };
        if (told.issued !== undefined) change(closing(told.issued, event.content));
        break;
      case "compared":
        day[token] = { ...told, compared: event.content };
        break;
      case "refused":
        day[token] = "none";
        change((one) => ({ ...one, refused: one.refused + 1 }));
        break;
    }
    days.set(name, day);
    if (!TOKENS.every((one) => isOver(day[one]))) continue;
    for (const scope of ["BTC", "ETH", "ALL"] as const) {
      const trades = TOKENS.filter((one) => scope === "ALL" || one === scope).flatMap((one) => {
        const of = day[one];
        return of === undefined || of === "none" ? [] : (tradeOf(of) ?? []);
      });
      if (trades.length > 0)
        totals[scope] = { ...totals[scope], arms: addDayOfTrades(totals[scope].arms, trades) };
    }
  }
  return totals;
}

function isOver(told: Told | "none" | undefined): boolean {
  if (told === undefined || told === "none") return told === "none";
  const { issued, closed, compared } = told;
  return closed !== undefined && (issued?.signal === "HOLD" || compared !== undefined);
}

/** The totals with one more signal, as its events tell it. */
export function closing(
  issued: Levels & Pick<IssuedContent, "costBps" | "confidence" | "calibratedConfidence">,
  closed: Pick<ClosedContent, "status" | "pnlPercent" | "exitPrice" | "gapMinutes" | "inDoubt" | "closedAt">,
): (totals: Totals) => Totals {
  const { signal, costBps, confidence, calibratedConfidence } = issued;
  const { status, pnlPercent, gapMinutes, closedAt } = closed;
  const position = positionOf(issued);
  const excess = position === null ? 0 : leastExcess(position, closed);
  return (totals) =>
    addClosed(totals, {
      ...{ signal, status, pnlPercent, costBps, confidence, calibratedConfidence, gapMinutes, excess },
      closedAt: Date.parse(closedAt),
    });
}
