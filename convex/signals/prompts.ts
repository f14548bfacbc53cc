import * as z from "zod";
import { line, usd, usdOrNull } from "../lib/shapes";
import { iso } from "../lib/time";
import type { Message } from "../providers/llm";
import type { Question } from "../providers/structured";
import { MAX_ENTRY_DISTANCE, MIN_REWARD_TO_RISK, type Token } from "./rules";
import { standingOf } from "./standing";
import type { Proposal, Signal, Week } from "./tables";

/** What the signal desk asks the model, and the shapes of what comes back. */

/** Told with every signal: which question it answers. Whoever changes that question changes this name. */
export const PROMPT_VERSION = "signal-2";

/** What is no price is no level, which a BUY or a SELL must have: `signals/rules` says so. */
const level = usdOrNull.describe("USD; null for HOLD");

/**
 * What the model must send. Whether it may be issued, `signals/rules` says. Levels on a HOLD mean nothing, so whatever
 * stands for them, or does not, is null.
 */
export const proposalShape = z
  .object({
    signal: z.enum(["BUY", "SELL", "HOLD"]),
    entry: usd.describe("USD, within 0.5 % of the live price, which takes its place"),
    tp1: level,
    tp2: level,
    sl: level,
    confidence: z.number().describe("whole percent, 0 to 100: the probability that tp1 is reached before sl"),
    reasoning: line(800).describe("two to four sentences"),
  })
  .overwrite((value) => (value.signal === "HOLD" ? { ...value, tp1: null, tp2: null, sl: null } : value));

export const HOURS = 48;

export type Hour = {
  /** Epoch ms, a full hour. */
  endsAt: number;
  close: number;
  source: string;
  /** `null` where only the service's own last price of the hour is known. */
  range: { low: number; high: number; volume: number } | null;
};

export type MarketContext = {
  /** At most 48, oldest first. */
  hours: Hour[];
  day: { low: number; high: number; open: number; volume: number; source: string } | null;
  /** Percent per hour, paid by who is long where it is positive. */
  funding: { percent: number; openInterestUsd: number } | null;
};

export type SignalContext = MarketContext & {
  token: Token;
  nowMs: number;
  price: { priceUsd: number; source: string; observedAt: number };
  costBps: number;
  /** The token's decided trades so far. */
  calibration: { n: number; wins: number; meanConfidence: number | null };
  /** The signals of the day before, of every token. */
  yesterday: readonly Signal[];
};

/** @param demands What is wrong with a proposal at the live price; `null` when it may be issued. */
export function signalQuestion(context: SignalContext, demands: (proposal: Proposal) => string | null) {
  return {
    name: "trading_signal",
    messages: signalMessages(context),
    maxTokens: 1_500,
    shape: proposalShape,
    demands,
  } satisfies Question<typeof proposalShape>;
}

function signalMessages(context: SignalContext): Message[] {
  const { token, nowMs, price, costBps, yesterday } = context;
  return [
    {
      role: "system",
      content:
        "You are the signal analyst of a crypto trading desk. You give one trading signal on the 1-hour timeframe, " +
        "which is open for 6 hours at most. It is entered at the live price, whatever entry you name. A BUY satisfies " +
        "sl < live price < tp1 <= tp2, a SELL sl > live price > tp1 >= tp2. From the live price, tp1 is at least " +
        `${MIN_REWARD_TO_RISK} times as far as sl, and further than the costs of ${costBps / 100} %. An entry more than ` +
        `${MAX_ENTRY_DISTANCE * 100} % from the live price is refused. Say HOLD when there is no edge after costs. Your ` +
        "confidence is held against what happens. Use the figures given and invent none.",
    },
    {
      role: "user",
      content: [
        `Token: ${token}`,
        `Now: ${iso(nowMs)}`,
        `Live price: $${price.priceUsd} (${price.source}, ${iso(price.observedAt)})`,
        describeDay(context),
        describeFunding(context),
        describeHours(context.hours),
        describeCalibration(context),
        yesterday.length === 0
          ? "Yesterday's signals: none."
          : `Yesterday's signals:\n${yesterday.map(describeSignal).join("\n")}`,
      ].join("\n\n"),
    },
  ];
}

function describeDay({ token, day }: SignalContext): string {
  if (day === null) return "Last 24 hours: not known.";
  const { open, low, high, volume, source } = day;
  return `Last 24 hours: from $${open}, low $${low}, high $${high}, volume ${volume} ${token} (${source})`;
}

function describeFunding({ funding }: SignalContext): string {
  if (funding === null) return "Funding: not known.";
  const { percent, openInterestUsd } = funding;
  return `Funding: ${percent} % an hour, paid by longs where positive; open interest $${Math.round(openInterestUsd)} (hyperliquid)`;
}

function describeHours(hours: readonly Hour[]): string {
  if (hours.length === 0) return "Hourly closes: none are known.";
  const lines = hours
    .toSorted((a, b) => a.endsAt - b.endsAt)
    .map(({ endsAt, close, source, range }) => {
      const rest = range === null ? "" : `, low $${range.low}, high $${range.high}, volume ${range.volume}`;
      return `${iso(endsAt)} $${close} (${source}${rest})`;
    });
  const missing = HOURS - hours.length;
  const gaps = missing === 0 ? "" : ` (${missing} of ${HOURS} hours are missing)`;
  return `Hourly closes, with range and volume where known${gaps}:\n${lines.join("\n")}`;
}

function describeCalibration({ token, calibration: { n, wins, meanConfidence } }: SignalContext): string {
  if (n === 0) return `Your record on ${token}: nothing has been decided yet.`;
  const rate = ((100 * wins) / n).toFixed(1);
  return `Your record on ${token}: of ${n} decided signals ${wins} were won (${rate} %), at a mean confidence of ${meanConfidence} %.`;
}

export const reviewShape = z.object({ review: line(1_200).describe("two to five sentences") });

function reviewQuestion(messages: Message[]) {
  return {
    name: "signal_review",
    messages,
    maxTokens: 1_000,
    shape: reviewShape,
  } satisfies Question<z.ZodType>;
}

const REVIEWER =
  "You review the trading signals of a crypto desk for its readers: what worked, what did not, and what it says about " +
  "the method. You use the figures given, invent none, and promise nothing.";

export function dayReviewQuestion(day: string, signals: readonly Signal[]) {
  return reviewQuestion([
    { role: "system", content: REVIEWER },
    {
      role: "user",
      content: `Review of the day ${day} (UTC).\n${describeStanding(standingOf(signals))}\n\n${signals
        .map(describeSignal)
        .join("\n")}`,
    },
  ]);
}

export function weekReviewQuestion(week: string, recap: Week) {
  const lines = Object.keys(recap.days)
    .toSorted()
    .flatMap((day) =>
      (["BTC", "ETH"] as const).map((token) => {
        const one = recap.days[day]?.[token] ?? null;
        if (one === null) return `${day} ${token}: no signal`;
        return `${day} ${token}: ${one.signal} at $${one.entry}, confidence ${one.confidence}, ${one.status}${result(one.pnlPercent)}`;
      }),
    );
  return reviewQuestion([
    { role: "system", content: REVIEWER },
    {
      role: "user",
      content: `Review of the week from Monday ${week} (UTC).\n${describeStanding(recap)}\n\n${lines.join("\n")}`,
    },
  ]);
}

function describeStanding(standing: ReturnType<typeof standingOf>): string {
  const { wins, losses, expired, pending, trades, totalPnlPercent, totalAfterCostsPercent } = standing;
  return `Wins ${wins}, losses ${losses}, expired ${expired}, pending ${pending}, total PnL ${totalPnlPercent} %, after costs ${totalAfterCostsPercent} %. ${trades} trades prove nothing.`;
}

function describeSignal(one: Signal): string {
  const levels = one.signal === "HOLD" ? "" : `, tp1 $${one.tp1}, tp2 $${one.tp2}, sl $${one.sl}`;
  const standing = `${one.status}${result(one.pnlPercent)}`;
  return `${one.token} ${one.day}: ${one.signal} at $${one.entry}${levels}, confidence ${one.confidence}, ${standing}`;
}

function result(pnlPercent: number | null | undefined): string {
  return typeof pnlPercent === "number" ? ` (${pnlPercent > 0 ? "+" : ""}${pnlPercent} %)` : "";
}
