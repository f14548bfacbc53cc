import * as z from "zod";
import { GENESIS, isOfDay } from "../convex/signals/record/chain";
import {
  chainHead,
  signalEvent,
  type ClosedContent,
  type DayEvent,
  type IssuedContent,
  type PromotedContent,
  type SignalEvent,
} from "../convex/signals/record/events";
import { coinFlip, mirrored } from "../convex/signals/trade/controls";
import { LIFETIME_MS, pnlPercent, positionOf, problemsOf } from "../convex/signals/trade/rules";
import { signalStats } from "../convex/signals/statistics/shapes";
import { publicSignal, type PublicSignal } from "../convex/signals/views/shapes";
import { controlsView } from "../convex/signals/views/signals";
import { anchorsShape } from "./verifySignalsAnchors";
import { chainProblems, endProblems, promotionProblems, SKEW_MS } from "./verifySignalsChain";
import { shadowRecord } from "./verifySignalsShadow";
import { recordProblems, tradeOf, type Told } from "./verifySignalsStatistics";

/** What `npm run verify-signals` checks. Pure. */

/** A deployment's whole record, or a file's. */
export const recordShape = z.object({
  events: z.array(signalEvent),
  head: chainHead.nullable(),
  signals: z.array(publicSignal),
  /** The statistics the deployment claims. */
  stats: z.object({ BTC: signalStats, ETH: signalStats, ALL: signalStats }).optional(),
  /** Where the deployment says it has anchored the record. */
  anchors: z.array(anchorsShape).optional(),
  /** The shadow signals, where they were asked for. */
  shadow: shadowRecord.optional(),
});
export type SignalRecord = z.output<typeof recordShape>;

/**
 * Everything that is wrong with a record, in plain words; empty when it holds.
 * @param published A head that was published earlier, on a card for example: it must be a link of the chain.
 */
export function problemsOfRecord(record: SignalRecord, published?: string): string[] {
  const { events, head } = record;
  return [
    ...chainProblems(events, head, nameOf),
    ...(published === undefined || events.some(({ hash }) => hash === published)
      ? []
      : [`The published head ${published} is no link of this chain: what it stood for was rewritten`]),
    ...storyProblems(events),
    ...signalProblems(events, record.signals),
    ...recordProblems(events, record.stats),
  ];
}

/**
 * What the events tell: every signal issued once and by the rules, closed once as its levels say, compared once, and none
 * on a day that is told to have had none.
 */
function storyProblems(events: readonly SignalEvent[]): string[] {
  const problems: string[] = [];
  const issued = new Map<string, IssuedContent>();
  const told = new Set<string>();
  const refused = new Map<string, number>();
  let latest = -Infinity;
  let previousHash = "";
  let writer: PromotedContent | null = null;
  for (const event of events) {
    const before = previousHash;
    previousHash = event.hash;
    if (!isOfDay(event)) {
      if (event.kind === "promoted") {
        const found = promotionProblems(event.content, writer);
        problems.push(...found.map((problem) => `${nameOf(event)}: ${problem}`));
        writer = event.content;
      }
      continue;
    }
    const key = keyOf(event.content);
    const { token, refusedDays, promptVersion } = event.content;
    const isNew = event.kind === "issued" || event.kind === "refused";
    if (isNew && writer !== null && promptVersion !== writer.promptVersion) {
      problems.push(
        `${nameOf(event)}: it was asked with ${promptVersion}, not with ${writer.promptVersion}, which had been promoted`,
      );
    }
    const signal = issued.get(key);
    if (told.has(`${event.kind} ${key}`)) problems.push(`${nameOf(event)}: it had been told before`);
    told.add(`${event.kind} ${key}`);
    if (event.kind === "refused") refused.set(token, (refused.get(token) ?? 0) + 1);
    if (refusedDays !== (refused.get(token) ?? 0)) {
      problems.push(
        `${nameOf(event)}: it tells of ${refusedDays} refused days, the events of ${refused.get(token) ?? 0}`,
      );
    }
    if (event.kind === "issued") {
      const at = Date.parse(event.content.generatedAt);
      if (at < latest) problems.push(`${nameOf(event)} is older than an event before it`);
      latest = Math.max(latest, at);
      problems.push(...issueProblems(event.content, before).map((problem) => `${nameOf(event)}: ${problem}`));
      issued.set(key, event.content);
    } else if (event.kind === "refused") {
      if (signal !== undefined) problems.push(`${nameOf(event)}: on this day a signal was issued`);
    } else if (signal === undefined) {
      problems.push(`${nameOf(event)}: this signal had not been issued before`);
    } else {
      problems.push(
        ...(event.kind === "closed" ? outcomeProblems(event, signal) : controlProblems(event, signal)),
      );
    }
  }
  return problems;
}

/** What the rules forbid to issue. */
function issueProblems(signal: IssuedContent, previousHash: string): string[] {
  const { token, day, generatedAt, expiresAt, entry, costBps, priceSource, priceObservedAt, coin, momentum } =
    signal;
  const problems: string[] = [];
  const forbidden = problemsOf(signal, { priceUsd: entry, costBps });
  if (forbidden !== null) problems.push(forbidden);
  if (
    signal.signal === "HOLD" &&
    [signal.tp1, signal.tp2, signal.sl, coin, momentum].some((one) => one !== null)
  ) {
    problems.push("a HOLD has no levels and no controls");
  }
  if (
    signal.signal !== "HOLD" &&
    coin !== coinFlip(previousHash === "" ? GENESIS : previousHash, token, day)
  ) {
    problems.push(`its coin is told as ${coin}, the hash before it says otherwise`);
  }
  if (priceSource === "llm") problems.push("its price is the model's own word");
  if (day !== generatedAt.slice(0, 10)) problems.push(`it was issued at ${generatedAt}, not on its day`);
  if (Date.parse(expiresAt) - Date.parse(generatedAt) !== LIFETIME_MS) {
    problems.push(`it was issued at ${generatedAt} and cannot expire at ${expiresAt}`);
  }
  if (Date.parse(priceObservedAt) > Date.parse(generatedAt) + SKEW_MS) {
    problems.push(`it was issued at ${generatedAt}, before its price was seen at ${priceObservedAt}`);
  }
  return problems;
}

function outcomeProblems(event: DayEvent & { kind: "closed" }, signal: IssuedContent): string[] {
  const { status, exitPrice, pnlPercent: told, closedAt, decidedBy } = event.content;
  const name = nameOf(event);
  const problems = endProblems(signal, status, exitPrice).map((problem) => `${name}: ${problem}`);
  const due = exitPrice === null ? null : pnlPercent(signal.signal, signal.entry, exitPrice);
  if (told !== due) problems.push(`${name}: its PnL is ${due} %, not ${told} %`);
  if (closedAt < signal.generatedAt)
    problems.push(`${name}: it was closed at ${closedAt}, before it was issued`);
  if (closedAt > signal.expiresAt) problems.push(`${name}: it was closed at ${closedAt}, after its expiry`);
  if (status === "EXPIRED" && closedAt !== signal.expiresAt) {
    problems.push(`${name}: it expires at ${signal.expiresAt}, not at ${closedAt}`);
  }
  if ((decidedBy === null) !== (exitPrice === null))
    problems.push(`${name}: what decided it does not fit its price`);
  return problems;
}

function controlProblems(event: DayEvent & { kind: "compared" }, signal: IssuedContent): string[] {
  const { mirrorStatus, mirrorExitPrice } = event.content;
  const position = positionOf(signal);
  if (position === null) return [`${nameOf(event)}: a HOLD has no controls`];
  const { signal: side, tp1, sl } = mirrored(position);
  const levels = { signal: side, entry: signal.entry, tp1, tp2: tp1, sl };
  return endProblems(levels, mirrorStatus, mirrorExitPrice).map((problem) => `${nameOf(event)}: ${problem}`);
}

/** The signals that callers are shown against the events. */
function signalProblems(events: readonly SignalEvent[], signals: readonly PublicSignal[]): string[] {
  const problems: string[] = [];
  const told = new Map<string, Told>();
  for (const event of events) {
    if (!isOfDay(event)) continue;
    const key = keyOf(event.content);
    told.set(key, { ...told.get(key), [event.kind]: event.content });
  }
  const shown = new Set<string>();
  for (const signal of signals) {
    const key = keyOf({ token: signal.token, day: signal.generatedAt.slice(0, 10) });
    const events = told.get(key) ?? {};
    const { issued, closed } = events;
    if (shown.has(key)) problems.push(`The signal ${key} is shown twice`);
    shown.add(key);
    if (issued === undefined) {
      problems.push(`The signal ${key} is shown, but no event issued it`);
      continue;
    }
    for (const [field, value] of Object.entries(expectedView(issued, closed))) {
      const given: unknown = Reflect.get(signal, field) ?? null;
      if (given !== value) {
        problems.push(
          `The signal ${key}: ${field} is shown as ${JSON.stringify(given)}, its events say ${JSON.stringify(value)}`,
        );
      }
    }
    problems.push(...controlsProblems(key, signal, events));
  }
  for (const [key, { issued }] of told) {
    if (issued !== undefined && !shown.has(key))
      problems.push(`The signal ${key} was issued, but is not shown`);
  }
  return problems;
}

/** The signal as its events describe it; `null` for what they do not hold. */
function expectedView(issued: IssuedContent, closed: ClosedContent | undefined): Record<string, unknown> {
  const { token, timeframe, signal, entry, tp1, tp2, sl, confidence, calibratedConfidence, reasoning } =
    issued;
  const { generatedAt, expiresAt, model, promptVersion, costBps } = issued;
  return {
    ...{ token, timeframe, signal, entry, tp1, tp2, sl, confidence, calibratedConfidence, reasoning },
    ...{ generatedAt, expiresAt, model, promptVersion, costPercent: costBps / 100 },
    status: closed?.status ?? "PENDING",
    closedAt: closed?.closedAt ?? null,
    decidedBy: closed?.decidedBy ?? null,
    exitPrice: closed?.exitPrice ?? null,
    pnlPercent: closed?.pnlPercent ?? null,
    ...(closed === undefined ? {} : { gapMinutes: closed.gapMinutes }),
  };
}

/** Why the controls that are shown are not those of the events. */
function controlsProblems(key: string, shown: PublicSignal, told: Told): string[] {
  const trade = tradeOf(told);
  const expected = trade === null ? undefined : controlsView(trade);
  return JSON.stringify(shown.controls) === JSON.stringify(expected)
    ? []
    : [`The signal ${key}: its controls are not those of its events`];
}

function keyOf({ token, day }: { token: string; day: string }): string {
  return `${token} ${day}`;
}

function nameOf(event: SignalEvent): string {
  const { sequence, kind } = event;
  return `Event ${sequence} (${isOfDay(event) ? `${kind} ${keyOf(event.content)}` : kind})`;
}
