import { createFunctionHandle } from "convex/server";
import { internal } from "../_generated/api";
import type { QueryCtx } from "../_generated/server";
import { getSourceName } from "../figures/publicSources";
import { formatDollars, formatPercent, formatPoints, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { formatDateTime, DAY } from "../lib/time";
import type { Paragraph, Span } from "../messenger/format";
import type { Picture } from "../messenger/tables";
import type { PublishedHead } from "./chain";
import { listLatestSignals } from "./model";
import { computeTotals } from "./record";
import {
  subtractCosts,
  computeBreakEven,
  computeChance,
  getDayAfter,
  listDaysOfWeek,
  toPosition,
  SIGNAL_TOKENS,
} from "./rules";
import type { SignalStats, SignalTotals } from "./shapes";
import type { Signal } from "./tables";

/** The messenger's cards of signals. */

const SIDE_MARKS = { BUY: "🟢", SELL: "🔴", HOLD: "🟡" } as const;
const MARKS = { PENDING: "⏳", WIN: "✅", LOSS: "❌", EXPIRED: "⌛" } as const;
const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

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

/** The results of the whole record: a plain sentence, the excess over chance, the calibration of the confidence. */
export function buildRecordLines({ summary, edge, reliability }: WholeRecord): Span[] {
  const { days, excessPoints, lowPoints, highPoints, afterCostsPoints, verdict } = edge;
  const title = { bold: "Whole record" };
  if (excessPoints === null) return [title, `\n${summary}`];
  const side = excessPoints < 0 ? "below" : "above";
  const bounds = `${formatPoints(lowPoints)} to ${formatPoints(highPoints)}`;
  return [
    title,
    ` · ${formatCount(days, "day")}\n${summary}`,
    `\n${Math.abs(excessPoints).toFixed(1)} points ${side} chance (${bounds}), ${formatPoints(afterCostsPoints ?? 0)} after costs: ${verdict}`,
    ...(reliability.says === null ? [] : [`\n${reliability.says}`]),
  ];
}
export type WholeRecord = Pick<SignalStats, "summary" | "edge" | "reliability">;

function buildLevelLines(signal: Signal): Span[] {
  const { entry, tp2, price, confidence, costBps } = signal;
  const position = toPosition(signal);
  const share = (value: number) => `${(100 * value).toFixed(0)}%`;
  const title = `${SIDE_MARKS[signal.signal]} ${signal.token} ${signal.signal}`;
  const from = (level: number) =>
    `${formatDollars(level)} (${formatSignedPercent((level / entry - 1) * 100)})`;
  let chances = "";
  let levels = `\nNo position around ${formatDollars(entry)}`;
  if (position !== null && tp2 !== null) {
    const { tp1, sl } = position;
    const needed = share(computeBreakEven(position, costBps));
    chances = `; by chance ${share(computeChance(position))}, earns its costs from ${needed}`;
    levels = `\nEntry ${formatDollars(entry)}\nTP1 ${from(tp1)}\nTP2 ${from(tp2)}\nStop ${from(sl)}`;
  }
  const costs = `costs ${formatPercent(costBps / 100)}`;
  const terms = `\nPrice at issue by ${getSourceName(price.source)} · ${costs} · valid until ${formatDateTime(signal.expiresAt)}`;
  return [{ bold: title }, ` · confidence ${confidence}%${chances}`, levels, terms];
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

/** The line with the chain's head: a reader's copy of it proves that no earlier event was changed. */
export function buildHeadLine(head: PublishedHead | null): Paragraph[] {
  if (head === null) return [];
  const { sequence, hash, anchor } = head;
  const anchored: Span[] = anchor === null ? [] : ["\nAnchored on Base by ", { code: anchor.address }];
  return [[`🔗 Record ${sequence}: `, { code: hash }, ...anchored]];
}

/** @param subject The ids of signals, or a week's Monday. */
export async function createPicture(kind: "signals" | "week", subject: string): Promise<Picture> {
  const drawn = kind === "week" ? internal.pages.pictures.week : internal.pages.pictures.signals;
  return { handle: await createFunctionHandle(drawn), subject };
}

/** The part of a user's daily digest that is about signals. */
export async function buildSignalsDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const signals = (await listLatestSignals(ctx, SIGNAL_TOKENS)).filter(
    ({ generatedAt }) => now - generatedAt < DAY,
  );
  if (signals.length === 0) return [{ bold: "Signals" }, "\nnone in the last 24 hours"];
  const lines = signals.flatMap((one): Span[] => [
    `\n${SIDE_MARKS[one.signal]} `,
    { bold: `${one.token} ${one.signal}` },
    ` at ${formatDollars(one.entry)} · ${describeEnd(one)}`,
  ]);
  return [{ bold: "Signals" }, ...lines];
}
