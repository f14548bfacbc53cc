import * as z from "zod";
import {
  chainHead,
  linksAfter,
  signalEvent,
  type ChainHead,
  type ClosedContent,
  type IssuedContent,
  type SignalEvent,
} from "../convex/signals/eventChain";
import { LIFETIME_MS, outcomeOf, pnlPercent, problemsOf } from "../convex/signals/rules";
import { signalStats, statisticsOf } from "../convex/signals/statistics";
import { addClosed, emptyTotals } from "../convex/signals/totals";
import { publicSignal, type PublicSignal } from "../convex/signals/views";

/** What `npm run verify-signals` checks. Pure. */

/** A deployment's whole record, or a file's. */
export const recordShape = z.object({
  events: z.array(signalEvent),
  head: chainHead.nullable(),
  signals: z.array(publicSignal),
  /** The statistics the deployment claims. */
  stats: z.object({ BTC: signalStats, ETH: signalStats, ALL: signalStats }).optional(),
});
export type SignalRecord = z.output<typeof recordShape>;

/**
 * Everything that is wrong with a record, in plain words; empty when it holds.
 * @param published A head that was published earlier, on a card for example: it must be a link of the chain.
 */
export function problemsOfRecord(record: SignalRecord, published?: string): string[] {
  const { events, head } = record;
  return [
    ...chainProblems(events, head),
    ...(published === undefined || events.some(({ hash }) => hash === published)
      ? []
      : [`The published head ${published} is no link of this chain: what it stood for was rewritten`]),
    ...storyProblems(events),
    ...signalProblems(events, record.signals),
    ...statisticsProblems(events, record.stats),
  ];
}

/** Each event against its own hashes, its place, and the event before it. */
function chainProblems(events: readonly SignalEvent[], head: ChainHead | null): string[] {
  const problems: string[] = [];
  let previous: ChainHead | null = null;
  for (const event of events) {
    const right = linksAfter(previous, event);
    if (event.sequence !== right.sequence) {
      problems.push(
        `${nameOf(event)} stands where event ${right.sequence} belongs: events were removed, moved or added`,
      );
    }
    if (event.contentHash !== right.contentHash) {
      problems.push(`${nameOf(event)}: its content is not what was hashed, it was changed afterwards`);
    }
    if (event.previousHash !== right.previousHash) {
      problems.push(`${nameOf(event)} does not follow the event before it: the chain was broken there`);
    }
    const own = linksAfter(
      event.sequence === 1 ? null : { sequence: event.sequence - 1, hash: event.previousHash },
      event,
    );
    if (event.contentHash === right.contentHash && event.hash !== own.hash) {
      problems.push(`${nameOf(event)}: its hash is not that of its links, one of them was changed`);
    }
    previous = { sequence: event.sequence, hash: event.hash };
  }
  if (previous?.sequence !== head?.sequence || previous?.hash !== head?.hash) {
    problems.push(
      `The chain ends with ${described(previous)}, but the head is ${described(head)}: events are missing at the end`,
    );
  }
  return problems;
}

/** Events of one moment may be written down in either order, and clocks differ a little. */
const SKEW_MS = 60_000;

/** What the events tell: every signal issued once and by the rules, closed once and later, as its levels say. */
function storyProblems(events: readonly SignalEvent[]): string[] {
  const problems: string[] = [];
  const issued = new Map<string, IssuedContent>();
  const closed = new Set<string>();
  let latest = -Infinity;
  for (const event of events) {
    const key = keyOf(event.content);
    const at = Date.parse(event.kind === "issued" ? event.content.generatedAt : event.content.closedAt);
    if (at < latest - SKEW_MS) problems.push(`${nameOf(event)} is older than an event before it`);
    latest = Math.max(latest, at);
    if (event.kind === "issued") {
      if (issued.has(key)) problems.push(`${nameOf(event)}: this signal had been issued before`);
      problems.push(...issueProblems(event.content).map((problem) => `${nameOf(event)}: ${problem}`));
      issued.set(key, event.content);
      continue;
    }
    const signal = issued.get(key);
    if (signal === undefined) problems.push(`${nameOf(event)}: this signal had not been issued before`);
    else problems.push(...outcomeProblems(event, signal));
    if (closed.has(key)) problems.push(`${nameOf(event)}: this signal had been closed before`);
    closed.add(key);
  }
  return problems;
}

/** What the rules forbid to issue. */
function issueProblems(signal: IssuedContent): string[] {
  const { day, generatedAt, expiresAt, priceUsd, priceSource, priceObservedAt } = signal;
  const problems: string[] = [];
  const forbidden = problemsOf(signal, priceUsd);
  if (forbidden !== null) problems.push(forbidden);
  if (signal.signal === "HOLD" && (signal.tp1 !== null || signal.tp2 !== null || signal.sl !== null)) {
    problems.push("a HOLD has no levels");
  }
  if (priceSource === "llm") problems.push("its live price is the model's own word");
  if (day !== generatedAt.slice(0, 10)) problems.push(`it was issued at ${generatedAt}, not on its day`);
  if (Date.parse(expiresAt) - Date.parse(generatedAt) !== LIFETIME_MS) {
    problems.push(`it was issued at ${generatedAt} and cannot expire at ${expiresAt}`);
  }
  if (Date.parse(priceObservedAt) > Date.parse(generatedAt) + SKEW_MS) {
    problems.push(`it was issued at ${generatedAt}, before its price was seen at ${priceObservedAt}`);
  }
  return problems;
}

function outcomeProblems(event: SignalEvent & { kind: "closed" }, signal: IssuedContent): string[] {
  const { status, exitPrice, pnlPercent: told, closedAt } = event.content;
  const level = { WIN: signal.tp1, LOSS: signal.sl, EXPIRED: exitPrice }[status];
  const due = exitPrice === null ? null : pnlPercent(signal.signal, signal.entry, exitPrice);
  if (exitPrice !== level) return [`${nameOf(event)}: a ${status} ends at ${level}, not at ${exitPrice}`];
  if (told !== due) return [`${nameOf(event)}: its PnL is ${due} %, not ${told} %`];
  const now = Date.parse(closedAt);
  const generatedAt = Date.parse(signal.generatedAt);
  if (now < generatedAt) return [`${nameOf(event)}: it was closed at ${closedAt}, before it was issued`];
  const look = exitPrice === null ? null : { priceUsd: exitPrice, observedAt: now, takenAt: now };
  const outcome = outcomeOf({ ...signal, generatedAt }, look, now);
  if (outcome?.status === status) return [];
  return [
    `${nameOf(event)}: at ${exitPrice} at ${closedAt} it was ${outcome === null ? "still open" : `a ${outcome.status}`}, not ${status}`,
  ];
}

/** The signals that callers are shown against the events. */
function signalProblems(events: readonly SignalEvent[], signals: readonly PublicSignal[]): string[] {
  const problems: string[] = [];
  const told = new Map<string, { issued?: IssuedContent; closed?: ClosedContent }>();
  for (const event of events) {
    const key = keyOf(event.content);
    told.set(key, { ...told.get(key), [event.kind]: event.content });
  }
  const shown = new Set<string>();
  for (const signal of signals) {
    const key = keyOf({ token: signal.token, day: signal.generatedAt.slice(0, 10) });
    const { issued, closed } = told.get(key) ?? {};
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
  }
  for (const [key, { issued }] of told) {
    if (issued !== undefined && !shown.has(key))
      problems.push(`The signal ${key} was issued, but is not shown`);
  }
  return problems;
}

/** The signal as its events describe it; `null` for what they do not hold. */
function expectedView(issued: IssuedContent, closed: ClosedContent | undefined): Record<string, unknown> {
  const { token, timeframe, signal, entry, tp1, tp2, sl, confidence, reasoning } = issued;
  const { generatedAt, expiresAt } = issued;
  return {
    ...{ token, timeframe, signal, entry, tp1, tp2, sl, confidence, reasoning, generatedAt, expiresAt },
    status: closed?.status ?? "PENDING",
    closedAt: closed?.closedAt ?? null,
    exitPrice: closed?.exitPrice ?? null,
    pnlPercent: closed?.pnlPercent ?? null,
  };
}

/** The statistics that callers are shown against those that follow from the events. */
function statisticsProblems(events: readonly SignalEvent[], stats: SignalRecord["stats"]): string[] {
  if (stats === undefined) return [];
  const issued = new Map<string, IssuedContent>();
  const totals = { BTC: emptyTotals(), ETH: emptyTotals(), ALL: emptyTotals() };
  try {
    for (const event of events) {
      if (event.kind === "issued") issued.set(keyOf(event.content), event.content);
      else {
        const signal = issued.get(keyOf(event.content));
        if (signal === undefined) continue;
        const { token, status, pnlPercent: pnl, closedAt } = event.content;
        const { confidence } = signal;
        const one = {
          signal: signal.signal,
          status,
          pnlPercent: pnl,
          confidence,
          closedAt: Date.parse(closedAt),
        };
        totals[token] = addClosed(totals[token], one);
        totals.ALL = addClosed(totals.ALL, one);
      }
    }
  } catch (error) {
    if (error instanceof RangeError) return [`The events hold an impossible result: ${error.message}`];
    throw error;
  }
  return (["BTC", "ETH", "ALL"] as const)
    .filter((scope) => JSON.stringify(statisticsOf(totals[scope])) !== JSON.stringify(stats[scope]))
    .map((scope) => `The statistics shown for ${scope} do not follow from the events`);
}

function keyOf({ token, day }: { token: string; day: string }): string {
  return `${token} ${day}`;
}

function nameOf({ sequence, kind, content }: SignalEvent): string {
  return `Event ${sequence} (${kind} ${keyOf(content)})`;
}

function described(head: ChainHead | null): string {
  return head === null ? "nothing" : `event ${head.sequence}, ${head.hash}`;
}
