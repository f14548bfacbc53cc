import { createFunctionHandle } from "convex/server";
import { internal } from "../../_generated/api";
import { sourceName } from "../../lib/publicSources";
import { percent, points, signed } from "../../lib/text/numbers";
import { dollars, many } from "../../lib/text/strings";
import { dateTime } from "../../lib/time";
import type { Paragraph, Span } from "../../messenger/format";
import type { Picture } from "../../messenger/tables";
import type { PublishedHead } from "../record/publication";
import type { Signal, Week, WeekSignal } from "../record/rows";
import { afterCosts, chanceOf, neededIn, positionOf, RECORD_FROM } from "../trade/rules";
import { VERDICT_WORDS } from "../statistics/figures";
import { standingOf } from "../statistics/standings";
import { DECISIVE } from "../statistics/inference";
import type { SignalStats, Standing } from "../statistics/shapes";
import { signalId } from "../trade/calendar";

/** The messenger's cards of signals. */

export const SIDE_MARKS = { BUY: "🟢", SELL: "🔴", HOLD: "🟡" } as const;
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

/** The record of a day, and of all days. */
export function recapCard(
  day: string,
  signals: readonly Signal[],
  { review, whole }: { review: string | null; whole: WholeRecord },
): Paragraph[] {
  return [
    [{ bold: `🗓 Daily recap · ${day}` }],
    standingLines(standingOf(signals)),
    signals.length === 0
      ? ["No signals were issued."]
      : signals.flatMap((signal, index): Span[] => [
          index === 0 ? "" : "\n",
          `${SIDE_MARKS[signal.signal]} `,
          { bold: `${signal.token} ${signal.signal}` },
          ` at ${dollars(signal.entry)} · ${ending(signal)}`,
        ]),
    recordLines(whole),
    ...reviewLines(review),
  ];
}

/** The record of a week, day by day, and of all weeks. */
export function weekCard(
  week: string,
  recap: Week,
  { review, whole, head }: { review: string | null; whole: WholeRecord; head: PublishedHead | null },
): Paragraph[] {
  const days = Object.keys(recap.days).toSorted();
  const results = Object.values(recap.days).flatMap(({ BTC, ETH }) =>
    [BTC, ETH].flatMap((one) => (one === null ? [] : (weekResult(one) ?? []))),
  );
  const average = recap.totalAfterCostsPercent / recap.trades;
  const spread =
    results.length === 0
      ? ""
      : `\nAfter costs: average ${signed(average)} · best ${signed(Math.max(...results))} · worst ${signed(Math.min(...results))}`;
  return [
    [{ bold: "🏆 Weekly recap" }, `\n${week} to ${days.at(-1) ?? week}, UTC`],
    [...standingLines(recap), spread],
    days.flatMap((day, index): Span[] => [
      index === 0 ? "" : "\n",
      { bold: weekday(day) },
      ` · BTC ${weekSignal(recap.days[day]?.BTC)} · ETH ${weekSignal(recap.days[day]?.ETH)}`,
    ]),
    recordLines(whole),
    ...reviewLines(review),
    ...headLine(head),
  ];
}

/**
 * The results of the whole record: first in plain words, then `2.1 points above chance (−3.0 to +7.4), −8.0 after
 * costs: not distinguishable from chance`, and the evidence against chance.
 */
export function recordLines({ summary, edge }: WholeRecord): Span[] {
  const { days, excessPoints, lowPoints, highPoints, eValue, afterCosts, verdict } = edge;
  const title = { bold: "Whole record" };
  if (excessPoints === null) return [title, `\n${summary}`];
  return [
    title,
    ` · ${many(days, "day")}\n${summary}`,
    `\n${overChance(excessPoints)} (${points(lowPoints)} to ${points(highPoints)}), ${points(afterCosts.excessPoints ?? 0)} after costs: ${VERDICT_WORDS[verdict].within}`,
    `\nEvidence against chance: ${afterCosts.eValue.toFixed(2)} after costs, ${eValue.toFixed(2)} before. Chance alone gives 1; both must reach ${DECISIVE} to count as better.`,
  ];
}
type WholeRecord = Pick<SignalStats, "summary" | "edge">;

function levelLines(signal: Signal): Span[] {
  const { entry, tp1, tp2, sl, price } = signal;
  const title = `${SIDE_MARKS[signal.signal]} ${signal.token} ${signal.signal}`;
  const from = (level: number) => `${dollars(level)} (${signed((level / entry - 1) * 100)})`;
  const levels =
    tp1 === null || tp2 === null || sl === null
      ? `\nNo position around ${dollars(entry)}`
      : `\nEntry ${dollars(entry)}\nTP1 ${from(tp1)}\nTP2 ${from(tp2)}\nStop ${from(sl)}`;
  return [
    { bold: title },
    ` · confidence ${signal.confidence}%, ${calibratedWords(signal)}`,
    levels,
    `\nPrice at issue by ${sourceName(price.source)} · costs ${percent(signal.costBps / 100)} · valid until ${dateTime(signal.expiresAt)}`,
  ];
}

/** `✅ won +1.05 %` after costs, `⏳ open`, `⌛ expired without a price`. */
export function ending({
  status,
  pnlPercent,
  exitPrice,
  costBps,
}: Pick<Signal, "status" | "pnlPercent" | "exitPrice" | "costBps">): string {
  if (typeof pnlPercent === "number") return `${ENDINGS[status]} ${signed(afterCosts(pnlPercent, costBps))}`;
  return exitPrice === null ? `${ENDINGS[status]} without a price` : ENDINGS[status];
}

function standingLines(standing: Standing): Span[] {
  const { wins, losses, expired, pending, trades, totalPnlPercent, totalAfterCostsPercent } = standing;
  const open = pending === 0 ? "" : ` · open ${pending}`;
  const excess = trades === 0 ? "" : ` · ${overChance(standing.excessPoints / trades)} a trade`;
  return [
    `Won ${wins} · lost ${losses} · expired ${expired}${open}`,
    ...(trades === 0
      ? []
      : [
          `\n${many(trades, "trade")}: `,
          { bold: `${signed(totalAfterCostsPercent)} after costs` },
          `, ${signed(totalPnlPercent)} before${excess}`,
        ]),
  ];
}

function weekSignal(one: WeekSignal | null | undefined): string {
  if (one === null || one === undefined) return "—";
  const result = weekResult(one);
  return `${SIDE_MARKS[one.signal]} ${ENDINGS[one.status]}${result === null ? "" : ` ${signed(result)}`}`;
}

function weekResult({ pnlPercent, costBps = 0 }: WeekSignal): number | null {
  return pnlPercent === null ? null : afterCosts(pnlPercent, costBps);
}

function reviewLines(review: string | null): Paragraph[] {
  return review === null ? [] : [[{ bold: "Review" }, ", a model's view", `\n${quoted(review)}`]];
}

/** The model's words in quotation marks, so that they never look like a line of the card. */
function quoted(words: string): string {
  return `“${words}”`;
}

/** Somebody who keeps this line can prove that nothing before it was changed. */
export function headLine(head: PublishedHead | null): Paragraph[] {
  if (head === null) return [];
  const { sequence, hash, anchoredBy, closed, unanchored } = head;
  const anchor = anchoredBy === null ? "" : `\nAnchored on Base by ${anchoredBy}`;
  const late =
    unanchored === 0
      ? ""
      : `\n${unanchored} of ${many(closed, "closed signal")} in no anchor before their outcome`;
  return [[`🔗 Record ${sequence}: ${hash}${anchor}${late}`]];
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

/** `calibrated 52.4% by 41 outcomes, chance of its levels 45 %, earns its costs from 52 %`; before there are 30 outcomes `no record yet`. */
export function calibratedWords(signal: Signal): string {
  const { n, confidence } = signal.calibrated;
  const position = positionOf(signal);
  const percent = (share: number) => `${(100 * share).toFixed(0)}%`;
  const chance =
    position === null
      ? ""
      : `, chance of its levels ${percent(chanceOf(position))}, earns its costs from ${percent(neededIn(position, signal.costBps))}`;
  return (n < RECORD_FROM ? "no record yet" : `calibrated ${confidence}% by ${n} outcomes`) + chance;
}
