import { isOfDay, linksAfter, GENESIS, type Statement } from "../../../convex/signals/record/chain";
import type {
  ChainHead,
  ClosedContent,
  ComparedContent,
  IssuedContent,
  SignalEvent,
} from "../../../convex/signals/record/events";
import type { Signal } from "../../../convex/signals/record/rows";
import { addDayOfTrades } from "../../../convex/signals/statistics/days";
import { statisticsOf } from "../../../convex/signals/statistics/figures";
import { dayTradeOf } from "../../../convex/signals/trade/controls";
import { addClosed, closedOf, emptyTotals } from "../../../convex/signals/statistics/totals";
import { coinFlip } from "../../../convex/signals/trade/controls";
import { CUTS, scopesOf } from "../../../convex/signals/record/model";
import { cutView, signalView } from "../../../convex/signals/views/signals";
import type { SignalRecord } from "./record";

/**
 * Somebody who rewrites a record and has the service's own code: hashes, coins, counts of refused days, what is shown of
 * signals and all statistics fit what they tell. Only what nobody can make up gives them away.
 */

type Told = { issued: IssuedContent; closed?: ClosedContent; compared?: ComparedContent };

export function forged(statements: readonly Statement[]): SignalRecord {
  const events = linked(statements);
  const last = events.at(-1);
  const signals = storiesOf(events).map(rowOf);
  const statsOf = (isIn: (row: Pick<Signal, "token">) => boolean) =>
    statisticsOf(totalsOf(events, signals, isIn));
  const writers = new Set(signals.map(writerOf));
  const cuts = [
    ...CUTS.map((cut) => ({ cut, isIn: (row: Signal) => scopesOf({ ...row, desk: "daily" }).includes(cut) })),
    ...[...writers].map((cut) => ({ cut, isIn: (row: Signal) => writerOf(row) === cut })),
  ];
  return {
    events,
    head: last === undefined ? null : { sequence: last.sequence, hash: last.hash },
    signals: signals.map(signalView),
    stats: {
      BTC: statsOf(({ token }) => token === "BTC"),
      ETH: statsOf(({ token }) => token === "ETH"),
      ALL: statsOf(() => true),
    },
    cuts: cuts
      .map(({ cut, isIn }) =>
        cutView(
          cut,
          totalsOf(events, signals.filter(isIn), () => true),
        ),
      )
      .filter(({ n }) => n > 0),
  };
}

function writerOf({ model, promptVersion }: Signal): string {
  return `${model}@${promptVersion}`;
}

function linked(statements: readonly Statement[]): SignalEvent[] {
  const refused = { BTC: 0, ETH: 0 };
  let head: ChainHead | null = null;
  const events: SignalEvent[] = [];
  for (const told of statements) {
    const statement: Statement = structuredClone(told);
    if (isOfDay(statement)) {
      const { token, day } = statement.content;
      if (statement.kind === "refused") refused[token] += 1;
      statement.content.refusedDays = refused[token];
      if (statement.kind === "issued" && statement.content.signal !== "HOLD") {
        statement.content.coin = coinFlip(head?.hash ?? GENESIS, token, day);
      }
    }
    const links = linksAfter(head, statement);
    events.push({ ...statement, ...links });
    head = links;
  }
  return events;
}

function storiesOf(events: readonly SignalEvent[]): Told[] {
  const told = new Map<string, Told>();
  for (const event of events) {
    if (!isOfDay(event)) continue;
    const key = `${event.content.token} ${event.content.day}`;
    const before = told.get(key);
    if (event.kind === "issued") told.set(key, { issued: event.content });
    else if (before !== undefined && event.kind !== "refused") {
      told.set(key, { ...before, [event.kind]: event.content });
    }
  }
  return [...told.values()];
}

/** The row that the service would have of it. */
export function rowOf({ issued, closed, compared }: Told): Signal {
  const { token, signal, entry, tp1, tp2, sl, confidence, reasoning, promptVersion, costBps } = issued;
  const generatedAt = Date.parse(issued.generatedAt);
  const row: Signal = {
    ...{
      desk: "daily",
      arm: "daily",
      slot: Date.parse(issued.day),
      token,
      signal,
      entry,
      tp1,
      tp2,
      sl,
      confidence,
      reasoning,
    },
    ...{ model: issued.model ?? "", promptVersion, costBps, record: "daily", generatedAt },
    ...{ expiresAt: Date.parse(issued.expiresAt), open: false, walkedUntil: generatedAt, gapMinutes: 0 },
    price: { usd: entry, source: "coinbase", observedAt: Date.parse(issued.priceObservedAt) },
    calibrated: {
      confidence: issued.calibratedConfidence,
      method: "shrinkage",
      n: issued.calibrationOutcomes,
    },
    ...{ coin: issued.coin, momentum: issued.momentum, status: "PENDING" },
    ...(typeof issued.volatility === "number" ? { volatility: issued.volatility } : {}),
  };
  if (closed === undefined) return row;
  const { status, exitPrice, pnlPercent, decidedBy, gapMinutes, inDoubt = false } = closed;
  const ended = { ...row, status, exitPrice, pnlPercent, decidedBy, gapMinutes, inDoubt };
  const closedAt = Date.parse(closed.closedAt);
  if (compared === undefined) return { ...ended, closedAt };
  const { mirrorStatus, mirrorExitPrice, mirrorInDoubt = false, holdExitPrice } = compared;
  const controls = { mirrorStatus, mirrorExitPrice, mirrorInDoubt, holdExitPrice };
  const { decidedBy: by, gapMinutes: mirrorGapMinutes } = compared;
  return { ...ended, closedAt, compared: { ...controls, mirrorGapMinutes, decidedBy: by } };
}

function totalsOf(
  events: readonly SignalEvent[],
  signals: readonly Signal[],
  isOf: (row: Pick<Signal, "token">) => boolean,
) {
  let totals = emptyTotals();
  const rowIn = ({ token, day }: { token: string; day: string }) =>
    signals.find((one) => one.token === token && one.slot === Date.parse(day));
  const days = new Map<string, { over: number; rows: Signal[] }>();
  for (const event of events) {
    if (!isOfDay(event)) continue;
    const { token, day } = event.content;
    const isIn = isOf({ token });
    const row = rowIn(event.content);
    const known = days.get(day) ?? { over: 0, rows: [] };
    if (event.kind === "refused") {
      known.over += 1;
      if (isIn) totals = { ...totals, refused: totals.refused + 1 };
    } else if (event.kind === "closed" && row !== undefined) {
      const outcome = { ...event.content, closedAt: Date.parse(event.content.closedAt) };
      if (isIn) totals = addClosed(totals, closedOf(row, outcome));
      if (row.signal === "HOLD") known.over += 1;
    } else if (event.kind === "compared" && row !== undefined) {
      known.over += 1;
      if (isIn) known.rows.push(row);
    }
    days.set(day, known);
  }
  for (const { over, rows } of days.values()) {
    const trades = rows.flatMap((row) => dayTradeOf(row) ?? []);
    if (over < 2 || trades.length === 0) continue;
    totals = { ...totals, arms: addDayOfTrades(totals.arms, trades) };
  }
  return totals;
}
