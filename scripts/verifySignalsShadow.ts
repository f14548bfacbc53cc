import * as z from "zod";
import { figuresOfArm, figuresOfPair } from "../convex/signals/arms/figures";
import { shadowLab, type ShadowArm, type ShadowLab } from "../convex/signals/arms/shapes";
import {
  shadowEvent,
  type ShadowClosed,
  type ShadowEvent,
  type ShadowIssued,
  type SignalEvent,
} from "../convex/signals/record/events";
import {
  addArmDay,
  addPairDay,
  COUNTED_MS,
  NO_DAYS,
  NO_SEEN,
  type DayShadow,
} from "../convex/signals/statistics/days";
import type { Seen } from "../convex/signals/statistics/inference";
import { emptyTotals, type Totals } from "../convex/signals/statistics/totals";
import { LIFETIME_MS, pnlPercent, problemsOf } from "../convex/signals/trade/rules";
import { chainProblems, endProblems, SKEW_MS } from "./verifySignalsChain";
import { closing } from "./verifySignalsStatistics";

/** What `npm run verify-signals -- --shadow` checks of the shadow signals. Pure. */

/** All events of the shadow chain, and what is shown of its arms. */
export const shadowRecord = shadowLab.extend({ events: z.array(shadowEvent) });
export type ShadowRecord = z.output<typeof shadowRecord>;

/** A tick counts one day: so many that are over may not be in the figures yet. */
const LATE_DAYS = 3;
const DAY_MS = 86_400_000;

/** Everything that is wrong with the shadow signals, in plain words; empty when they hold. */
export function problemsOfShadows(record: ShadowRecord, main: readonly SignalEvent[]): string[] {
  const { events, head } = record;
  return [
    ...chainProblems(events, head, nameOf),
    ...fixedProblems(events, main),
    ...storyProblems(events),
    ...figureProblems(record),
  ].map((problem) => `Shadow signals: ${problem}`);
}

/** The heads that the record of the daily signals holds are links of this chain. */
function fixedProblems(events: readonly ShadowEvent[], main: readonly SignalEvent[]): string[] {
  return main.flatMap((event) => {
    if (event.kind !== "shadow") return [];
    const { shadowSequence, shadowHash } = event.content;
    if (events[shadowSequence - 1]?.hash === shadowHash) return [];
    return [
      `Event ${event.sequence} of the record fixed their event ${shadowSequence}, which has another hash now`,
    ];
  });
}

/** Every hour of an arm and token told once, by the rules, in its hour, and closed once as its levels say. */
function storyProblems(events: readonly ShadowEvent[]): string[] {
  const problems: string[] = [];
  const issued = new Map<string, ShadowIssued>();
  const told = new Set<string>();
  for (const event of events) {
    const slot = slotOf(event.content);
    const kind = event.kind === "closed" ? "closed" : "opened";
    if (told.has(`${kind} ${slot}`)) problems.push(`${nameOf(event)}: it had been told before`);
    told.add(`${kind} ${slot}`);
    const say = (found: readonly string[]) =>
      problems.push(...found.map((one) => `${nameOf(event)}: ${one}`));
    if (event.kind === "issued") {
      issued.set(slot, event.content);
      say(issueProblems(event.content));
    } else if (event.kind === "closed") {
      const signal = issued.get(slot);
      say(
        signal === undefined
          ? ["this signal had not been issued before"]
          : closeProblems(event.content, signal),
      );
    }
  }
  return problems;
}

function issueProblems(signal: ShadowIssued): string[] {
  const { arm, hour, promptVersion, generatedAt, expiresAt, entry, costBps, priceSource, priceObservedAt } =
    signal;
  const problems: string[] = [];
  const forbidden = problemsOf(signal, { priceUsd: entry, costBps });
  if (forbidden !== null) problems.push(forbidden);
  if (!arm.endsWith(`@${promptVersion}`)) problems.push(`it was asked with ${promptVersion}`);
  if (priceSource === "llm") problems.push("its price is the model's own word");
  if (generatedAt.slice(0, 13) !== hour.slice(0, 13))
    problems.push(`it was issued at ${generatedAt}, not in its hour`);
  if (Date.parse(expiresAt) - Date.parse(generatedAt) !== LIFETIME_MS)
    problems.push(`it was issued at ${generatedAt} and cannot expire at ${expiresAt}`);
  if (Date.parse(priceObservedAt) > Date.parse(generatedAt) + SKEW_MS)
    problems.push(`it was issued at ${generatedAt}, before its price was seen at ${priceObservedAt}`);
  return problems;
}

function closeProblems(closed: ShadowClosed, signal: ShadowIssued): string[] {
  const { status, exitPrice, pnlPercent: told, closedAt } = closed;
  const problems = endProblems(signal, status, exitPrice);
  const due = exitPrice === null ? null : pnlPercent(signal.signal, signal.entry, exitPrice);
  if (told !== due) problems.push(`its PnL is ${due} %, not ${told} %`);
  if (closedAt < signal.generatedAt) problems.push(`it was closed at ${closedAt}, before it was issued`);
  if (closedAt > signal.expiresAt) problems.push(`it was closed at ${closedAt}, after its expiry`);
  return problems;
}

type Ended = { issued: ShadowIssued; closed?: ShadowClosed };
type Sums = { arms: Map<string, typeof NO_DAYS>; pairs: Map<string, Seen> };

/** The figures of every arm as its events make them. */
function figureProblems({
  events,
  arms,
  writer,
}: Pick<ShadowLab, "arms" | "writer"> & { events: readonly ShadowEvent[] }) {
  const { totals, signals } = sumsOf(events);
  const days = countedDays(signals);
  const shown = (sums: Sums) =>
    arms
      .filter((arm) => !isAsShown(arm, { totals: totals.get(arm.arm), sums, writer }))
      .map(({ arm }) => arm);
  let wrong: string[] = [];
  for (let late = 0; late <= Math.min(LATE_DAYS, days.length); late++) {
    wrong = shown(addedUp(days.slice(0, days.length - late)));
    if (wrong.length === 0) return [];
  }
  return wrong.map((arm) => `the figures shown for ${arm} do not follow from its events`);
}

function isAsShown(
  arm: ShadowArm,
  { totals = emptyTotals(), sums, writer }: { totals: Totals | undefined; sums: Sums; writer: string },
): boolean {
  const model = { ...totals.arms.model, days: sums.arms.get(arm.arm) ?? NO_DAYS };
  const figures = figuresOfArm({ ...totals, arms: { ...totals.arms, model } });
  const pair = sums.pairs.get(`${arm.arm} ${writer}`);
  const against =
    pair === undefined ? null : { ...figuresOfPair(pair), writer, needed: arm.againstWriter?.needed };
  const isSame = Object.entries(figures).every(
    ([name, value]) => JSON.stringify(Reflect.get(arm, name)) === JSON.stringify(value),
  );
  return isSame && JSON.stringify(arm.againstWriter) === JSON.stringify(against);
}

function sumsOf(events: readonly ShadowEvent[]) {
  const totals = new Map<string, Totals>();
  const signals = new Map<string, Ended>();
  const change = (arm: string, of: (totals: Totals) => Totals) =>
    totals.set(arm, of(totals.get(arm) ?? emptyTotals()));
  for (const event of events) {
    const slot = slotOf(event.content);
    const { arm } = event.content;
    if (event.kind === "missed") change(arm, (one) => ({ ...one, refused: one.refused + 1 }));
    if (event.kind === "issued") signals.set(slot, { issued: event.content });
    const ended = signals.get(slot);
    if (event.kind !== "closed" || ended === undefined) continue;
    signals.set(slot, { ...ended, closed: event.content });
    change(arm, closing(ended.issued, event.content));
  }
  return { totals, signals: [...signals.values()] };
}

/** The days in order, up to the first of which a signal of its counted hours is open: of each, what each arm had. */
function countedDays(signals: readonly Ended[]): Map<string, DayShadow[]>[] {
  const days = new Map<number, Ended[]>();
  for (const one of signals) {
    const hour = Date.parse(one.issued.hour);
    const day = Math.floor(hour / DAY_MS) * DAY_MS;
    const counts = hour - day < COUNTED_MS;
    days.set(day, [...(days.get(day) ?? []), ...(counts ? [one] : [])]);
  }
  const counted: Map<string, DayShadow[]>[] = [];
  for (const [, ended] of [...days].toSorted(([one], [other]) => one - other)) {
    if (ended.some(({ closed }) => closed === undefined)) break;
    const byArm = new Map<string, DayShadow[]>();
    for (const { issued, closed } of ended) {
      const { arm, signal, entry, tp1, tp2, sl, costBps, hour, token } = issued;
      const { exitPrice = null, gapMinutes = 0, inDoubt = false } = closed ?? {};
      const levels = { signal, entry, tp1, tp2, sl, costBps };
      const one = { slot: `${hour} ${token}`, ...levels, exitPrice, gapMinutes, inDoubt };
      byArm.set(arm, [...(byArm.get(arm) ?? []), one]);
    }
    for (const own of byArm.values()) own.sort((one, other) => (one.slot < other.slot ? -1 : 1));
    counted.push(byArm);
  }
  return counted;
}

function addedUp(days: readonly Map<string, DayShadow[]>[]): Sums {
  const sums: Sums = { arms: new Map(), pairs: new Map() };
  for (const byArm of days) {
    for (const [arm, own] of byArm) {
      sums.arms.set(arm, addArmDay(sums.arms.get(arm) ?? NO_DAYS, own));
      for (const [other, theirs] of byArm) {
        if (other === arm) continue;
        const pair = `${arm} ${other}`;
        sums.pairs.set(pair, addPairDay(sums.pairs.get(pair) ?? NO_SEEN, own, theirs));
      }
    }
  }
  return sums;
}

function slotOf({ arm, token, hour }: { arm: string; token: string; hour: string }): string {
  return `${arm} ${token} ${hour}`;
}

function nameOf({ sequence, kind, content }: ShadowEvent): string {
  return `event ${sequence} (${kind} ${slotOf(content)})`;
}
