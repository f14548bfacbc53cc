import * as z from "zod";
import { line, usd, usdOrNull } from "../lib/shapes";
import { iso } from "../lib/time";
import type { Message } from "../providers/llm";
import type { Question } from "../providers/structured";
import { standingOf } from "./standing";
import type { Token } from "./rules";
import type { Proposal, Signal, Week } from "./tables";

/** What the signal desk asks the model, and the shapes of what comes back. */

/** What is no price is no level, which a BUY or a SELL must have: `signals/rules` says so. */
const level = usdOrNull.describe("USD; null for HOLD");

/**
 * What the model must send. Whether it may be issued, `signals/rules` says. Levels on a HOLD mean nothing, so whatever
 * stands for them, or does not, is null.
 */
export const proposalShape = z
  .object({
    signal: z.enum(["BUY", "SELL", "HOLD"]),
    entry: usd.describe("USD, within 3 % of the live price"),
    tp1: level,
    tp2: level,
    sl: level,
    confidence: z.number().describe("whole percent, 0 to 100: the probability that tp1 is reached before sl"),
    reasoning: line(800).describe("two to four sentences"),
  })
  .overwrite((value) => (value.signal === "HOLD" ? { ...value, tp1: null, tp2: null, sl: null } : value));

export type SignalContext = {
  token: Token;
  nowMs: number;
  price: { priceUsd: number; source: string; observedAt: number };
  /** The service's own hourly record, in any order. */
  closes: readonly { hourEndsAt: number; priceUsd: number; source: string }[];
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

function signalMessages({ token, nowMs, price, closes, yesterday }: SignalContext): Message[] {
  const hours = closes
    .toSorted((a, b) => a.hourEndsAt - b.hourEndsAt)
    .map(({ hourEndsAt, priceUsd, source }) => `${iso(hourEndsAt)} $${priceUsd} (${source})`);
  return [
    {
      role: "system",
      content:
        "You are the signal analyst of a crypto trading desk. You give one trading signal on the 1-hour timeframe, " +
        "which is open for 6 hours at most. A BUY satisfies sl < entry < tp1 <= tp2, a SELL sl > entry > tp1 >= tp2, " +
        "and the live price lies between sl and tp1. Say HOLD when there is no edge. Use the figures given and invent " +
        "none.",
    },
    {
      role: "user",
      content: [
        `Token: ${token}`,
        `Now: ${iso(nowMs)}`,
        `Live price: $${price.priceUsd} (${price.source}, ${iso(price.observedAt)})`,
        hours.length === 0
          ? "Hourly closes: none have been recorded yet."
          : `Hourly closes:\n${hours.join("\n")}`,
        yesterday.length === 0
          ? "Yesterday's signals: none."
          : `Yesterday's signals:\n${yesterday.map(describeSignal).join("\n")}`,
      ].join("\n\n"),
    },
  ];
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
  const { wins, losses, expired, pending, totalPnlPercent } = standing;
  return `Wins ${wins}, losses ${losses}, expired ${expired}, pending ${pending}, total PnL ${totalPnlPercent} %.`;
}

function describeSignal(one: Signal): string {
  const levels = one.signal === "HOLD" ? "" : `, tp1 $${one.tp1}, tp2 $${one.tp2}, sl $${one.sl}`;
  const standing = `${one.status}${result(one.pnlPercent)}`;
  return `${one.token} ${one.day}: ${one.signal} at $${one.entry}${levels}, confidence ${one.confidence}, ${standing}`;
}

function result(pnlPercent: number | null | undefined): string {
  return typeof pnlPercent === "number" ? ` (${pnlPercent > 0 ? "+" : ""}${pnlPercent} %)` : "";
}
