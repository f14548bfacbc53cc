import { createFunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import { sourceName } from "../../lib/publicSources";
import { points, signed } from "../../lib/text/numbers";
import { dollars, many } from "../../lib/text/strings";
import { dateTime } from "../../lib/time";
import type { Paragraph, Span } from "../../messenger/format";
import type { Picture } from "../../messenger/tables";
import type { PublishedHead } from "../record/publication";
import type { Signal, Week, WeekSignal } from "../record/tables";
import { standingOf, verdictWords } from "../statistics/figures";
import type { Edge, Standing } from "../statistics/shapes";
import { calibratedWords, signalId } from "./signals";

/** The messenger's cards of signals. */

const MARKS = { BUY: "🟢", SELL: "🔴", HOLD: "🟡" } as const;
const ENDINGS = { PENDING: "⏳ open", WIN: "✅ won", LOSS: "❌ lost", EXPIRED: "⌛ expired" } as const;

/** The day's new signals. */
export function issuedCard(signals: readonly Signal[], head: PublishedHead | null): Paragraph[] {
  return [
    [
      { bold: "📈 Trading signals · 1h" },
      `\n${dateTime(Math.max(...signals.map(({ generatedAt }) => generatedAt)))}`,
    ],
    ...signals.flatMap((signal) => [levelLines(signal), [quoted(signal.reasoning)]]),
    ...headLine(head),
  ];
}

/** The newest signals, for a user who asked. */
export function latestCard(signals: readonly Signal[], head: PublishedHead | null): Paragraph[] {
  return [
    [{ bold: "📈 Latest signals · 1h" }],
    ...signals.flatMap((signal) => [
      [...levelLines(signal), `\nIssued ${dateTime(signal.generatedAt)} · ${ending(signal)}`],
      [quoted(signal.reasoning)],
    ]),
    ...headLine(head),
  ];
}

/** A day's record, and what the whole one shows. */
export function recapCard(
  day: string,
  signals: readonly Signal[],
  { review, summary }: { review: string | null; summary: string },
): Paragraph[] {
  return [
    [{ bold: `🗓 Daily recap · ${day}` }],
    standingLines(standingOf(signals)),
    signals.length === 0
      ? ["No signals were issued."]
      : signals.flatMap((signal, index): Span[] => [
          index === 0 ? "" : "\n",
          `${MARKS[signal.signal]} `,
          { bold: `${signal.token} ${signal.signal}` },
          ` at ${dollars(signal.entry)} · ${ending(signal)}`,
        ]),
    [{ bold: "Whole record" }, `\n${summary}`],
    ...reviewLines(review),
  ];
}

/** A week's record, day by day, and what the whole record shows. */
export function weekCard(
  week: string,
  recap: Week,
  {
    review,
    summary,
    edge,
    head,
  }: { review: string | null; summary: string; edge: Edge; head: PublishedHead | null },
): Paragraph[] {
  const days = Object.keys(recap.days).toSorted();
  const { averagePnlPercent, bestPnlPercent, worstPnlPercent } = recap;
  const spread =
    averagePnlPercent === null || bestPnlPercent === null || worstPnlPercent === null
      ? ""
      : `\nAverage ${signed(averagePnlPercent)} · best ${signed(bestPnlPercent)} · worst ${signed(worstPnlPercent)}`;
  return [
    [{ bold: "🏆 Weekly recap" }, `\n${week} to ${days.at(-1) ?? week}, UTC`],
    [...standingLines(recap), spread],
    days.flatMap((day, index): Span[] => [
      index === 0 ? "" : "\n",
      { bold: weekday(day) },
      ` · BTC ${weekSignal(recap.days[day]?.BTC)} · ETH ${weekSignal(recap.days[day]?.ETH)}`,
    ]),
    [...edgeLines(edge), `\n${summary}`],
    ...reviewLines(review),
    ...headLine(head),
  ];
}

/** `2.1 points above chance in 180 trades (90 days), −3.0 to +7.4: not distinguishable from chance`. */
export function edgeLines({ trades, days, excessPoints, afterCosts, ...edge }: Edge): Span[] {
  const { lowPoints, highPoints, verdict } = edge;
  if (excessPoints === null) return [{ bold: "Whole record" }, ": no day of trades is over yet."];
  return [
    { bold: "Whole record" },
    ` · ${many(trades, "trade")}, ${many(days, "day")}\n${overChance(excessPoints)} (${points(lowPoints)} to ${points(highPoints)}), ${points(afterCosts.excessPoints ?? 0)} after costs: ${verdictWords(verdict)}`,
  ];
}

function levelLines(signal: Signal): Span[] {
  const { entry, tp1, tp2, sl, price } = signal;
  const title = `${MARKS[signal.signal]} ${signal.token} ${signal.signal}`;
  const from = (level: number) => `${dollars(level)} (${signed((level / entry - 1) * 100)})`;
  const levels =
    tp1 === null || tp2 === null || sl === null
      ? `\nNo position around ${dollars(entry)}`
      : `\nEntry ${dollars(entry)}\nTP1 ${from(tp1)}\nTP2 ${from(tp2)}\nStop ${from(sl)}`;
  return [
    { bold: title },
    ` · confidence ${signal.confidence}%, ${calibratedWords(signal)}`,
    levels,
    `\nPrice at issue by ${sourceName(price.source)} · costs ${signed(signal.costBps / 100)} · valid until ${dateTime(signal.expiresAt)}`,
  ];
}

/** `✅ won +1.20 %`, `⏳ open`, `⌛ expired without a price`. */
function ending({
  status,
  pnlPercent,
  exitPrice,
}: Pick<Signal, "status" | "pnlPercent" | "exitPrice">): string {
  if (typeof pnlPercent === "number") return `${ENDINGS[status]} ${signed(pnlPercent)}`;
  return exitPrice === null ? `${ENDINGS[status]} without a price` : ENDINGS[status];
}

function standingLines(standing: Standing): Span[] {
  const { wins, losses, expired, pending, trades, totalPnlPercent, totalAfterCostsPercent } = standing;
  const open = pending === 0 ? "" : ` · open ${pending}`;
  const excess = trades === 0 ? "" : ` · ${overChance(standing.excessPoints / trades)} a trade`;
  return [
    `Wins ${wins} · losses ${losses} · expired ${expired}${open}\nTotal PnL `,
    { bold: signed(totalPnlPercent) },
    `, after costs ${signed(totalAfterCostsPercent)} · n ${trades}${excess}`,
  ];
}

function weekSignal(one: WeekSignal | null | undefined): string {
  if (one === null || one === undefined) return "—";
  const result = one.pnlPercent === null ? "" : ` ${signed(one.pnlPercent)}`;
  return `${MARKS[one.signal]} ${ENDINGS[one.status]}${result}`;
}

function reviewLines(review: string | null): Paragraph[] {
  return review === null ? [] : [[{ bold: "Review" }, ", a model's view", `\n${quoted(review)}`]];
}

/** The model's words between marks: they never stand as a line of the card's own. */
function quoted(words: string): string {
  return `“${words}”`;
}

/** Whoever keeps this line can prove that nothing before it was changed. */
function headLine(head: PublishedHead | null): Paragraph[] {
  if (head === null) return [];
  const anchor = head.anchoredBy === null ? "" : `\nAnchored on Base by ${head.anchoredBy}`;
  return [[`🔗 Record ${head.sequence}: ${head.hash}${anchor}`]];
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

function weekday(day: string): string {
  return WEEKDAYS[new Date(day).getUTCDay()] ?? day;
}

/** `2.1 points above chance`. */
function overChance(excess: number): string {
  return `${points(Math.abs(excess)).replace("+", "")} points ${excess < 0 ? "below" : "above"} chance`;
}

export async function picturesOf(signals: readonly Pick<Signal, "token" | "slot">[]): Promise<Picture> {
  const handle = await createFunctionHandle(internal.pictures.desk.signals);
  return { handle, subject: signals.map(signalId).join(",") };
}

export async function pictureOfWeek(week: string): Promise<Picture> {
  return { handle: await createFunctionHandle(internal.pictures.desk.week), subject: week };
}
