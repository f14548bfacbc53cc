import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { QueryCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { formatDuration } from "../lib/errors";
import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatPercent, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { formatDateTime } from "../lib/time";
import type { Paragraph, Span } from "../messenger/format";
import type { Picture } from "../messenger/tables";
import type { PublishedHead } from "./chain";
import { listLatestSignals } from "./model";
import { computeTotals } from "./record";
import {
  subtractCosts,
  computeBreakEven,
  ENDINGS,
  getDayAfter,
  listDaysOfWeek,
  toPosition,
  toSignalId,
  SIGNAL_TOKENS,
} from "./rules";
import type { SignalStats, SignalTotals } from "./shapes";
import type { Signal } from "./tables";

/** The messenger's cards of signals. */

const SIDE_MARKS = { BUY: "🟢", SELL: "🔴", HOLD: "🟡" } as const;
const MARKS = { PENDING: "⏳", WIN: "✅", LOSS: "❌", EXPIRED: "⌛" } as const;

/** The card of a day's new signals, and of the newest ones on request. */
export function buildSignalsCard(
  title: "Trading signals" | "Latest signals",
  signals: readonly Signal[],
  head: PublishedHead | null,
): Paragraph[] {
  return [
    [{ bold: `📈 ${title} · 1h` }],
    ...signals.flatMap((signal) => {
      const statusLine = `\nIssued ${formatDateTime(signal.generatedAt)} · ${describeEnd(signal)}`;
      return [[...buildLevelLines(signal), statusLine], [quote(signal.reasoning)]];
    }),
    ...buildHeadLine(head),
  ];
}

/** The record of a week, day by day, and of all weeks. */
export function buildWeekCard(
  week: string,
  signals: readonly Signal[],
  { review, whole, head }: { review: string | null; whole: WholeRecord; head: PublishedHead | null },
): Paragraph[] {
  const of = (day: string, token: Signal["token"]) => {
    const one = signals.find((signal) => signal.day === day && signal.token === token);
    // Short enough for one line on a phone.
    return one === undefined ? "—" : `${SIDE_MARKS[one.signal]} ${MARKS[one.status]}${formatResult(one)}`;
  };
  return [
    [{ bold: "🏆 Weekly recap" }, `\n${week} to ${getDayAfter(week, 6)}, UTC`],
    buildTotalsLines(computeTotals(signals)),
    listDaysOfWeek(week).flatMap((day, index): Span[] => [
      index === 0 ? "" : "\n",
      { bold: new Date(day).toLocaleDateString("en-US", { weekday: "short", timeZone: "UTC" }) },
      ` · BTC ${of(day, "BTC")} · ETH ${of(day, "ETH")}`,
    ]),
    buildRecordLines(whole),
    ...buildReviewLines(review),
    ...buildHeadLine(head),
  ];
}

/** The results of the whole record in plain words; its page has the figures. */
export function buildRecordLines({ summary, edge: { days } }: WholeRecord): Span[] {
  return [{ bold: "Whole record" }, `${days === 0 ? "" : ` · ${formatCount(days, "day")}`}\n${summary}`];
}
export type WholeRecord = Pick<SignalStats, "summary" | "edge">;

/** The card of a position's end. */
export function buildOutcomeCard(signal: Signal, whole: WholeRecord): Paragraph[] {
  const { token, status, entry, exitPrice, closedAt = signal.expiresAt, costBps } = signal;
  const left = exitPrice == null ? "" : ` to ${PLACES[status]} at ${formatDollars(exitPrice)}`;
  const costs =
    typeof signal.pnlPercent === "number" ? `\nAfter costs of ${formatPercent(costBps / 100)}` : "";
  return [
    [
      { bold: `${MARKS[status]} ${token} ${signal.signal} ${ENDINGS[status]}${formatResult(signal)}` },
      `\nFrom ${formatDollars(entry)}${left}, ${formatDateTime(closedAt)}${costs}`,
    ],
    buildRecordLines(whole),
    [{ words: "This signal and its path", href: `${getSiteUrl()}/signals/${toSignalId(signal)}` }],
  ];
}

const PLACES = {
  PENDING: "",
  WIN: "its target",
  LOSS: "its stop",
  EXPIRED: "its end after six hours",
} as const;

function buildLevelLines(signal: Signal): Span[] {
  const { entry, tp2, price, confidence, costBps } = signal;
  const position = toPosition(signal);
  const title = `${SIDE_MARKS[signal.signal]} ${signal.token} ${signal.signal}`;
  const from = (level: number) =>
    `${formatDollars(level)} (${formatSignedPercent((level / entry - 1) * 100)})`;
  let needed = "";
  let levels = `\nNo position around ${formatDollars(entry)}`;
  if (position !== null && tp2 !== null) {
    const { tp1, sl } = position;
    needed = `, earns its costs from ${(100 * computeBreakEven(position, costBps)).toFixed(0)}%`;
    levels = `\nEntry ${formatDollars(entry)}\nTP1 ${from(tp1)}\nTP2 ${from(tp2)}\nStop ${from(sl)}`;
  }
  const costs = `costs ${formatPercent(costBps / 100)}`;
  const terms = `\nPrice at issue by ${getSourceName(price.source)} · ${costs} · valid until ${formatDateTime(signal.expiresAt)}`;
  return [{ bold: title }, ` · confidence ${confidence}%${needed}`, levels, terms];
}

/** The result after costs, such as ` +1.05 %`; "" for a signal without one. */
const formatResult = ({ pnlPercent, costBps }: Signal): string =>
  typeof pnlPercent === "number" ? ` ${formatSignedPercent(subtractCosts(pnlPercent, costBps))}` : "";

/** The end of a signal: `✅ won +1.05 %` after costs, `⏳ open`, `⌛ expired without a price`. */
const describeEnd = (one: Signal): string =>
  `${MARKS[one.status]} ${ENDINGS[one.status]}${formatResult(one)}${one.exitPrice === null ? " without a price" : ""}`;

function buildTotalsLines(totals: SignalTotals): Span[] {
  const { wins, losses, expired, pending, trades, totalPnlPercent, totalAfterCostsPercent } = totals;
  const open = pending === 0 ? "" : ` · open ${pending}`;
  const counts = `Won ${wins} · lost ${losses} · expired ${expired}${open}`;
  if (trades === 0) return [counts];
  const net = { bold: `${formatSignedPercent(totalAfterCostsPercent)} after costs` };
  return [
    counts,
    `\n${formatCount(trades, "trade")}: `,
    net,
    `, ${formatSignedPercent(totalPnlPercent)} before`,
  ];
}

function buildReviewLines(review: string | null): Paragraph[] {
  return review === null ? [] : [[{ bold: "Review" }, ", a model's view", `\n${quote(review)}`]];
}

/** A model's text in quotation marks, so that it never looks like a line of the card. */
function quote(words: string): string {
  return `“${words}”`;
}

/**
 * The line of the chain's head. A kept copy proves that no earlier event was changed: the link's address has the hash, and
 * the account that anchors it.
 */
export function buildHeadLine(head: PublishedHead | null): Paragraph[] {
  if (head === null) return [];
  const { sequence, hash, anchor } = head;
  const anchored = anchor === null ? "" : `&anchor=${anchor.address}`;
  const href = `${getSiteUrl()}/record?head=${sequence}-${hash}${anchored}#verify`;
  return [["🔗 ", { words: `Record ${sequence}, and how to check it`, href }]];
}

/** @param subject The ids of signals, or a week's Monday. */
export async function createPicture(kind: "signals" | "week", subject: string): Promise<Picture> {
  const drawn = kind === "week" ? internal.pictures.drawings.week : internal.pictures.drawings.signals;
  return { handle: await createFunctionHandle(drawn), subject };
}

/** The part of a user's daily digest that is about signals: the latest, whatever their age. */
export async function buildSignalsDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const signals = await listLatestSignals(ctx, SIGNAL_TOKENS);
  if (signals.length === 0) return [{ bold: "Signals" }, "\nNone yet: they come at 08:00 UTC."];
  const lines = signals.flatMap((one): Span[] => [
    `\n${SIDE_MARKS[one.signal]} `,
    { bold: `${one.token} ${one.signal}` },
    ` at ${formatDollars(one.entry)} · ${describeEnd(one)} · ${formatDuration(now - one.generatedAt)} ago`,
  ]);
  return [{ bold: "Signals" }, ...lines];
}
